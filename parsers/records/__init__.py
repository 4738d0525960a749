"""From one chunk of a file to batches of events.

A scalar and a vectorised reader have the same contract. Imports `catalogue`, `formats` and `excerpts`. Start with
`chunks`; `record_matching` finds header and message of one record.
"""

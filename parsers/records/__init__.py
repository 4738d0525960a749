"""From one chunk of a file to batches of events.

A scalar and a vectorised reader have the same contract. Imports `parsers.catalogue` and `parsers.formats`. Start with
`chunks`.
"""

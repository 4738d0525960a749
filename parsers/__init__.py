"""From bytes of log files to typed events.

Owns the schemas of the Arrow batches produced by all readers (`schema`). Imports no models, and Spark only in the data
source of `reading`. Start with `reading.reader`, which splits files and returns their events. From there down:
`records` reads one chunk, `catalogue` knows the meaning of messages, `formats` the layout of lines, `excerpts`
finds records where no layout fits, `sources` the origin of bytes, and `redaction` hides names.
"""

"""Bytes of log files in, typed events out.

Owns the form of the Arrow batches that all readers share (`schema`). Imports nothing of the models and no Spark, save for the data source
in `reading`. Start with `reading.reader`: it takes files apart and hands out their events. From there down: `records` reads one chunk,
`catalogue` knows what a message means, `formats` how a line is laid out, `sources` where bytes come from, `redaction` hides names.
"""

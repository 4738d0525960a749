"""The scheduled run, from input files to published tables.

`ingest` decides what to read, `replay` what to replay and from which checkpoint, `registry` which run holds the
warehouse and what was published, and `operations` has alerts, metrics and maintenance. `overlay` holds what a driver
knows of very many files. Start with `run`.
"""

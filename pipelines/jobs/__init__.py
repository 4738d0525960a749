"""The scheduled run, from input to published tables.

`ingest` says what to read, `replay` what to replay and from which state, `registry` who holds the warehouse and what was published,
`operations` what stands around a run. Start with `run`.
"""

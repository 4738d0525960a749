"""Delta tables: reading, idempotent writes, differences, schema upgrades.

`delta` knows Delta's files and statements, `rows` reads and compares rows, `opening` creates, upgrades and mends tables, `writes`
commits. Imports `schema`, `spark`, `storage` and the cuts of `models.kafka.outages`. Start with `warehouse`.
"""

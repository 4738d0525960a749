"""Delta tables: reading, idempotent writes, differences, schema upgrades.

Imports `schema`, `spark`, `storage` and the cuts of `models.kafka.outages`. Start with `warehouse`.
"""

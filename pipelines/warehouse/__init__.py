"""Delta tables: reading, idempotent writes, differences, schema upgrades.

Imports `schema`, `spark` and `storage`. Start with `warehouse`.
"""

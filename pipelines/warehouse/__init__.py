"""Delta tables: reading, idempotent commits, differences, upgrades of older ones.

Imports `schema`, `spark` and `storage`. Start with `warehouse`.
"""

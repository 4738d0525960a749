"""Who holds the warehouse, what each run published, and recovery.

Imports `warehouse`, `storage`, `schema` and `parsers`. Start with `runs`.
"""

"""Which files to read, and from where.

Imports `registry`, `transforms.read`, `analysis` and the layers below. Start with `ingest`, then `ledger`.
"""

"""What to read, and where reading goes on.

Imports `registry`, `transforms.read`, `analysis` and what lies below. Start with `ingest`, then `ledger`.
"""

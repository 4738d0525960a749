"""Opening of tables: creation, upgrades, and what is damaged.

Imports `delta`. Start with `table_opening`.
"""

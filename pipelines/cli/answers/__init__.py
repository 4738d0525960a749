"""Selection of rows from logs or a warehouse.

Imports `arguments` and what lies below. Start with `source`, then `selection`.
"""

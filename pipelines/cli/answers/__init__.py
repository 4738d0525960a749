"""Logs or a warehouse in, selected rows out.

Imports `arguments` and what lies below. Start with `source`, then `selection`.
"""

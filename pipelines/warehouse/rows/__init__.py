"""Rows of tables: scopes, reading, and what differs from those stored.

Imports `delta`. Start with `stored_rows`.
"""

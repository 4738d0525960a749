"""Rows of tables: scopes, reading, and what differs from those stored.

Imports `delta`. Start with `current_rows`.
"""

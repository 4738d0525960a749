"""Writes to tables: versions after them, single commits, replacements of slices.

Imports `delta`, `rows` and the properties that `opening` declares. Start with `replacement`.
"""

"""Behaviour of members, read from the rows of their groups.

Imports `models` and `models.whatif.rules`. Start with `members`.
"""

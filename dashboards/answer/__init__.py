"""Rows to the plain data that pages and screens show.

Imports `view`, `wording` and `conf`. Start with `build`.
"""

"""Plain data of pages and screens, built from rows.

Imports `view`, `wording` and `conf`. Start with `build`.
"""

"""Plain data of pages and screens, built from rows.

Imports `view`, `wording`, `conf` and `models.downtime`. Start with `build`.
"""

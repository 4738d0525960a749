"""Output as terminal text, JSON and CSV, without any decisions.

Imports `schema`, `dashboards` and `conf`. Start with `console`, then `screens`.
"""

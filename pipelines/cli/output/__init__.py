"""Output as terminal text, JSON and CSV, without any decisions.

Imports `schema`, `dashboards` and `conf`. Start with `screens`; `standard_streams` prints what it makes.
"""

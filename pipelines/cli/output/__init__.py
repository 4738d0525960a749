"""Terminal, JSON and CSV: how answers are written, no decisions.

Imports `schema`, `dashboards` and `conf`. Start with `console`, then `screens`.
"""

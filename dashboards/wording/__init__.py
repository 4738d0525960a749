"""Units, escaping and sentences.

Imports `view`, `conf` and `models.durations`. Start with `story`.
"""

"""Units, escaping and sentences.

Imports `view` and `conf`. Start with `story`.
"""

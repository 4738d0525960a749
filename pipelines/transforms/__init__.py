"""DataFrames in, DataFrames out: one table a file.

Nothing here knows a path. Imports `analysis`, `warehouse`, `schema`, parsers and models. Start with `events`, then `group_replay`.
"""

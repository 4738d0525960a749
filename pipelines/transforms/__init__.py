"""Data frames in, data frames out: one table a file. Nothing here knows a path."""

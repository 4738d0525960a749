"""Delta tables as such: their places, files, commits, and statements.

Imports `schema`, `spark` and `storage`, nothing else of the warehouse. Start with `tables`.
"""

"""Files to DataFrames of records.

Imports `parsers`, `schema`, `spark` and `warehouse`. Start with `records`.
"""

"""Files to DataFrames of records on Spark.

Imports `parsers`, `schema`, `spark` and `warehouse`. Start with `records`.
"""

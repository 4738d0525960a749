"""Files to events, in one process or as a Spark data source.

Owns the splits of large files, resume points and reports on files. Imports all of `parsers`; `spark_source` alone imports Spark. Start
with `reader`.
"""

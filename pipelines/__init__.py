"""Everything that touches Spark, Delta, the disk or the command line.

From the bottom: `schema` declares the tables, `spark` and `storage` provide sessions and access to files, `analysis`
runs parsers and models in one process, `warehouse` reads and writes Delta tables, `transforms` and `quality` work on
DataFrames, `jobs` is the scheduled run, `cli` the command line, and `simulate` writes simulated logs. Start with
`analysis.in_process` or `jobs.run`.
"""

"""Everything that touches Spark, Delta or the disk: jobs, tables, quality gates, and the command line."""

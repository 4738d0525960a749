"""Which files to read, and from where.

Imports `registry`, `transforms.read`, `analysis` and the layers below. Start with `ingest`, then `read_plan`. `idle_runs`
finds out without Spark that there is nothing to do.
"""

"""Selection of the files to read, and of where to begin in them.

Imports `registry`, `transforms.read`, `analysis` and the layers below. Start with `ingest`, then `read_plan`. `idle_runs`
finds out without Spark that there is nothing to do.
"""

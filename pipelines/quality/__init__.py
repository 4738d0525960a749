"""Quality gates: requirements on each table; a failure stops the run.

`suites.yaml` and the declarations in `pipelines.schema.tables` define them; Great Expectations checks them.
"""

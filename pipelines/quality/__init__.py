"""Quality gates: what must hold of each table, and the stop where it does not.

`suites.yaml` and the declarations in `pipelines.schema.tables` say what; Great Expectations checks it.
"""

"""Quality gates: what must hold of each table, and the stop where it does not.

`suites.yaml` and the declarations in `pipelines.schemas` say what; Great Expectations checks it.
"""

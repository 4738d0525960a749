"""Quality gates: requirements on each table; a failure stops the run.

`suites.yaml` and the declarations of columns (`pipelines.schema.declarations` and `declarations_gold`) define them; Great
Expectations checks them. Imports `conf`, `schema` and the layers below. Start with `checks`, then `gate`; `jobs.run` says which
tables each gate is for.
"""

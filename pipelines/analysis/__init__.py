"""Parsers and models in one process, without a JVM.

Owns the stages shared by both runners, and the stores that spill to disk. Imports `parsers`, `models`,
`pipelines.headlines` and `pipelines.schema`. Start with `in_process`, then `stages`.
"""

"""Parsers and models in one process, without a JVM.

Owns the stages that both runners share, and what spills to disk. Imports `parsers`, `models` and `pipelines.schema`. Start with
`in_process`, then `stages`.
"""

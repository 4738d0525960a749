"""The register of runs, recovery after failures, and states between runs.

Imports `warehouse`, `storage`, `schema` and `parsers`. Start with `runs`.
"""

"""Selection of what to replay, and from which checkpoint.

Imports `ingest`, `registry`, `transforms` and the layers below. Start with `replay`.
"""

"""What to replay, and from which stored state.

Imports `ingest`, `registry`, `transforms` and what lies below. Start with `replay`.
"""

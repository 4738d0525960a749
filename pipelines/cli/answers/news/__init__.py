"""Answers while logs are still being written.

Owns what `--follow` reads and what it tells. Imports `pipelines.cli.arguments`. Start with `followed`.
"""

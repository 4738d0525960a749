"""Answers while logs are still being written.

Owns what `--follow` reads and the news that it prints. Imports `answers`, `arguments`, `analysis`, `schema`, `storage`, `dashboards`,
`parsers` and `conf`. Start with `followed_source`.
"""

"""One file per command: parse, call, show.

Imports everything below `pipelines.cli`. Start with `analyze`.
"""

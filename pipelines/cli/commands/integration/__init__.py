"""Commands about events as they happen, for pipes and programs.

Imports everything below `pipelines.cli` but other commands. Start with `follow`.
"""

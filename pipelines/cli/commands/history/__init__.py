"""Commands about how groups fare over time.

Imports everything below `pipelines.cli` but other commands. Start with `gate`.
"""

"""Related rebalances and outages, with their severity.

Imports `models`. Start with `incidents`.
"""

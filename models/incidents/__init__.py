"""Related rebalances and outages, with their severity.

Imports `models` and `models.whatif`. Start with `incidents`.
"""

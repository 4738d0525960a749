"""Rebalances and outages that belong together, and how grave they are.

Imports `models` and `models.whatif`. Start with `incidents`.
"""

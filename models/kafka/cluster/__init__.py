"""Facts shared by all groups of a cluster: nodes, versions, loads, settings.

Imports `models` alone. Start with `facts`.
"""

"""What all groups of a cluster share: nodes, versions, loads, settings.

Imports `models` alone. Start with `facts`.
"""

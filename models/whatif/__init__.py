"""How a group would have fared under another configuration.

Imports `models` alone. Start with `outlook`.
"""

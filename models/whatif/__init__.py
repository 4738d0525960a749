"""Effects of another configuration on a group's history.

Imports `models` alone. Start with `outlook`.
"""

"""Rows of a group beside its rebalances: states, moves, expired offsets, incidents of episodes.

Imports `incidents`, `verdicts`, `outages` and `observations`, and of the stage its bounds. Start with `episode_rows`.
"""

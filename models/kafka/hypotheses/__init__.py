"""Causes that could have started a rebalance, each with its support.

Imports `reconstruction`, `observations` and `cluster`. Start with `window`: all that is known of one rebalance; then `ranking`.
"""

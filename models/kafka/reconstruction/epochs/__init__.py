"""Epochs of groups of the newer protocols, and members' progress towards them.

Owns their windows. Imports `observations` and, of the rest of `reconstruction`, implied lines. Start with `log`; what no coordinator tells
is worded by `unlogged_epochs`.
"""

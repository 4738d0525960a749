"""Epochs of groups of the newer protocols, and members' progress towards them.

Owns their windows. Imports `observations` and, of the rest of `reconstruction`, implied lines. Start with `log`; `progress`
decides when an epoch is complete and who held it up, `unlogged_epochs` words steps that no coordinator logs.
"""

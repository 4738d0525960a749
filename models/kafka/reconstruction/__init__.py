"""A group's history cut into rebalances, by the lines of its coordinator.

Owns the windows: where each begins, ends, and which states it went through. Imports `observations` and the states of `coordinator`. Start
with `classic_log`; `epochs.log` does the same for the newer protocols.
"""

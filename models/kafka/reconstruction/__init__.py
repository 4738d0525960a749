"""A group's history cut into rebalances.

Owns the windows: where each begins, ends, and which states it went through, by lines of the coordinator, of members, or by requests.
Imports `observations` and the states of `coordinator`. Start with `classic_log`; `epochs.log` does the same for the newer protocols.
"""

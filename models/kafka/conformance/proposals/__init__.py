"""The smallest sets of hidden inputs that can make the model say a line.

By event, state and version. Each proposer returns scripts, best first, and takes from the other lines of the same burst what
these tell. Imports its parent's `explanation` and `scene`, `coordinator.protocol` and `models`. Start with `proposers`, the table by event.
"""

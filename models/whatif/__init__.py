"""Effects of another configuration on a group's history.

Imports `models`, and of `models.kafka` the simulator and the coordinator. Start with `outlook`,
which chooses among variants; `comparison` decides which rebalances are avoided.
"""

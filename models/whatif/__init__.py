"""Effects of another configuration on a group's history.

Imports `models`, `incidents`, and of `models.kafka` the simulator, the coordinator and `observations.libraries`. Start with
`outlook`, which chooses among variants; `comparison` decides which rebalances are avoided.
"""

"""Effects of another configuration on a group's history.

Imports `models`, `incidents`, and of `models.kafka` the simulator, the coordinator and `observations.libraries`. Start with
`configuration`, what a question may change; `outlook` chooses among variants, `comparison` decides which rebalances are avoided.
"""

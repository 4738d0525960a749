"""History of partitions: leaders, in-sync replicas, controllers and brokers.

Imports `cluster` and `elections`. Start with `partition_stage`, which hands each event of a cluster to the function for its
line: `controller_lines`, `replica_lines` and `broker_lines` by who writes it. `leaderships` records what lines state,
`partition_state` what follows from it.
"""

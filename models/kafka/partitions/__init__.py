"""History of partitions: leaders, in-sync replicas, controllers and brokers.

Imports `cluster` and `elections`. Start with `stage`, which reads the events of a cluster.
"""

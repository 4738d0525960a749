"""The history of partitions: leaders, in-sync replicas, controllers and brokers.

Imports `cluster` and `elections`. Start with `stage`, which takes the events of a cluster.
"""

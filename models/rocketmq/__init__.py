"""Consumer groups of RocketMQ, in which each client computes its own share.

There is no coordinator. `observations` collects what clients and brokers logged, `diagnosis` explains changed shares,
`rocketmq_stage` reads a cluster's events and `rocketmq_history` writes its rows; `strategies` divides queues as the
clients do. Imports `models` and `models.incidents`. Start with `rocketmq_stage`.
"""

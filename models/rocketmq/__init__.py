"""RocketMQ consumer groups, in which each client works out its own share.

There is no coordinator. `observations` says what clients and brokers saw, `diagnosis` why shares changed, `stage` collects a cluster's
events and `history` writes its rows; `strategies` divides queues as the clients do. Imports `models` and `models.incidents`. Start with
`stage`.
"""

"""What clients and brokers saw: processes, routes, client lists, allocation runs.

Imports `models` and the root of `models.rocketmq`. Start with `client_processes`.
"""

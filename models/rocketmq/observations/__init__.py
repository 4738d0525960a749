"""Observations of clients and brokers: processes, routes, client lists, allocation runs.

Imports `models` and the root of `models.rocketmq`. Start with `client_processes`.
"""

"""Causes of changed shares, owners of queues, and standing faults.

Imports `observations`, `models.incidents` and the root of `models.rocketmq`. Start with `causes`.
"""

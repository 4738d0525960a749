"""Causes of changed shares, owners of queues, and standing faults.

Imports `observations`. Start with `causes`.
"""

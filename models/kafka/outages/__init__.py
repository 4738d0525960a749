"""Partitions without a leader and brokers that are down, as rows.

Imports `partitions`, `cluster` and `incidents`. Start with `outage_stage`.
"""

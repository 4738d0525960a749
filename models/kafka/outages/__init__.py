"""Partitions without a leader and brokers that are down, as rows.

Imports `partitions` and `cluster`. Start with `outage_stage`.
"""

"""Partitions without a leader, brokers that are down, and what troubles them, as rows.

Imports `partitions`, `cluster` and `incidents`. Start with `outage_stage`.
"""

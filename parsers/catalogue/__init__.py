"""Meaning of messages: wordings by version, slots, and events.

Wordings are data, in `messages`, one file per subject: `kafka_group_coordinator` has classic groups, `kafka_modern_groups` those of
the newer protocols, `kafka_group_metadata` the partitions of offsets, `kafka_rebalance_reasons` what stands in `(reason: ...)`.
Imports `parsers` alone. Start with `catalogue`, then `entries` for the contents of a file in `messages`.
"""

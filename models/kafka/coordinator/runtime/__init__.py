"""Basis of all coordinators: timers, choices, offsets log, rules by version.

Imports `protocol` alone. Start with `version_policy`, which lists the differences between
versions; those of share and streams groups are in `heartbeat_groups`.
"""

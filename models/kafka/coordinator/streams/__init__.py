"""Coordinator of streams groups (KIP-1071): topology, tasks, targets, reconciliation.

Follows GroupMetadataManager.java and coordinator/group/streams of 4.1 to 4.4. Imports `consumer` for refusals and
states, `runtime` and `protocol`. Start with `heartbeat`, which has the rules of membership; `coordinator` passes requests and timers
on, `runtime.heartbeat_groups` has what differs by version.
"""

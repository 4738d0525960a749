"""Coordinator of share groups (KIP-932): epochs, targets, initialised partitions.

Follows GroupMetadataManager.java, ShareGroupAssignmentBuilder.java and SimpleAssignor.java of 4.1 to 4.4. Imports
`consumer` for sets of partitions, `runtime` and `protocol`. Start with `heartbeat`, which has the
rules of membership; `coordinator` passes requests and timers on, `runtime.heartbeat_groups` has what differs by version.
"""

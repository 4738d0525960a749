"""Coordinator of share groups (KIP-932): epochs, targets, initialised partitions.

Follows GroupMetadataManager.java, ShareGroupAssignmentBuilder.java and SimpleAssignor.java of 4.1 to 4.4. Imports
`consumer` for sets of partitions, `runtime` and `protocol`. Start with `coordinator`, then `heartbeat`.
"""

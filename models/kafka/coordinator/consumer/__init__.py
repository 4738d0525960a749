"""Coordinator of consumer groups (KIP-848): epochs, targets, reconciliation.

Follows GroupMetadataManager.java and CurrentAssignmentBuilder.java. Imports `classic` for members with the older
protocol, `runtime` and `protocol`. Start with `coordinator`, then `heartbeat`;
`reconciliation` decides what a member may have, and what it has to give up first.
"""

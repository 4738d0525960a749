"""The coordinator of consumer groups (KIP-848): epochs, targets, reconciliation.

Follows GroupMetadataManager.java and CurrentAssignmentBuilder.java. Imports `classic` for members that still speak the older protocol,
`runtime` and `protocol`. Start with `coordinator`, then `heartbeat`.
"""

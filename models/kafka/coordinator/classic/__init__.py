"""The coordinator of classic groups: join, sync, heartbeat, leave, commit.

Follows GroupCoordinator.scala and GroupMetadataManager.java. Imports `runtime` and `protocol`. Start with `coordinator`, which
fires timers, then `rebalance`, which acts on them.
"""

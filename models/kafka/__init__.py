"""Kafka's group coordinators and controllers, replayed from what they announced.

From the bottom: `coordinator` is the reference coordinator itself, `elections` the controller's; `cluster` holds what all groups of a
cluster share. `observations` says who did what when; `reconstruction` cuts a group's history into rebalances; `hypotheses` proposes
causes; `verdicts` ranks them and writes rows; `groups` drives all of it. `partitions` and `outages` do the same for partitions without a
leader. `simulation` lets clients and brokers run forward.
"""

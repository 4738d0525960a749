"""Behaviour of members, read from the rows of their groups.

Imports `models`, `incidents`, `kafka.observations`, `kafka.simulation` and `whatif.rules`. Start with `reading`, which makes
`members` from rows by way of `tenures`, the times of each member id in the group; `heartbeats` estimates their interval.
"""

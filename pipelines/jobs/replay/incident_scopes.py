"""Which stored incidents each stage of a replay replaces.

No row belongs to two stages: one that runs alone must leave the others' rows, and repeat none of them.
"""

from __future__ import annotations

from models.kafka.observations.unattributed_troubles import UNATTRIBUTED_KINDS
from models.rows import KAFKA
from pipelines.warehouse.rows.predicates import among, equals, is_empty

OF_GROUPS = equals("system", KAFKA) & is_empty("outage_ids") & ~is_empty("groups")
"""Incidents of groups."""

OF_UNATTRIBUTED_LINES = equals("system", KAFKA) & is_empty("outage_ids") & is_empty("groups") & among("kind", UNATTRIBUTED_KINDS)
"""Incidents of clients whose group no line names."""

OF_OUTAGES = equals("system", KAFKA) & (~is_empty("outage_ids") | (is_empty("groups") & ~among("kind", UNATTRIBUTED_KINDS)))
"""Incidents of brokers and partitions, with outages or without."""

"""Doubt about rebalances whose lines are from a damaged file."""

from __future__ import annotations

from models.kafka.cluster.facts import ClusterFacts
from models.rows import Rebalance
from models.weights import UNCHANGED_VERDICTS_OF_A_DAMAGED_FILE


def weigh_damage(row: Rebalance, facts: ClusterFacts, at: int) -> None:
    """Lower the confidence of a verdict on lines that may be changed.

    Others may be missing.
    """
    if not facts.damaged:
        return
    began = at if row.started_at is None else row.started_at
    ended = next((time for time in (row.ended_at, row.joined_at) if time is not None), began)
    damage = facts.damaged_between({line.file for line in row.evidence}, began, max(began, ended))
    if damage is None:
        return
    row.confidence = round(row.confidence * UNCHANGED_VERDICTS_OF_A_DAMAGED_FILE, 6)
    row.alternatives = {cause: round(share * UNCHANGED_VERDICTS_OF_A_DAMAGED_FILE, 6) for cause, share in row.alternatives.items()}
    row.settled_by = f"an undamaged copy of {damage.file}"

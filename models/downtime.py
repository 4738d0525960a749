"""Time in which groups stand still during rebalances.

Members keep working while partitions move with the newer protocols (KIP-848) and under a cooperative assignor
(KIP-429).
"""

from __future__ import annotations

from models.causes import RootCause
from models.rows import Rebalance

PROTOCOLS_WITHOUT_STOP = frozenset({"consumer", "share", "streams"})

COOPERATIVE_PROTOCOLS = frozenset({"compatible", "sessioned", "stream"})
"""Cooperative protocols whose names don't say so.

Connect's since 2.3 (KIP-415, KIP-507), Kafka Streams' since 2.4 (KIP-429).
"""


def is_cooperative(assignor: str | None) -> bool:
    """Whether an assignor lets members keep their partitions during a rebalance."""
    return assignor in COOPERATIVE_PROTOCOLS or "cooperative" in (assignor or "")


def goes_on(row: Rebalance) -> bool:
    """Whether members kept working during a rebalance."""
    return row.protocol in PROTOCOLS_WITHOUT_STOP or is_cooperative(row.assignor)


def stopped_seconds(row: Rebalance) -> float:
    """Seconds that the group stood still, without the expected initial delay.

    0 if the group became empty, because nobody was left to wait.
    """
    lasted = row.duration_seconds if row.duration_seconds is not None else row.at_least_seconds
    if lasted is None or row.outcome == "empty" or goes_on(row):
        return 0.0
    return max(0.0, lasted - expected_delay(row.initial_delay_seconds, row.root_cause))


def expected_delay(initial_delay_seconds: float | None, root_cause: str | None) -> float:
    """Seconds of a rebalance that the initial delay explains and that stop nobody.

    None where a pause of the coordinator emptied the group: its members were at work until then.
    """
    return 0.0 if root_cause == RootCause.COORDINATOR_PAUSE else initial_delay_seconds or 0.0

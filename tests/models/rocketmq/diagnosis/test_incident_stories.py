"""By which of its rebalances an incident of a RocketMQ group is told."""

from __future__ import annotations

from dataclasses import replace

import pytest

from models.incidents.headline_facts import ClientAction, FrequentCause, QueueStory
from models.incidents.incidents import Limits
from models.rocketmq.diagnosis.ownership import OwnershipWindow
from models.rocketmq.diagnosis.rocketmq_incidents import incidents_of
from models.rows import Person, Rebalance
from tests.models.rocketmq.script import SECOND, START, two_clients

Change = tuple[str, str | None, float]
"""Cause, client, and seconds in which queues had no owner."""
JOINED, RETURNED = ("consumer_start", "c1", 0.0), ("broker_up", None, 0.0)

CASES: dict[str, tuple[list[Change], bool, QueueStory]] = {
    "a failure before all": (
        [JOINED, ("broker_down", None, 9.0), ("consumer_crash", "c2", 1.0)],
        True,
        ClientAction("c2", "consumer_crash", 1),
    ),
    "a broker, and not who started before": ([JOINED, ("broker_down", None, 0.0), RETURNED], False, FrequentCause("broker_down")),
    "a client missing on a list": (
        [JOINED, JOINED, ("consumer_list_partial", "c2", 0.0)],
        False,
        ClientAction("c2", "consumer_list_partial", 1),
    ),
    "of routine, what did the harm": ([JOINED, JOINED, ("queue_count_change", None, 31.0)], True, FrequentCause("queue_count_change")),
    "of harmless routine, who came most": ([JOINED, JOINED, ("consumer_start", "c2", 2.0)], False, ClientAction("c1", "consumer_start", 1)),
    "what ends a trouble is none": ([JOINED, RETURNED], False, ClientAction("c1", "consumer_start", 1)),
}


@pytest.fixture(scope="module")
def row() -> Rebalance:
    """A rebalance to change."""
    return two_clients().history(60).rebalances[0]


@pytest.mark.parametrize("case", CASES)
def test_an_incident_is_told_by_what_is_worst(case: str, row: Rebalance) -> None:
    changes, is_harmful, story = CASES[case]
    rows = [
        replace(
            row,
            rebalance_id=str(place),
            started_at=START + place * SECOND,
            ended_at=START + (place + 1) * SECOND,
            cause=cause,
            offenders=[] if client is None else [Person(None, client, None, None, cause, first=True)],
            pause_seconds=pause,
        )
        for place, (cause, client, pause) in enumerate(changes)
    ]
    harms = [OwnershipWindow("orders", "broker-a:0", "no_owner", (), START, START + 31 * SECOND)] if is_harmful else []
    (incident,) = incidents_of(rows, harms, [], START + 60 * SECOND, Limits())

    assert incident.headline.story == story
    assert (incident.worst_offender and incident.worst_offender.client_id) == (story.client_id if isinstance(story, ClientAction) else None)

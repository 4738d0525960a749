"""What would settle a doubt is named so that somebody can fetch it."""

from __future__ import annotations

import pytest

from models.kafka.hypotheses.hypothesis import DecidingEvidence
from models.kafka.verdicts.missing_evidence import settled_by
from tests.models.kafka.groups.script import events_of, replay

DAY = 20_752 * 86_400_000_000
TEN_PAST_TEN = DAY + 610 * 60_000_000


@pytest.mark.parametrize(
    ("what", "node", "client", "expected"),
    [
        (DecidingEvidence.REQUEST_LOG, "2", "a", "kafka-request.log at DEBUG of broker 2 between 2026-10-26 10:09 and 10:11 UTC"),
        (
            DecidingEvidence.REQUEST_LOG,
            None,
            "a",
            "kafka-request.log at DEBUG of the group's coordinator between 2026-10-26 10:09 and 10:11 UTC",
        ),
        (DecidingEvidence.CLIENT_LOG, "2", "a of b", "client log at INFO of a of b between 2026-10-26 10:09 and 10:11 UTC"),
        (DecidingEvidence.CLIENT_LOG, "2", None, "client log at INFO of each member between 2026-10-26 10:09 and 10:11 UTC"),
        (DecidingEvidence.EARLIER_LINES, "2", None, "server.log at INFO of broker 2 before 2026-10-26 10:10:00 UTC"),
        (DecidingEvidence.COORDINATOR_AT_DEBUG, "2", None, "server.log at DEBUG of broker 2 between 2026-10-26 10:09 and 10:11 UTC"),
        (DecidingEvidence.APPLICATION, "2", "a", "source code of a, which asked for the rebalance at 2026-10-26 10:10:00 UTC"),
    ],
)
def test_file_level_owner_and_time(what: DecidingEvidence, node: str | None, client: str | None, expected: str) -> None:
    assert settled_by(what, node, client, TEN_PAST_TEN, TEN_PAST_TEN + 30_000_000) == expected


def test_around_midnight_both_days_are_named() -> None:
    assert settled_by(DecidingEvidence.REQUEST_LOG, "1", None, DAY, DAY).endswith("between 2026-10-25 23:59 and 2026-10-26 00:01 UTC")


def test_each_verdict_that_is_not_sure_names_a_file() -> None:
    story = """
1.0 RebalanceStarted generation=4
1.2 GenerationStarted generation=5 member_count=2
1.3 AssignmentReceived generation=5 member_id=a#1 member_count=2
61.0 RebalanceStarted generation=5
61.2 GenerationStarted generation=6 member_count=2
61.3 AssignmentReceived generation=6 member_id=a#1 member_count=2
"""
    rows = replay(events_of(story.splitlines())).rebalances
    assert all(row.confidence < 0.9 for row in rows)
    assert rows[1].settled_by == "kafka-request.log at DEBUG of broker 1 between 1970-01-01 00:00 and 00:02 UTC"


def test_where_no_time_is_known_the_file_alone_is_named() -> None:
    assert settled_by(DecidingEvidence.REQUEST_LOG, "1", None, None, None) == "kafka-request.log at DEBUG of broker 1"

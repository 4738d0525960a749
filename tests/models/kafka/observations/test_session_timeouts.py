"""Which session timeout is in force where evidence differs."""

from __future__ import annotations

import pytest

from models.kafka.observations.roster import RosterMember
from models.kafka.observations.session_timeouts import session_timeout_ms

EVIDENCE: dict[str, int] = {"capped": 1, "requested": 2, "protocol": 3, "configured": 4, "assumed": 5}
"""Kinds of evidence, best first, each with a timeout of its own."""


@pytest.mark.parametrize("best", EVIDENCE)
def test_the_best_evidence_counts(best: str) -> None:
    known = {kind: timeout for kind, timeout in EVIDENCE.items() if timeout >= EVIDENCE[best]}

    assert in_force(known) == EVIDENCE[best]


def test_nothing_is_in_force_that_nothing_tells() -> None:
    assert in_force({}) is None


def test_the_nearest_member_and_client_count() -> None:
    members = [RosterMember("A"), RosterMember("B", session_timeout_ms=7), RosterMember("C", session_timeout_ms=8)]

    assert session_timeout_ms(members, []) == 7
    assert session_timeout_ms([], [{"other": 1}, {"session_timeout_ms": 9}, {"session_timeout_ms": 8}]) == 9


def in_force(known: dict[str, int]) -> int | None:
    """The timeout by these kinds of evidence."""
    return session_timeout_ms(
        [RosterMember("A", session_timeout_ms=known.get("requested"))],
        [{"session_timeout_ms": known["configured"]} if "configured" in known else {}],
        capped_ms=known.get("capped"),
        protocol_ms=known.get("protocol"),
        assumed_ms=known.get("assumed"),
    )

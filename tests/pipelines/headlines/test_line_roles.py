"""Reasons for the roles of lines: codes and the words for them."""

from __future__ import annotations

import pytest

from models.incidents.line_placement import LineRole, RoleReason, RowReason
from pipelines.headlines.line_roles import ROLE_WORDS, ROW_WORDS, role_reason


def test_all_reasons_have_words() -> None:
    assert set(ROLE_WORDS) == set(RoleReason)
    assert set(ROW_WORDS) == set(RowReason)


@pytest.mark.parametrize(
    ("role", "words"),
    [
        (LineRole("apart", None, RoleReason.NO_REBALANCE_THEN, group="billing"), "no rebalance of billing was going on then"),
        (
            LineRole("cause", None, RoleReason.OWN_JOIN, RowReason.GENERATION, "billing", 7),
            "this member's join is what it is about; it speaks of generation 7",
        ),
        (
            LineRole("behind", None, RoleReason.BROKER_EVENT, group="billing", cause="broker_outage", following_count=1),
            "it stands before billing's rebalance, behind which is broker outage",
        ),
        (
            LineRole("behind", None, RoleReason.BROKER_EVENT, group="billing", cause="broker_outage", following_count=3),
            "it stands before billing's rebalance, and 2 more, behind which is broker outage",
        ),
    ],
)
def test_a_reason_is_put_into_words(role: LineRole, words: str) -> None:
    assert role_reason(role) == words

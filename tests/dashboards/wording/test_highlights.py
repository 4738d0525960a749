"""Marked words in evidence."""

from __future__ import annotations

import pytest

from dashboards.answer.rebalance_items import rebalance
from dashboards.wording.highlights import MARKED_BLOCKER, MARKED_GROUP, MARKED_OFFENDER, MARKED_WORDS, highlight_positions
from tests.dashboards import made


def marked(text: str, **columns: object) -> list[tuple[str, int]]:
    item = rebalance(made.rebalance("orders", 4, 0, blockers=[made.person("orders-worker-1", host="/10.0.0.5")], **columns))
    flat = highlight_positions(text, item)
    return [(text[start : start + length], kind) for start, length, kind in zip(flat[::3], flat[1::3], flat[2::3], strict=True)]


def test_group_member_generation_and_what_happened_are_marked() -> None:
    line = "Preparing to rebalance group orders with old generation 4 (removing member orders-worker-3-5f0c1a on heartbeat expiration)"
    assert marked(line) == [
        ("Preparing to rebalance", MARKED_WORDS),
        ("orders", MARKED_GROUP),
        ("generation 4", MARKED_WORDS),
        ("orders-worker-3-5f0c1a", MARKED_OFFENDER),
        ("heartbeat expiration", MARKED_WORDS),
    ]


def test_who_held_the_others_up_is_marked_in_another_way() -> None:
    assert marked("clientId=orders-worker-1, clientHost=/10.0.0.5") == [("orders-worker-1", MARKED_BLOCKER), ("10.0.0.5", MARKED_BLOCKER)]


@pytest.mark.parametrize("text", ["orders-4", "my_orders", "reorders", "ordersx", "", "nothing of the kind"])
def test_parts_of_longer_names_are_not_marked(text: str) -> None:
    assert marked(text) == []


def test_marks_neither_overlap_nor_go_backwards() -> None:
    flat = highlight_positions("orders orders-worker-3-5f0c1a orders-worker-3 orders", rebalance(made.rebalance("orders", 4, 0)))
    ends = [start + length for start, length in zip(flat[::3], flat[1::3], strict=True)]
    assert all(end <= start for end, start in zip(ends, flat[3::3], strict=False))


def test_names_with_signs_of_a_log_are_found_as_they_are_shown() -> None:
    item = rebalance(made.rebalance("a\x1bb", 1, 0))
    assert highlight_positions(r"group a\x1bb", item)[:3] == [6, 6, MARKED_GROUP]

"""Who was there when."""

from __future__ import annotations

from dashboards.answer.build import build_answer
from dashboards.answer.presence import affected_members
from dashboards.view.charts import HeadCount
from tests.dashboards import made


def test_head_counts_come_from_rebalances_and_states_and_repeat_nothing() -> None:
    rows = [
        made.rebalance("g", 1, 0, members_before=3, members_after=2),
        made.rebalance("g", 2, 100, members_before=2, members_after=3),
        made.rebalance("g", 3, 200, members_before=3, members_after=None, joined_at=None, ended_at=None),
    ]
    answer = build_answer(made.Made(rebalances=rows, timeline=made.transitions("g", (300, "Stable"))), for_page=True)
    assert answer.head_counts == [HeadCount("default", "g", ((made.at(0), 3), (made.at(2.6), 2), (made.at(102.6), 3)))]


def test_clients_that_shared_queues_are_the_head_count_of_rocketmq() -> None:
    changes = [
        {"cluster": "c", "group": "g", "changed_at": made.at(second), "clients": count} for second, count in ((9, 2), (5, 1), (7, None))
    ]
    answer = build_answer(made.Made(allocation_changes=changes), for_page=True)
    assert answer.head_counts == [HeadCount("c", "g", ((made.at(5), 1), (made.at(9), 2)))]


def test_who_set_it_off_comes_first_and_who_came_back_last_at_the_end() -> None:
    row = made.rebalance("g", 1, 0)
    members = [
        made.member(row, "late", "bystander", 2.0),
        made.member(row, "unknown", "bystander"),
        made.member(row, "early", "bystander", 0.1),
        made.member(row, "slow", "blocker", 3.0),
        made.member(row, "other", "trigger", 0.0),
        made.member(row, "cause", "trigger", first=True),
    ]
    (found,) = affected_members(members).values()
    assert [part.name for part in found] == ["cause", "other", "slow", "early", "late", "unknown"]


def test_screens_do_not_load_what_only_pages_show() -> None:
    answer = build_answer(made.small_story())
    assert (answer.parts, answer.head_counts, answer.broker_outages, answer.queue_lanes) == ({}, (), (), ())

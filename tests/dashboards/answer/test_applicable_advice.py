"""Advice that fits the protocol of a group."""

from __future__ import annotations

import pytest

from conf.causes import cause
from dashboards.answer.applicable_advice import applicable_advice
from dashboards.answer.rebalance_items import rebalance
from tests.dashboards import made

SESSION = [
    ("classic", {"session.timeout.ms", "heartbeat.interval.ms", "group.max.session.timeout.ms"}),
    ("consumer", {"group.consumer.session.timeout.ms"}),
    ("share", {"group.share.session.timeout.ms"}),
    ("streams", {"group.streams.session.timeout.ms"}),
]


@pytest.mark.parametrize(("protocol", "settings"), SESSION)
def test_the_session_is_set_where_the_protocol_of_the_group_has_it(protocol: str, settings: set[str]) -> None:
    advice = applicable_advice(cause("kafka", "session_timeout").advice, [(protocol, None)], (4, 1))
    assert {setting.name for item in advice for setting in item.settings} == settings


@pytest.mark.parametrize(
    ("protocol", "settings"),
    [
        ("classic", {"partition.assignment.strategy=CooperativeStickyAssignor", "group.protocol=consumer"}),
        ("consumer", set()),
        ("share", set()),
        ("streams", set()),
    ],
)
def test_a_rebalance_by_itself_has_advice_that_fits_its_group(protocol: str, settings: set[str]) -> None:
    row = made.rebalance("orders", 1, 0, protocol=protocol, assignor="range", cause="member_join", root_cause=None, advice_id=None)
    assert {setting.name for item in rebalance(row).advice for setting in item.settings} == settings

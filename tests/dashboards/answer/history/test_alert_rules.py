"""Rules of one's own: counts and stopped time within a sliding stretch, and medians of two stretches."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dashboards.answer.history.alert_rules import breaches
from dashboards.answer.rebalance_items import rebalance
from dashboards.view.answer import Rebalance
from pipelines.cli.arguments.alert_rules import alert_rules
from pipelines.errors import UsageError
from tests.dashboards import made

H = 3600
ONE = rebalance(made.small_story().rebalances[0])


def at(second: float, group: str = "orders", *, stopped: float = 1.0, lasted: float = 1.0, expected: bool = False) -> Rebalance:
    """A rebalance that began at this second."""
    began = int(second * 1_000_000)
    named = replace(ONE, id=f"{group}{second}", group=group, started_at=began)
    return replace(named, stopped_seconds=stopped, duration_seconds=lasted, expected=expected)


BUSY = [at(0), at(600), at(1200), at(1800), at(9000)]
CASES = {
    "as many as allowed": ("*: rebalances > 4 per 1h", BUSY, 20_000, []),
    "more than allowed, until one is out of the stretch": ("*: rebalances > 3 per 1h", BUSY, 20_000, [(0, 3600, 4.0)]),
    "still so at the end": ("*: rebalances > 3 per 1h", BUSY[:4], 1900, [(0, None, 4.0)]),
    "stretches that share a rebalance are one": ("*: rebalances > 1 per 15m", BUSY, 20_000, [(0, 2100, 2.0)]),
    "two stretches": ("*: rebalances > 1 per 1m", [at(0), at(9), at(600), at(610)], 9000, [(0, 60, 2.0), (600, 660, 2.0)]),
    "the first ones are few": ("*: rebalances > 1 per 1m", [at(0), at(600), at(610)], 9000, [(600, 660, 2.0)]),
    "another group": ("pay*: rebalances > 0 per 1h", BUSY, 20_000, []),
    "expected ones do not count": ("*: unexpected > 1 per 1h", [at(0), at(1, expected=True), at(2, expected=True)], 20_000, []),
    "stopped time": ("*: stopped > 30s per 1h", [at(0, stopped=20), at(60, stopped=15)], 20_000, [(0, 3600, 35.0)]),
    "slower than before": (
        "*: duration > 2x last 1h",
        [*(at(second, lasted=1) for second in (100, 200, 300)), *(at(H + second, lasted=3) for second in (100, 200, 300))],
        2 * H,
        [(H + 100, None, 3.0)],
    ),
    "too few to compare": ("*: duration > 2x last 1h", [at(100), at(H + 100, lasted=9)], 2 * H, []),
}


@pytest.mark.parametrize("name", CASES)
def test_breaches_have_their_stretch_and_their_worst_value(name: str) -> None:
    text, items, end, expected = CASES[name]
    found = breaches(alert_rules([text]), reversed(items), end * 1_000_000)

    assert [(one.started_at / 1e6, None if one.ended_at is None else one.ended_at / 1e6, one.value) for one in found] == expected


def test_groups_are_judged_apart() -> None:
    items = [at(0), at(1), at(2, "billing")]

    assert [one.group for one in breaches(alert_rules(["*: rebalances > 1 per 1h"]), items, 9)] == ["orders"]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("*: rebalances > 3 per 1h", "orders: 5 rebalances within 1 h, more than 3"),
        ("*: unexpected > 1 per 1h", "orders: 5 unexpected rebalances within 1 h, more than 1"),
        ("orders: stopped > 4s per 1d", "orders: 5.0 s stopped within 1 d, more than 4.0 s"),
    ],
)
def test_headlines(text: str, told: str) -> None:
    found = breaches(alert_rules([text]), [at(second) for second in range(5)], None)

    assert [one.headline for one in found] == [told]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "3 per 1h",
        "*: rebalances > 3",
        "*: rebalances > 3x per 1h",
        "*: rebalances > 3 last 1h",
        "*: rebalances > 1.2.3 per 1h",
        "*: rebalances > 3 per 0h",
        "*: stopped > 3 per 1h",
        "*: duration > 2 last 1h",
        "*: duration > 2x per 1h",
        "*: members > 3 per 1h",
    ],
)
def test_what_is_no_rule_is_refused_with_examples(text: str) -> None:
    with pytest.raises(UsageError, match=r"is no rule.*examples are"):
        alert_rules([text])

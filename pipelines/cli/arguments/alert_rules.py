"""Parse alert rules such as `orders*: rebalances > 3 per 1h`."""

from __future__ import annotations

import re
from collections.abc import Iterable

from dashboards.answer.history.alert_rules import MEASURES, AlertRule
from pipelines.cli.arguments.times import stretch
from pipelines.errors import UsageError

EXAMPLES = "'orders*: rebalances > 3 per 1h', '*: stopped > 30s per 1d' and '*: duration > 2x last 7d'"
_RULE = re.compile(
    r"(?P<groups>\S+)\s*:\s*(?P<measure>[a-z]+)\s*>\s*(?P<limit>[0-9.]+[a-z]*)\s+(?P<word>per|last)\s+(?P<span>[0-9.]+[a-z]+)"
)


def alert_rules(texts: Iterable[str]) -> list[AlertRule]:
    """Parse rules of the settings or of --rule."""
    return [_rule(" ".join(text.split())) for text in texts]


def _rule(text: str) -> AlertRule:
    match = _RULE.fullmatch(text)
    span = stretch(match["span"]) if match else None
    if match is None or not span or match["measure"] not in MEASURES:
        raise UsageError(f"{text!r} is no rule; examples are {EXAMPLES}")
    limit = _limit(match["measure"], match["limit"])
    if limit is None or (match["word"] == "last") != (match["measure"] == "duration"):
        raise UsageError(f"{text!r} is no rule: counts and times are 'per' a span, 'duration' is 'x last' a span; examples are {EXAMPLES}")
    return AlertRule(text, match["groups"], match["measure"], limit, span.total_seconds())


def _limit(measure: str, text: str) -> float | None:
    """The limit as a count, seconds or a factor; None if invalid."""
    if measure == "stopped":
        span = stretch(text)
        return span.total_seconds() if span is not None else None
    number = text.removesuffix("x") if measure == "duration" else text
    is_number = re.fullmatch(r"\d+(?:\.\d+)?", number) is not None
    return float(number) if is_number and text.endswith("x") == (measure == "duration") else None

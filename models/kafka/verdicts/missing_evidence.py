"""The file that would decide between the causes of a rebalance.

The text before " of " is the kind of file and its level. Few distinct values exist, so doubts can be counted by them.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from models.kafka.hypotheses.hypothesis import DecidingEvidence
from models.tolerances import int_tolerance
from models.units import EPOCH

MARGIN_US = int_tolerance("kafka.missing_evidence.margin_us")
"""Margin around a rebalance for its requests and clients' lines."""

_MINUTE = timedelta(minutes=1)


def settled_by(settles: DecidingEvidence, node: str | None, client: str | None, began: int | None, until: int | None) -> str:
    """Name the file.

    `began` and `until` limit the period in question, in microseconds, None if unknown.
    """
    if settles is DecidingEvidence.APPLICATION:
        return f"{settles} of {client or 'the application'}, which asked for the rebalance{_at(began)}"
    if settles is DecidingEvidence.EARLIER_LINES:
        return f"{settles} of {_broker(node)}{_before(began)}"
    owner = _client(client) if settles is DecidingEvidence.CLIENT_LOG else _broker(node)
    return f"{settles} of {owner}{_between(began, until)}"


def _broker(node: str | None) -> str:
    return f"broker {node}" if node is not None else "the group's coordinator"


def _client(client: str | None) -> str:
    return client if client is not None else "each member"


def _at(at: int | None) -> str:
    return "" if at is None else f" at {_time(at):%Y-%m-%d %H:%M:%S} UTC"


def _before(at: int | None) -> str:
    return "" if at is None else f" before {_time(at):%Y-%m-%d %H:%M:%S} UTC"


def _between(began: int | None, until: int | None) -> str:
    """The period in question, in whole minutes."""
    if began is None:
        return ""
    first = _time(began - MARGIN_US).replace(second=0, microsecond=0)
    last = _time((until if until is not None else began) + MARGIN_US).replace(second=0, microsecond=0) + _MINUTE
    day = f"{last:%Y-%m-%d} " if last.date() != first.date() else ""
    return f" between {first:%Y-%m-%d %H:%M} and {day}{last:%H:%M} UTC"


def _time(at: int) -> datetime:
    return EPOCH + timedelta(microseconds=at)

"""Outlooks of all groups of a history."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from models.rows import ClientState, MemberSession, Rebalance, RebalanceMember
from models.whatif.configuration import Configuration
from models.whatif.history import History
from models.whatif.outlook import WhatIfResult, under


def what_if_results(
    rows: Iterable[Rebalance],
    members: Iterable[RebalanceMember],
    configuration: Configuration,
    *,
    sessions: Iterable[MemberSession] = (),
    states: Iterable[ClientState] = (),
    versions: Mapping[str, str] | None = None,
) -> list[WhatIfResult]:
    """All Kafka groups of a history under another configuration."""
    history = History(rows, members, sessions, states, versions or {})
    return [under(group, configuration) for group in history.groups()]

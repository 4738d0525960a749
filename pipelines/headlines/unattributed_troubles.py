"""Troubles of clients whose group no line names, in words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from models.incidents.fault_facts import UnattributedTrouble
from models.kafka.observations.unattributed_troubles import NOT_AUTHORIZED
from pipelines.headlines.phrases import often

OWN_WORDS: Mapping[str, str] = {
    "ClientPollTimedOut": "exceeded max.poll.interval.ms and left its group",
    "ClientCoordinatorLost": "had no answer from its coordinator, or lost its session",
    "ClientHeartbeatFailed": "had a heartbeat refused",
    "ClientFenced": "was fenced by another consumer",
    "StaticMemberFenced": "was fenced by another consumer with its group.instance.id",
    "ClientTroubled": "met an error that stops it",
    "ClientJoinFailed": "could not join its group",
    "ClientRevoked": "gave its partitions up",
    "ClientLost": "lost its partitions",
    NOT_AUTHORIZED: "may not read as its group, or its topics",
}
"""Words for what a client tells itself."""

REPORTED_WORDS: Mapping[str, str] = {
    "polled_late": "exceeded max.poll.interval.ms and left its group",
    "commit_refused": "could not commit what it had read, since its group was rebalancing or had gone on without it",
    "not_in_generation": "was refused by its coordinator, since its group was rebalancing or had gone on without it",
    "fenced": "was fenced by another consumer with its group.instance.id",
    "join_refused": "could not join its group and gave up",
    "no_broker": "reached no broker",
}
"""Words for what programs around clients report."""

NOTES_MAX = 10
"""Notes that are written out; the rest is counted."""

_NAMELESS = "a consumer"


def unattributed_trouble(facts: UnattributedTrouble) -> str:
    """Client, and what happened to it how often."""
    logs = f" ({facts.log_count} logs)" if facts.log_count > 1 else ""
    return f"{_happened(facts)}{logs}; no line names its group, so that no rebalance is told"


def trouble_notes(troubles: Iterable[tuple[str, UnattributedTrouble]]) -> list[str]:
    """A note for each trouble, and one for the rest."""
    shown = list(troubles)
    hidden_count = len(shown) - NOTES_MAX
    rest = [f"{hidden_count} more troubles of consumers are of groups that no line names"] if hidden_count > 0 else []
    return [*rest, *(f"{log}: {unattributed_trouble(trouble)}" for log, trouble in shown[:NOTES_MAX])]


def _happened(facts: UnattributedTrouble) -> str:
    if facts.is_reported:
        who = "a client" if facts.trouble == "no_broker" else _NAMELESS  # producers tell of it, too
        return f"as its program tells, {often(f'{who} {REPORTED_WORDS[facts.trouble]}', facts.count)}"
    return often(f"{facts.client or _NAMELESS} {OWN_WORDS[facts.trouble]}", facts.count)

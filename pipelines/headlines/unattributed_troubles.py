"""Notes on troubles of clients whose group no line names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from models.kafka.observations.attribution import NOT_AUTHORIZED, UnattributedTrouble
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
}
"""Words for what programs around clients report."""

NOTES_MAX = 10
"""Notes of either kind; the rest of clients' own troubles is counted."""

_NAMELESS = "a consumer"


def trouble_notes(troubles: Iterable[UnattributedTrouble]) -> list[str]:
    """A note for each trouble, and one for those beyond the limit."""
    shown = sorted(troubles, key=lambda trouble: (trouble.file, trouble.client or _NAMELESS, trouble.trouble))
    by_clients = [trouble for trouble in shown if not trouble.is_reported]
    by_programs = [trouble for trouble in shown if trouble.is_reported]
    hidden_count = len(by_clients) - NOTES_MAX
    rest = [f"{hidden_count} more troubles of consumers are of groups that no line names"] if hidden_count > 0 else []
    return [*rest, *map(_own_note, by_clients[:NOTES_MAX]), *map(_reported_note, by_programs[:NOTES_MAX])]


def _own_note(trouble: UnattributedTrouble) -> str:
    words = often(f"{trouble.client or _NAMELESS} {OWN_WORDS[trouble.trouble]}", trouble.count)
    return f"{trouble.file}: {words}; no line names its group, so that no rebalance is told"


def _reported_note(trouble: UnattributedTrouble) -> str:
    words = often(f"{_NAMELESS} {REPORTED_WORDS[trouble.trouble]}", trouble.count)
    return f"{trouble.file}: as its program tells, {words}; of which group is not said, so that no rebalance is told of it"

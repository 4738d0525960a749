"""What each line of a story is worth, and each log: what is told of the group when it is lost.

Of a lost line only rows that differ from those of the whole story are told, and of a lost log those that come.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator

from models.events import Event
from models.kafka.verdicts.history import GroupHistory
from tests.models.kafka.groups.script import replay, show

BEGINNINGS = frozenset({"RebalanceStarted", "GenerationStarted", "ClientHeartbeatRebalancing", "GroupEpochBumped"})


def changes(events: list[Event]) -> Iterator[str]:
    """Rows that come or go with each line, and those that come where a log is lost."""
    whole = list(told(replay(events)))
    for lost, signs in ((lines_lost(events), ("-", "+")), (logs_lost(events), ("+",))):
        for what, left in lost:
            yield what
            rows = difflib.ndiff(whole, list(told(replay(left))))
            yield from (f"  {row}" for row in rows if row.startswith(signs))


def lines_lost(events: list[Event]) -> Iterator[tuple[str, list[Event]]]:
    """A story without each of its lines."""
    for number, event in enumerate(events):
        yield f"without {event.text}", [*events[:number], *events[number + 1 :]]


def logs_lost(events: list[Event]) -> Iterator[tuple[str, list[Event]]]:
    """A story without each client's lines, without each kind of log, and begun or ended at each rebalance."""
    for client in sorted({event.client_id for event in events if event.client_id}):
        yield f"without the log of {client}", [event for event in events if event.client_id != client]
    for witness in sorted({event.witness.value for event in events}):
        left = [event for event in events if event.witness.value != witness]
        if left:
            yield f"without what {witness}s tell", left
    for number, event in enumerate(events):
        if number and event.name in BEGINNINGS:
            yield f"begun at {event.text}", events[number:]
            yield f"ended before {event.text}", events[:number]


def told(history: GroupHistory) -> Iterator[str]:
    """What a script shows, with what each rival weighs and what would settle it."""
    yield from show(history)
    for row in history.rebalances:
        rivals = ", ".join(f"{cause} {share:.2f}" for cause, share in sorted(row.alternatives.items()))
        settled = f"; {row.settled_by} would tell" if row.settled_by else ""
        yield f"{row.generation_before}->{row.generation_after} {row.cause} {row.confidence:.3f} {rivals or 'alone'}{settled}"

"""What kept a blocker from rejoining, by its own log.

A member hears of a rebalance by a heartbeat, gives up its partitions in its next poll, and rejoins once its callback has returned
(ConsumerCoordinator.onJoinPrepare). The longest gap between these lines tells where it was: before its first line it heard of nothing,
before it gave up its partitions it did not poll, and after that it was in its callback.
"""

from __future__ import annotations

from dataclasses import replace

from models.durations import spell
from models.kafka.hypotheses.window import RebalanceContext
from models.kafka.observations.actions import ActionKind, MemberAction, int_field, is_told, text_field
from models.rows import Person
from models.tolerances import whole
from models.units import US_PER_MS, US_PER_SECOND

SLOW_REJOIN_US = whole("kafka.blockers.slow_rejoin_us")
"""Minimum delay of a blocker behind the other members.

They learn of a rebalance with their next heartbeat.
"""

HEARD_OF_NOTHING = "heard of nothing for"
DID_NOT_POLL = "did not poll for"
IN_CALLBACK = "was in its callback for"
LAST_KNOWN = "did last:"

_OWN_LINES = (
    *(ActionKind.TOLD, ActionKind.WANTS_REJOIN, ActionKind.REVOKE, ActionKind.STEP),
    *(ActionKind.REJOIN, ActionKind.JOIN, ActionKind.POLL_TIMEOUT),
)


def with_delay(context: RebalanceContext, blocker: Person, end: int) -> Person:
    """Add to a blocker's reason what its own log shows up to `end`."""
    actor = context.roster.actor(blocker.member_id, blocker.client_id, blocker.instance_id)
    if actor is None or not context.has_client_log(actor) or context.is_ambiguous(actor):
        return blocker
    own = [action for action in context.actions_of(*_OWN_LINES, start=context.start, end=end) if context.actor(action) == actor]
    told = _last_known(own) or _step(own) or _gap(context.start, own, end)
    if not own and actor in context.known.tell_joins and actor not in context.known.silent:
        told = _told(HEARD_OF_NOTHING, end - context.start)  # its heartbeats would have told it, and its log that they did
    return blocker if told is None else replace(blocker, reason=f"{blocker.reason}: {told}")


def _last_known(own: list[MemberAction]) -> str | None:
    """What a Connect worker says that it was doing (WorkerCoordinator, handlePollTimeoutExpiry)."""
    said = (text_field(action.event, "last_action") for action in own if action.kind is ActionKind.POLL_TIMEOUT)
    return next((f"{LAST_KNOWN} {words}" for words in said if words), None)


def _step(own: list[MemberAction]) -> str | None:
    """A callback that says how long it took."""
    took = (int_field(action.event, "duration_ms") or 0 for action in own if action.kind is ActionKind.STEP)
    return _told(IN_CALLBACK, max(took, default=0) * US_PER_MS)


def _gap(start: int, own: list[MemberAction], end: int) -> str | None:
    """The longest gap between its lines up to its JoinGroup.

    Without a JoinGroup, up to the end.
    """
    if not own:
        return None
    heard, revoked, asked = (
        next((action.at for action in own if holds(action)), None)
        for holds in (is_told, lambda each: each.kind is ActionKind.REVOKE, lambda each: each.kind in {ActionKind.REJOIN, ActionKind.JOIN})
    )
    rejoined = end if asked is None else asked
    polled = rejoined if revoked is None else revoked
    hearing = heard if heard is not None else start if revoked is not None else rejoined  # not every library logs that it hears
    gaps = [
        (hearing - start, HEARD_OF_NOTHING),
        (0 if heard is None else polled - heard, DID_NOT_POLL),
        (0 if revoked is None else rejoined - revoked, IN_CALLBACK),
    ]
    longest, words = max(gaps)
    return _told(words, longest)


def _told(words: str, took_us: int) -> str | None:
    return f"{words} {spell(took_us / US_PER_SECOND)}" if took_us >= SLOW_REJOIN_US else None

"""Epochs of the newer protocols, and what raises them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from models.causes import Cause
from models.events import Event, Witness, text_field
from models.kafka.observations.line_delays import CLOCK_TOLERANCE_US
from models.kafka.observations.roster import Roster
from models.kafka.reconstruction.epochs.lines import stuck_in
from models.kafka.reconstruction.epochs.unlogged_epochs import SHOWN_BY
from models.rows import Person
from models.tolerances import int_tolerance

CLOSING_US = int_tolerance("kafka.epoch_log.closing_us")
"""Members of a group that is closed leave this close together."""

SUBSCRIBED_BEFORE_US = int_tolerance("kafka.epoch_log.subscribed_before_us")
"""Longest time from a new subscription to its heartbeat."""


@dataclass(slots=True)
class EpochChange:
    """Something that raises the epoch."""

    cause: Cause
    reason: str
    event: Event


@dataclass(slots=True)
class EpochWindow:
    """One group epoch. Times are microseconds."""

    epoch: int | None
    epoch_before: int | None
    started: Event
    changes: list[EpochChange] = field(default_factory=list)
    bumped: Event | None = None
    targeted: Event | None = None
    reached_at: int | None = None
    was_empty: bool = False
    outcome: str = "open"
    events: list[Event] = field(default_factory=list)
    members_before: int | None = None
    members_after: int | None = None
    assignor: str | None = None
    protocol: str = "consumer"
    came: frozenset[str] = frozenset()
    went: frozenset[str] = frozenset()
    """Members that went since the epoch before, and those that came.

    Only the difference: many epochs of a large group may wait.
    """
    members: frozenset[str] = frozenset()
    """Members of the epoch, known once it is its turn."""
    blockers: list[Person] = field(default_factory=list)
    closes: bool = False
    """One of the leaves by which a whole group was closed."""

    @property
    def began(self) -> int:
        """When the epoch was raised."""
        return self.started.time_us

    @property
    def is_inferred(self) -> bool:
        """True if members' logs or requests show it, but no coordinator."""
        return self.started.witness is not Witness.COORDINATOR

    @property
    def shown_by(self) -> str | None:
        """Event that shows an inferred epoch without a member's action."""
        return text_field(self.bumped, SHOWN_BY) if self.bumped is not None else None

    @property
    def leaves(self) -> bool:
        """A member left, and so raised the epoch."""
        return bool(self.changes) and self.changes[0].cause is Cause.MEMBER_LEAVE

    def offenders(self, cause: Cause, roster: Roster) -> list[Person]:
        """Members whose action of the cause's kind raised the epoch.

        None for changes of topics.
        """
        if cause in {Cause.METADATA_CHANGE, Cause.UNKNOWN}:
            return []
        kinds = ACTIONS_OF.get(cause, frozenset()) | {cause}
        acting = [change for change in self.changes if change.cause in kinds and (change.event.member_id or change.event.client_id)]
        return [
            roster.person(change.event.member_id, change.event.client_id, change.event.instance_id, change.reason, is_first=index == 0)
            for index, change in enumerate(acting)
        ]


DEPARTURE_CAUSES = frozenset({Cause.MEMBER_LEAVE, Cause.SESSION_TIMEOUT, Cause.REBALANCE_TIMEOUT, Cause.SYNC_TIMEOUT, Cause.UNKNOWN})
"""Causes by which members go."""

ACTIONS_OF: Mapping[Cause, frozenset[Cause]] = {
    Cause.NEW_GROUP: frozenset({Cause.MEMBER_JOIN}),
    Cause.POLL_TIMEOUT: frozenset({Cause.MEMBER_LEAVE}),
    Cause.PROTOCOL_MIGRATION: frozenset({Cause.MEMBER_JOIN, Cause.MEMBER_LEAVE}),
}
"""Actions by cause whose members are offenders, beside its namesakes."""


def subscribed_before(subscriptions: Iterable[Event], began: int) -> list[Event]:
    """Members that subscribed just before an epoch without a reason."""
    return [event for event in subscriptions if -CLOCK_TOLERANCE_US <= began - event.time_us <= SUBSCRIBED_BEFORE_US]


def leaving_together(windows: Sequence[EpochWindow]) -> list[EpochWindow]:
    """Leaves that follow each other directly up to the last epoch."""
    run: list[EpochWindow] = []
    for window in reversed(windows):
        if not window.leaves or (run and run[-1].began - window.began > CLOSING_US):
            break
        run.append(window)
    return run


def held_by(window: EpochWindow, following: Iterable[EpochWindow]) -> list[EpochChange]:
    """Members that did not give up partitions in time for an epoch."""
    return [
        change
        for later in following
        for change in later.changes
        if change.cause is Cause.REBALANCE_TIMEOUT and window.epoch is not None and (stuck_in(change.reason) or window.epoch) < window.epoch
    ]

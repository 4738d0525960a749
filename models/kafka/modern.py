"""Groups of the newer protocols (KIP-848 consumer, KIP-932 share, KIP-1071 streams), replayed.

There is no join phase: each change of members or topics raises the group epoch, a target assignment follows,
and each member moves to it on its own. One row per epoch.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from models.causes import Cause
from models.events import Event
from models.kafka.acts import text_field
from models.kafka.classic import when
from models.kafka.members import Roster
from models.rows import Person

SAME_CHANGE_US = 1_500_000
"""Lines of one heartbeat stand together; the target assignment follows with the next heartbeats of the members."""


@dataclass(slots=True)
class Change:
    """Something that raises the epoch."""

    cause: Cause
    reason: str
    event: Event


@dataclass(slots=True)
class EpochDraft:
    """One group epoch. Times are microseconds."""

    epoch: int | None
    epoch_before: int | None
    started: Event
    changes: list[Change] = field(default_factory=list)
    targeted: Event | None = None
    reached_at: int | None = None
    was_empty: bool = False
    outcome: str = "open"
    events: list[Event] = field(default_factory=list)
    members_before: int | None = None
    members_after: int | None = None
    assignor: str | None = None
    protocol: str = "consumer"


@dataclass(slots=True)
class ModernReplay:
    """Replays one group of the newer protocols. Feed events in order; read `drafts`."""

    roster: Roster
    drafts: list[EpochDraft] = field(default_factory=list)
    members: dict[str, str | None] = field(default_factory=dict)  # member id -> client id
    epoch: int | None = None
    seen: bool = False
    protocol: str = "consumer"
    _pending: list[Change] = field(default_factory=list)
    _members_known: bool = False
    _count_before: int = 0

    def feed(self, event: Event) -> bool:
        """Take one event; True where it is a line of these coordinators."""
        handler = _HANDLERS.get(event.name)
        if handler is None:
            return False
        self.seen = True
        self.protocol = text_field(event, "group_type") or self.protocol
        handler(self, event)
        return True

    # -- changes -------------------------------------------------------------------------------------------

    def _change(self, cause: Cause, reason: str, event: Event) -> None:
        if not self._pending:
            self._count_before = len(self.members)
        self._pending.append(Change(cause, reason, event))

    def _joined(self, event: Event) -> None:
        if event.fields.get("rejoined"):
            old = text_field(event, "old_member_id")
            if old in self.members:
                self.members.pop(old)
            if event.member_id:
                self.members[event.member_id] = event.client_id
            return
        if event.member_id in self.members:
            return
        self._change(Cause.MEMBER_JOIN, "joined", event)
        if event.member_id:
            self.members[event.member_id] = event.client_id

    def _left(self, event: Event) -> None:
        if event.fields.get("temporarily"):
            return  # a static member that means to come back: its slot stays (KIP-848, epoch -2)
        self._change(Cause.MEMBER_LEAVE, "left", event)
        self._forget(event)

    def _fenced(self, event: Event) -> None:
        why = text_field(event, "why") or ""
        cause = Cause.SESSION_TIMEOUT if "session" in why else Cause.REBALANCE_TIMEOUT if "transition" in why else Cause.UNKNOWN
        self._change(cause, why or "fenced", event)
        self._forget(event)

    def _forget(self, event: Event) -> None:
        if event.member_id:
            self.members.pop(event.member_id, None)
        if not self.members and self._members_known:
            self._empty(event)

    def _empty(self, event: Event) -> None:
        """The last member is gone: the epoch rises once more, without a target."""
        epoch = self.epoch + 1 if self.epoch is not None else None
        draft = self._open(event, epoch)
        draft.outcome = "empty"
        draft.reached_at = when(event)
        draft.members_after = 0
        self.epoch = epoch

    def _subscription(self, event: Event) -> None:
        self._change(Cause.SUBSCRIPTION_CHANGE, "changed its subscription", event)

    def _metadata(self, event: Event) -> None:
        if not any(change.cause is Cause.METADATA_CHANGE for change in self._pending):
            self._change(Cause.METADATA_CHANGE, "topic metadata changed", event)

    def _converted(self, event: Event) -> None:
        if text_field(event, "to_type") != "classic":
            self._change(Cause.PROTOCOL_MIGRATION, "converted", event)

    # -- epochs --------------------------------------------------------------------------------------------

    def _open(self, event: Event, epoch: int | None) -> EpochDraft:
        acting = [change for change in self._pending if change.cause is not Cause.METADATA_CHANGE] or self._pending
        first = acting[0].event if acting else event
        self._members_known = self._members_known or epoch == 1 or not self._count_before
        draft = EpochDraft(epoch, self.epoch if self.epoch is not None else (epoch - 1 if epoch else None), first, acting)
        draft.was_empty = not self._count_before and (epoch == 1 or self._members_known)
        draft.members_before = self._count_before if self._members_known else None
        draft.members_after = len(self.members) if self._members_known else None
        draft.events = [change.event for change in self._pending] + [event]
        draft.protocol = self.protocol
        if self.drafts and self.drafts[-1].outcome == "open" and self.drafts[-1].reached_at is None:
            self.drafts[-1].outcome = "superseded" if self.drafts[-1].targeted is None else "open"
        self.drafts.append(draft)
        self._pending = []
        self._count_before = len(self.members)
        return draft

    def _bumped(self, event: Event) -> None:
        if event.generation is None or (self.epoch is not None and event.generation <= self.epoch):
            return
        self._open(event, event.generation)
        self.epoch = event.generation

    def _targeted(self, event: Event) -> None:
        if event.generation is not None and (self.epoch is None or event.generation > self.epoch):
            self._bumped(event)
        if self.drafts and self.drafts[-1].epoch == event.generation:
            draft = self.drafts[-1]
            draft.targeted = event
            draft.assignor = text_field(event, "assignor") or draft.assignor
            draft.events.append(event)

    def _moved(self, event: Event) -> None:
        """A member reached an epoch; when all have, the epoch is complete."""
        if event.member_id:
            self.members.setdefault(event.member_id, event.client_id)

    # -- verdicts ------------------------------------------------------------------------------------------

    def offenders(self, draft: EpochDraft, cause: Cause) -> list[Person]:
        """Members whose act of the cause's kind raised the epoch; none for changes of topics."""
        if cause in {Cause.METADATA_CHANGE, Cause.UNKNOWN}:
            return []
        kinds = {Cause.MEMBER_JOIN} if cause is Cause.NEW_GROUP else {cause, Cause.MEMBER_LEAVE} if cause is Cause.POLL_TIMEOUT else {cause}
        acting = [change for change in draft.changes if change.cause in kinds]
        return [
            self.roster.person(change.event.member_id, change.event.client_id, change.event.instance_id, change.reason, first=index == 0)
            for index, change in enumerate(acting)
        ]


_HANDLERS: dict[str, Callable[[ModernReplay, Event], None]] = {
    "ModernMemberJoined": ModernReplay._joined,
    "ModernMemberLeft": ModernReplay._left,
    "ModernMemberFenced": ModernReplay._fenced,
    "ModernSubscriptionChanged": ModernReplay._subscription,
    "SubscriptionMetadataChanged": ModernReplay._metadata,
    "GroupEpochBumped": ModernReplay._bumped,
    "TargetComputed": ModernReplay._targeted,
    "ModernMemberMoved": ModernReplay._moved,
    "GroupConverted": ModernReplay._converted,
}

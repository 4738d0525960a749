"""Groups of the newer protocols (KIP-848 consumer, KIP-932 share, KIP-1071 streams), replayed.

There is no join phase: each change of members or topics raises the group epoch, a target assignment follows,
and each member moves to it on its own. One row per epoch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import zip_longest

from models.causes import Cause
from models.events import Event
from models.kafka.acts import text_field
from models.kafka.classic import when
from models.kafka.members import Roster
from models.kafka.reconciling import Reconciliations, reached_at, slow_members
from models.rows import Person

CLOCK_TOLERANCE_US = 60_000
"""How much later than the coordinator a client may log what made it act."""

SAME_CHANGE_US = 1_500_000
"""What raises an epoch is logged with it, by the same request. A member that only confirms its place raises none."""

SAME_REQUEST_US = 50_000
"""Lines of one request stand together; one request is done before the next one begins (CoordinatorRuntime)."""


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
    members: frozenset[str] = frozenset()
    blockers: list[Person] = field(default_factory=list)
    closes: bool = False
    """One of the leaves by which a whole group was closed."""


@dataclass(slots=True)
class ModernReplay:
    """Replays one group of the newer protocols. Feed events in order; read `drafts`."""

    roster: Roster
    drafts: list[EpochDraft] = field(default_factory=list)
    members: dict[str, str | None] = field(default_factory=dict)  # member id -> client id
    epoch: int | None = None
    seen: bool = False
    protocol: str = "consumer"
    reconciliations: Reconciliations = field(default_factory=Reconciliations)
    subscriptions: list[Event] = field(default_factory=list)  # the clients' own lines
    _last_joined: dict[str, int] = field(default_factory=dict)  # member id -> when it joined last
    _pending: list[Change] = field(default_factory=list)
    _again: list[Change] = field(default_factory=list)  # what members do once more that the last epoch came from
    _members_known: bool = False
    _count_before: int = 0

    def feed(self, event: Event) -> bool:
        """Take one event; True where it is a line of these coordinators."""
        if event.name == "ClientMemberState":
            self.reconciliations.feed(event)
        elif event.name == "ClientSubscribed":
            self.subscriptions.append(event)
        handler = _HANDLERS.get(event.name)
        if handler is None:
            return False
        self.seen = True
        self.protocol = text_field(event, "group_type") or self.protocol
        handler(self, event)
        return True

    def converted_from(self, members: Mapping[str, str | None]) -> None:
        """A classic group becomes one of these and keeps its members (id -> client id)."""
        self.members = dict(members)
        self._members_known = bool(members)
        self._count_before = len(self.members)

    # -- changes -------------------------------------------------------------------------------------------

    def _change(self, cause: Cause, reason: str, event: Event) -> None:
        if not self._pending:
            self._count_before = len(self.members)
        self._pending.append(Change(cause, reason, event))

    def joined_after(self, member_id: str | None, at: int) -> bool:
        """Whether who left at that time came back under the same id, as no new process does."""
        return self._last_joined.get(member_id or "", at) > at

    def _joined(self, event: Event) -> None:
        if not event.member_id:
            return
        self._last_joined[event.member_id] = when(event)
        if event.fields.get("rejoined"):
            self.members.pop(text_field(event, "old_member_id") or "", None)
            self.members[event.member_id] = event.client_id
            return
        if event.member_id in self.members:
            self._again = [Change(Cause.MEMBER_JOIN, "joined", event)]
            return
        self._change(Cause.MEMBER_JOIN, "joined", event)
        self.members[event.member_id] = event.client_id

    def _left(self, event: Event) -> None:
        if event.fields.get("temporarily"):
            return  # a static member that means to come back: its slot stays (KIP-848, epoch -2)
        self._gone(Change(Cause.MEMBER_LEAVE, "left", event))

    def _fenced(self, event: Event) -> None:
        why = text_field(event, "why") or ""
        cause = next((cause for part, cause in _WHY_FENCED if part in why), Cause.UNKNOWN)
        self._gone(Change(cause, why or "fenced", event))

    def _gone(self, change: Change) -> None:
        event = change.event
        last = self.drafts[-1] if self.drafts else None
        if last is not None and last.outcome == "empty" and any(each.event.member_id == event.member_id for each in last.changes):
            self._take_back(last)
        self._change(change.cause, change.reason, event)
        self.members.pop(event.member_id or "", None)
        if not self.members and self._members_known:
            self._empty(event)

    def _take_back(self, draft: EpochDraft) -> None:
        """The last epoch was not written: the group is where it was before (CoordinatorRuntime.java, failCurrentBatch)."""
        self.drafts.pop()
        self.epoch = draft.epoch_before
        for change in draft.changes:
            member_id = change.event.member_id or ""
            if change.cause is Cause.MEMBER_JOIN:
                self.members.pop(member_id, None)
            elif change.cause in _GONE:
                self.members[member_id] = change.event.client_id
        self._count_before = len(self.members)

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
        self.epoch = None  # epochs go on from generations and generations from epochs; groups that are empty begin anew
        if text_field(event, "to_type") != "classic":
            self._change(Cause.PROTOCOL_MIGRATION, "converted", event)

    # -- epochs --------------------------------------------------------------------------------------------

    def _open(self, event: Event, epoch: int | None) -> EpochDraft:
        fresh = self._fresh(event)
        acting = [change for change in fresh if change.cause is not Cause.METADATA_CHANGE] or fresh
        first = acting[0].event if acting else event
        self._members_known = self._members_known or epoch == 1 or not self._count_before
        draft = EpochDraft(epoch, self.epoch if self.epoch is not None else (epoch - 1 if epoch else None), first, acting)
        draft.was_empty = not self._count_before and (epoch == 1 or self._members_known)
        draft.members_before = self._count_before if self._members_known else None
        draft.members_after = len(self.members) if self._members_known else None
        draft.events = [change.event for change in fresh] + [event]
        draft.members = frozenset(self.members)
        draft.protocol = self.protocol
        if self.drafts and self.drafts[-1].outcome == "open" and self.drafts[-1].targeted is None:
            self.drafts[-1].outcome = "superseded"
        self.drafts.append(draft)
        self._pending = []
        self._count_before = len(self.members)
        return draft

    def _fresh(self, event: Event) -> list[Change]:
        """Changes that stand with this line: those of the last request before it, if that was not long ago."""
        now = when(event)
        times = [(change, when(change.event)) for change in self._pending]
        latest = max((at for _, at in times), default=now)
        since = max(now - SAME_CHANGE_US, latest - SAME_REQUEST_US)
        return [change for change, at in times if at >= since]

    def _bumped(self, event: Event) -> None:
        if event.generation is None or (self.epoch is not None and event.generation < self.epoch):
            return
        last = self.drafts[-1] if self.drafts else None
        if event.generation == self.epoch and last is not None and last.epoch == event.generation:
            if last.bumped is None:
                last.bumped = event
                return
            self._pending = self._again_or_pending(last)
            self._take_back(last)
            self._apply()
        self._open(event, event.generation).bumped = event
        self.epoch = event.generation

    def _again_or_pending(self, last: EpochDraft) -> list[Change]:
        """What raises the same epoch once more: what has just been done, or what a member does again that it came from."""
        members = {change.event.member_id for change in last.changes}
        return self._pending or [change for change in self._again if change.event.member_id in members]

    def _apply(self) -> None:
        """Let pending changes count for who is a member."""
        for change in self._pending:
            member_id = change.event.member_id or ""
            if change.cause is Cause.MEMBER_JOIN:
                self.members[member_id] = change.event.client_id
            elif change.cause in _GONE:
                self.members.pop(member_id, None)

    def _targeted(self, event: Event) -> None:
        if event.generation is not None and (self.epoch is None or event.generation > self.epoch):
            self._open(event, event.generation)
            self.epoch = event.generation
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
        kinds = _ACTS_OF.get(cause, frozenset()) | {cause}
        acting = [change for change in draft.changes if change.cause in kinds and (change.event.member_id or change.event.client_id)]
        return [
            self.roster.person(change.event.member_id, change.event.client_id, change.event.instance_id, change.reason, first=index == 0)
            for index, change in enumerate(acting)
        ]


_WHY_FENCED: tuple[tuple[str, Cause], ...] = (
    ("session", Cause.SESSION_TIMEOUT),
    ("to transition", Cause.REBALANCE_TIMEOUT),
    ("to join", Cause.REBALANCE_TIMEOUT),
    ("to sync", Cause.SYNC_TIMEOUT),
)
"""What is said of a member whose time is over; the last two are of classic members in consumer groups."""

_GONE = frozenset({Cause.MEMBER_LEAVE, Cause.SESSION_TIMEOUT, Cause.REBALANCE_TIMEOUT, Cause.SYNC_TIMEOUT, Cause.UNKNOWN})
"""Causes by which members go."""

_ACTS_OF: dict[Cause, frozenset[Cause]] = {
    Cause.NEW_GROUP: frozenset({Cause.MEMBER_JOIN}),
    Cause.POLL_TIMEOUT: frozenset({Cause.MEMBER_LEAVE}),
    Cause.PROTOCOL_MIGRATION: frozenset({Cause.MEMBER_JOIN, Cause.MEMBER_LEAVE}),
}
"""Acts whose members are the offenders of a cause, beside acts of its own name."""

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


SUBSCRIBED_BEFORE_US = 2_000_000
"""A new subscription is sent with the next heartbeat, which does not wait for its time."""


def _subscribed_before(modern: ModernReplay, began: int) -> list[Event]:
    """Who subscribed just before an epoch that the coordinator gives no reason for (it logs them at DEBUG since 4.0)."""
    return [event for event in modern.subscriptions if -CLOCK_TOLERANCE_US <= began - when(event) <= SUBSCRIBED_BEFORE_US]


CLOSING_US = 5_000_000
"""Members of a group that is closed leave this close together."""


def _mark_closing(drafts: list[EpochDraft]) -> None:
    """Find the leaves, one right after the other, by which several members left nobody behind."""
    run: list[EpochDraft] = []
    for draft in drafts:
        before = when(run[-1].started) if run else 0
        if not draft.changes or draft.changes[0].cause is not Cause.MEMBER_LEAVE or when(draft.started) - before > CLOSING_US:
            run = []
        if draft.changes and draft.changes[0].cause is Cause.MEMBER_LEAVE:
            run.append(draft)
        if draft.outcome == "empty" and len(run) > 1:
            for each in run:
                each.closes = True


def settle_epochs(modern: ModernReplay) -> None:
    """Say of each epoch when its members had arrived and who kept the others waiting, where the members' own logs tell it."""
    _mark_closing(modern.drafts)
    for draft, following in zip_longest(modern.drafts, modern.drafts[1:]):
        began = when(draft.started)
        if draft.outcome == "empty":
            continue
        if not draft.changes:
            draft.changes += [Change(Cause.SUBSCRIPTION_CHANGE, "subscribed", event) for event in _subscribed_before(modern, began)]
        spans = modern.reconciliations.within(began, when(following.started) if following else None)
        draft.blockers = slow_members(spans, modern.roster)
        draft.reached_at = reached_at(spans, draft.members, modern.reconciliations.witnessed)
        if draft.reached_at is not None:
            draft.outcome = "stable"
        elif following is not None and any(span.ended is None for span in spans):
            draft.outcome = "superseded"

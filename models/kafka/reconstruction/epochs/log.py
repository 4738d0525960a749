"""Groups of the newer protocols (KIP-848 consumer, KIP-932 share, KIP-1071 streams), replayed.

There is no join phase: each change raises the group epoch, a target assignment follows, and each member moves on its own. One row each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

from models.causes import Cause
from models.events import Event, Witness, text_field
from models.kafka.observations.roster import RosterMember
from models.kafka.reconstruction.epochs.lines import INTO_TARGET, LEFT_TARGET, cause_of_fence, members_with_target
from models.kafka.reconstruction.epochs.member_signs import EPOCH_READY
from models.kafka.reconstruction.epochs.progress import SAME_CHANGE_US, SAME_REQUEST_US, EpochProgress
from models.kafka.reconstruction.epochs.unlogged_epochs import SHOWN_BY
from models.kafka.reconstruction.epochs.windows import (
    DEPARTURE_CAUSES,
    EpochChange,
    EpochWindow,
    leaving_together,
)

PENDING_MAX = 20_000
"""Changes of one group that wait for the epoch that they raise."""


@dataclass(slots=True)
class ModernReplay:
    """Replays one group of the newer protocols; feed events in order."""

    progress: EpochProgress
    members: dict[str, str | None] = field(default_factory=dict)  # member id -> client id
    epoch: int | None = None
    protocol: str = "consumer"
    asking: dict[str | None, Event] = field(default_factory=dict)
    """Joins of streams members that their group may still refuse."""
    topology_state: str | None = None
    """What the last check of a streams group's topics found."""
    _last_joined: dict[str, int] = field(default_factory=dict)  # member id -> when it joined last
    _pending: list[EpochChange] = field(default_factory=list)
    _again: list[EpochChange] = field(default_factory=list)  # what members do once more that the last epoch came from
    _members_known: bool = False
    _count_before: int = 0
    _last_members: frozenset[str] = frozenset()
    """Members as the last window has them."""
    _listed: frozenset[str] = frozenset()
    """Members of the last target that lists them (3.7 to 3.9)."""

    def feed(self, event: Event) -> bool:
        """Take one event; True where it is a line of these coordinators."""
        self.progress.feed(event)
        handler = _HANDLERS.get(event.name)
        if handler is None:
            return False
        self.progress.last_at = max(self.progress.last_at, event.time_us)
        self.protocol = text_field(event, "group_type") or self.protocol
        if event.member_id in self.asking and event.name in {"GroupEpochBumped", "ModernMemberMoved"}:
            self._admit(self.asking.pop(event.member_id))
        handler(self, event)
        return True

    def converted_from(self, members: Mapping[str, str | None]) -> None:
        """Convert a classic group, keeping its members (id -> client id)."""
        self.members = dict(members)
        self._members_known = bool(members)
        self._count_before = len(self.members)

    def ended(self) -> None:
        """End the group's epochs: it is deleted, or classic from now on."""
        self.epoch = None
        self.members.clear()
        self._members_known = False
        self._count_before = 0
        self._pending, self._again = [], []

    # -- changes -------------------------------------------------------------------------------------------

    def _change(self, cause: Cause, reason: str, event: Event) -> None:
        if not self._pending:
            self._count_before = len(self.members)
        self._pending.append(EpochChange(cause, reason, event))
        del self._pending[:-PENDING_MAX]

    def joined_after(self, member_id: str | None, at: int) -> bool:
        """Whether a departed member came back under the same id."""
        return self._last_joined.get(member_id or "", at) > at

    def _joined(self, event: Event) -> None:
        if not event.member_id:
            return
        self._last_joined[event.member_id] = event.time_us
        if event.fields.get("rejoined"):
            self.members.pop(text_field(event, "old_member_id") or "", None)
            self.members[event.member_id] = event.client_id
            return
        if event.member_id in self.members:
            self._again = [EpochChange(Cause.MEMBER_JOIN, "joined", event)]
        elif self.protocol != "streams":
            self._admit(event)
        else:
            self.asking[event.member_id] = event
            if len(self.asking) > PENDING_MAX:
                del self.asking[next(iter(self.asking))]

    def _admit(self, event: Event) -> None:
        """Take a member in; for streams once its topics were checked."""
        self._change(Cause.MEMBER_JOIN, "joined", event)
        if self.protocol == "streams":
            self._pending.insert(0, self._pending.pop())
        self.members[event.member_id or ""] = event.client_id

    def _left(self, event: Event) -> None:
        if event.fields.get("temporarily"):
            return  # a static member that means to come back: its slot stays (KIP-848, epoch -2)
        self._gone(EpochChange(Cause.MEMBER_LEAVE, "left", event))

    def _fenced(self, event: Event) -> None:
        why = text_field(event, "why") or ""
        self._gone(EpochChange(cause_of_fence(why), why or "fenced", event))

    def _gone(self, change: EpochChange) -> None:
        event = change.event
        last = self.progress.windows[-1] if self.progress.windows else None
        if last is not None and last.outcome == "empty" and any(change.event.member_id == event.member_id for change in last.changes):
            self._take_back(last)
        self._change(change.cause, change.reason, event)
        self.members.pop(event.member_id or "", None)
        if not self.members and self._members_known:
            self._empty(event)

    def _take_back(self, window: EpochWindow) -> None:
        """Take back the last epoch, which was not written.

        The group is where it was before (CoordinatorRuntime.java, failCurrentBatch).
        """
        if self.progress.waiting is None:
            self._begin_anew(window)
            return
        if window.outcome == "empty":
            for leave in leaving_together(self.progress.windows):
                leave.closes = False
        self.progress.windows.pop()
        self._last_members = (self._last_members - window.came) | window.went
        self.epoch = window.epoch_before
        for change in window.changes:
            member_id = change.event.member_id or ""
            if change.cause is Cause.MEMBER_JOIN:
                self.members.pop(member_id, None)
            elif change.cause in DEPARTURE_CAUSES:
                self.members[member_id] = change.event.client_id
        self._count_before = len(self.members)

    def _begin_anew(self, window: EpochWindow) -> None:
        """Begin another group's epochs: the reported one was written long ago."""
        self.epoch = window.epoch_before
        if window.epoch == 1:
            self.members.clear()
            self._count_before = 0

    def _empty(self, event: Event) -> None:
        """Empty the group: the epoch rises once more, without a target."""
        epoch = self.epoch + 1 if self.epoch is not None else None
        window = self._open(event, epoch)
        window.outcome = "empty"
        leaving = leaving_together(self.progress.windows)
        for change in leaving:
            change.closes = len(leaving) > 1
        window.reached_at = event.time_us
        window.members_after = 0
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
            return
        self.ended()

    # -- epochs --------------------------------------------------------------------------------------------

    def _open(self, event: Event, epoch: int | None) -> EpochWindow:
        fresh = self._fresh(event)
        acting = [change for change in fresh if change.cause is not Cause.METADATA_CHANGE] or fresh
        first = acting[0].event if acting else event
        self._members_known = self._members_known or epoch == 1
        window = EpochWindow(epoch, self.epoch if self.epoch is not None else (epoch - 1 if epoch else None), first, acting)
        window.was_empty = self._members_known and not self._count_before
        window.members_before = self._count_before if self._members_known else None
        window.members_after = len(self.members) if self._members_known else None
        window.events = [change.event for change in fresh] + [event]
        before, self._last_members = self._last_members, frozenset(self.members)
        window.came, window.went = self._last_members - before, before - self._last_members
        window.protocol = self.protocol
        if self.progress.windows and self.progress.windows[-1].outcome == "open" and self.progress.windows[-1].targeted is None:
            self.progress.windows[-1].outcome = "superseded"
        self.progress.windows.append(window)
        self._pending = []
        self._count_before = len(self.members)
        return window

    def _fresh(self, event: Event) -> list[EpochChange]:
        """Changes of this line's request: the last ones, if recent."""
        now = event.time_us
        times = [(change, change.event.time_us) for change in self._pending]
        latest = max((at for _, at in times), default=now)
        since = max(now - SAME_CHANGE_US, latest - SAME_REQUEST_US)
        sender = event.member_id if self.protocol == "streams" else None  # the lines of one request name the member
        return [
            change
            for change, at in times
            if at >= since or (sender is not None and change.event.member_id == sender and at >= now - SAME_CHANGE_US)
        ]

    def _bumped(self, event: Event) -> None:
        if event.generation is None:
            return
        if self.epoch is not None and event.generation < self.epoch:
            if event.witness is Witness.COORDINATOR:
                return
            self.ended()
        last = self.progress.windows[-1] if self.progress.windows else None
        if event.generation == self.epoch and last is not None and last.epoch == event.generation:
            if last.bumped is None:
                last.bumped = event
                return
            self._pending = self._again_or_pending(last)
            self._take_back(last)
            self._apply()
        self._members_known = self._members_known and SHOWN_BY not in event.fields  # nobody knows who came or went
        self._open(event, event.generation).bumped = event
        self.epoch = event.generation

    def _again_or_pending(self, last: EpochWindow) -> list[EpochChange]:
        """The change that raises the same epoch once more.

        What has just been done, or what a member does again that it came from.
        """
        members = {change.event.member_id for change in last.changes}
        return self._pending or [change for change in self._again if change.event.member_id in members]

    def _apply(self) -> None:
        """Let pending changes count for who is a member."""
        for change in self._pending:
            member_id = change.event.member_id or ""
            if change.cause is Cause.MEMBER_JOIN:
                self.members[member_id] = change.event.client_id
            elif change.cause in DEPARTURE_CAUSES:
                self.members.pop(member_id, None)

    def _targeted(self, event: Event) -> None:
        if event.generation is not None and (self.epoch is None or event.generation > self.epoch):
            self._open_leaves(event.generation)
            self._open(event, event.generation)
            self.epoch = event.generation
        if self.progress.windows and self.progress.windows[-1].epoch == event.generation:
            window = self.progress.windows[-1]
            if window.outcome == "empty":
                self._take_for_unknown(window)
            window.targeted = event
            window.assignor = text_field(event, "assignor") or window.assignor
            window.events.append(event)
            self._compare_targets(window, event)

    def _open_leaves(self, epoch: int) -> None:
        """Open an epoch for each of several leaves before one target (assignment.interval.ms)."""
        leaves, members = self._pending, self.members
        if self.epoch is None or len(leaves) != epoch - self.epoch or not all(leave.cause in DEPARTURE_CAUSES for leave in leaves):
            return
        for index, change in enumerate(leaves[:-1], 1):
            self._pending = [change]
            self.members = members | {leave.event.member_id or "": leave.event.client_id for leave in leaves[index:]}
            self._open(change.event, self.epoch + 1)
            self.epoch += 1
        self._pending, self.members, self._count_before = leaves[-1:], members, len(members) + 1

    def _compare_targets(self, window: EpochWindow, event: Event) -> None:
        """Tell from the members of two targets who came and went.

        Only where no line of theirs does.
        """
        listed = members_with_target(event)
        if not listed:
            return
        before, self._listed = self._listed, listed
        if before and not window.changes:
            window.came, window.went = listed - before, before - listed
            window.changes += [EpochChange(Cause.MEMBER_JOIN, INTO_TARGET, replace(event, member_id=name)) for name in sorted(window.came)]
            window.changes += [EpochChange(Cause.MEMBER_LEAVE, LEFT_TARGET, replace(event, member_id=name)) for name in sorted(window.went)]
            window.members_before = len(before)
        window.members_after = len(listed)
        self.members = {member: self.members.get(member) for member in sorted(listed)}
        self._members_known, self._count_before, self._last_members = True, len(listed), listed

    def _take_for_unknown(self, window: EpochWindow) -> None:
        """Take members for unknown: only a group with members gets targets.

        There are some that the logs didn't show.
        """
        window.outcome, window.reached_at = "open", None
        window.members_before = window.members_after = None
        for change in leaving_together(self.progress.windows):
            change.closes = False
        self._members_known = False

    def _moved(self, event: Event) -> None:
        """A member reached an epoch; when all have, the epoch is complete."""
        if event.member_id:
            self.members.setdefault(event.member_id, event.client_id)
            self.progress.moves.feed(event)

    def _described(self, event: Event) -> None:
        """Note a streams member's description; a second one is a change."""
        if event.member_id not in self.asking:
            self._change(Cause.TOPOLOGY_CHANGE, "described itself anew", event)
        if event.member_id in self.members and event.client_id:
            self.members[event.member_id] = event.client_id

    def _topology(self, event: Event) -> None:
        """Note a check of a topology's topics; their first completeness is a change."""
        state = text_field(event, "topology_state")
        if state == EPOCH_READY and self.topology_state not in (None, EPOCH_READY):
            self._change(Cause.TOPOLOGY_CHANGE, "all topics of the topology exist", replace(event, member_id=None))
        self.topology_state = state

    def named(self) -> set[str]:
        """Ids of members of the group, or of waiting epochs."""
        acting = {change.event.member_id for change in (*self._pending, *self._again) if change.event.member_id}
        return acting.union(self.members, self.progress.named())

    def forget(self, members: Iterable[RosterMember]) -> None:
        """Drop members that no later row names."""
        for member in members:
            self._last_joined.pop(member.member_id, None)
        self.progress.forget(members)


_HANDLERS: dict[str, Callable[[ModernReplay, Event], None]] = {
    "ModernMemberJoined": ModernReplay._joined,
    "ModernMemberLeft": ModernReplay._left,
    "ModernMemberFenced": ModernReplay._fenced,
    "ModernSubscriptionChanged": ModernReplay._subscription,
    "SubscriptionMetadataChanged": ModernReplay._metadata,
    "GroupEpochBumped": ModernReplay._bumped,
    "TargetComputed": ModernReplay._targeted,
    "ModernMemberMoved": ModernReplay._moved,
    "StreamsMemberDescribed": ModernReplay._described,
    "StreamsTopologyChecked": ModernReplay._topology,
    "GroupConverted": ModernReplay._converted,
}

"""Progress of members towards epochs, which are reported one after the other."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from models.causes import Cause
from models.events import Event
from models.kafka.observations.reconciliation import CLASSIC_MEMBER_REJOINED, Reconciliations, reached_at, slow_members
from models.kafka.observations.roster import Roster, RosterMember
from models.kafka.reconstruction.epochs.member_steps import MemberSteps
from models.kafka.reconstruction.epochs.unlogged_epochs import WAIT_US
from models.kafka.reconstruction.epochs.windows import SUBSCRIBED_BEFORE_US, EpochChange, EpochWindow, held_by, subscribed_before
from models.tolerances import int_tolerance

SAME_CHANGE_US = int_tolerance("kafka.epoch_log.same_change_us")
"""Longest time from a change to the epoch that it raises."""

SAME_REQUEST_US = int_tolerance("kafka.epoch_log.same_request_us")
"""Longest time between lines of one request."""

REACHES_US = int_tolerance("kafka.epoch_log.reaches_us")
"""Longest time after which a member still moves for an epoch."""


@dataclass(slots=True)
class EpochProgress:
    """Epochs of one group in order, and who reached them when.

    Call `complete` for the epoch that is `waiting` before its row is written, and `note_reported` after.
    """

    roster: Roster
    windows: list[EpochWindow] = field(default_factory=list)
    """Epochs that are not reported yet, behind the last reported one."""
    reported: int = 0
    """Windows at the head of `windows` that were reported."""
    dropped: int = 0
    """Windows reported and dropped; ordinals of epochs go on from them."""
    last_at: int = 0
    """When anything happened last in one of these protocols; microseconds."""
    reconciliations: Reconciliations = field(default_factory=Reconciliations)
    moves: MemberSteps = field(default_factory=MemberSteps)
    subscriptions: list[Event] = field(default_factory=list)  # the clients' own lines

    def feed(self, event: Event) -> None:
        """Take what a member's own line shows."""
        if event.name in {"ClientMemberState", CLASSIC_MEMBER_REJOINED}:
            if self.waiting is None:
                self.reconciliations.forget(event.time_us - WAIT_US - SAME_CHANGE_US - SAME_REQUEST_US)
            self.reconciliations.feed(event)
            self.last_at = max(self.last_at, event.time_us)
        elif event.name == "ClientSubscribed":
            self._subscribed(event)

    @property
    def waiting(self) -> EpochWindow | None:
        """The first epoch that was not reported yet."""
        return self.windows[self.reported] if self.reported < len(self.windows) else None

    @property
    def following(self) -> EpochWindow | None:
        """The epoch after the one that is waiting."""
        return self.windows[self.reported + 1] if self.reported + 1 < len(self.windows) else None

    @property
    def ordinal(self) -> int:
        """Number of the epoch that is waiting, from 0."""
        return self.dropped + self.reported

    @property
    def until(self) -> int:
        """Last time at which members' actions belong to the waiting epoch."""
        window, following = self.windows[self.reported], self.following
        return min(window.began + REACHES_US, following.began if following else window.began + REACHES_US)

    def over_at(self) -> int | None:
        """End of the waiting epoch in microseconds, None without one.

        The next one began, or its members have arrived. While some are still on their way, the latest time by which they can.
        """
        if self.waiting is None or self.following is not None:
            return self.following.began if self.following else None
        under_way = self.reconciliations.is_under_way(self.waiting.began, self.until) or self._awaits_moves() or self._awaits_fence()
        return self.until if under_way else min(self.last_at, self.until)

    def complete(self) -> None:
        """Note when members of the waiting epoch arrived, and its blockers."""
        window, following = self.windows[self.reported], self.following
        window.members = self._members_of_waiting()
        if window.outcome == "empty":
            return
        if not window.changes:
            window.changes += [
                EpochChange(Cause.SUBSCRIPTION_CHANGE, "subscribed", event) for event in subscribed_before(self.subscriptions, window.began)
            ]
        spans = self.reconciliations.within(window.began, self.until)
        window.blockers = slow_members(spans, self.roster)
        window.reached_at = reached_at(spans, window.members, self.reconciliations.witnessed)
        is_unfinished = any(span.ended is None for span in spans)
        if self.moves.shows(window.began, self.until):
            window.reached_at = self.moves.reached_at(window.epoch, window.began, self.until, window.members)
            window.blockers = self.moves.blockers(window.began, self.until, self.roster) or window.blockers
            is_unfinished = window.reached_at is None
        if window.reached_at is not None:
            window.outcome = "stable"
        elif following is not None and is_unfinished:
            window.outcome = "superseded"
        owners = held_by(window, self.windows[self.reported + 1 :])
        if owners:
            window.outcome, window.reached_at = "superseded", owners[-1].event.time_us  # the wait ends as the last one of them is fenced
            window.blockers = [
                self.roster.person(owner.event.member_id, owner.event.client_id, owner.event.instance_id, "evicted", is_first=index == 0)
                for index, owner in enumerate(owners)
            ]

    def note_reported(self) -> None:
        """Mark the waiting epoch as reported, and drop those before it."""
        self.reconciliations.forget(self.windows[self.reported].began)
        self.moves.forget(self.windows[self.reported].began)
        del self.windows[: self.reported]
        self.dropped += self.reported
        self.reported = 1

    def named(self) -> set[str]:
        """Ids of members that waiting epochs are about."""
        windows = self.windows[self.reported :]
        acting = {change.event.member_id for window in windows for change in window.changes if change.event.member_id}
        return acting.union(self._members_of_waiting() if windows else (), *(window.came for window in windows))

    def forget(self, members: Iterable[RosterMember]) -> None:
        """Drop members that no later row names."""
        for member in members:
            self.reconciliations.forget_member(member.member_id)

    def _awaits_moves(self) -> bool:
        """Whether some, but not all members have reached the waiting epoch."""
        window, members = self.windows[self.reported], self._members_of_waiting()
        if window.outcome == "empty" or not members or not self.moves.shows(window.began, self.until):
            return False
        return bool(self.moves.missing(window.epoch, window.began, self.until, members))

    def _awaits_fence(self) -> bool:
        """Whether no line tells if members have reached the waiting epoch.

        One that does not in time is fenced, and named then.
        """
        window = self.windows[self.reported]
        is_told = self.moves.shows(window.began, self.until) or bool(self.reconciliations.within(window.began, self.until))
        return window.outcome == "open" and window.protocol == "consumer" and not window.is_inferred and not is_told

    def _members_of_waiting(self) -> frozenset[str]:
        """Members of the waiting epoch, from the reported one's and changes."""
        before, window = self.windows[self.reported - 1].members if self.reported else frozenset[str](), self.windows[self.reported]
        return (before - window.went) | window.came

    def _subscribed(self, event: Event) -> None:
        """Keep a client's own line, and earlier ones still needed."""
        began = min(self.waiting.began if self.waiting else event.time_us, event.time_us) - WAIT_US - SUBSCRIBED_BEFORE_US - SAME_CHANGE_US
        while self.subscriptions and self.subscriptions[0].time_us < began:
            del self.subscriptions[0]
        self.subscriptions.append(event)

"""The join phase of one rebalance: its time, and its actions."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from models.events import BEFORE_ANY_TIME_US
from models.kafka.coordinator.protocol.group_states import State
from models.kafka.observations.actions import ActionKind, MemberAction
from models.kafka.observations.line_delays import CLOCK_TOLERANCE_US, EFFECT_US, LATE_LOGGING_US, STRAGGLER_US
from models.kafka.observations.roster import Roster
from models.kafka.reconstruction.classic_states import RebalanceWindow
from models.units import FOREVER


@dataclass
class LoggedJoinPhase:
    """The join phase of a window, with the actions in and around it.

    `actions` are ordered by time and reach beyond the window's end.

    What several rules ask for is worked out once: a group of thousands has as many actions in one rebalance.
    """

    window: RebalanceWindow
    previous: RebalanceWindow | None
    following: RebalanceWindow | None
    actions: Sequence[MemberAction]
    roster: Roster

    @cached_property
    def start(self) -> int:
        """Start of the rebalance, or the first line that shows it."""
        at = self.window.started_at
        if at is None:
            at = self.window.open_until
        return at if at is not None else 0

    @cached_property
    def previous_end(self) -> int:
        """End of the previous join phase: later actions belong to this rebalance.

        A phase that its coordinator gave up has ended, too: the next one does not know who came or went then.
        """
        before, given_up = self.window.previous_joined_at, self._given_up_before
        return max((at for at in (before, given_up) if at is not None), default=-FOREVER)

    @property
    def _given_up_before(self) -> int | None:
        previous = self.previous
        return previous.ended_at if previous is not None and previous.outcome == "coordinator_lost" else None

    @cached_property
    def end(self) -> int:
        """End of this join phase.

        Of the rebalance, if it never got so far; far away while it is open.
        """
        until, following = self.window.open_until, self.following
        if until is None:
            return following.began if self.window.outcome in {"empty", "coordinator_lost"} and following is not None else FOREVER
        return until + STRAGGLER_US if self.window.outcome == "empty" else until

    @cached_property
    def was_empty(self) -> bool:
        """Whether the group had no members when the rebalance began."""
        return self.window.state_before is State.EMPTY

    def actor(self, action: MemberAction) -> str | None:
        """Name of the actor, the same for all member ids of a client."""
        ids = action.member_id, action.client_id, action.instance_id
        try:
            return self._actors[ids]
        except KeyError:
            return self._actors.setdefault(ids, self.roster.actor(*ids))

    @cached_property
    def _actors(self) -> dict[tuple[str | None, str | None, str | None], str | None]:
        """Members asked for before.

        The roster stays as it is while a rebalance is judged.
        """
        return {}

    @cached_property
    def _times(self) -> list[int]:
        return [action.at for action in self.actions]

    def all_of(self, kind: ActionKind) -> Sequence[MemberAction]:
        """All actions of a kind, whatever rebalance they belong to."""
        return self._by_kind.get(kind, ())

    @cached_property
    def _by_kind(self) -> dict[ActionKind, list[MemberAction]]:
        by_kind: dict[ActionKind, list[MemberAction]] = {}
        for action in self.actions:
            by_kind.setdefault(action.kind, []).append(action)
        return by_kind

    def since(self, at: int) -> Sequence[MemberAction]:
        """Actions later than a time, whatever rebalance they belong to."""
        return self.actions[bisect_right(self._times, at) :]

    def actions_of(self, *kinds: ActionKind, start: int | None = None, end: int | None = None) -> Iterator[MemberAction]:
        """Actions of these kinds since the last join phase.

        After its end (or `start`) and up to the end of this one (or `end`).
        """
        if self._by_kind.keys().isdisjoint(kinds):
            return
        low = self.previous_end if start is None else start
        high = self.end if end is None else end
        has_time = self._has_time
        if not has_time:
            high = min(high, self.end)
        late = high + (LATE_LOGGING_US if has_time else 0)
        for action in self.actions[bisect_right(self._times, low) : bisect_right(self._times, late)]:
            if action.kind not in kinds:
                continue
            if is_logged_after_effect(action):
                if max(low, self.start - CLOCK_TOLERANCE_US) < action.at <= late and not self._has_next_begun_before(action):
                    yield action
            elif low < action.at <= high:
                yield action

    @cached_property
    def _has_time(self) -> bool:
        """Whether its lines have times, and not only an order."""
        return self.start >= BEFORE_ANY_TIME_US

    def _has_next_begun_before(self, action: MemberAction) -> bool:
        began = self.following.started_at if self.following else None
        return began is not None and began <= action.at

    def first_by_actor(self, *kinds: ActionKind) -> dict[str, MemberAction]:
        """First action of these kinds of each actor; a coordinator's line is preferred."""
        known = self._firsts.get(kinds)
        if known is not None:
            return known
        return self._firsts.setdefault(kinds, self.firsts_among(self.actions_of(*kinds)))

    @cached_property
    def _firsts(self) -> dict[tuple[ActionKind, ...], dict[str, MemberAction]]:
        """Cache of `first_by_actor`."""
        return {}

    def firsts_among(self, actions: Iterator[MemberAction]) -> dict[str, MemberAction]:
        """The first of these actions of each actor; a coordinator's line is preferred.

        Without leaves that the coordinator dates later than others announced them.
        """
        first_actions: dict[str, MemberAction] = {}
        for action in actions:
            actor = self.actor(action)
            if actor is None or self._is_superseded_by_coordinator(action, actor):
                continue
            if actor not in first_actions or (action.is_certain and not first_actions[actor].is_certain):
                first_actions[actor] = action
        return first_actions

    def _is_superseded_by_coordinator(self, action: MemberAction, actor: str) -> bool:
        """Whether the coordinator dates a leave later than others announced it."""
        if action.kind is not ActionKind.LEAVE or action.is_certain:
            return False
        leave_at = self._leaves_afterwards.get(actor)
        return leave_at is not None and leave_at <= action.at + EFFECT_US

    @cached_property
    def _leaves_afterwards(self) -> dict[str, int]:
        """Times of leaves logged soon after this phase, by actor."""
        over = self.end
        leaves: dict[str, int] = {}
        for action in self.since(over):
            if action.at > over + EFFECT_US:
                break
            actor = self.actor(action)
            if action.kind is ActionKind.LEAVE and action.is_certain and actor is not None and not is_logged_after_effect(action):
                leaves.setdefault(actor, action.at)
        return leaves


def is_logged_after_effect(action: MemberAction) -> bool:
    """Whether a leave is logged after "Preparing" or "Stabilized".

    GroupCoordinator.scala, 3.0 to 3.9.

    It is the wording that prints the whole member.
    """
    return action.event.name == "MemberLeft" and "session_timeout_ms" in action.event.fields

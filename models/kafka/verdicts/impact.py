"""Cost of a rebalance: partitions that nobody consumed, and repeated work.

Clients log when they give up and take over partitions (ConsumerCoordinator.onJoinPrepare and onJoinComplete;
MembershipManagerImpl for KIP-848); in between a partition is stopped. Under an eager assignor this affects every
partition, under a cooperative one and with KIP-848 only those that move. A thread of Streams works while it is RUNNING,
so its stop includes the restoration of state (StreamThread.setState).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field, replace

from models.downtime import is_cooperative
from models.events import Event, int_field, names_field, text_field
from models.units import FOREVER, US_PER_SECOND

STOPS_HELD_MAX = 20_000
"""Maximum number of stretches in memory; older ones are discarded."""

REFUSED_HELD_MAX = 2_000

_WORKS = "RUNNING"
_REBALANCES = frozenset({"PARTITIONS_REVOKED", "PARTITIONS_ASSIGNED"})
"""States of a thread in which it waits for its tasks, or restores them."""

_OLD_GENERATION_CODES = frozenset({22, 25, 82})
"""Errors for a member that the group has continued without (protocol/Errors.java).

ILLEGAL_GENERATION, UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID.
"""

_OLD_GENERATION_WORDS = (
    "ILLEGAL_GENERATION",
    "UNKNOWN_MEMBER_ID",
    "FENCED_INSTANCE_ID",
    "generation id is not valid",
    "not aware of this member",
    "has already rebalanced",
    "not part of an active group",
    "fenced",
    # Wordings of librdkafka and kafka-python.
    "Broker: Unknown member",
    "UnknownMemberIdError",
    "IllegalGenerationError",
)


@dataclass(frozen=True, slots=True)
class PartitionPause:
    """Stop of `count` partitions until `until`.

    `since` is None if their last owner did not log giving them up.
    """

    since: int | None
    until: int
    count: int
    giver: str | None


@dataclass(frozen=True, slots=True)
class ThreadPause:
    """A stretch in which a thread of Streams was not RUNNING, now over."""

    actor: str
    since: int
    until: int


@dataclass(frozen=True, slots=True)
class RejectedCommit:
    """A commit rejected, or partitions lost, because the group had continued.

    Work since `since`, the last accepted commit or the time at which another member had them, is repeated.
    """

    at: int
    since: int | None


@dataclass(frozen=True, slots=True)
class RebalanceCost:
    """Cost of a rebalance in seconds, None without a witness."""

    member_seconds: float | None
    partition_seconds: float | None
    duplicate_window: float | None


@dataclass(slots=True)
class Impact:
    """Tracks partitions and commits of one group.

    Times are microseconds on the coordinator's clock.
    """

    stops: list[PartitionPause] = field(default_factory=list)
    refused: list[RejectedCommit] = field(default_factory=list)
    _given: dict[str, tuple[int, str]] = field(default_factory=dict)  # partition -> when its owner gave it up, and the owner
    _owner: dict[str, str] = field(default_factory=dict)
    _taken_at: dict[str, int] = field(default_factory=dict)
    """Times at which owners took their partitions."""
    _committed: dict[str, int] = field(default_factory=dict)  # actor -> time of its last accepted commit
    _dropped_until: int | None = None
    _tell_partitions: set[str] = field(default_factory=set)
    """Actors whose log says which partitions they get.

    Some libraries only write that they got some.
    """

    pauses: list[ThreadPause] = field(default_factory=list)
    _tell_states: set[str] = field(default_factory=set)
    """Threads of Streams whose log shows their states."""
    _paused_since: dict[str, int] = field(default_factory=dict)
    """Threads that are not RUNNING yet."""

    def feed(self, event: Event, actor: str | None, skew: int) -> None:
        """Process the next event of the group.

        `skew` is the lead of the witness's clock.
        """
        at = event.time_us
        if actor is None:
            return
        if event.name in {"ClientRevoked", "ClientLost"}:
            self._give(names_field(event, "partitions"), actor, at - skew)
        elif event.name == "ClientAssigned":
            if "partitions" in event.fields:
                self._tell_partitions.add(actor)
            self._take(names_field(event, "partitions"), actor, at - skew)
        elif event.name == "ClientThreadState":
            self._change_state(text_field(event, "from_state"), text_field(event, "to_state"), actor, at - skew)
        elif event.name == "OffsetCommitCompleted":
            self._commit(event, actor, at)
        elif event.name == "ClientCommitFailed" and _says_old_generation(text_field(event, "error") or event.text):
            self._refuse(actor, at - skew)

    def _give(self, partitions: list[str], actor: str, at: int) -> None:
        both = [self._taken_at[name] for name in partitions if self._owner.get(name, actor) != actor and self._taken_at[name] < at]
        if both:
            self.refused.append(RejectedCommit(at, min(both)))
            del self.refused[:-REFUSED_HELD_MAX]
        for name in partitions:
            if self._owner.get(name, actor) == actor:
                self._given[name] = (at, actor)
                self._owner.pop(name, None)

    def _take(self, partitions: list[str], actor: str, at: int) -> None:
        rejections: Counter[tuple[int | None, str | None]] = Counter()
        for name in partitions:
            since, giver = self._given.pop(name, (None, self._owner.get(name)))
            self._owner[name] = actor
            self._taken_at[name] = at
            if since is not None or giver not in {None, actor}:
                rejections[since, giver] += 1
        self.stops += [PartitionPause(since, at, count, giver) for (since, giver), count in rejections.items()]
        if len(self.stops) > STOPS_HELD_MAX:
            self._dropped_until = self.stops[-STOPS_HELD_MAX - 1].until
            del self.stops[:-STOPS_HELD_MAX]

    def _change_state(self, before: str | None, after: str | None, actor: str, at: int) -> None:
        self._tell_states.add(actor)
        if before == _WORKS and after in _REBALANCES:
            self._paused_since[actor] = at
        elif after not in _REBALANCES and actor in self._paused_since:
            self.pauses.append(ThreadPause(actor, self._paused_since.pop(actor), at))
            del self.pauses[:-STOPS_HELD_MAX]

    def _commit(self, event: Event, actor: str, at: int) -> None:
        code = int_field(event, "error_code")
        if code in _OLD_GENERATION_CODES:
            self._refuse(actor, int_field(event, "last_at_us") or at)
        elif not code:
            self._committed[actor] = int_field(event, "last_at_us") or at

    def _refuse(self, actor: str, at: int) -> None:
        self.refused.append(RejectedCommit(at, self._committed.get(actor)))
        del self.refused[:-REFUSED_HELD_MAX]

    # -- one rebalance -------------------------------------------------------------------------------------------

    def of_classic(
        self, began: int, until: int | None, by_all: float | None, actors: Collection[str], *, is_stable: bool, assignor: str | None
    ) -> RebalanceCost:
        """Cost of a rebalance of the classic protocol in [began, until).

        `by_all` is the cost if all members waited, as under an eager assignor. `actors` are the members that it led to, none where
        some are unknown.
        """
        witnessed = is_stable and bool(actors) and self._tell_partitions.issuperset(actors)
        impact = self.epoch_cost(began, until, is_witnessed=witnessed)
        if actors and self._tell_states.issuperset(actors):
            return replace(impact, member_seconds=self._thread_seconds(began, until))
        return impact if is_cooperative(assignor) else RebalanceCost(by_all, impact.partition_seconds, impact.duplicate_window)

    def epoch_cost(self, began: int, until: int | None, *, is_witnessed: bool) -> RebalanceCost:
        """Cost of a rebalance in [began, until) that stops only moving partitions.

        `is_witnessed`: all members have logs of their own.
        """
        duplicate = self.duplicate_seconds(began, until)
        if not is_witnessed or (self._dropped_until is not None and began <= self._dropped_until):
            return RebalanceCost(None, None, duplicate)
        stops = self.stops_within(began, until)
        return RebalanceCost(handover_seconds(stops), partition_seconds(stops, began), duplicate)

    def _thread_seconds(self, began: int, until: int | None) -> float | None:
        """Seconds in [began, until) of threads of Streams and of what they gave up.

        None while one of them does.
        """
        if until is None and self._paused_since:
            return None
        over = FOREVER if until is None else until
        stood = longest_by_giver(self.stops_within(began, until))
        paused: Counter[str] = Counter()
        for pause in self.pauses:
            paused[pause.actor] += max(0, min(pause.until, over) - max(pause.since, began))
        for actor, since in self._paused_since.items():
            paused[actor] += max(0, over - max(since, began))
        return round(sum(max(paused[actor], stood.get(actor, 0)) for actor in paused.keys() | stood.keys()) / US_PER_SECOND, 6)

    def stops_within(self, began: int, until: int | None) -> list[PartitionPause]:
        """Stops that ended in the half-open interval [began, until)."""
        return [stop for stop in self.stops if stop.until >= began and (until is None or stop.until < until)]

    def duplicate_seconds(self, began: int, until: int | None) -> float | None:
        """Longest period of repeated work for commits rejected in [began, until).

        None if no commit was rejected.
        """
        windows = [
            rejection.at - (rejection.since if rejection.since is not None else began)
            for rejection in self.refused
            if rejection.at >= began and (until is None or rejection.at < until)
        ]
        return max(windows) / US_PER_SECOND if windows else None

    def forget(self, before: int) -> None:
        """Discard everything that no later rebalance can need."""
        self.stops = [stop for stop in self.stops if stop.until >= before]
        self.refused = [rejection for rejection in self.refused if rejection.at >= before]
        self.pauses = [pause for pause in self.pauses if pause.until >= before]


def _says_old_generation(error: str) -> bool:
    return any(words in error for words in _OLD_GENERATION_WORDS)


def partition_seconds(stops: list[PartitionPause], began: int) -> float:
    """Seconds in which partitions were stopped, summed over partitions.

    Those of a vanished owner count from the start of the rebalance.
    """
    return round(
        sum(stop.count * max(0, stop.until - (stop.since if stop.since is not None else began)) for stop in stops) / US_PER_SECOND, 6
    )


def handover_seconds(stops: list[PartitionPause]) -> float:
    """Seconds until members' partitions had a new owner, summed over members.

    This is the downtime under assignors that move only some partitions.
    """
    return round(sum(longest_by_giver(stops).values()) / US_PER_SECOND, 6)


def longest_by_giver(stops: list[PartitionPause]) -> dict[str, int]:
    """Each member's longest stop of a partition that it gave up (microseconds)."""
    longest: dict[str, int] = {}
    for stop in stops:
        if stop.giver is not None and stop.since is not None:
            longest[stop.giver] = max(longest.get(stop.giver, 0), stop.until - stop.since)
    return longest


def stopped_if_eager(before: int | None, after: int | None, duration: float | None, delay: float | None) -> float | None:
    """Member-seconds without consumption under the eager protocol.

    All members wait. The initial delay is expected and does not count.
    """
    if duration is None:
        return None
    members = max(before or 0, after or 0)
    return round(members * max(0.0, duration - (delay or 0.0)), 6) if members else 0.0

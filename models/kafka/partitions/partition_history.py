"""History of one partition: replicas, leaders by leader epoch, and ISR.

Leader epochs order lines of several files, whatever their clocks: each change of a leader raises the epoch by one
(Partition.scala, PartitionRegistration.java). A leadership is logged by the controller, or by the broker that takes it
up, or follows from the departure or return of a broker by the rules of election.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum
from itertools import takewhile

from models.events import Event
from models.kafka.partitions.isr import END_UNKNOWN, ENDED_DELETED, STILL_OPEN, InSync, Shortages, follow
from models.tolerances import int_tolerance

NO_LEADER = "-1"
"""Printed value for "no leader"."""

MOMENT_US = int_tolerance("kafka.history.moment_us")
"""Minimum duration of a vacancy.

If the controller elects a leader within this time, clients never noticed the vacancy.
"""

ISR_CHANGES_KEPT = 2
"""ISR changes kept from before a time.

The latest ones show whether a leader was in sync when it was elected.
"""

EVENTS_HELD_MAX = 4
"""Maximum lines kept per leadership: the first ones, which decide."""


Nodes = tuple[str, ...]


class LeadershipSource(IntEnum):
    """Source of a leadership; a greater one overrides a lesser one."""

    IMPLIED = 0  # inferred from a broker's departure or return by the rules of election
    SEEN = 1  # seen by a broker that learned of it later
    DECIDED = 2  # stated by the controller


UNSEEN_PER_SEEN_MAX = 200
"""Maximum ratio of inferred to named partitions of a topic.

Replicas are spread evenly, so one broker's file names one partition in as many as there are brokers. Clusters of more
than 200 brokers are unheard of; a larger number is damaged input. The limit keeps the work proportional to the input.
"""


@dataclass(slots=True)
class Leadership:
    """A partition's leadership from one leader epoch on.

    `at` is in microseconds; `leader` is NO_LEADER for a vacancy. `isr` is the ISR at its beginning, None if unknown. If
    `is_guessed`, the epoch is the previous one plus one.
    """

    epoch: int | None
    leader: str
    at: int
    source: LeadershipSource
    isr: Nodes | None = None
    is_guessed: bool = False
    is_unclean: bool = False
    has_time: bool = True  # `at` is the time of the decision, not of a later line
    events: list[Event] = field(default_factory=list)

    def add(self, event: Event | None) -> None:
        """Keep a line about it, up to a maximum."""
        if event is not None and len(self.events) < EVENTS_HELD_MAX:
            self.events.append(event)


@dataclass(frozen=True, slots=True)
class IsrChange:
    """The ISR from a time on."""

    at: int
    isr: Nodes


@dataclass(frozen=True, slots=True)
class IsrBefore:
    """In-sync replicas of a partition before a change that may be refused."""

    at: int
    isr: Nodes | None
    change_count: int
    shortages: Shortages


@dataclass(slots=True)
class PartitionHistory:
    """One lifetime of a partition.

    From its creation (or the logs' beginning) to its deletion (or their end).
    """

    topic: str
    partition: int
    replicas: Nodes = ()
    leaderships: list[Leadership] = field(default_factory=list)
    isr: Nodes | None = None
    isr_changes: list[IsrChange] = field(default_factory=list)
    forgotten_at: int | None = None  # when its ISR was last forgotten
    shortages: Shortages = ()
    elr: Nodes = ()
    seen: Nodes = ()
    is_supposed: bool = False
    preferred: list[int] = field(default_factory=list)  # times of preferred replica elections
    reassigned: list[Event] = field(default_factory=list)
    """Lines about finished reassignments that moved its leader."""
    offline: Nodes = ()
    """Brokers whose log directory with this partition failed."""
    deleted_at: int | None = None
    life: int = 0
    """Number of earlier lifetimes of a partition with this name."""
    led_by: Nodes = ()
    """Leaders of pruned leaderships."""
    is_cut: bool = False
    """Whether any leadership was pruned."""
    is_due: bool = False
    """Whether it is scheduled for another look (`Partitions.handed`)."""

    @property
    def key(self) -> tuple[object, ...]:
        """Key of this lifetime.

        Leader epochs start anew with each lifetime and identify rows only within one.
        """
        return (self.topic, self.partition, *([self.life] if self.life else []))

    @property
    def current(self) -> Leadership | None:
        """The leadership with the highest epoch."""
        return self.leaderships[-1] if self.leaderships else None

    @property
    def leader(self) -> str | None:
        """Current leader: NO_LEADER for a vacancy, None if unknown."""
        return self.leaderships[-1].leader if self.leaderships else None

    @property
    def candidates(self) -> Nodes:
        """Replicas in assignment order, or all brokers seen with the partition."""
        return self.replicas or self.seen

    def note(self, nodes: Iterable[str]) -> None:
        """Record brokers that have the partition.

        If its place was only inferred so far, conclusions from that are dropped.
        """
        new = tuple(node for node in dict.fromkeys(nodes) if node != NO_LEADER and node not in self.seen)
        if new and self.is_supposed:
            self.is_supposed = False
            self.leaderships.clear()
            self.isr_changes.clear()
            self.isr = None
        self.seen += new

    def regain(self, node: str) -> None:
        """Count on a broker's replica again."""
        if node in self.offline:
            self.offline = tuple(replica for replica in self.offline if replica != node)

    def suppose(self, node: str) -> None:
        """Infer that an unnamed partition is on the broker without files."""
        self.note((node,))
        self.is_supposed = True

    def take_isr(
        self, isr: Sequence[str] | None, at: int, event: Event | None = None, *, before: Nodes | None = None, has_grown: bool = False
    ) -> None:
        """Record the ISR from a time on.

        `before` is the previous ISR according to the same line.
        """
        if isr is None:
            return
        new = tuple(isr)
        first = self.isr is None
        if self.isr is None or set(new) != set(self.isr):
            self.isr_changes.append(IsrChange(at, new))
        self.isr = new
        now = InSync(self.candidates, new, at, event, is_sure=bool(self.replicas), has_grown=has_grown, before=before if first else None)
        self.shortages = follow(self.shortages, now)

    def isr_before(self, at: int) -> IsrBefore:
        """What `restore_isr` needs if a change at a time is refused.

        Of the shortages, a change touches the last one only.
        """
        last = tuple(replace(shortage, events=[*shortage.events]) for shortage in self.shortages[-1:])
        return IsrBefore(at, self.isr, len(self.isr_changes), (*self.shortages[:-1], *last))

    def restore_isr(self, before: IsrBefore) -> None:
        """Take back the last change, which was never made."""
        self.isr, self.shortages = before.isr, before.shortages
        del self.isr_changes[before.change_count :]

    def forget_isr(self, at: int) -> None:
        """Mark the ISR as unknown from a time on."""
        self.isr, self.forgotten_at = None, at
        self._end_shortage(END_UNKNOWN, None)

    def isr_before_forgotten(self, at: int) -> Nodes | None:
        """The ISR at a time after which it became unknown.

        None if it is still known or became unknown earlier.
        """
        if self.isr is not None or self.forgotten_at is None or self.forgotten_at <= at:
            return None
        return next((change.isr for change in reversed(self.isr_changes) if change.at <= at), None)

    @property
    def open_since(self) -> int | None:
        """Time of the first open question: a vacancy or under-replication."""
        vacant = next((leadership.at for leadership in self.leaderships if leadership.leader == NO_LEADER), None)
        return min((at for at in (vacant, *(shortage.began for shortage in self.shortages)) if at is not None), default=None)

    def final_count(self, until: int) -> int:
        """Number of leaderships that were final at a time.

        Counts up to the last leadership with a leader that began no later.
        """
        count = 0
        for number, leadership in enumerate(self.leaderships, 1):
            if leadership.at > until:
                break
            if leadership.leader != NO_LEADER:
                count = number
        return count

    def shortages_over(self, until: int) -> Shortages:
        """First shortages up to one that was not over by a time."""
        return tuple(takewhile(lambda shortage: shortage.is_over(until), self.shortages))

    def prune(self, index: int, until: int) -> None:
        """Prune leaderships before an index and entries that ended by a time.

        Rows already cover them, and nothing later needs them.
        """
        if index:
            gone = (leadership.leader for leadership in self.leaderships[:index] if leadership.leader != NO_LEADER)
            self.led_by, self.is_cut = tuple(dict.fromkeys((*self.led_by, *gone))), True
            del self.leaderships[:index]
        first = self.leaderships[0] if self.leaderships else None
        if first is not None and first.leader != NO_LEADER and first.at <= until:
            first.events.clear()
        if len(self.isr_changes) > ISR_CHANGES_KEPT and (first is None or first.leader != NO_LEADER):
            keep_from = min(until, self.leaderships[1].at if len(self.leaderships) > 1 else until)
            past = bisect_right(self.isr_changes, keep_from, key=lambda change: change.at)
            del self.isr_changes[: max(past - ISR_CHANGES_KEPT, 0)]
        self.shortages = self.shortages[len(self.shortages_over(until)) :]
        if self.preferred:
            self.preferred = [at for at in self.preferred if at > until]
        if self.reassigned:
            self.reassigned = [event for event in self.reassigned if event.time_us > until]

    def next_end(self, after: int) -> int | None:
        """Next time after another at which something ended."""
        if len(self.leaderships) < 2 and not self.shortages and self.deleted_at is None:
            return None
        ends = (shortage.over for shortage in self.shortages[:1] if shortage.over is not None)
        times = (*(leadership.at for leadership in self.leaderships[1:]), *ends, *(() if self.deleted_at is None else (self.deleted_at,)))
        return min((at for at in times if at > after), default=None)

    def delete(self, at: int) -> None:
        """Mark the partition as deleted."""
        self.deleted_at = at
        self._end_shortage(ENDED_DELETED, at)

    def _end_shortage(self, how: str, at: int | None) -> None:
        if self.shortages and self.shortages[-1].ended_by == STILL_OPEN:
            self.shortages[-1].end(how, at, None)

    def add_leadership(self, new: Leadership, *, is_kraft: bool = False) -> Leadership:
        """Add a leadership, or update the one of the same epoch.

        Returns the resulting leadership.
        """
        place = self._place(new)
        if place is None:
            return self._append(new)
        index, same = place
        if self.is_cut and index == 0 and not same:
            return self.leaderships[0]  # rows already cover earlier ones
        if not same:
            self.leaderships.insert(index, new)
            return new
        if is_kraft and self._was_never_vacant(index, new):
            self.leaderships[index] = new
            return new
        return self._merge(index, new)

    def _place(self, new: Leadership) -> tuple[int, bool] | None:
        """Index of an epoch and whether it exists; None for the end."""
        if new.epoch is None or not self.leaderships:
            return None
        last = self.leaderships[-1].epoch
        if last is None or new.epoch > last:
            return None
        index = bisect_left(self.leaderships, new.epoch, key=lambda leadership: -1 if leadership.epoch is None else leadership.epoch)
        return index, index < len(self.leaderships) and self.leaderships[index].epoch == new.epoch

    def _append(self, new: Leadership) -> Leadership:
        if not self.leaderships and new.leader != NO_LEADER:
            new.events.clear()  # nobody needs lines about the first leadership
        self.leaderships.append(new)
        return new

    def _was_never_vacant(self, index: int, new: Leadership) -> bool:
        """Whether an inferred vacancy has no room between the epochs.

        A KRaft controller gives it an epoch of its own (PartitionChangeBuilder.java); a ZooKeeper controller may not.
        """
        supposed = self.leaderships[index]
        if (
            new.leader == NO_LEADER
            or index == 0
            or supposed.leader != NO_LEADER
            or supposed.source is not LeadershipSource.IMPLIED
            or not supposed.is_guessed
            or new.is_guessed
        ):
            return False
        before = self.leaderships[index - 1]
        return before.epoch is not None and not before.is_guessed and before.epoch + 1 == new.epoch

    def _merge(self, index: int, new: Leadership) -> Leadership:
        old = self.leaderships[index]
        if old.leader != new.leader:
            if old.leader == NO_LEADER and old.is_guessed and new.at - old.at >= MOMENT_US:
                old.epoch = None if new.epoch is None or new.epoch == 0 else new.epoch - 1
                self.leaderships.insert(index + 1, new)
                return new
            if new.source > old.source or (old.is_guessed and not new.is_guessed):
                self.leaderships[index] = new
                return new
            return old
        if new.isr is not None and (old.isr is None or new.source > old.source):
            old.isr = new.isr
        if new.has_time and (not old.has_time or new.at < old.at):
            old.at, old.has_time = new.at, True
        elif not new.has_time and not old.has_time:
            old.at = min(old.at, new.at)
        old.source = max(old.source, new.source)
        old.is_unclean = old.is_unclean or new.is_unclean
        old.is_guessed = old.is_guessed and new.is_guessed
        for event in new.events:
            old.add(event)
        return old


@dataclass(slots=True)
class Partitions:
    """All partitions of a cluster, with an index by broker."""

    by_name: dict[tuple[str, int], PartitionHistory] = field(default_factory=dict)
    ended: dict[tuple[object, ...], PartitionHistory] = field(default_factory=dict)
    handed: list[PartitionHistory] = field(default_factory=list)
    """Lifetimes requested, and possibly changed, since this was last cleared."""
    _held_by: dict[str, set[tuple[str, int]]] = field(default_factory=dict)
    _lives: Counter[tuple[str, int]] = field(default_factory=Counter)

    def current(self, topic: str, partition: int) -> PartitionHistory:
        """The partition's current lifetime, created if needed."""
        key = (topic, partition)
        known = self.by_name.get(key)
        if known is None:
            known = self.by_name[key] = PartitionHistory(topic, partition, life=self._lives[key])
        return self._hand(known)

    def known(self, topic: str, partition: int) -> PartitionHistory | None:
        """The partition's current lifetime, None if unknown."""
        history = self.by_name.get((topic, partition))
        return None if history is None else self._hand(history)

    def _hand(self, history: PartitionHistory) -> PartitionHistory:
        if not history.is_due:
            history.is_due = True
            self.handed.append(history)
        return history

    def note_nodes(self, history: PartitionHistory, nodes: Iterable[str]) -> None:
        """Index brokers that may have a partition."""
        key = (history.topic, history.partition)
        for node in nodes:
            self._held_by.setdefault(node, set()).add(key)

    def at(self, node: str) -> Iterator[PartitionHistory]:
        """Partitions that a broker may have, by name."""
        for key in sorted(self._held_by.get(node, ())):
            history = self.known(*key)
            if history is not None:
                yield history

    def add_unnamed(self) -> list[PartitionHistory]:
        """Create partitions that no line names below the highest known number.

        Their replicas must all be on brokers without files. Only topics with single replicas count: in others, unnamed
        partitions may exist for other reasons.
        """
        numbers: dict[str, set[int]] = {}
        replicated: set[str] = set()
        for (topic, number), history in self.by_name.items():
            numbers.setdefault(topic, set()).add(number)
            if len(history.candidates) != 1:
                replicated.add(topic)
        for topic in replicated:
            numbers.pop(topic)
        missing = {topic: known for topic, known in numbers.items() if max(known) < UNSEEN_PER_SEEN_MAX * len(known)}
        return [self.current(topic, number) for topic, known in missing.items() for number in range(max(known)) if number not in known]

    def without_rows(self) -> Iterator[PartitionHistory]:
        """Lifetimes with leadership changes or vacancies not yet in rows."""
        return (lifetime for lifetime in self.lifetimes() if len(lifetime.leaderships) > 1 or lifetime.leader == NO_LEADER)

    def lifetimes(self) -> Iterator[PartitionHistory]:
        """All lifetimes, unordered."""
        yield from self.ended.values()
        yield from self.by_name.values()

    def end(self, topic: str, partition: int, at: int) -> None:
        """End a lifetime because its topic was deleted or created anew."""
        history = self.known(topic, partition)
        if history is None:
            return
        del self.by_name[topic, partition]
        history.delete(at)
        if history.is_cut or any(leadership.source is not LeadershipSource.IMPLIED for leadership in history.leaderships):
            self.ended[history.key] = history
            self._lives[topic, partition] += 1

    def forget(self, history: PartitionHistory) -> None:
        """Drop an ended lifetime that rows cover completely."""
        if self.ended.get(history.key) is history:
            del self.ended[history.key]
        key = (history.topic, history.partition)
        if key not in self.by_name:
            for partitions in self._held_by.values():
                partitions.discard(key)

    def topic_deleted(self, topic: str, at: int) -> None:
        """End all partitions of a topic."""
        for key in [key for key in self.by_name if key[0] == topic]:
            self.end(*key, at)

    def all(self) -> Iterator[PartitionHistory]:
        """All lifetimes in an order independent of the files."""
        lives = list(self.lifetimes())
        lives.sort(key=lambda lifetime: (lifetime.topic, lifetime.partition, lifetime.deleted_at is None, lifetime.deleted_at or 0))
        return iter(lives)

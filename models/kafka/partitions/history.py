"""What is known of one partition over time: who held it, who led it from which leader epoch on, and who was in sync.

Leader epochs order what several files say, whatever their clocks: each change of a leader raises the epoch by one
(Partition.scala, PartitionRegistration.java). A leadership may be told by the controller, be told by the broker that
takes it up, or follow from the loss or return of a broker by the rules of election.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import IntEnum

from models.events import Event
from models.kafka.partitions.isr import DELETED, OPEN, UNKNOWN, InSync, Shortages, follow

NO_LEADER = "-1"
"""How a leader is printed that is none."""

MOMENT_US = 1_000_000
"""A partition that the controller calls offline and gives a leader within this time never was without one for its clients."""

ISR_CHANGES_KEPT = 2
"""The last ones before a time: whether a leader was in sync, the ISR says that it was elected from or into."""

EVENTS_HELD_MAX = 4
"""Lines kept per leadership: the first ones, which decide."""


Nodes = tuple[str, ...]


class Told(IntEnum):
    """How a leadership is known; a greater one corrects a lesser one."""

    IMPLIED = 0  # by the rules of election, from what happened to a broker
    SEEN = 1  # by a broker that was told of it, some time after
    DECIDED = 2  # by the controller


UNSEEN_PER_SEEN_MAX = 200
"""Partitions that are taken to be there for each one that a line names. Replicas are spread evenly, so one broker's file names
one of as many as there are brokers; clusters of more than 200 are unheard of. A number beyond is damage: work stays in step with
the input."""


@dataclass(slots=True)
class Leadership:
    """A partition from one leader epoch on. Times are microseconds; `leader` is NO_LEADER where there is none.

    `isr` is the one it began with, None where no line tells. `guessed` epochs are the last one and one more.
    """

    epoch: int | None
    leader: str
    at: int
    told: Told
    isr: Nodes | None = None
    guessed: bool = False
    unclean: bool = False
    timed: bool = True  # `at` is when it was decided, not merely when somebody saw it
    events: list[Event] = field(default_factory=list)

    def add(self, event: Event | None) -> None:
        """Keep a line that tells of it."""
        if event is not None and len(self.events) < EVENTS_HELD_MAX:
            self.events.append(event)


@dataclass(frozen=True, slots=True)
class IsrChange:
    """The ISR from a time on."""

    at: int
    isr: Nodes


@dataclass(slots=True)
class PartitionHistory:
    """One life of a partition: from its creation (or the logs' beginning) to its deletion (or their end)."""

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
    supposed: bool = False
    preferred: list[int] = field(default_factory=list)  # when preferred replicas were to be elected
    deleted_at: int | None = None
    life: int = 0
    """How many lives of a partition of this name were over before."""
    led_by: Nodes = ()
    """Leaders of leaderships that were let go."""
    is_cut: bool = False
    """Whether any were."""
    is_due: bool = False
    """Whether somebody will look at it again (`Partitions.handed`)."""

    @property
    def key(self) -> tuple[object, ...]:
        """Tells lives apart: leader epochs begin anew with each, so that they tell rows apart only within one."""
        return (self.topic, self.partition, *([self.life] if self.life else []))

    @property
    def current(self) -> Leadership | None:
        """The leadership of the highest epoch."""
        return self.leaderships[-1] if self.leaderships else None

    @property
    def leader(self) -> str | None:
        """Who leads, NO_LEADER for nobody, None where it isn't known."""
        return self.leaderships[-1].leader if self.leaderships else None

    @property
    def candidates(self) -> Nodes:
        """Replicas in the order of assignment; where no line names them, all brokers that were seen to hold it."""
        return self.replicas or self.seen

    def note(self, nodes: Iterable[str]) -> None:
        """Brokers that hold it. Where it was only supposed to be on a broker without files, what followed from that goes."""
        new = tuple(node for node in dict.fromkeys(nodes) if node != NO_LEADER and node not in self.seen)
        if new and self.supposed:
            self.supposed = False
            self.leaderships.clear()
            self.isr_changes.clear()
            self.isr = None
        self.seen += new

    def suppose(self, node: str) -> None:
        """No line names the partition; it must be on the one broker without files."""
        self.note((node,))
        self.supposed = True

    def take_isr(
        self, isr: Sequence[str] | None, at: int, event: Event | None = None, *, before: Nodes | None = None, grown: bool = False
    ) -> None:
        """The in-sync replicas are these from now on. `before` are those that the line names as the former ones."""
        if isr is None:
            return
        new = tuple(isr)
        first = self.isr is None
        if self.isr is None or set(new) != set(self.isr):
            self.isr_changes.append(IsrChange(at, new))
        self.isr = new
        now = InSync(self.candidates, new, at, event, sure=bool(self.replicas), grown=grown, before=before if first else None)
        self.shortages = follow(self.shortages, now)

    def forget_isr(self, at: int) -> None:
        """Nothing tells any more who is in sync."""
        self.isr, self.forgotten_at = None, at
        self._end_shortage(UNKNOWN, None)

    def isr_before_forgotten(self, at: int) -> Nodes | None:
        """The ISR at a time after which nothing told of it any more; None where that doesn't fit."""
        if self.isr is not None or self.forgotten_at is None or self.forgotten_at <= at:
            return None
        return next((change.isr for change in reversed(self.isr_changes) if change.at <= at), None)

    @property
    def open_since(self) -> int | None:
        """The first time that an open question about it is of: a time without a leader, or with too few replicas in sync."""
        vacant = next((each.at for each in self.leaderships if each.leader == NO_LEADER), None)
        return min((at for at in (vacant, *(each.began for each in self.shortages)) if at is not None), default=None)

    def settled(self, until: int) -> int:
        """How many leaderships there are up to the last one of which, and of all before it, the time is no later than this."""
        count = 0
        for number, each in enumerate(self.leaderships, 1):
            if each.at > until:
                break
            if each.leader != NO_LEADER:
                count = number
        return count

    def let_go(self, index: int, until: int) -> None:
        """Forget what was before a leadership, and what was over by a time: rows tell of it, and nothing later asks for it."""
        if index:
            gone = (each.leader for each in self.leaderships[:index] if each.leader != NO_LEADER)
            self.led_by, self.is_cut = tuple(dict.fromkeys((*self.led_by, *gone))), True
            del self.leaderships[:index]
        first = self.leaderships[0] if self.leaderships else None
        if first is not None and first.leader != NO_LEADER and first.at <= until:
            first.events.clear()
        if len(self.isr_changes) > ISR_CHANGES_KEPT and (first is None or first.leader != NO_LEADER):
            asked = min(until, self.leaderships[1].at if len(self.leaderships) > 1 else until)
            past = bisect_right(self.isr_changes, asked, key=lambda change: change.at)
            del self.isr_changes[: max(past - ISR_CHANGES_KEPT, 0)]
        if self.shortages:
            self.shortages = tuple(each for each in self.shortages if not each.is_over(until))
        if self.preferred:
            self.preferred = [at for at in self.preferred if at > until]

    def next_settled(self, after: int) -> int | None:
        """The first time later than another at which something was over."""
        if len(self.leaderships) < 2 and not self.shortages and self.deleted_at is None:
            return None
        ends = (each.over for each in self.shortages if each.over is not None)
        times = (*(each.at for each in self.leaderships[1:]), *ends, *(() if self.deleted_at is None else (self.deleted_at,)))
        return min((at for at in times if at > after), default=None)

    def delete(self, at: int) -> None:
        """Its topic is gone."""
        self.deleted_at = at
        self._end_shortage(DELETED, at)

    def _end_shortage(self, how: str, at: int | None) -> None:
        if self.shortages and self.shortages[-1].ended_by == OPEN:
            self.shortages[-1].end(how, at, None)

    def tell(self, new: Leadership, *, kraft: bool = False) -> Leadership:
        """Enter a leadership; one of the same epoch that is known already is completed or corrected. Gives what now stands."""
        place = self._place(new)
        if place is None:
            return self._append(new)
        index, same = place
        if self.is_cut and index == 0 and not same:
            return self.leaderships[0]  # what was before that is told already
        if not same:
            self.leaderships.insert(index, new)
            return new
        if kraft and self._never_vacant(index, new):
            self.leaderships[index] = new
            return new
        return self._merge(index, new)

    def _place(self, new: Leadership) -> tuple[int, bool] | None:
        """Where an epoch belongs, and whether it is there already; None for the end."""
        if new.epoch is None or not self.leaderships:
            return None
        last = self.leaderships[-1].epoch
        if last is None or new.epoch > last:
            return None
        index = bisect_left(self.leaderships, new.epoch, key=lambda each: -1 if each.epoch is None else each.epoch)
        return index, index < len(self.leaderships) and self.leaderships[index].epoch == new.epoch

    def _append(self, new: Leadership) -> Leadership:
        if not self.leaderships and new.leader != NO_LEADER:
            new.events.clear()  # nobody asks for lines of what nothing came before
        self.leaderships.append(new)
        return new

    def _never_vacant(self, index: int, new: Leadership) -> bool:
        """Whether a vacancy only followed from what was known, and the epochs leave no room for it.

        KRaft gives it an epoch of its own (PartitionChangeBuilder.java); a ZooKeeper controller may not.
        """
        supposed = self.leaderships[index]
        if (
            new.leader == NO_LEADER
            or index == 0
            or supposed.leader != NO_LEADER
            or supposed.told is not Told.IMPLIED
            or not supposed.guessed
            or new.guessed
        ):
            return False
        before = self.leaderships[index - 1]
        return before.epoch is not None and not before.guessed and before.epoch + 1 == new.epoch

    def _merge(self, index: int, new: Leadership) -> Leadership:
        old = self.leaderships[index]
        if old.leader != new.leader:
            if old.leader == NO_LEADER and old.guessed and new.at - old.at >= MOMENT_US:
                old.epoch = None if new.epoch is None or new.epoch == 0 else new.epoch - 1
                self.leaderships.insert(index + 1, new)
                return new
            if new.told > old.told or (old.guessed and not new.guessed):
                self.leaderships[index] = new
                return new
            return old
        if new.isr is not None and (old.isr is None or new.told > old.told):
            old.isr = new.isr
        if new.timed and (not old.timed or new.at < old.at):
            old.at, old.timed = new.at, True
        elif not new.timed and not old.timed:
            old.at = min(old.at, new.at)
        old.told = max(old.told, new.told)
        old.unclean = old.unclean or new.unclean
        old.guessed = old.guessed and new.guessed
        for event in new.events:
            old.add(event)
        return old


@dataclass(slots=True)
class Partitions:
    """All partitions of a cluster, with an index by broker."""

    by_name: dict[tuple[str, int], PartitionHistory] = field(default_factory=dict)
    ended: dict[tuple[object, ...], PartitionHistory] = field(default_factory=dict)
    handed: list[PartitionHistory] = field(default_factory=list)
    """Lives that were asked for, and may have changed, since somebody last emptied this."""
    _held_by: dict[str, set[tuple[str, int]]] = field(default_factory=dict)
    _lives: Counter[tuple[str, int]] = field(default_factory=Counter)

    def of(self, topic: str, partition: int) -> PartitionHistory:
        """The partition's present life."""
        key = (topic, partition)
        known = self.by_name.get(key)
        if known is None:
            known = self.by_name[key] = PartitionHistory(topic, partition, life=self._lives[key])
        return self._hand(known)

    def known(self, topic: str, partition: int) -> PartitionHistory | None:
        """The partition's present life, if anything told of it."""
        history = self.by_name.get((topic, partition))
        return None if history is None else self._hand(history)

    def _hand(self, history: PartitionHistory) -> PartitionHistory:
        if not history.is_due:
            history.is_due = True
            self.handed.append(history)
        return history

    def note_nodes(self, history: PartitionHistory, nodes: Iterable[str]) -> None:
        """Keep which brokers may hold a partition."""
        key = (history.topic, history.partition)
        for node in nodes:
            self._held_by.setdefault(node, set()).add(key)

    def at(self, node: str) -> Iterator[PartitionHistory]:
        """Partitions that a broker may hold, by name."""
        for key in sorted(self._held_by.get(node, ())):
            history = self.known(*key)
            if history is not None:
                yield history

    def unseen(self) -> list[PartitionHistory]:
        """Partitions that no line names although ones of higher numbers are there: all of their replicas are on brokers without files.

        Only topics whose partitions have one replica each: others may be there without a line about them.
        """
        numbers: dict[str, set[int]] = {}
        replicated: set[str] = set()
        for (topic, number), history in self.by_name.items():
            numbers.setdefault(topic, set()).add(number)
            if len(history.candidates) != 1:
                replicated.add(topic)
        for topic in replicated:
            numbers.pop(topic)
        few = {topic: known for topic, known in numbers.items() if max(known) < UNSEEN_PER_SEEN_MAX * len(known)}
        return [self.of(topic, number) for topic, known in few.items() for number in range(max(known)) if number not in known]

    def unsettled(self) -> Iterator[PartitionHistory]:
        """Lives with a leader that changed, or without one, that rows don't tell of yet."""
        return (each for each in self.lives() if len(each.leaderships) > 1 or each.leader == NO_LEADER)

    def lives(self) -> Iterator[PartitionHistory]:
        """Every life, in any order."""
        yield from self.ended.values()
        yield from self.by_name.values()

    def end(self, topic: str, partition: int, at: int) -> None:
        """A life is over: the topic was deleted, or begins anew."""
        history = self.known(topic, partition)
        if history is None:
            return
        del self.by_name[topic, partition]
        history.delete(at)
        if history.is_cut or any(each.told is not Told.IMPLIED for each in history.leaderships):
            self.ended[history.key] = history
            self._lives[topic, partition] += 1

    def forget(self, history: PartitionHistory) -> None:
        """A life that is over, and of which rows tell all that there is to tell."""
        if self.ended.get(history.key) is history:
            del self.ended[history.key]
        key = (history.topic, history.partition)
        if key not in self.by_name:
            for held in self._held_by.values():
                held.discard(key)

    def topic_deleted(self, topic: str, at: int) -> None:
        """All partitions of a topic are gone."""
        for key in [key for key in self.by_name if key[0] == topic]:
            self.end(*key, at)

    def all(self) -> Iterator[PartitionHistory]:
        """Every life, in an order that no file decides."""
        lives = list(self.lives())
        lives.sort(key=lambda each: (each.topic, each.partition, each.deleted_at is None, each.deleted_at or 0))
        return iter(lives)

"""Brokers over time: departures, returns and kinds of shutdown."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from models.events import Event
from models.tolerances import int_tolerance

SAME_DEPARTURE_US = int_tolerance("kafka.brokers.same_departure_us")
"""Maximum time between signs of the same departure.

Such as a controlled shutdown and the end of the broker's session.
"""

DIRECTORIES_MAX = 64
"""Log directories that a broker may have: assumed.

More failures without a start between them are told as one, so that what is held stays bounded.
"""

EVENTS_HELD_MAX = 6
"""Maximum lines kept per outage: the first ones, about its beginning."""


@dataclass(slots=True)
class BrokerAbsence:
    """An outage of a broker.

    `down_at` and `up_at` are in microseconds; None means unknown, or not back.
    """

    node: str
    down_at: int | None
    up_at: int | None = None
    is_fenced: bool = False
    is_controlled: bool = False
    session_lost: bool = False
    log_dir: bool = False
    has_restarted: bool = False
    witness: Event | None = None  # the controller's line; without one the broker's own lines count
    is_suspected: bool = False  # inferred from brokers' files, not stated by a controller
    events: list[Event] = field(default_factory=list)
    ends: list[Event] = field(default_factory=list)
    is_blamed: bool = False  # it caused a partition's outage in an emitted row
    is_told: bool = False  # rows were emitted and nothing later changes them

    def note(self, event: Event) -> None:
        """Keep a line about the outage, up to a maximum."""
        if len(self.events) < EVENTS_HELD_MAX:
            self.events.append(event)

    @property
    def how(self) -> str:
        """Kind of departure: controlled, log_dir_failed, session_expired, killed or fenced.

        A process that starts again without having stopped was killed. Without the broker's own files, only the controller's
        view is known: fenced, or ZooKeeper session expired.
        """
        if self.is_controlled:
            return "controlled"
        if self.log_dir:
            return "log_dir_failed"
        if self.has_restarted or self.is_suspected:  # nobody answers on its port
            return "killed"
        if self.session_lost:
            return "session_expired"
        return "fenced" if self.is_fenced else "session_expired"


@dataclass(slots=True)
class DirectoryFailure:
    """A failure of log directories while their broker stays up.

    Times are in microseconds; `ended_at` is the broker's next start, None if there is none. `replicas` are pairs of topic and
    partition, with the partition's leader at the time, None if it is unknown.
    """

    node: str
    at: int
    ended_at: int | None = None
    folders: tuple[str, ...] = ()
    replicas: dict[tuple[str, int], str | None] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)
    is_explained: bool | None = None  # other rows tell what followed; None if that is not known yet
    moved: int = 0  # leaderships that moved away
    is_told: bool = False  # a row was emitted that nothing later changes

    def note(self, event: Event) -> None:
        """Take one more line about it."""
        if len(self.events) < EVENTS_HELD_MAX:
            self.events.append(event)
        folder = event.fields.get("folder")
        folders = [folder] if isinstance(folder, str) else folder if isinstance(folder, (list, tuple)) else ()
        self.folders = tuple(dict.fromkeys((*self.folders, *map(str, folders))))[:DIRECTORIES_MAX]

    def led_by(self, leader: str | None) -> list[tuple[str, int]]:
        """Replicas in the directories whose partition a broker led, or an unknown one."""
        return [replica for replica, known_leader in self.replicas.items() if known_leader == leader]


@dataclass(slots=True)
class Brokers:
    """All brokers of a cluster; a broker without events counts as up."""

    absences: dict[str, list[BrokerAbsence]] = field(default_factory=dict)
    _granted: dict[str, list[int]] = field(default_factory=dict)
    _signs: dict[str, dict[str, Event]] = field(default_factory=dict)
    _alive_before: set[str] = field(default_factory=set)
    _unled: set[str] = field(default_factory=set)
    have_changed: bool = False
    """Whether a broker left or returned since this was last reset."""
    directory_failures: dict[str, list[DirectoryFailure]] = field(default_factory=dict)

    def is_down(self, node: str) -> bool:
        """Whether a broker is down now."""
        open_one = self._open(node)
        return open_one is not None

    def working(self) -> frozenset[str]:
        """Brokers with activity that are not down."""
        return frozenset(node for node in self._alive_before if not self.is_down(node))

    def down(self) -> frozenset[str]:
        """Brokers that are down now."""
        return frozenset(node for node in self.absences if self.is_down(node))

    def absent_at(self, node: str, at: int) -> BrokerAbsence | None:
        """The outage of a broker at a time, None without one."""
        for absence in reversed(self.absences.get(node, ())):
            if (absence.down_at is None or absence.down_at <= at) and (absence.up_at is None or absence.up_at >= at):
                return absence
        return None

    def was_down(self, node: str, at: int) -> bool:
        """Whether a broker was down at a time, which may be past."""
        return any(
            (absence.down_at is None or absence.down_at <= at) and (absence.up_at is None or absence.up_at > at)
            for absence in self.absences.get(node, ())
        )

    def returns(self, after: int, before: int) -> list[BrokerAbsence]:
        """Outages that ended in the interval (after, before], in order."""
        ended = [absence for absence in self.all() if absence.up_at is not None and after < absence.up_at <= before]
        return sorted(ended, key=lambda absence: (absence.up_at or 0, absence.node))

    def gone_at(self, node: str, at: int) -> BrokerAbsence | None:
        """The outage of a broker that leads nothing at a time.

        It is down, or in a granted controlled shutdown that ends in an outage.
        """
        absence = self.absent_at(node, at)
        if absence is not None or not self.was_leaving(node, at - SAME_DEPARTURE_US, at):
            return absence
        following = (absence for absence in self.absences.get(node, ()) if absence.is_controlled and absence.down_at is not None)
        return next((absence for absence in following if at < (absence.down_at or 0) <= at + SAME_DEPARTURE_US), None)

    def last_departure(self, node: str, before: int, after: int | None = None) -> BrokerAbsence | None:
        """The latest outage that began in the interval (after, before]."""
        for absence in reversed(self.absences.get(node, ())):
            if absence.down_at is not None and absence.down_at <= before and (after is None or absence.down_at > after):
                return absence
        return None

    def has_gone_between(self, after: int, before: int) -> bool:
        """Whether any broker went in the interval [after, before]."""
        return any(absence.down_at is not None and after <= absence.down_at <= before for absence in self.all())

    def last_return(self, node: str, after: int, before: int) -> int | None:
        """Latest return of a broker in the interval [after, before], if any."""
        returns = [absence.up_at for absence in self.absences.get(node, ()) if absence.up_at is not None]
        return max((at for at in returns if after <= at <= before), default=None)

    def was_leaving(self, node: str, after: int, before: int) -> bool:
        """Whether a controlled shutdown was granted in the interval [after, before]."""
        return any(after <= at <= before for at in self._granted.get(node, ()))

    def dir_failures(self, node: str, after: int, before: int) -> list[Event]:
        """Lines about a broker's failed directories in the interval [after, before]."""
        failures = self.directory_failures.get(node, ())
        return [event for failure in failures for event in failure.events if after <= event.time_us <= before]

    def all_dir_failures(self) -> Iterator[DirectoryFailure]:
        """All failures of log directories, by broker and time."""
        for node in sorted(self.directory_failures):
            yield from self.directory_failures[node]

    def all(self) -> Iterator[BrokerAbsence]:
        """All outages, by broker and time."""
        for node in sorted(self.absences):
            yield from self.absences[node]

    def forget(self, before: int, open_times: Sequence[int], about: int) -> None:
        """Prune ended outages from before `before` that rows already cover.

        Outages within `about` of one of the sorted `open_times` are kept.
        """

        def is_asked(start: int, end: int) -> bool:
            place = bisect_left(open_times, start - about)
            return end >= before or (place < len(open_times) and open_times[place] <= end + about)

        for node, known in self.absences.items():
            self.absences[node] = [
                absence
                for absence in known
                if not absence.is_told
                or absence.up_at is None
                or is_asked(absence.up_at if absence.down_at is None else absence.down_at, absence.up_at)
            ]
        for node, granted in self._granted.items():
            self._granted[node] = [at for at in granted if is_asked(at, at)]
        for node, failures in self.directory_failures.items():
            self.directory_failures[node] = [failure for failure in failures if not failure.is_told or is_asked(failure.at, failure.at)]

    # -- events ----------------------------------------------------------------------------------------------

    def note_departure(
        self, node: str, at: int, event: Event, *, is_fenced: bool = False, is_controlled: bool = False, is_suspected: bool = False
    ) -> bool:
        """Record a departure seen by a controller or inferred (`is_suspected`).

        Returns True if it is new.
        """
        known = self._open(node)
        self.have_changed = True
        if known is not None:
            known.is_fenced = known.is_fenced or is_fenced
            known.is_controlled = known.is_controlled or is_controlled
            known.note(event)
            if known.witness is not None:
                return False
            known.down_at, known.witness, known.is_suspected = at, event, is_suspected
            return True
        is_controlled = is_controlled or self._is_recent(node, "leaving", at)
        absence = BrokerAbsence(
            node, at, is_fenced=is_fenced, is_controlled=is_controlled, witness=event, is_suspected=is_suspected, events=[event]
        )
        absence.session_lost = self._is_recent(node, "session", at)
        absence.log_dir = self._is_recent(node, "log_dir", at)
        leaving = self._signs.get(node, {}).get("leaving")
        if absence.is_controlled and leaving is not None:
            absence.events.insert(0, leaving)
        self.absences.setdefault(node, []).append(absence)
        return True

    def note_return(self, node: str, at: int, event: Event) -> bool:
        """Record a return seen by a controller; True if it is new."""
        self._signs.get(node, {}).pop("leaving", None)
        self._unled.discard(node)
        known = self._open(node)
        if known is None:
            return False
        known.up_at, self.have_changed = at, True
        known.ends.append(event)
        return True

    def sign(self, node: str, kind: str, event: Event) -> None:
        """Record a sign of the kind of departure: `leaving`, `session` or `log_dir`."""
        self._signs.setdefault(node, {})[kind] = event
        if kind == "leaving":
            self._granted.setdefault(node, []).append(event.order_us)
        known = self._open(node)
        if known is None:
            return
        known.is_controlled = known.is_controlled or kind == "leaving"
        known.session_lost = known.session_lost or kind == "session"
        known.log_dir = known.log_dir or kind == "log_dir"
        known.note(event)

    def directory_failed(self, node: str, event: Event) -> DirectoryFailure:
        """Record a line about a broker's failed directory; returns the failure."""
        self.sign(node, "log_dir", event)
        known = self.directory_failures.setdefault(node, [])
        is_later = bool(known) and event.time_us - known[-1].at > SAME_DEPARTURE_US and len(known) < DIRECTORIES_MAX
        if not known or known[-1].ended_at is not None or is_later:
            known.append(DirectoryFailure(node, event.time_us))
        known[-1].note(event)
        self.have_changed = True
        return known[-1]

    def directories_tried_again(self, node: str, at: int) -> bool:
        """End a broker's failures as it starts; whether there were any."""
        lasting = [failure for failure in self.directory_failures.get(node, ()) if failure.ended_at is None]
        for failure in lasting:
            failure.ended_at, self.have_changed = at, True
        return bool(lasting)

    def stays_leader(self, node: str, event: Event) -> None:
        """Record a failed controlled shutdown, so the broker keeps its leaderships."""
        self._signs.get(node, {}).pop("leaving", None)
        self._granted.pop(node, None)
        self._unled.add(node)
        known = self._open(node)
        if known is not None:
            known.is_controlled = False
            known.note(event)

    def goes_in_order(self, node: str) -> bool:
        """Whether no attempt to move its leaderships away has failed."""
        return node not in self._unled

    def stopping(self, node: str, at: int, event: Event) -> None:
        """Record a broker's own line about its shutdown."""
        if self.goes_in_order(node):
            self.sign(node, "leaving", event)
        if self._open(node) is None:
            self.absences.setdefault(node, []).append(BrokerAbsence(node, at, is_controlled=self.goes_in_order(node), events=[event]))

    def starting(self, node: str, at: int, event: Event) -> None:
        """Record a broker's start.

        A broker that was active and left unnoticed was killed at an unknown time.
        """
        self._unled.discard(node)
        known = self._open(node)
        if known is not None:
            known.has_restarted = True
            known.note(event)
        elif node in self._alive_before and not self._has_just_come(node, at):
            self.absences.setdefault(node, []).append(BrokerAbsence(node, None, has_restarted=True, events=[event]))

    def alive(self, node: str) -> None:
        """Record activity of a broker."""
        self._alive_before.add(node)

    def stopping_line(self, node: str) -> Event | None:
        """A broker's own shutdown line while no other line confirms it."""
        known = self._open(node)
        return known.events[0] if known is not None and known.witness is None and known.is_controlled else None

    def is_suspected(self, node: str) -> bool:
        """Whether a broker is down without a controller's line about it."""
        known = self._open(node)
        return known is not None and (known.is_suspected or known.witness is None)

    # -- lookup ----------------------------------------------------------------------------------------------

    def _open(self, node: str) -> BrokerAbsence | None:
        known = self.absences.get(node)
        return known[-1] if known and known[-1].up_at is None else None

    def _is_recent(self, node: str, kind: str, at: int) -> bool:
        event = self._signs.get(node, {}).get(kind)
        return event is not None and at - event.order_us <= SAME_DEPARTURE_US

    def _has_just_come(self, node: str, at: int) -> bool:
        known = self.absences.get(node)
        return bool(known) and known is not None and known[-1].up_at is not None and abs(at - known[-1].up_at) <= SAME_DEPARTURE_US

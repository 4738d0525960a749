"""Finished rows that a question is put to, group by group."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from models.downtime import stopped_seconds
from models.kafka.simulation.scenario import CLASSIC
from models.rows import ClientState, MemberSession, Rebalance, RebalanceMember
from models.tolerances import DEFAULT_SESSION_MS
from models.units import US_PER_MS
from models.whatif.behaviour.heartbeats import USUAL_MS, interval_ms, others_ms, waits_ms
from models.whatif.behaviour.members import Behaviour
from models.whatif.behaviour.reading import SupportingRows, behaviour_of
from models.whatif.heartbeat_phases import error_ms, late_ms
from models.whatif.runs.alignment import pairs_by_time
from models.whatif.runs.parts import PartRunner, RunPart, in_turn, joined, parts_of
from models.whatif.runs.run import RunSettings
from models.whatif.runs.settings import as_it_was
from models.whatif.runs.simulated_rebalances import SimulatedRebalance

FEW_ROWS = 300
"""Histories of more rebalances are run once: there single starts do not matter."""
PART_ROWS = 2_500
"""Rebalances of a part of a history that is run apart.

It takes a second or more.
"""
FEW_WAITS = 5
"""Fewer observed waits say little about an interval."""

GroupReading = tuple[Behaviour, RunSettings, list[SimulatedRebalance]]
"""A behaviour, its present settings, and the rebalances of their run."""


@dataclass(slots=True)
class History:
    """Finished rows that a question is put to, and the brokers' version by cluster."""

    rows: Iterable[Rebalance]
    members: Iterable[RebalanceMember] = ()
    sessions: Iterable[MemberSession] = ()
    states: Iterable[ClientState] = ()
    versions: Mapping[str, str] = field(default_factory=dict)
    run_parts: PartRunner = in_turn

    def groups(self) -> list[GroupBaseline]:
        """Kafka groups by cluster and name."""
        by_group: defaultdict[tuple[str, str], list[Rebalance]] = defaultdict(list)
        for row in self.rows:
            if row.system == "kafka":
                by_group[row.cluster, row.group].append(row)
        parts: defaultdict[str, list[RebalanceMember]] = defaultdict(list)
        # In one order, whichever order tables or logs give.
        for member in sorted(self.members, key=lambda row: (row.client_id or "", row.member_id or "", row.rebalance_member_id)):
            parts[member.rebalance_id].append(member)
        sessions: defaultdict[tuple[str, str], list[MemberSession]] = defaultdict(list)
        states: defaultdict[tuple[str, str], list[ClientState]] = defaultdict(list)
        ends: defaultdict[str, int] = defaultdict(int)
        for session in sorted(self.sessions, key=lambda row: (row.first_seen_at or 0, row.member_id)):
            sessions[session.cluster, session.group].append(session)
            ends[session.cluster] = max(ends[session.cluster], session.last_seen_at or 0)
        for state in sorted(self.states, key=lambda row: (row.client_id, row.started_at or 0, row.client_state_id)):
            states[state.cluster, state.group].append(state)
        for (cluster, _), group_rows in by_group.items():
            ends[cluster] = max(ends[cluster], *(max(row.began, row.ended_at or 0) for row in group_rows))
        usual = {cluster: _usual_session_ms(rows for (name, _), rows in by_group.items() if name == cluster) for cluster in ends}
        beats = _heartbeats_ms(by_group, parts)
        return [
            GroupBaseline(
                *key,
                sorted(by_group[key], key=lambda row: (row.began, row.generation_before or 0)),
                SupportingRows(parts, sessions[key], states[key], beats[key]),
                ends[key[0]] // US_PER_MS,
                self.versions.get(key[0]),
                usual.get(key[0]),
                run_parts=self.run_parts,
            )
            for key in sorted(by_group)
        ]


@dataclass(slots=True)
class GroupBaseline:
    """One group's rows, and the run of its present configuration."""

    cluster: str
    group: str
    rows: list[Rebalance]
    witnesses: SupportingRows
    ends_ms: int
    version: str | None = None
    usual_session_ms: int | None = None
    _readings: dict[bool, GroupReading] = field(default_factory=dict)
    _error_ms: int | None = None
    run_parts: PartRunner = in_turn

    @property
    def is_long(self) -> bool:
        """Whether it has too many rebalances for single starts to matter."""
        return len(self.rows) > FEW_ROWS

    def reruns(self, wanted: Sequence[tuple[Behaviour, RunSettings]]) -> list[list[SimulatedRebalance]]:
        """Rebalances of runs of its readings; a long history is run in parts."""
        cuts_ms = [self.rows[place].began // US_PER_MS for place in range(PART_ROWS, len(self.rows) - PART_ROWS // 2, PART_ROWS)]
        return reruns(wanted, cuts_ms, self.run_parts, is_shared=self.is_long)

    def reading(self, *, restarts: bool = True) -> GroupReading:
        """Behaviour, present settings, and the rebalances of their run."""
        if restarts not in self._readings:
            if self.is_long:
                self._read_at_once()
            else:
                self._readings[restarts] = self._read_closely(restarts=restarts)
        return self._readings[restarts]

    def _read_at_once(self) -> None:
        """Run both readings of a long history, which have most in common."""
        pairs = [self._behaviour(self.witnesses, restarts=restarts) for restarts in (True, False)]
        for restarts, pair, rows in zip((True, False), pairs, self.reruns(pairs), strict=True):
            self._readings[restarts] = (*pair, rows)

    def _read_closely(self, *, restarts: bool) -> GroupReading:
        reading = self._read(self.witnesses, restarts=restarts)
        if reading[0].protocol == CLASSIC:
            return self._polled(*(reading if self._is_on_time(reading) else self._at_another_interval(reading, restarts=restarts)))
        return reading

    def _behaviour(self, witnesses: SupportingRows, *, restarts: bool) -> tuple[Behaviour, RunSettings]:
        behaviour = behaviour_of(self.rows, witnesses, self.ends_ms, restarts=restarts)
        behaviour.usual_session_ms = self.usual_session_ms
        return behaviour, as_it_was(behaviour, self.rows, self.version)

    def _read(self, witnesses: SupportingRows, *, restarts: bool) -> GroupReading:
        behaviour, settings = self._behaviour(witnesses, restarts=restarts)
        return behaviour, settings, rerun(behaviour, settings)

    def _at_another_interval(self, reading: GroupReading, *, restarts: bool) -> GroupReading:
        """The reading with the interval whose run explains the waits.

        The same if none does; the rarer an interval, the better it must.
        """
        usual_ms = reading[0].heartbeat_ms
        session_ms = _session_ms(self.rows) or DEFAULT_SESSION_MS
        others = others_ms(waits_ms(self.rows, self.witnesses.parts, session_ms), usual_ms, session_ms)
        for other_ms in others:
            other = self._read(replace(self.witnesses, heartbeat_ms=other_ms), restarts=restarts)
            if self._is_on_time(other, tried=round(1 / USUAL_MS[other_ms])):
                return other
        return reading

    def _is_on_time(self, reading: GroupReading, tried: int = 1) -> bool:
        behaviour, _, before = reading
        return error_ms(self.rows, before, behaviour, self.ends_ms, tried) < behaviour.heartbeat_ms

    def _polled(self, behaviour: Behaviour, settings: RunSettings, before: list[SimulatedRebalance]) -> GroupReading:
        """The same with members that poll as seldom as their delays show."""
        is_on_time = self._is_on_time((behaviour, settings, before))
        later_ms = late_ms(self.rows, before, behaviour.heartbeat_ms, self.ends_ms) if is_on_time else 0
        if not later_ms:
            return behaviour, settings, before
        slower = replace(settings, poll_ms=settings.poll_ms + 2 * later_ms)
        return behaviour, slower, rerun(behaviour, slower)

    def wait_error_ms(self) -> int:
        """Largest error of the waits in the run of the present configuration."""
        if self._error_ms is None:
            behaviour, _, before = self.reading()
            self._error_ms = error_ms(self.rows, before, behaviour, self.ends_ms)
        return self._error_ms

    def longest_miss_ms(self) -> int:
        """Largest difference between a logged wait for members and that of the first run."""
        _, _, before = self.reading()
        rows = [row for row in self.rows if row.blockers]
        pairs = dict(pairs_by_time([row.began // US_PER_MS for row in rows], [run.start_ms for run in before]))
        waits = [
            (round(stopped_seconds(row) * 1000), before[pairs[index]].stopped_ms(self.ends_ms) if index in pairs else 0)
            for index, row in enumerate(rows)
        ]
        return max((abs(logged_ms - run_ms) for logged_ms, run_ms in waits), default=0)

    def is_on_time(self) -> bool:
        """Whether the run of the present configuration tells when heartbeats are sent."""
        return self.wait_error_ms() < self.reading()[0].heartbeat_ms


def reruns(
    wanted: Sequence[tuple[Behaviour, RunSettings]],
    cuts_ms: Sequence[int] = (),
    run_parts: PartRunner = in_turn,
    *,
    is_shared: bool = False,
) -> list[list[SimulatedRebalance]]:
    """Rebalances of some runs since the logs begin.

    They are run in parts between `cuts_ms`. If they are shared, later ones take from the first what is the same in both.
    """
    if not wanted:
        return []
    parts = [RunPart(runs, is_shared) for runs in zip(*(parts_of(*pair, cuts_ms) for pair in wanted), strict=True)]
    finished = list(run_parts(parts))
    rows = []
    for (behaviour, settings), runs in zip(wanted, zip(*finished, strict=True), strict=True):
        course = joined(runs, cuts_ms) or parts_of(behaviour, settings, ())[0].finished()
        from_ms = behaviour.begins_ms - behaviour.heartbeat_ms
        rows.append([row for row in course.rows if row.start_ms >= from_ms])
    return rows


def rerun(behaviour: Behaviour, settings: RunSettings) -> list[SimulatedRebalance]:
    """Rebalances of a run since the logs begin."""
    (rows,) = reruns([(behaviour, settings)])
    return rows


def _heartbeats_ms(
    by_group: Mapping[tuple[str, str], Sequence[Rebalance]], parts: Mapping[str, Sequence[RebalanceMember]]
) -> dict[tuple[str, str], int]:
    """heartbeat.interval.ms of each group.

    Groups of one cluster with one session timeout are taken to have one interval, and one with few observations that of
    most others, if it may be.
    """
    sessions = {key: _session_ms(rows) or DEFAULT_SESSION_MS for key, rows in by_group.items()}
    waits: defaultdict[tuple[str, int], list[float]] = defaultdict(list)
    for key, rows in by_group.items():
        waits[key[0], sessions[key]] += waits_ms(rows, parts, sessions[key])
    most = {cluster: max((pair for pair in waits if pair[0] == cluster), key=lambda pair: len(waits[pair])) for cluster, _ in waits}
    intervals_ms = {}
    for key, session_ms in sessions.items():
        group_waits, (_, other_ms) = waits[key[0], session_ms], most[key[0]]
        known = (
            waits[most[key[0]]]
            if len(group_waits) < FEW_WAITS and max(group_waits, default=0.0) <= max(waits[most[key[0]]], default=0.0)
            else group_waits
        )
        intervals_ms[key] = interval_ms(known, other_ms if known is not group_waits else session_ms)
    return intervals_ms


def _session_ms(rows: Sequence[Rebalance]) -> int | None:
    return next((int(row.measurements_ms["session_timeout_ms"]) for row in rows if row.measurements_ms.get("session_timeout_ms")), None)


def _usual_session_ms(groups: Iterable[Sequence[Rebalance]]) -> int | None:
    """Most frequent session.timeout.ms of groups, None if none is known."""
    counts = Counter(session_ms for rows in groups if (session_ms := _session_ms(rows)) is not None)
    return min(counts, key=lambda session_ms: (-counts[session_ms], session_ms)) if counts else None

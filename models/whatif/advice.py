"""Search for settings that avoid most harm to a group, by what-if.

Candidates follow from what happened: how long members were silent, away or busy, and how long others waited for them.
Each is run; the least change that avoids most comes first.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from models.downtime import COOPERATIVE_PROTOCOLS, is_cooperative, stopped_seconds
from models.incidents.person_reasons import REASON_EXPIRED_MEANWHILE
from models.incidents.static_membership import is_of_consumers
from models.kafka.coordinator.runtime.version_policy import parse_version
from models.kafka.simulation.scenario import CLASSIC
from models.rows import Rebalance
from models.tolerances import float_tolerance, int_tolerance
from models.units import US_PER_MS
from models.whatif.behaviour.heartbeats import SESSION_SHARE
from models.whatif.behaviour.members import Behaviour, MemberBehaviour, StretchKind
from models.whatif.configuration import Configuration
from models.whatif.history import GroupBaseline
from models.whatif.outlook import RUN_PROTOCOLS, WhatIfResult, under
from models.whatif.runs.alignment import pairs_by_time
from models.whatif.runs.run import RunSettings
from models.whatif.runs.simulated_rebalances import SimulatedRebalance
from models.whatif.scopes import AdviceScope, behaviour_in, hurtful, part_of, present_ms

LAST_ROWS = 400
"""Of longer histories the last rebalances are searched."""
RUNS_MAX = 12
"""Configurations that are run for one group.

Scopes that want more values get no advice of their own.
"""
ROUND_MS = (1_000, 5_000, 15_000, 60_000)
"""Steps to which values are rounded up, each for values of ten and more."""
MOST_SESSION_MS = int_tolerance("whatif.advice.most_session_ms")
"""Longest session that is advised: a dead member would be found later than that."""
MOST_CONSUMER_SESSION_MS = int_tolerance("whatif.advice.most_consumer_session_ms")
"""Longest session of the consumer protocol that brokers allow by default."""
LONG_WAIT_MS = int_tolerance("whatif.advice.long_wait_ms")
"""Join phases that wait longer for one member are worth a shorter poll interval."""
SHORTER_MS = (60_000, 30_000)
"""Poll intervals that are tried against such waits."""
SHORTER_SESSION_MS = int_tolerance("whatif.advice.shorter_session_ms")
"""Session that is tried against long waits for members that are gone."""
BOUNDS_OF_WAITS = frozenset({"shorter_poll", "shorter_session"})
"""Changes whose effect is unknown where the first run waits otherwise."""
MOVE_SOME = frozenset({"cooperative", "consumer"})
"""Changes with which those members go on whose partitions stay."""
LEAST_SECONDS = float_tolerance("whatif.advice.least_seconds")
"""Smallest downtime of members that counts."""
GATHERING_MS = int_tolerance("whatif.advice.gathering_ms")
"""Initial delay that is tried where members start one after the other."""
WORTH_SHARE = float_tolerance("whatif.advice.worth_share")
"""Smallest share of the rebalances or the downtime that is worth a change."""
NEARLY = float_tolerance("whatif.advice.nearly")
"""Share of the best gain with which a smaller value is preferred."""
KNOWN_SHARE = float_tolerance("whatif.advice.known_share")
"""Smallest share of rebalances that the first run must give.

Else a search does not tell what avoids nothing.
"""
REBALANCE_SECONDS = float_tolerance("whatif.advice.rebalance_seconds")
"""Harm of a rebalance beside its downtime, such as lost caches."""
SINCE = {"static": "2.3", "delay": "0.11", "cooperative": "2.4", "consumer": "4.0"}
"""First version of the brokers that has what a change needs."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A change worth trying; `costs` ranks it among changes with equal effect."""

    id: str  # a turn of conf/causes.yaml
    configuration: Configuration
    values_ms: dict[str, int] = field(default_factory=dict)
    costs: int = 0


@dataclass(frozen=True, slots=True)
class RatedChange:
    """A candidate with its effect."""

    candidate: Candidate
    outlook: WhatIfResult

    @property
    def gain(self) -> float:
        """Harm avoided, in seconds of downtime."""
        return self.outlook.saved_seconds + REBALANCE_SECONDS * self._spared

    @property
    def gain_of_members(self) -> float:
        """Harm avoided, with downtime by the share of its members'."""
        outlook = self.outlook
        if not self._has_members:
            return self.gain
        share = outlook.saved_member_seconds / outlook.member_seconds_stopped
        return min(outlook.saved_seconds, outlook.stopped_seconds * share) + REBALANCE_SECONDS * self._spared

    @property
    def _spared(self) -> int:
        return len(self.outlook.changes) - self.outlook.left

    @property
    def _has_members(self) -> bool:
        """Whether the logs tell how many members stood still."""
        return self.outlook.member_seconds_stopped >= LEAST_SECONDS

    @property
    def is_known(self) -> bool:
        """Whether its effect is known.

        Letting some members work on needs their number.
        """
        return self._has_members or self._spared > 0 or self.candidate.id not in MOVE_SOME

    @property
    def is_in_vain(self) -> bool:
        """Whether it spares no rebalance and no member."""
        return self._has_members and self._spared <= 0 and self.outlook.saved_member_seconds < LEAST_SECONDS

    @property
    def is_worth_it(self) -> bool:
        """Whether it avoids a noticeable share of the harm."""
        if self.is_in_vain or not self.is_known:
            return False
        harm = self.outlook.stopped_seconds + REBALANCE_SECONDS * len(self.outlook.changes)
        return self.gain > WORTH_SHARE * harm


@dataclass(frozen=True, slots=True)
class Advice:
    """What would help a group most, and what would not."""

    cluster: str
    group: str
    count: int
    stopped_seconds: float
    helpful: tuple[RatedChange, ...]
    useless: tuple[RatedChange, ...]
    assumed: tuple[str, ...]
    scopes: Mapping[str, tuple[RatedChange, ...]] = field(default_factory=dict)
    """What would have helped in scopes that were asked about, by id."""
    searched: frozenset[str] = frozenset()
    """Changes that were searched, by id, if the runs can tell.

    One that is not among those that help avoids nothing.
    """
    without_end: int = 0
    """Number of rebalances without an end, which are not run again."""
    static: Mapping[str, WhatIfResult] = field(default_factory=dict)
    """What static membership alone would have done in the scopes, by id."""


def advise(history: GroupBaseline, *, is_varied: bool = True, scopes: Iterable[AdviceScope] = ()) -> Advice:
    """Search the settings of one group, and those for parts of its history.

    `is_varied` is whether what helps is run with delays that the logs leave open, too. A rebalance that stops the group and
    has no end is left out: how long it lasts is unknown, so no setting can be said to spare it.
    """
    rows = [row for row in history.rows if row.outcome != "open" or not stopped_seconds(row)][-LAST_ROWS:]
    without_end = sum(row.outcome == "open" and bool(stopped_seconds(row)) for row in history.rows)
    if not rows:
        return Advice(history.cluster, history.group, 0, 0.0, (), (), (), without_end=without_end)
    recent_history = replace(history, rows=rows, _readings={}) if len(rows) < len(history.rows) else history
    behaviour, settings, before = recent_history.reading()
    changes = [
        RatedChange(candidate, under(recent_history, candidate.configuration, is_varied=False))
        for candidate in candidate_changes(behaviour, settings, recent_history)
    ]
    helpful = sorted((change for change in changes if change.is_worth_it), key=_best_first)
    stopped = changes[0].outlook.stopped_seconds if changes else under(recent_history, Configuration()).stopped_seconds
    unknown = BOUNDS_OF_WAITS if recent_history.longest_miss_ms() >= LONG_WAIT_MS else frozenset()
    useless = tuple(change for change in changes if not change.is_worth_it and change.is_known and change.candidate.id not in unknown)
    best = tuple(
        replace(change, outlook=under(recent_history, change.candidate.configuration)) if is_varied else change
        for change in _distinct(helpful)
    )
    runs = {change.candidate.configuration: change.outlook for change in (*changes, *best)}
    scopes = tuple(scopes)
    about = {scope.id: answer for scope in scopes if (answer := tuple(_within(scope, recent_history, runs)))}
    return Advice(
        recent_history.cluster,
        recent_history.group,
        len(recent_history.rows),
        stopped,
        best,
        useless,
        tuple(behaviour.assumed.values()),
        about,
        _searched(behaviour, settings) - unknown if _is_known(history, rows, before) else frozenset(),
        without_end,
        _static_within(scopes, recent_history, runs, is_varied=is_varied),
    )


def _static_within(
    scopes: Sequence[AdviceScope], history: GroupBaseline, runs: dict[Configuration, WhatIfResult], *, is_varied: bool
) -> dict[str, WhatIfResult]:
    """What static membership alone would have done in scopes, by id."""
    static = Configuration(static_membership=True)
    concerned = [scope for scope in scopes if scope.rows_within(history.rows)]
    if concerned and static not in runs:
        runs[static] = under(history, static, is_varied=is_varied)
    return {scope.id: scope.part(runs[static]) for scope in concerned}


def _within(scope: AdviceScope, history: GroupBaseline, runs: dict[Configuration, WhatIfResult]) -> Iterator[RatedChange]:
    """What would have helped in a scope, best first.

    `runs` holds what was run, and takes what is run here. Ranked by what hurt: where most of the downtime was spent on
    waiting for members, by that.
    """
    rows = scope.rows_within(history.rows)
    if not rows:
        return
    behaviour, settings, _ = history.reading()
    hurt = hurtful(rows)
    pairs: list[tuple[RatedChange, RatedChange]] = []
    for candidate in candidate_changes(behaviour_in(behaviour, rows), settings, replace(history, rows=rows), everybody=behaviour):
        if candidate.configuration not in runs:
            if len(runs) >= RUNS_MAX:
                continue
            runs[candidate.configuration] = under(history, candidate.configuration, is_varied=False)
        whole_part = scope.part(runs[candidate.configuration])
        hurting = part_of(whole_part, [change for change in whole_part.changes if change.row.rebalance_id in hurt])
        pairs.append((RatedChange(candidate, whole_part), RatedChange(candidate, hurting)))
    helpful = [pair for pair in pairs if pair[1].is_worth_it and min(finding.gain for finding in pair) >= REBALANCE_SECONDS]
    helpful.sort(key=lambda pair: _best_first(pair[1]))
    chosen = {id(finding.candidate) for finding in _distinct([finding for _, finding in helpful])}
    yield from (finding for finding, _ in helpful if id(finding.candidate) in chosen)


def _best_first(finding: RatedChange) -> tuple[float, int]:
    return -round(finding.gain_of_members, 1), finding.candidate.costs


def _distinct(findings: Sequence[RatedChange]) -> Iterator[RatedChange]:
    """The least value of each change that does nearly the most."""
    for change in dict.fromkeys(finding.candidate.id for finding in findings):
        variants = [finding for finding in findings if finding.candidate.id == change]
        enough = NEARLY * variants[0].gain
        yield min(
            (variant for variant in variants if variant.gain >= enough),
            key=lambda variant: max(variant.candidate.values_ms.values(), default=0),
        )


def candidate_changes(
    behaviour: Behaviour, settings: RunSettings, history: GroupBaseline, *, everybody: Behaviour | None = None
) -> Iterator[Candidate]:
    """Changes that can help with what happened, and that the group can have.

    `everybody` is the behaviour of all members, if `behaviour` is that of some.
    """
    version = history.version
    is_consumer = is_of_consumers(behaviour.protocol_type)
    if settings.protocol == CLASSIC:
        yield from _sessions(behaviour, settings)
        yield from _shorter_sessions(everybody or behaviour, settings, history)
        if _started_apart(history) and _has(version, "delay") and settings.initial_delay_ms < GATHERING_MS:
            yield Candidate("delay", Configuration(initial_delay_ms=GATHERING_MS), {"delay": GATHERING_MS}, costs=1)
    else:
        yield from _consumer_sessions(behaviour, settings)
    if is_consumer:
        yield from _longer_polls(behaviour, settings)
        yield from _shorter_polls(everybody or behaviour, settings, history)
        if _has(version, "static"):
            yield from _static(behaviour, settings)
        if settings.protocol == CLASSIC and not is_cooperative(behaviour.assignor) and _has(version, "cooperative"):
            yield Candidate("cooperative", Configuration(cooperative=True), costs=4)
        if settings.protocol == CLASSIC and behaviour.assignor not in COOPERATIVE_PROTOCOLS and _has(version, "consumer"):
            yield Candidate("consumer", Configuration(consumer_protocol=True), costs=5)


def _is_known(history: GroupBaseline, rows: Sequence[Rebalance], before: Sequence[SimulatedRebalance]) -> bool:
    """Whether a search tells what avoids nothing.

    Not of rebalances without an end, and only if a run of the present configuration gives most rebalances.
    """
    known = pairs_by_time([row.began // US_PER_MS for row in rows], [row.start_ms for row in before])
    return not any(row.outcome == "open" for row in history.rows) and len(known) >= KNOWN_SHARE * len(rows)


def _searched(behaviour: Behaviour, settings: RunSettings) -> frozenset[str]:
    """Changes that `candidate_changes` looks for in groups of a kind, by id.

    None of groups that are not run, and only those that workers of Connect can have.
    """
    if behaviour.protocol not in RUN_PROTOCOLS:
        return frozenset()
    of_protocol = {"session", "shorter_session", "delay"} if settings.protocol == CLASSIC else {"consumer_session"}
    if not is_of_consumers(behaviour.protocol_type):
        return frozenset(of_protocol)
    of_consumers = {"longer_poll", "shorter_poll", "static"} | ({"cooperative", "consumer"} if settings.protocol == CLASSIC else set())
    return frozenset(of_protocol | of_consumers)


def _has(version: str | None, change: str) -> bool:
    """Whether brokers have what a change needs; unknown ones may."""
    return version is None or parse_version(version) >= parse_version(SINCE[change])


def _sessions(behaviour: Behaviour, settings: RunSettings) -> Iterator[Candidate]:
    """Sessions that outlive the measured silences, and restarts of static members."""
    session_ms = settings.session_ms[""]
    for needed_ms in _outliving_ms(behaviour, settings):
        if session_ms < needed_ms <= MOST_SESSION_MS:
            yield Candidate("session", Configuration(session_timeout_ms=needed_ms), {"session": needed_ms, "later": needed_ms - session_ms})


def _consumer_sessions(behaviour: Behaviour, settings: RunSettings) -> Iterator[Candidate]:
    """Sessions of the consumer protocol that outlive the measured silences."""
    session_ms = settings.session_ms[""]
    for needed_ms in _outliving_ms(behaviour, settings):
        if session_ms < needed_ms <= MOST_CONSUMER_SESSION_MS:
            values_ms = {"session": needed_ms, "later": needed_ms - session_ms}
            yield Candidate("consumer_session", Configuration(consumer_session_ms=needed_ms), values_ms)


def _shorter_sessions(behaviour: Behaviour, settings: RunSettings, history: GroupBaseline) -> Iterator[Candidate]:
    """A session that bounds the waits for members that are gone.

    Heartbeats and the known pauses must keep it.
    """
    waits = [row.join_seconds or 0.0 for row in history.rows if any(person.act == REASON_EXPIRED_MEANWHILE for person in row.blockers)]
    pauses = [silent_ms for member in behaviour.members.values() for silent_ms in _stretches_ms(member, StretchKind.PAUSE)]
    needed_ms = max(SESSION_SHARE * settings.heartbeat_ms, max(pauses, default=0) + settings.heartbeat_ms)
    if max(waits, default=0.0) * 1000 >= LONG_WAIT_MS and needed_ms <= SHORTER_SESSION_MS < settings.session_ms[""]:
        yield Candidate("shorter_session", Configuration(session_timeout_ms=SHORTER_SESSION_MS), {"session": SHORTER_SESSION_MS}, costs=2)


def _outliving_ms(behaviour: Behaviour, settings: RunSettings) -> Iterator[int]:
    """Sessions that outlive silences: the middle and the longest one."""
    silences = sorted(
        silent_ms + settings.heartbeat_ms
        for member in behaviour.members.values()
        for silent_ms in (*_stretches_ms(member, StretchKind.PAUSE), *(_absences_ms(member) if member.instance else ()))
        if silent_ms + settings.heartbeat_ms > present_ms(settings.session_ms, member)
    )
    yield from dict.fromkeys(rounded(silence_ms) for silence_ms in (_middle(silences), *silences[-1:]))


def _stretches_ms(member: MemberBehaviour, kind: StretchKind) -> Iterator[int]:
    """Lengths of the stretches of one kind that ended."""
    for life in member.lives:
        for stretch in life.stretches:
            if stretch.kind is kind and stretch.until_ms is not None:
                yield stretch.until_ms - stretch.from_ms


def _absences_ms(member: MemberBehaviour) -> Iterator[int]:
    """Times between a member's end and its next start."""
    for life, after in pairwise(member.lives):
        if life.end_ms is not None:
            yield after.start_ms - life.end_ms


def _static(behaviour: Behaviour, settings: RunSettings) -> Iterator[Candidate]:
    """Fixed identities, with sessions that outlive the measured restarts."""
    if all(member.instance for member in behaviour.members.values()):
        return
    absences = sorted(away_ms + settings.heartbeat_ms for member in behaviour.members.values() for away_ms in _absences_ms(member))
    session_ms = settings.session_ms[""]
    for needed_ms in dict.fromkeys(
        max(session_ms, rounded(absence_ms)) for absence_ms in (_middle(absences), *absences[-1:]) if absence_ms
    ):
        # Sessions of the newer protocol are the brokers' to set, for all groups.
        if needed_ms <= (MOST_SESSION_MS if settings.protocol == CLASSIC else session_ms):
            changed = Configuration(static_membership=True, session_timeout_ms=needed_ms if needed_ms > session_ms else None)
            yield Candidate("static", changed, {"session": needed_ms, "later": needed_ms - session_ms}, costs=3)


def _longer_polls(behaviour: Behaviour, settings: RunSettings) -> Iterator[Candidate]:
    """Poll intervals that outlast the measured batches."""
    late = sorted(
        busy_ms
        for member in behaviour.members.values()
        for busy_ms in _stretches_ms(member, StretchKind.BUSY)
        if busy_ms > present_ms(settings.max_poll_ms, member)
    )
    for needed_ms in dict.fromkeys(rounded(late_ms) for late_ms in (_middle(late), *late[-1:])):
        if needed_ms > settings.max_poll_ms[""]:
            yield Candidate("longer_poll", Configuration(max_poll_interval_ms=needed_ms), {"poll": needed_ms}, costs=1)


def _shorter_polls(behaviour: Behaviour, settings: RunSettings, history: GroupBaseline) -> Iterator[Candidate]:
    """Poll intervals that bound the waits for others, and that the usual batch keeps."""
    longest_ms = max(((row.join_seconds or 0.0) * 1000 for row in history.rows if row.blockers), default=0.0)
    busy = (busy_ms for member in behaviour.members.values() for busy_ms in _stretches_ms(member, StretchKind.BUSY))
    usual_ms = _middle(sorted(busy_ms for busy_ms in busy if busy_ms <= settings.max_poll_ms[""]))
    for shorter_ms in SHORTER_MS:
        if longest_ms >= LONG_WAIT_MS and usual_ms < shorter_ms < min(settings.max_poll_ms[""], longest_ms):
            yield Candidate("shorter_poll", Configuration(max_poll_interval_ms=shorter_ms), {"poll": shorter_ms}, costs=2)


def _started_apart(history: GroupBaseline) -> bool:
    """Whether members joined a group that had just begun, without waits.

    Where a join waited for another member, gathering the joins would hide the wait and not mend it.
    """
    return any(
        (first.cause, second.cause) == ("new_group", "member_join") and not second.blockers for first, second in pairwise(history.rows)
    )


def _middle(values: list[int]) -> int:
    return values[len(values) // 2] if values else 0


def rounded(value_ms: int) -> int:
    """A value that people would set, not smaller than the given one."""
    step = next((round_ms for round_ms in reversed(ROUND_MS) if round_ms * 10 <= value_ms), ROUND_MS[0])
    return -(-value_ms // step) * step

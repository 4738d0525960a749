"""Compares two runs: what another configuration changes about each rebalance."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from models.downtime import goes_on, stopped_seconds
from models.incidents.person_reasons import REASON_EVICTED, REJOINED_LAST
from models.rows import Rebalance
from models.tolerances import int_tolerance
from models.units import US_PER_MS
from models.whatif.configuration import Configuration
from models.whatif.heartbeat_phases import REJOIN_DELAY_MS, off_ms
from models.whatif.runs.alignment import of_runs, pairs_by_time
from models.whatif.runs.simulated_rebalances import SimulatedRebalance

UNCHANGED_MS = int_tolerance("whatif.comparison.unchanged_ms")
"""Smallest difference of a time that counts."""

SCHEDULED_MS = int_tolerance("whatif.comparison.scheduled_ms")
"""Default of scheduled.rebalance.max.delay.ms (KIP-415): tasks hardly go out sooner or later by more."""


@dataclass(slots=True)
class RebalanceChange:
    """One rebalance under the other configuration.

    Saved seconds are negative if it would take longer.
    """

    row: Rebalance
    effect: str = "same"  # avoided, perhaps_avoided, shorter, longer, later, sooner, same
    rule: str | None = None
    saved_seconds: float = 0.0
    saved_member_seconds: float = 0.0
    added: int = 0
    waits_seconds: float | None = None
    """Expected initial delay if it differs."""
    stopped_seconds: float = field(init=False)
    """Actual downtime of the group in this rebalance."""

    def __post_init__(self) -> None:
        self.stopped_seconds = stopped_seconds(self.row)


@dataclass(frozen=True, slots=True)
class RebalanceSpan:
    """A rebalance in a history, logged or foretold.

    `ended_ms` is None if it has no end.
    """

    start_ms: int
    ended_ms: int | None


def span_of(row: Rebalance) -> RebalanceSpan:
    """A logged rebalance."""
    return RebalanceSpan(row.began // US_PER_MS, None if row.ended_at is None else row.ended_at // US_PER_MS)


@dataclass(slots=True)
class Comparison:
    """A run of the present configuration beside another, and the logged rows."""

    rows: Sequence[Rebalance]
    before: list[SimulatedRebalance]
    after: list[SimulatedRebalance]
    ends_ms: int
    configuration: Configuration
    by_chance_ms: int
    """Difference that the phase of heartbeats may make."""
    heartbeat_ms: int
    """Interval of the first run."""
    changes: list[RebalanceChange] = field(init=False)
    reproduced: int = 0
    spans: list[RebalanceSpan] = field(default_factory=list)
    """Rebalances under the other configuration.

    Those that the first run does not give are as they were.
    """

    def __post_init__(self) -> None:
        self.changes = [RebalanceChange(row) for row in self.rows]
        logged = dict(pairs_by_time([row.began // US_PER_MS for row in self.rows], [row.start_ms for row in self.before]))
        self.reproduced = len(logged)
        kept = of_runs(self.before, self.after, SCHEDULED_MS if self.configuration.scheduled_delay_ms is not None else 0)
        works_on = any(row.goes_on for row in self.after)
        for index, change in enumerate(self.changes):
            if index not in logged:
                self.spans.append(span_of(change.row))
                if works_on and not goes_on(change.row):
                    _spare_downtime(change)
                continue
            other = kept.get(logged[index])
            after = None if other is None else self.after[other]
            self._change(change, self.before[logged[index]], after)
            self.spans += [_foretold(span_of(change.row), self.before[logged[index]], after)] if after is not None else []
        self._add(logged, set(kept.values()))
        self.spans.sort(key=lambda span: span.start_ms)

    @property
    def left(self) -> int:
        """Number of rebalances under the other configuration."""
        return len(self.rows) - sum(change.effect == "avoided" for change in self.changes) + sum(change.added for change in self.changes)

    @property
    def saved(self) -> float:
        """Downtime saved, in seconds."""
        return sum(change.saved_seconds for change in self.changes)

    @property
    def avoided(self) -> set[int]:
        """Indexes of rows that would not have been."""
        return {index for index, change in enumerate(self.changes) if change.effect == "avoided"}

    def _change(self, change: RebalanceChange, before: SimulatedRebalance, after: SimulatedRebalance | None) -> None:
        """Effect on one row, as the runs differ."""
        if after is None:
            change.effect, change.saved_seconds = "avoided", change.stopped_seconds
            change.saved_member_seconds = change.row.member_seconds_stopped or 0.0
            return
        before_ms, after_ms = before.stopped_ms(self.ends_ms), after.stopped_ms(self.ends_ms)
        saved = (before_ms - after_ms) / 1000
        if abs(before_ms - after_ms) <= self.by_chance_ms and self._may_end_with_heartbeat(min(before_ms, after_ms)):
            saved = 0.0
        elif self._is_beat_missed(round(change.stopped_seconds * 1000) - before_ms):
            saved = change.stopped_seconds - after_ms / 1000
        if goes_on(change.row):
            saved = 0.0
        share = saved / change.stopped_seconds if change.stopped_seconds else 0.0
        if after.goes_on and not goes_on(change.row):  # only those stand still whose partitions move
            saved, share = change.stopped_seconds, 1.0 - _moved_share(change.row)
        change.saved_seconds = round(min(saved, change.stopped_seconds), 6)
        change.saved_member_seconds = round((change.row.member_seconds_stopped or 0.0) * min(share, 1.0), 6)
        if before.delay_ms != after.delay_ms:
            change.waits_seconds = after.delay_ms / 1000
        waits = (after.delay_ms - before.delay_ms) / 1000
        if after.start_ms - before.start_ms > UNCHANGED_MS and not saved:
            change.effect = "later"
        elif before.start_ms - after.start_ms > UNCHANGED_MS and not saved:
            change.effect = "sooner"
        elif abs(waits - saved) * 1000 > UNCHANGED_MS:
            change.effect = "longer" if waits > saved else "shorter"

    def _may_end_with_heartbeat(self, waited_ms: int) -> bool:
        """Whether a wait may be for somebody's next heartbeat.

        A longer one is for a timeout.
        """
        return waited_ms <= self.heartbeat_ms + REJOIN_DELAY_MS

    def _is_beat_missed(self, late_ms: int) -> bool:
        """Whether a wait differs from the first run's by whole heartbeat intervals.

        Who just misses a heartbeat waits for the next. That chance is another one if heartbeats come at other times.
        """
        half_ms = self.heartbeat_ms // 2
        return abs(late_ms) > half_ms and abs(off_ms(late_ms, self.heartbeat_ms)) <= REJOIN_DELAY_MS

    def _add(self, logged: Mapping[int, int], kept: set[int]) -> None:
        """Charge additional rebalances to the last row before them."""
        matched = set(logged.values())
        ignored = {row.start_ms for index, row in enumerate(self.before) if index not in matched}
        starts = [row.began // US_PER_MS for row in self.rows]
        for index, row in enumerate(self.after):
            if index in kept or row.start_ms in ignored or row.start_ms > self.ends_ms:
                continue
            change = self.changes[max(0, bisect_right(starts, row.start_ms) - 1)]
            change.added += 1
            self.spans.append(RebalanceSpan(row.start_ms, row.ended_ms))
            change.saved_seconds = round(change.saved_seconds - row.stopped_ms(self.ends_ms) / 1000, 6)


def _spare_downtime(change: RebalanceChange) -> None:
    """Let members work on in a rebalance that the first run does not give.

    They do in all rebalances of the other configuration, but for those whose partitions move.
    """
    change.saved_seconds = change.stopped_seconds
    if change.saved_seconds * 1000 > UNCHANGED_MS:
        change.effect = "shorter"
    change.saved_member_seconds = round((change.row.member_seconds_stopped or 0.0) * (1.0 - _moved_share(change.row)), 6)


def _foretold(was: RebalanceSpan, before: SimulatedRebalance, after: SimulatedRebalance) -> RebalanceSpan:
    """A logged rebalance, longer or shorter by what the runs differ."""
    if was.ended_ms is None or before.ended_ms is None or after.ended_ms is None:
        return RebalanceSpan(after.start_ms, None if was.ended_ms is None else after.ended_ms)
    missed_ms = was.ended_ms - was.start_ms - (before.ended_ms - before.start_ms)
    is_missed = abs(missed_ms) > UNCHANGED_MS
    return RebalanceSpan(after.start_ms, max(after.start_ms, after.ended_ms + missed_ms) if is_missed else after.ended_ms)


def _moved_share(row: Rebalance) -> float:
    """Share of members whose partitions move; shares are taken to be even and sticky."""
    members = max(row.members_before or 0, row.members_after or 0, 1)
    return min(1.0, max(1, len(row.offenders)) / members) if row.cause != "new_group" else 1.0


def rule_of(change: RebalanceChange, configuration: Configuration) -> str | None:
    """Mechanism behind a change."""
    if change.effect == "same" and not change.added and not change.saved_seconds:
        return None
    row, settings = change.row, configuration
    waited = any(person.act in {REASON_EVICTED, REJOINED_LAST} for person in row.blockers)
    candidates = (
        (settings.consumer_protocol, "members_go_on"),
        (settings.cooperative, "moves_only_some"),
        (settings.static_membership, "static_return"),
        (settings.initial_delay_ms is not None and row.cause in {"new_group", "member_join"}, "delay_gathers"),
        (settings.max_poll_interval_ms is not None and not waited, "poll_in_time"),
        (settings.max_poll_interval_ms is not None, "wait_for_poll"),
        (settings.session_timeout_ms is not None and "avoided" in change.effect, "pause_outlived"),
        (settings.session_timeout_ms is not None, "wait_for_expiry"),
        (settings.heartbeat_interval_ms is not None, "heard_sooner"),
        (settings.consumer_session_ms is not None, "session_outlived"),
        (settings.consumer_heartbeat_ms is not None, "heartbeats_carry"),
        (settings.max_size is not None, "size_limits"),
        (settings.instances is not None, "fewer_come_and_go"),
        (settings.restart_pause_ms is not None, "restarts_apart"),
        (settings.scheduled_delay_ms is not None, "lost_tasks_wait"),
    )
    return next((rule for applies, rule in candidates if applies), None)

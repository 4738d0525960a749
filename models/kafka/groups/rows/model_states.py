"""States of a classic group in its coordinator's model, by change.

Lines are collected until the group waits for nobody, then followed by the model from where it was before. What is kept between is plain
data, so a replay that goes on from a checkpoint writes the same rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from models.events import Event, Witness
from models.evidence import evidence
from models.ids import make_id
from models.kafka.conformance.expected_lines import DEFAULT_LEVELS, Sight
from models.kafka.conformance.explanation import Explanation
from models.kafka.conformance.group_view import MemberView, TimerView, View, view_of
from models.kafka.conformance.learning import LEARNED
from models.kafka.conformance.proposals.proposers import PROPOSERS
from models.kafka.conformance.search_limits import BURST_GAP_MS
from models.kafka.conformance.snapshots import Snapshot, restored_model, snapshot_of
from models.kafka.conformance.tracker import Tracker
from models.kafka.conformance.version_hints import is_java, version_of
from models.kafka.coordinator.announcements import ANNOUNCED_MESSAGES
from models.kafka.coordinator.runtime.version_policy import Policy, broker_defaults, parse_version, policy_for
from models.kafka.groups.rows.epoch_states import EPOCH_EVENTS, EpochStates
from models.rows import KAFKA, GroupState, GroupStateMember, GroupStateTimer
from models.units import US_PER_MS

QUIET_AFTER = frozenset({"AssignmentReceived", "GroupEmptied", "GroupsDeleted", "GroupDied", "GroupLoaded", "GroupUnloaded"})
"""Events after which a group waits for nobody."""
FOLLOWED = PROPOSERS.keys() | LEARNED.keys()
LINES_HELD = 256
"""Lines collected before they are followed; bounds what is held."""
GAP_US = BURST_GAP_MS * US_PER_MS


@dataclass(slots=True)
class ModelStates:
    """Follows a group's lines through the model. `lines` are those since `snapshot`."""

    cluster: str
    group: str
    initial_delay_ms: int
    snapshot: Snapshot | None = None
    lines: list[Event] = field(default_factory=list)
    stated_version: str | None = None
    """The version that the coordinator's file tells."""
    version: str | None = None
    """The version that the lines so far suggest."""
    is_java: bool = False
    levels: set[str] = field(default_factory=lambda: set(DEFAULT_LEVELS))
    shown: GroupState | None = None
    """The last row, to tell whether something has changed."""
    written: int = 0
    is_modern: bool = False
    """Whether it uses a newer protocol, whose lines tell its states one by one."""
    epochs: EpochStates = field(default_factory=EpochStates)
    told_rows: list[GroupState] = field(default_factory=list)
    """Rows of such a group that are not written yet."""

    def feed(self, event: Event, version: str | None) -> None:
        """Take a line; `version` is that of its file, if known."""
        if event.witness is not Witness.COORDINATOR or event.group != self.group:
            return
        if event.name in _MODERN:
            self.is_modern, self.snapshot, self.lines = event.fields.get("to_type") != "classic", None, []
        if event.name == "GroupConverted":
            self.epochs = EpochStates()
        if self.is_modern and event.name in EPOCH_EVENTS and self.epochs.feed(event):
            self.told_rows += self._compared(self.epochs.row(self.cluster, self.group, event))
        elif event.name in FOLLOWED and not self.is_modern:
            self.lines.append(event)
            self.stated_version = version or self.stated_version

    @property
    def due_at(self) -> int | None:
        """Time at which the lines can be followed; None while more are awaited."""
        if self.told_rows:
            return self.told_rows[-1].changed_at + GAP_US + 1
        if not self.lines or (self.lines[-1].name not in QUIET_AFTER and len(self.lines) < LINES_HELD):
            return None
        if len(self.lines) >= 2 * LINES_HELD:
            return self.lines[-1].order_us  # lines without end in one burst
        return self.lines[-1].order_us + GAP_US + 1

    def follow_lines(self) -> list[GroupState]:
        """Follow what was collected, and go on from there."""
        if self.told_rows:
            written_rows, self.told_rows = self.told_rows, []
            return written_rows
        tracker, rows = self._follow()
        self.snapshot, self.lines = snapshot_of(tracker.best), []
        return rows

    def rest(self) -> list[GroupState]:
        """Rows of lines after which the group still waits for somebody."""
        return [*self.told_rows, *(self._follow()[1] if self.lines else [])]

    def _follow(self) -> tuple[Tracker, list[GroupState]]:
        tracker = Tracker.from_explanation(self._model())
        rows: list[GroupState] = []
        last = self.lines[-1]
        for number, line in enumerate(tracker.follow(self.lines)):
            is_inside = line is not last and self.lines[number + 1].time_us - line.time_us <= GAP_US
            if not (tracker.best.announced and is_inside):
                rows += self._changed(line, view_of(tracker), tracker.best)
        return tracker, rows

    def _model(self) -> Explanation:
        """The model where it was before the lines."""
        sight, settings = self._sight(), None
        if self.initial_delay_ms != broker_defaults(sight.policy).initial_delay_ms:
            settings = replace(broker_defaults(sight.policy), initial_delay_ms=self.initial_delay_ms)
        if self.snapshot is not None:
            return restored_model(self.snapshot, self.group, sight, settings)
        made = Explanation.begin(self.group, sight, settings)
        made.certainty.is_size_doubted = True
        return made

    def _sight(self) -> Sight:
        policy = self._policy()
        written = (ANNOUNCED_MESSAGES[line.name].level(policy) for line in self.lines if line.name in ANNOUNCED_MESSAGES)
        self.levels.update(level for level in written if level is not None)
        return Sight(policy, frozenset(self.levels))

    def _policy(self) -> Policy:
        self.version = max(filter(None, (self.version, version_of(self.lines))), key=parse_version)
        self.is_java = self.is_java or is_java(self.lines)
        try:
            return policy_for(self.stated_version or self.version, is_java=self.is_java or None)
        except ValueError:
            return policy_for(self.version, is_java=self.is_java or None)

    def _changed(self, line: Event, view: View, best: Explanation) -> Iterator[GroupState]:
        """The row of a line that changes anything, else None."""
        return self._compared(self._row(line, view, best))

    def _compared(self, row: GroupState) -> Iterator[GroupState]:
        before = self.shown
        if before is None or any(getattr(row, name) != getattr(before, name) for name in COMPARED):
            row.group_state_id = make_id("state", self.cluster, self.group, self.written)
            self.written, self.shown = self.written + 1, row
            yield row

    def _row(self, line: Event, view: View, best: Explanation) -> GroupState:
        return GroupState(
            cluster=self.cluster,
            system=KAFKA,
            group_state_id="",
            group=self.group,
            changed_at=line.time_us,
            state=view.state.value.value if view.state.value is not None else None,
            state_certainty=view.state.certainty,
            generation=view.generation.value,
            generation_certainty=view.generation.certainty,
            leader=view.leader.value,
            leader_certainty=view.leader.certainty,
            member_count=view.member_count.value,
            member_count_certainty=view.member_count.certainty,
            members=[_member(member) for member in view.members],
            pending_members=sorted(view.pending.value) if view.pending.value is not None else None,
            pending_certainty=view.pending.certainty,
            timers=[_timer(timer) for timer in view.timers if timer.deadline_ms is not None],
            missing_lines=best.missing,
            unexplained_lines=best.unexplained,
            evidence=evidence([line]),
        )


_MODERN = EPOCH_EVENTS | {"GroupConverted"}
"""Events of groups of the newer protocols."""
COMPARED = (
    "state", "state_certainty", "generation", "generation_certainty", "leader", "leader_certainty", "member_count",
    "member_count_certainty", "members", "pending_members", "pending_certainty", "timers", "missing_lines", "unexplained_lines",
)  # fmt: skip
"""Columns by which one state differs from another."""


def _member(member: MemberView) -> GroupStateMember:
    return GroupStateMember(
        member.member_id,
        member.instance_id,
        member.certainty,
        member.rejoined.value,
        member.rejoined.certainty,
        member.synced.value,
        member.synced.certainty,
        member.awaited.value,
        member.awaited.certainty,
    )


def _timer(timer: TimerView) -> GroupStateTimer:
    return GroupStateTimer(timer.kind, timer.member_id, timer.deadline_ms or 0, timer.certainty)

"""Rival causes of one rebalance, each run through the reference coordinator.

Each run begins with the state before the rebalance. A cause is a script: what was asked of the coordinator, or happened to it,
when the rebalance began. What the model then writes is put beside the log. Causes whose request is the same (a leave, for
whatever reason) can't be told apart by a coordinator's lines.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from models.causes import Cause
from models.events import Event
from models.kafka.conformance.expected_lines import ExpectedLine, Sight, expected_lines
from models.kafka.conformance.explanation import ExplainedLine, Explanation, HiddenInput, InputLink
from models.kafka.conformance.hidden_inputs import apply_input
from models.kafka.conformance.proposals.proposers import possible_states, proposals
from models.kafka.conformance.scene import Scene, Script
from models.kafka.conformance.tracker import Tracker, bursts
from models.kafka.coordinator.protocol.errors import Fault
from models.kafka.coordinator.protocol.group_states import State
from models.tolerances import PHASE_UNDERRUN_US, int_tolerance
from models.units import US_PER_MS

TIMER_LATE_US = int_tolerance("kafka.trials.timer_late_us")
"""Maximum delay of a timer's line.

Up to 463 ms in the corpora; more on a busy broker: assumed."""
ALL_LEVELS = frozenset({"TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL"})


class Ruling(StrEnum):
    """Result of a run for a cause."""

    FITS = "fits"
    FITS_IF = "fits_if"
    """It fits if an untold timeout differs from the default."""
    FAILS = "fails"
    SAME_REQUEST = "same_request"
    """Another cause, which fits, asks the same of the coordinator."""
    NOT_TRIED = "not_tried"
    """The model has no script for it where the group was."""


@dataclass(frozen=True, slots=True)
class Trial:
    """A cause, and what came of it in the model."""

    cause: Cause
    ruling: Ruling
    inputs: tuple[InputLink, ...] = ()
    entries: tuple[ExplainedLine, ...] = ()
    needed: tuple[ExpectedLine, ...] = ()
    """Lines of its beginning at levels that the log lacks.

    They would tell.
    """

    @property
    def failure(self) -> ExplainedLine | None:
        """The first line at which it fails."""
        return next((entry for entry in self.entries if is_odd(entry)), None)

    @property
    def overdue(self) -> ExplainedLine | None:
        """The first line that came too late for its timer."""
        return next((entry for entry in self.entries if is_overdue(entry)), None)

    @property
    def missing(self) -> int:
        """Lines that the model writes and the log lacks."""
        return sum(entry.line is None for entry in self.entries)

    @property
    def unexplained(self) -> int:
        """Lines of the log that the model does not write."""
        return sum(entry.expected is None for entry in self.entries)


def is_odd(entry: ExplainedLine) -> bool:
    """Whether the log and the model disagree."""
    return entry.line is None or entry.expected is None or bool(entry.differing)


def is_overdue(entry: ExplainedLine) -> bool:
    """Whether a timer fired at another time than it can have."""
    return entry.due is not None and not -PHASE_UNDERRUN_US <= (entry.late_ms or 0) * US_PER_MS <= TIMER_LATE_US


@dataclass(slots=True)
class Window:
    """One rebalance's lines, and the model before and after them."""

    before: Explanation
    lines: list[Event]
    """From the line on that set it off."""
    best: Explanation
    """After all of them."""
    triggers: frozenset[str] = field(default_factory=frozenset)
    """Kinds of inputs that set it off in the best explanation."""

    @property
    def inputs(self) -> tuple[InputLink, ...]:
        """Hidden inputs of the best explanation."""
        return steps_since(self.best, self.before)

    @property
    def entries(self) -> tuple[ExplainedLine, ...]:
        """Lines of the best explanation."""
        return entries_since(self.best)


def open_window(tracker: Tracker, past: Sequence[Event], lines: Sequence[Event], beyond: Sequence[Event] = ()) -> Window | None:
    """Follow a group up to a rebalance and through it.

    Lines `beyond` are taken while the model's own lines are awaited. None if the lines set nothing off.
    """
    for _ in tracker.follow(past):
        pass
    before: Explanation | None = None
    place, triggers = 0, frozenset[str]()
    taken: list[Event] = []
    whole = [*lines, *beyond]
    for burst in bursts(whole):
        for number, line in enumerate(burst):
            if len(taken) >= len(lines) and all(expected.is_optional for expected in tracker.best.announced):
                break
            if not triggers:
                before, place = _noting(tracker.best), len(taken)
                tracker.beam = [_noting(candidate) for candidate in tracker.beam]
            tracker.step(burst, number)
            taken.append(line)
            triggers = triggers or _moved_by(tracker.best, before)
    return Window(before, taken[place:], tracker.best, triggers) if before is not None and triggers else None


def _noting(explanation: Explanation) -> Explanation:
    made = explanation.fork()
    made.keeps_account, made.account = True, None
    return made


def _moved_by(after: Explanation, before: Explanation | None) -> frozenset[str]:
    """Kinds of inputs by which a group began to rebalance."""
    if before is None or before.state_and_generation[0] is State.PREPARING_REBALANCE:
        return frozenset()
    is_moved = after.state_and_generation[0] is State.PREPARING_REBALANCE or (after.state_and_generation[1] or 0) > (
        before.state_and_generation[1] or 0
    )
    return frozenset(step.input.kind for step in steps_since(after, before)) if is_moved else frozenset()


def steps_since(after: Explanation, before: Explanation) -> tuple[InputLink, ...]:
    """Inputs that one explanation has beyond another, in order."""
    links: list[InputLink] = []
    step = after.last
    while step is not None and step is not before.last:
        links.append(step)
        step = step.before
    return tuple(reversed(links))


def entries_since(after: Explanation) -> tuple[ExplainedLine, ...]:
    """Noted entries in order, and the model's lines that never came."""
    entries: list[ExplainedLine] = []
    entry = after.account
    while entry is not None:
        entries.append(entry)
        entry = entry.before
    lacking = [ExplainedLine(None, line, (), None, None) for line in after.announced if not line.is_optional]
    return (*reversed(entries), *lacking)


def try_causes(window: Window, causes: Iterable[Cause]) -> list[Trial]:
    """Run each cause through the model.

    Of causes with the same request the first is run for all.
    """
    trials: list[Trial] = []
    of_request: dict[frozenset[str], Trial] = {}
    for cause in causes:
        kinds = REQUESTS_BY_CAUSE.get(cause)
        if kinds is None:
            trials.append(Trial(cause, Ruling.NOT_TRIED))
            continue
        known = of_request.get(kinds)
        if known is not None:
            ruling = Ruling.SAME_REQUEST if known.ruling in (Ruling.FITS, Ruling.FITS_IF) else known.ruling
            trials.append(Trial(cause, ruling, known.inputs, known.entries, known.needed))
            continue
        trials.append(_tried(window, cause))
        of_request[kinds] = trials[-1]
    return trials


def _tried(window: Window, cause: Cause) -> Trial:
    """The run of a cause that fits best."""
    line, ahead = window.lines[0], _burst_of(window.lines)
    before = _stood(window, cause)
    if not _starts_where(before, cause):
        return Trial(cause, Ruling.NOT_TRIED)
    if window.triggers & REQUESTS_BY_CAUSE[cause] and before is window.before:
        return _trial(cause, window, window.best, _begun(window, cause))
    best: tuple[float, Explanation, Script] | None = None
    for script in _scripts(Scene(before, line, ahead), cause):
        course = _noting(before)
        course.coordinator.shard.now_ms = line.time_us // US_PER_MS
        likelihood = Tracker.from_explanation(course).try_script(script, line, ahead)
        if best is None or likelihood > best[0]:
            best = likelihood, course, script
    if best is None:
        return Trial(cause, Ruling.NOT_TRIED)
    _, course, script = best
    tracker = Tracker.from_explanation(course)
    burst = [line, *ahead]
    for number in range(1, len(burst)):
        tracker.step(burst, number)
    for _ in tracker.follow(window.lines[len(burst) :]):
        pass
    return _trial(cause, window, tracker.best, script.inputs)


def _stood(window: Window, cause: Cause) -> Explanation:
    """The model before the line, in the state that the cause needs."""
    before, line = window.before, window.lines[0]
    if cause is Cause.NEW_GROUP and before.group is None and line.generation is not None:
        where: tuple[HiddenInput, ...] = (HiddenInput("adopt", generation=line.generation, state=State.EMPTY),)
    else:
        where = possible_states(Scene(before, line, _burst_of(window.lines)))
    if not where:
        return before
    course = before.fork()
    Tracker.from_explanation(course).stand(where, line)
    return course


def _trial(cause: Cause, window: Window, after: Explanation, begun: Sequence[HiddenInput]) -> Trial:
    entries = entries_since(after)
    steps = steps_since(after, window.before)
    if cause is Cause.MEMBER_RESTART:
        entries += _other_half(window, steps)
    needed = _needed(_stood(window, cause), begun, window.lines[0])
    is_contradicted = any(map(is_odd, entries))
    ruling = Ruling.FAILS if is_contradicted else Ruling.FITS_IF if any(map(is_overdue, entries)) else Ruling.FITS
    return Trial(cause, ruling, steps, entries, needed)


def _other_half(window: Window, steps: Sequence[InputLink]) -> tuple[ExplainedLine, ...]:
    """The line that a restart lacks if nobody went or nobody came."""
    kinds, sight, last = {step.input.kind for step in steps}, window.before.sight, window.lines[-1]
    lacking: str | None = None
    if not kinds & JOINING and sight.shows_joins:
        lacking = "PendingMemberJoined" if sight.policy.hands_out_member_ids else "MemberAdded"
    elif not kinds & (LEAVING | {"expire", "replace", "vanish"}) and sight.shows("MemberLeft"):
        lacking = "MemberLeft"
    if lacking is None:
        return ()
    return (ExplainedLine(None, ExpectedLine(lacking, last.time_us // US_PER_MS, {}, None, None), (), None, None),)


def _burst_of(lines: Sequence[Event]) -> list[Event]:
    """Lines behind the first one that the same request may cause."""
    return next(bursts(lines))[1:]


def _begun(window: Window, cause: Cause) -> tuple[HiddenInput, ...]:
    """Inputs of the cause's kind at the best explanation's first line."""
    first = window.lines[0]
    return tuple(step.input for step in window.inputs if step.evidence is first and step.input.kind in REQUESTS_BY_CAUSE[cause])


def _needed(before: Explanation, inputs: Sequence[HiddenInput], line: Event) -> tuple[ExpectedLine, ...]:
    """Lines that inputs would have left at levels which the log lacks."""
    course = before.fork()
    course.coordinator.shard.now_ms = line.time_us // US_PER_MS
    course.outcomes.clear()
    where = course.state_and_generation
    for hidden in inputs:
        try:
            apply_input(course, hidden)
        except (Fault, LookupError, StopIteration):
            return ()
    whole = Sight(course.sight.policy, ALL_LEVELS)
    written = expected_lines(whole, course.outcomes, course.group_id, where)
    return tuple(line for line in written if not course.sight.shows(line.event) and not line.is_optional)


def _starts_where(before: Explanation, cause: Cause) -> bool:
    """Whether the cause fits the group's state: with members, or without."""
    is_memberless = before.group is None or not before.group.members
    return cause not in (Cause.NEW_GROUP, Cause.MEMBER_JOIN) or is_memberless == (cause is Cause.NEW_GROUP)


def _scripts(scene: Scene, cause: Cause) -> Iterator[Script]:
    """Scripts that the line suggests, and one of the cause's own."""
    suggested = [script for script in proposals(scene) if any(hidden.kind in REQUESTS_BY_CAUSE[cause] for hidden in script.inputs)]
    yield from suggested
    yield from SCRIPTS_BY_CAUSE[cause](scene)


# -- what causes look like to the coordinator ----------------------------------------------------------------------

JOINING = frozenset({"join", "join_pending", "join_unseen"})
LEAVING = frozenset({"leave"})
REJOINING = frozenset({"rejoin"})

REQUESTS_BY_CAUSE: Mapping[Cause, frozenset[str]] = {
    Cause.NEW_GROUP: JOINING | {"commit"},
    Cause.MEMBER_JOIN: JOINING,
    Cause.MEMBER_LEAVE: LEAVING,
    Cause.POLL_TIMEOUT: LEAVING,
    Cause.ADMIN_REMOVAL: LEAVING,
    Cause.STATIC_MEMBER_LEAVE: LEAVING,
    Cause.SESSION_TIMEOUT: frozenset({"expire"}),
    Cause.SUBSCRIPTION_CHANGE: REJOINING,
    Cause.METADATA_CHANGE: REJOINING,
    Cause.COOPERATIVE_FOLLOWUP: REJOINING,
    Cause.CONNECTOR_CONFIG_CHANGE: REJOINING,
    Cause.SCHEDULED_REBALANCE: REJOINING,
    Cause.COORDINATOR_FAILOVER: REJOINING,
    Cause.STATIC_MEMBER_REPLACED: frozenset({"replace"}),
    Cause.ASSIGNOR_CHANGE: frozenset({"replace"}),
    Cause.SYNC_TIMEOUT: frozenset({"end_sync_wait"}),
    Cause.ASSIGNMENT_STORE_FAILED: frozenset({"sync"}),
    Cause.MEMBER_RESTART: JOINING | LEAVING | {"expire"},
}
"""Kinds of inputs by which each cause sets off a rebalance."""


def _somebody(scene: Scene) -> tuple[tuple[HiddenInput, ...], str]:
    """A member that may have done it, not the leader if possible.

    There is one more unknown member if some stay.
    """
    explanation = scene.explanation
    leader = scene.group.leader if scene.group is not None else None
    names = sorted(scene.members, key=lambda member: member == leader)
    stay = all(event.name != "GroupEmptied" for event in scene.ahead)
    another = () if len(names) > 1 or not stay or (names and explanation.certainty.is_roster_sure) else (HiddenInput("be_another"),)
    if names:
        return another, names[0]
    made = explanation.guesses.new_id()
    return (HiddenInput("be_member", (made,)), *another), made


def _join(scene: Scene) -> Iterator[Script]:  # noqa: ARG001
    yield Script((HiddenInput("join"),), "unnamed")


def _leave(scene: Scene) -> Iterator[Script]:
    known, member = _somebody(scene)
    yield Script((*known, HiddenInput("leave", (member,))), "unnamed")


def _expire(scene: Scene) -> Iterator[Script]:
    known, member = _somebody(scene)
    yield Script((*known, HiddenInput("expire", (member,))), "unnamed")


def _rejoin(scene: Scene) -> Iterator[Script]:
    known, member = _somebody(scene)
    leader = scene.group.leader if scene.group is not None else None
    for name in dict.fromkeys(filter(None, (leader, member))):
        yield Script((*known, HiddenInput("rejoin", (name,), has_changed=name != leader)), "unnamed")


def _replace(scene: Scene) -> Iterator[Script]:
    if scene.explanation.sight.policy.knows_static_members:
        known, member = _somebody(scene)
        yield Script((*known, HiddenInput("replace", (member,), has_changed=True)), "unnamed")


def _miss_sync(scene: Scene) -> Iterator[Script]:
    if scene.members and scene.explanation.sight.policy.limits_sync:
        _, member = _somebody(scene)
        yield Script((HiddenInput("end_sync_wait", (member,)),), "unnamed")


def _fail_store(scene: Scene) -> Iterator[Script]:
    if scene.state is State.COMPLETING_REBALANCE:
        yield Script((HiddenInput("sync", has_changed=True),), "unnamed")


def _restart(scene: Scene) -> Iterator[Script]:
    yield from _join(scene)
    yield from _leave(scene)
    yield from _expire(scene)


SCRIPTS_BY_CAUSE: Mapping[Cause, Callable[[Scene], Iterator[Script]]] = {
    Cause.NEW_GROUP: _join,
    Cause.MEMBER_JOIN: _join,
    Cause.MEMBER_LEAVE: _leave,
    Cause.POLL_TIMEOUT: _leave,
    Cause.ADMIN_REMOVAL: _leave,
    Cause.STATIC_MEMBER_LEAVE: _leave,
    Cause.SESSION_TIMEOUT: _expire,
    Cause.SUBSCRIPTION_CHANGE: _rejoin,
    Cause.METADATA_CHANGE: _rejoin,
    Cause.COOPERATIVE_FOLLOWUP: _rejoin,
    Cause.CONNECTOR_CONFIG_CHANGE: _rejoin,
    Cause.SCHEDULED_REBALANCE: _rejoin,
    Cause.COORDINATOR_FAILOVER: _rejoin,
    Cause.STATIC_MEMBER_REPLACED: _replace,
    Cause.ASSIGNOR_CHANGE: _replace,
    Cause.SYNC_TIMEOUT: _miss_sync,
    Cause.ASSIGNMENT_STORE_FAILED: _fail_store,
    Cause.MEMBER_RESTART: _restart,
}

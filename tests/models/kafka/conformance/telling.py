"""What the tracker tells of a group, as text: after each line, and of the causes of each rebalance.

A mark says how sure it is: `!` certain, `~` inferred, `?` unknown.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from models.causes import Cause
from models.events import Event
from models.kafka.conformance.expected_lines import Sight
from models.kafka.conformance.explanation import ExplainedLine, HiddenInput, is_named
from models.kafka.conformance.group_view import Fact, MemberView, TimerView, View, view_of
from models.kafka.conformance.tracker import Tracker, bursts
from models.kafka.conformance.trials import REQUESTS_BY_CAUSE, Ruling, Trial, open_window, try_causes
from models.kafka.conformance.witnesses import Witnesses
from models.kafka.coordinator.protocol.group_states import State
from models.units import US_PER_MS

MARKS = {"certain": "!", "inferred": "~", "unknown": "?"}
BEYOND = 20
ENDS = frozenset({"AssignmentReceived", "GroupEmptied"})


def told(tracker: Tracker, lines: Sequence[Event], witnesses: Witnesses | None = None) -> Iterator[str]:
    """Rows for each line of a group's log."""
    since_us, known = lines[0].time_us if lines else 0, tracker.state_and_generation[0]
    for line in tracker.follow(lines):
        state = tracker.state_and_generation[0]
        if state is not known:
            since_us, known = line.time_us, state
        view = view_of(tracker)
        if witnesses is not None:
            view = witnesses.applied(view, line.time_us, since_us)
        yield f"{line.time_us / 1e6:.3f} {line.name}: {_shown(view)}"
        yield from (f"    {part}" for part in _parts(tracker, line, view))


def causes_told(tracker: Tracker, lines: Sequence[Event]) -> Iterator[str]:
    """Rows for each rebalance: which causes its lines allow."""
    starts = [0]
    for burst in bursts(lines):
        starts.append(starts[-1] + len(burst))
    begun = [start for start, end in pairwise(starts) if _begins(lines[start:end])]
    for start, following in zip(begun, [*begun[1:], len(lines)], strict=False):
        ends = (number + 1 for number in range(start, following) if lines[number].name in ENDS)
        end = next(ends, following)
        course = Tracker(tracker.group_id, tracker.best.sight, tracker.settings)
        window = open_window(course, lines[:start], lines[start:end], lines[end : end + BEYOND])
        if window is None:
            yield f"{lines[start].time_us / 1e6:.3f} nothing began"
            continue
        yield f"{window.lines[0].time_us / 1e6:.3f} began by {', '.join(sorted(window.triggers))}: {', '.join(_timed(window.inputs))}"
        trials = try_causes(window, [*REQUESTS_BY_CAUSE, Cause.UNKNOWN])
        not_tried = [trial.cause.value for trial in trials if trial.ruling is Ruling.NOT_TRIED]
        of_request = {REQUESTS_BY_CAUSE[trial.cause]: trial for trial in reversed(trials) if trial.cause.value not in not_tried}
        yield from (f"    {_ruling(trial)}" for trial in reversed(of_request.values()))
        yield f"    not tried: {', '.join(not_tried)}"


def _begins(burst: Sequence[Event]) -> bool:
    return any(line.name == "RebalanceStarted" for line in burst)


def _shown(view: View) -> str:
    state = view.state.value.value if isinstance(view.state.value, State) else view.state.value
    parts = [f"{state}{MARKS[view.state.certainty]} generation {_fact(view.generation)}"]
    parts += [f"leader {_fact(view.leader)}", f"{_fact(view.member_count)} members"]
    parts += [f"pending {_fact(view.pending)}", f"static {_fact(view.static)}"]
    parts += [f"protocol {view.protocol.value}"] if view.protocol.value else []
    parts += [f"votes {view.votes.value}"] if view.votes.value else []
    return ", ".join(parts + ([f"{view.rivals} rivals"] if view.rivals else []))


def _parts(tracker: Tracker, line: Event, view: View) -> Iterator[str]:
    best = tracker.best
    yield from map(_member, view.members)
    if view.timers:
        yield f"timers: {', '.join(map(_timer, view.timers))}"
    inputs: list[str] = []
    step = best.last
    while step is not None and step.evidence is line:
        inputs.append(_input(step.input))
        step = step.before
    if inputs:
        yield f"by {', '.join(reversed(inputs))}"
    if best.announced:
        yield f"expects {', '.join(expected.event for expected in best.announced)}"
    yield f"accounted {best.accounted}, missing {best.missing}, unexplained {best.unexplained}, likelihood {best.weight:.2f}"


def _member(member: MemberView) -> str:
    name = f"{member.member_id or 'somebody'}{MARKS[member.certainty]}" + (f" as {member.instance_id}" if member.instance_id else "")
    return f"{name} rejoined {_fact(member.rejoined)} synced {_fact(member.synced)} awaited {_fact(member.awaited)}"


def _timer(timer: TimerView) -> str:
    of = f" of {timer.member_id}" if timer.member_id else ""
    return f"{timer.kind}{of} at {timer.deadline_ms}{MARKS[timer.certainty]}{' initial' if timer.is_initial else ''}"


def _input(hidden: HiddenInput) -> str:
    words = [hidden.kind, *(member if is_named(member) else "somebody" for member in hidden.members)]
    words += [f"as {hidden.instance}"] if hidden.instance and is_named(hidden.instance) else []
    words += [f"generation {hidden.generation}"] if hidden.generation is not None else []
    words += [hidden.state.value] if hidden.state is not None else []
    return " ".join([*words, *(["changed"] if hidden.has_changed else [])])


def _timed(steps: Sequence[object]) -> Iterator[str]:
    for step in steps:
        due = step.due  # type: ignore[attr-defined]
        yield _input(step.input) + (f" [{due.timeout} {due.since_ms} to {due.at_ms}]" if due else "")  # type: ignore[attr-defined]


def _ruling(trial: Trial) -> str:
    said = f"{trial.cause.value} {trial.ruling.value}"
    if trial.failure is not None:
        said += f" at {_entry(trial.failure)} ({trial.missing} missing, {trial.unexplained} unexplained)"
    if trial.overdue is not None:
        said += f", {trial.overdue.late_ms} ms late"
    if trial.needed:
        said += f", would have written {', '.join(line.event for line in trial.needed)}"
    return said if trial.failure is not None else said + f" by {', '.join(_timed(trial.inputs))}"


def _entry(entry: ExplainedLine) -> str:
    line = f"{entry.line.name} at {entry.line.time_us // US_PER_MS}" if entry.line is not None else "no line"
    expected = f"{entry.expected.event} at {entry.expected.at_ms}" if entry.expected is not None else "nothing"
    return f"{line} where the model writes {expected}" + (f", other {' '.join(entry.differing)}" if entry.differing else "")


def _fact(fact: Fact[object] | Fact[bool] | Fact[int] | Fact[str] | Fact[tuple[str, ...]] | Fact[dict[str, str | None]]) -> str:
    value = fact.value
    shown = {True: "yes", False: "no", None: ""}.get(value) if value is None or isinstance(value, bool) else None
    if isinstance(value, tuple):
        shown = " ".join(value) or "none"
    elif isinstance(value, dict):
        shown = " ".join(f"{name}={member or 'somebody'}" for name, member in value.items()) or "none"
    return f"{value if shown is None else shown}{MARKS[fact.certainty]}"


def rows(group: str, sight: Sight, lines: Sequence[Event], witnesses: Witnesses | None = None) -> Iterator[str]:
    """All that is told of a group's log."""
    yield from told(Tracker(group, sight), lines, witnesses)
    yield from causes_told(Tracker(group, sight), lines)

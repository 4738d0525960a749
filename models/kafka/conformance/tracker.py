"""Follows the lines of one group by a few explanations.

Each makes the reference coordinator say what the log says.

For each line: is it what the model has just said? Else propose hidden inputs, run them, and compare what the model says with the
rest of the burst. The model itself is copied only where there is more than one proposal. A line that nothing explains is a
divergence; the model is then put where the line says that the group is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

from models.events import Event
from models.kafka.conformance.alignment import Alignment, align, differences
from models.kafka.conformance.expected_lines import ExpectedLine, Sight, expected_lines
from models.kafka.conformance.explanation import DueTime, Explanation, HiddenInput, InputLink
from models.kafka.conformance.hidden_inputs import apply_input
from models.kafka.conformance.learning import learn_certain
from models.kafka.conformance.likelihood import log_likelihood
from models.kafka.conformance.proposals.proposers import possible_states, proposals
from models.kafka.conformance.scene import Scene, Script
from models.kafka.conformance.search_limits import BEAM, BURST_GAP_MS, BURST_LINES, FORK_MARGIN, PROPOSALS_MAX, STEPS_KEPT, weight
from models.kafka.coordinator.classic.group import Group
from models.kafka.coordinator.protocol.errors import Fault
from models.kafka.coordinator.protocol.group_states import State
from models.kafka.coordinator.runtime.timers import TimerKind
from models.kafka.coordinator.runtime.version_policy import CoordinatorSettings, Extension
from models.tolerances import PHASE_UNDERRUN_US
from models.units import US_PER_MS


@dataclass(slots=True)
class Tracker:
    """The explanations of one group, best first."""

    group_id: str
    sight: Sight
    settings: CoordinatorSettings | None = None
    beam: list[Explanation] = field(default_factory=list)
    line: Event | None = None
    """The line that was followed last."""
    matched: ExpectedLine | None = None
    """State of the group in the best explanation."""

    def __post_init__(self) -> None:
        self.beam = [Explanation.begin(self.group_id, self.sight, self.settings)]

    @classmethod
    def from_explanation(cls, explanation: Explanation) -> Tracker:
        """One that goes on from an explanation."""
        made = cls(explanation.group_id, explanation.sight)
        made.beam = [explanation]
        return made

    @property
    def best(self) -> Explanation:
        """The explanation that weighs most."""
        return self.beam[0]

    @property
    def state_and_generation(self) -> tuple[State | None, int | None]:
        """State and generation directly after the line that was followed last."""
        if self.matched is not None and self.best.announced:
            return self.matched.state, self.matched.generation
        return self.best.state_and_generation

    def follow(self, lines: Iterable[Event]) -> Iterator[Event]:
        """Follow lines in their order; yield each once accounted for."""
        for burst in bursts(lines):
            for number, line in enumerate(burst):
                self.step(burst, number)
                yield line

    def step(self, burst: Sequence[Event], number: int) -> None:
        """Follow one line of a burst, after those before it."""
        self._follow(burst[number], burst[number + 1 : number + 1 + BURST_LINES])

    def stand(self, where: Iterable[HiddenInput], line: Event) -> None:
        """Put the model where a line finds it, without a line."""
        self.best.coordinator.shard.now_ms = line.time_us // US_PER_MS
        for hidden in where:
            _run(self.best, hidden, line)
        self.best.outcomes.clear()

    def try_script(self, script: Script, line: Event, ahead: Sequence[Event]) -> float:
        """Follow a line by a given script and return their likelihood."""
        alignment = _tried(self.best, script, line, ahead)
        announced = self.best.announced
        if announced and all(expected.event != line.name for expected in announced):
            self.best.note(line, announced.popleft(), ("event",))
        else:
            self.line, self.matched = line, _adopted(self.best, script, alignment, line)
        learn_certain(self.best, line)
        return log_likelihood(script, alignment)

    def _follow(self, line: Event, ahead: Sequence[Event]) -> None:
        self.line, self.matched = line, None
        followed: list[tuple[Explanation, ExpectedLine | None]] = []
        for explanation in self.beam:
            followed += _followed(explanation, line, ahead)
        if len(followed) > 1:
            followed = _best_of(followed)
        self.beam = [explanation for explanation, _ in followed]
        self.matched = followed[0][1]
        for explanation in self.beam:
            learn_certain(explanation, line)


def bursts(lines: Iterable[Event]) -> Iterator[list[Event]]:
    """Group lines that one request may have set off.

    Each comes directly after the one before.
    """
    burst: list[Event] = []
    for line in lines:
        if burst and (line.time_us - burst[-1].time_us > BURST_GAP_MS * US_PER_MS or line.time_us < burst[-1].time_us):
            yield burst
            burst = []
        burst.append(line)
    if burst:
        yield burst


def _best_of(followed: list[tuple[Explanation, ExpectedLine | None]]) -> list[tuple[Explanation, ExpectedLine | None]]:
    """The best few, of equal ones the heavier."""
    kept: dict[tuple[object, ...], tuple[Explanation, ExpectedLine | None]] = {}
    for pair in sorted(followed, key=lambda pair: -pair[0].weight):
        kept.setdefault(pair[0].signature(), pair)
    return list(islice(kept.values(), BEAM))


def _followed(explanation: Explanation, line: Event, ahead: Sequence[Event]) -> list[tuple[Explanation, ExpectedLine | None]]:
    """The explanations that one becomes by a line."""
    if _is_repeated(explanation, line) or _is_elsewhere(explanation, line):
        return [(explanation, None)]
    expected_line = _announced(explanation, line)
    if expected_line is not None:
        explanation.accounted += 1
        explanation.note(line, expected_line)
        return [(explanation, expected_line)]
    explanation.coordinator.shard.now_ms = line.time_us // US_PER_MS
    scene = Scene(explanation, line, ahead)
    known = possible_states(scene)
    for hidden in known:
        _run(explanation, hidden, line)
        _doubt(explanation, hidden)
    explanation.outcomes.clear()
    scripts = list(islice(proposals(scene), PROPOSALS_MAX))
    if not scripts:
        return [(explanation, None)]
    if len(scripts) == 1:
        alignment = _tried(explanation, scripts[0], line, ahead)
        return [(explanation, _adopted(explanation, scripts[0], alignment, line))]
    return _forks(explanation, scripts, line, ahead)


def _is_repeated(explanation: Explanation, line: Event) -> bool:
    """Until 2.8 two lines tell of a static newcomer."""
    group = explanation.group
    return line.name == "MemberAdded" and group is not None and line.member_id in group.members


MOVING = frozenset({"GroupLoaded", "GroupUnloaded", "MemberLoaded", "RebalanceStarted"})
"""Events by which a group may turn up at another broker."""


def _is_elsewhere(explanation: Explanation, line: Event) -> bool:
    """Whether another broker has the group, while old timers still fire here."""
    return line.node is not None and explanation.node not in (None, line.node) and line.name not in MOVING


def _doubt(explanation: Explanation, adopted: HiddenInput) -> None:
    """Report a divergence where the line contradicts the model's state.

    Unless that state was only guessed.
    """
    certainty = explanation.certainty
    if explanation.accounted and certainty.is_generation_sure and certainty.is_state_sure:
        explanation.unexplained += 1
        explanation.weight += weight("adopted")
    certainty.is_roster_sure = certainty.is_count_sure = certainty.is_leader_sure = adopted.state is State.EMPTY
    certainty.waiting.clear()
    if adopted.generation is None:
        certainty.is_generation_sure = False
    if adopted.state is None:
        certainty.is_state_sure = certainty.is_state_sure and explanation.state_and_generation[0] is not None


def _announced(explanation: Explanation, line: Event) -> ExpectedLine | None:
    """Account for what the model has said already.

    What it should have said before that is missing.
    """
    waiting = explanation.announced
    place = next(
        (number for number, expected in enumerate(waiting) if expected.event == line.name and not differences(expected, line)), None
    )
    if place is None:
        if line.group is not None:
            _drop(explanation, len(waiting))
        return None
    expected = waiting[place]
    if any(waiting[number].event != line.name for number in range(place)):  # members of one step have no order
        _drop(explanation, place)
    waiting.remove(expected)
    return expected


def _drop(explanation: Explanation, count: int) -> None:
    for _ in range(count):
        dropped = explanation.announced.popleft()
        if not dropped.is_optional:
            explanation.missing += 1
            explanation.weight += weight("line_missing")
            explanation.note(None, dropped)


def _forks(
    explanation: Explanation, scripts: Sequence[Script], line: Event, ahead: Sequence[Event]
) -> list[tuple[Explanation, ExpectedLine | None]]:
    """Fork the proposals that fit best, each in its own course."""
    tried: list[tuple[float, Explanation, Script, Alignment]] = []
    for script in scripts:
        course = explanation.fork()
        alignment = _tried(course, script, line, ahead)
        tried.append((log_likelihood(script, alignment), course, script, alignment))
        if alignment.is_clean and script.weight == "stated":
            break
    best = max(likelihood for likelihood, *_ in tried)
    return [
        (course, _adopted(course, script, alignment, line))
        for likelihood, course, script, alignment in tried
        if likelihood >= best - FORK_MARGIN
    ]


def _tried(explanation: Explanation, script: Script, line: Event, ahead: Sequence[Event]) -> Alignment:
    """Run a script and put what the model says beside the log."""
    before = explanation.state_and_generation
    for hidden in script.inputs:
        _run(explanation, hidden, line)
    explanation.announced.extend(expected_lines(explanation.sight, explanation.outcomes, explanation.group_id, before))
    explanation.outcomes.clear()
    return align(explanation.announced, [line, *ahead])


def _adopted(explanation: Explanation, script: Script, alignment: Alignment, line: Event) -> ExpectedLine | None:
    """Adopt a proposal.

    The line is one that it says, or remains unexplained.
    """
    explanation.weight += log_likelihood(script, alignment)
    expected_line = _announced_by_name(explanation, line)
    if expected_line is not None:
        explanation.accounted += 1
        explanation.note(line, expected_line, differences(expected_line, line))
    elif not _is_silent(script):
        explanation.unexplained += 1
        explanation.note(line, None)
    return expected_line


_SILENT = frozenset({"die", "adopt", "adopt_loaded", "load", "unload", "read_member"})
"""Inputs that versions may take without a line."""


def _is_silent(script: Script) -> bool:
    return all(hidden.kind in _SILENT for hidden in script.inputs)


def _announced_by_name(explanation: Explanation, line: Event) -> ExpectedLine | None:
    waiting = explanation.announced
    place = next((number for number, expected in enumerate(waiting) if expected.event == line.name), None)
    if place is None:
        return None
    for _ in range(place):
        lacking = waiting.popleft()
        if not lacking.is_optional:
            explanation.note(None, lacking)
    return waiting.popleft()


def _run(explanation: Explanation, hidden: HiddenInput, line: Event) -> None:
    last = explanation.last
    is_at_rest = explanation.state_and_generation[0] in (State.STABLE, State.EMPTY) and (last is None or last.evidence is not line)
    before = None if is_at_rest or (last is not None and last.depth >= STEPS_KEPT) else last
    due = _due(explanation, hidden)
    try:
        apply_input(explanation, hidden)
    except (Fault, LookupError, StopIteration):  # the model can't do that where it is: nothing is explained
        explanation.weight += weight("adopted")
    explanation.last = InputLink(line.time_us // US_PER_MS, hidden, line, before, 1 if before is None else before.depth + 1, due)


TIMED: Mapping[str, TimerKind] = {"end_join_phase": TimerKind.JOIN, "end_if_open": TimerKind.JOIN, "end_sync_wait": TimerKind.SYNC}
"""The timer behind an input.

Sessions are renewed by heartbeats that no line tells.
"""


def _due(explanation: Explanation, hidden: HiddenInput) -> DueTime | None:
    """The timer that an input fires; None if the phase ended before."""
    kind, group, coordinator = TIMED.get(hidden.kind), explanation.group, explanation.coordinator
    if kind is None or group is None or (kind is TimerKind.JOIN and group.state is not State.PREPARING_REBALANCE):
        return None
    due_ms = coordinator.timers.due_ms(kind, explanation.group_id, "")
    if due_ms is None:
        return None
    if kind is TimerKind.JOIN and group.is_initial:
        return _initial_delay(explanation, group, due_ms)
    if due_ms - coordinator.now_ms > PHASE_UNDERRUN_US // US_PER_MS:
        return None
    return DueTime(due_ms, due_ms - group.rebalance_ms, "rebalance_timeout_ms")


def _initial_delay(explanation: Explanation, group: Group, due_ms: int) -> DueTime:
    """The last step of an initial delay, which joins may extend."""
    shard = explanation.coordinator.shard
    step_ms, extends = shard.settings.initial_delay_ms, shard.policy.extension is Extension.AFTER_EMPTY or not group.generation
    late_ms = max(shard.now_ms - due_ms, 0) + PHASE_UNDERRUN_US // US_PER_MS
    at_ms = due_ms + late_ms // step_ms * step_ms if step_ms and extends else due_ms
    return DueTime(at_ms, due_ms - step_ms, "initial_rebalance_delay_ms")

"""Recordings of the real coordinators, followed by their log lines alone: `python -m tests.blind FILE...`.

What each trace announces is worded as the log of its version, read back, and followed without the requests; state and generation
are compared at every line, all that the recording shows of the group at the last line of each recorded step. Prints for each file
how much is equal and how much of what is called certain is wrong, and exits with 1 below `EQUAL_MIN` or if anything certain is.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from models.events import Event, LogPosition, Witness
from models.kafka.conformance.expected_lines import Sight
from models.kafka.conformance.group_view import CERTAIN, View, view_of
from models.kafka.conformance.tracker import Tracker
from models.kafka.coordinator.announcements import announce
from models.kafka.coordinator.protocol.group_states import State
from models.kafka.coordinator.runtime.outcomes import LoggedChange, StateTransition
from models.kafka.coordinator.runtime.version_policy import policy_for
from models.kafka.simulation.world import WrittenLine
from models.units import US_PER_MS
from parsers.catalogue.catalogue import catalogue
from parsers.catalogue.entries import Match
from pipelines.simulate.wording import MessageWriter
from tests.adapters.classic import Json, Replay, accepts, request_of, version_of
from tests.conformance import name_of, open_recording

EQUAL_MIN = 0.99
HOST = "/127.0.0.1"
"""Recordings name no node."""
LEVELS = frozenset({"INFO", "WARN", "ERROR"})


@dataclass(slots=True)
class Line:
    """A line with the recorded facts about its groups.

    State and generation at the line, or at the end of the step if it is the step's last line.
    """

    event: Event
    states: dict[str, tuple[str, int | None]]
    after: Json | None
    step: int


@dataclass(slots=True)
class Score:
    """Counts by compared value.

    `right` and `wrong`, and among values called certain `sure` and `surely wrong`.
    """

    counts: Counter[tuple[str, str]] = field(default_factory=Counter)
    traces: int = 0
    equal: int = 0
    lines: int = 0
    missing: int = 0
    unexplained: int = 0
    seconds: float = 0.0
    failures: list[str] = field(default_factory=list)

    def add(self, what: str, expected: object, actual: object, certainty: str, where: str) -> bool:
        """Compare one value."""
        is_right = expected == actual
        self.counts[what, "right" if is_right else "wrong"] += 1
        if certainty == CERTAIN:
            self.counts[what, "sure" if is_right else "surely wrong"] += 1
        if not is_right and (certainty == CERTAIN or what in ("state", "generation")):
            self.failures.append(f"{where}: {what} is {expected!r}, {certainty} {actual!r}")
        return is_right


def lines_of(trace: Json) -> Iterator[Line]:
    """Lines of a trace's coordinator, worded and parsed again."""
    replay = Replay(trace)
    policy = policy_for(version_of(trace) or "")
    wording = MessageWriter(policy)
    before: Json = {}
    number = 0
    for place, step in enumerate(trace["steps"]):
        replay.recorded.step = step
        operation = step["op"]
        if operation["op"] == "advance":
            outcome = replay.coordinator.advance(operation["ms"])
        else:
            replay.recorded.group_of[operation["req"]] = operation["group"]
            outcome = replay.coordinator.handle(request_of(operation))
        states = {name: (state["state"], state.get("generation")) for name, state in (before or {}).items()}
        found: list[Line] = []
        touched: dict[str, Line | None] = {}
        moved: set[str] = set()
        for change in outcome.changes:
            if isinstance(change, StateTransition):
                states[change.group] = (change.after.value, change.generation)
                is_with_line = found and found[-1].event.time_us == change.at_ms * US_PER_MS
                touched[change.group] = found[-1] if is_with_line else None
                moved.add(change.group)
                continue
            if change.group and change.event != "CoordinatorNote":
                state = states.get(change.group, ("Absent", None))[0]
                states[change.group] = ("Empty" if state == "Absent" else state, change.generation)
            event = _written(wording, policy, change, number + 1)
            if event is not None:
                number += 1
                found.append(Line(event, dict(states), None, place))
                touched[change.group] = found[-1]
                moved.discard(change.group)
        for name, line in touched.items():
            if line is not None and line.event.group == name and not (name in moved and line is not found[-1]):
                line.after = step["state"][name]
                line.states[name] = states[name]
        yield from found
        before = step["state"]


def _written(wording: MessageWriter, policy: Any, change: LoggedChange, number: int) -> Event | None:
    told = announce(policy, change, 0, 3)
    if told is None or told.level not in LEVELS:
        return None
    fields = {**told.fields, **({"client_host": HOST} if "client_host" in told.fields else {})}
    text = wording.line(WrittenLine(told.at_ms, 0, told.message, told.level, fields))
    if text is None:
        return None
    head, _, logger = text.partition("] ")[2].rpartition(" (")
    _, _, message = head.partition(" ")
    match = catalogue().match(logger.rstrip(")"), message)
    if not isinstance(match, Match) or not match.event:
        return None  # a line about an id or group without a name is not recognised
    at_us = told.at_ms * US_PER_MS
    place = LogPosition("server.log", number, number)
    return Event(match.event, at_us, at_us, place, Witness.COORDINATOR, match.message_id, text, **match.columns, fields=match.fields)


def follow(trace: Json, score: Score) -> None:
    """Follow one trace by its lines alone."""
    lines = list(lines_of(trace))
    sight = Sight(policy_for(version_of(trace) or ""), LEVELS)
    wrong = False
    for group in trace["steps"][0]["state"]:
        own = {id(line.event): line for line in lines if line.event.group in (None, group)}
        started = time.process_time()
        tracker = Tracker(group, sight)
        for event in tracker.follow([line.event for line in own.values()]):
            line = own[id(event)]
            if event.group != group:
                continue
            score.lines += 1
            wrong |= not _same(tracker, view_of(tracker), line, group, score, f"{trace['id']}/{line.step} {group} {event.name}")
        score.seconds += time.process_time() - started
        score.missing += tracker.best.missing
        score.unexplained += tracker.best.unexplained
    score.traces += 1
    score.equal += not wrong


def _same(tracker: Tracker, view: View, line: Line, group: str, score: Score, where: str) -> bool:
    state, generation = line.states[group]
    expected = None if state in ("Dead", "Absent") else state
    same = score.add("state", expected, view.state.value and view.state.value.value, view.state.certainty, where)
    if expected is not None:
        same &= score.add("generation", generation, view.generation.value, view.generation.certainty, where)
    if line.after is not None and expected is not None:
        _compare_all(view, line.after, score, where)
    return same


def _compare_all(view: View, state: Json, score: Score, where: str) -> None:
    """Members, leader and awaited members, as far as claimed."""
    members = {member["member"]: member for member in state["members"]}
    score.add("member_count", len(members), view.member_count.value, view.member_count.certainty, where)
    if view.leader.value is not None or view.leader.certainty == CERTAIN:
        score.add("leader", state["leader"], view.leader.value, view.leader.certainty, where)
    for member in view.members:
        if member.member_id is None:
            continue
        score.add("member", True, member.member_id in members, member.certainty, where + f" {member.member_id}")
        if member.member_id not in members:
            continue
        known, who = members[member.member_id], f"{where} {member.member_id}"
        if member.rejoined.value is not None:
            score.add("rejoined", known["awaiting"] == "join", member.rejoined.value, member.rejoined.certainty, who)
        if member.synced.value is not None and state["pending_sync"] is not None and view.state.value is not State.STABLE:
            score.add("synced", member.member_id not in state["pending_sync"], member.synced.value, member.synced.certainty, who)
    if view.pending.certainty == CERTAIN:
        score.add("pending", sorted(state["pending_join"]), sorted(view.pending.value or ()), view.pending.certainty, where)


def follow_file(path: Path, every: int = 1, only: str | None = None) -> Score:
    """Follow every `every`-th trace of a recording."""
    score = Score()
    with open_recording(path) as lines:
        for number, text in enumerate(lines):
            if number % every:
                continue
            trace: Json = json.loads(text)
            if only is not None and trace["id"] != only:
                continue
            if accepts(trace):
                follow(trace, score)
    return score


def report(name: str, score: Score) -> str:
    """One line for a file, and one for each compared value."""
    per_line = score.seconds / score.lines * 1e6 if score.lines else 0.0
    said = [
        f"{name}: {score.equal} of {score.traces} traces equal in state and generation; {score.lines} lines, "
        f"{score.missing} expected and missing, {score.unexplained} unexplained, {per_line:.0f} us a line"
    ]
    for what in dict.fromkeys(what for what, _ in score.counts):
        right, wrong = score.counts[what, "right"], score.counts[what, "wrong"]
        sure, surely_wrong = score.counts[what, "sure"], score.counts[what, "surely wrong"]
        share = right / (right + wrong)
        said.append(f"  {what}: {right} of {right + wrong} equal ({share:.4f}); certain {sure + surely_wrong}, wrong {surely_wrong}")
    return "\n".join(said)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.blind", description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE", help="recordings, JSON Lines, plain or gzip-compressed")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="follow each N-th trace only")
    parser.add_argument("--trace", help="follow the trace of this id only")
    parser.add_argument("-v", "--verbose", action="store_true", help="show what differs")
    options = parser.parse_args(arguments)
    good = True
    for path in options.files:
        score = follow_file(path, options.every, options.trace)
        print(report(name_of(path), score), flush=True)
        if options.verbose:
            print(*(f"    {failure}" for failure in score.failures), sep="\n")
        good = good and is_good(score)
    return 0 if good else 1


def is_good(score: Score) -> bool:
    """Return True if enough is equal, and no certain claim is wrong."""
    for what in ("state", "generation"):
        right, wrong = score.counts[what, "right"], score.counts[what, "wrong"]
        if right + wrong == 0 or right / (right + wrong) < EQUAL_MIN:
            return False
    return not any(count for (_, kind), count in score.counts.items() if kind == "surely wrong")


if __name__ == "__main__":
    sys.exit(main())

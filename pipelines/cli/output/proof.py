"""Output of a proof for people and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from dashboards.wording.escaping import first_line, shortened
from dashboards.wording.units import Clock, counted, share
from models.units import US_PER_MS
from pipelines.cli.output.group_state import place_of
from pipelines.cli.output.screens import heading, say

if TYPE_CHECKING:
    from rich.console import Console

    from models.events import Event
    from models.kafka.conformance.expected_lines import ExpectedLine
    from models.kafka.conformance.explanation import ExplainedLine, InputLink
    from models.kafka.conformance.trials import Trial, Window

LINE_MAX = 160

INPUTS: Mapping[str, str] = {
    "join": "JoinGroup of a newcomer",
    "hand_out": "JoinGroup of a newcomer, which is given an id",
    "join_pending": "JoinGroup with an id that was handed out",
    "join_unseen": "JoinGroup of a newcomer that no line names",
    "rejoin": "JoinGroup of a member",
    "rejoin_rest": "JoinGroup of all other members",
    "leave": "LeaveGroup",
    "expire": "session runs out",
    "end_join_phase": "deadline of the join phase",
    "end_if_open": "the join phase ends",
    "end_sync_wait": "deadline for SyncGroup",
    "sync": "SyncGroup of the leader",
    "sync_empty": "SyncGroup of the leader, with empty assignments",
    "replace": "JoinGroup of a static member with a new process",
    "delete": "DeleteGroups",
    "die": "clean-up removes the group",
    "vanish": "members are removed without a line",
    "unload": "the coordinator gives the group up",
    "load": "a coordinator loads the group",
    "commit": "OffsetCommit of a consumer that is no member",
    "adopt": "taken from the line: how the group got there is not known",
    "adopt_loaded": "taken from the line, as it was loaded",
}
"""Inputs in words; others only state what was true before."""

RULINGS: Mapping[str, str] = {
    "fits": "fits as well",
    "fits_if": "fits only with another timeout",
    "fails": "fails",
    "same_request": "asks the same of the coordinator: its lines can't tell them apart",
    "not_tried": "is nothing that the model can run here",
}


@dataclass(frozen=True, slots=True)
class Proof:
    """The model's explanation of one rebalance.

    `why_not` is the reason if there is none.
    """

    why_not: str | None = None
    version: str | None = None
    is_told: bool = False
    window: Window | None = None
    trials: Sequence[Trial] = ()
    shares: dict[str, float] = field(default_factory=dict)
    """Confidence by cause."""


# -- JSON --------------------------------------------------------------------------------------------------------


def proof_object(proof: Proof) -> dict[str, Any]:
    """The proof as described by `groupscope schema explain`."""
    from models.kafka.conformance.trials import Ruling

    window = proof.window
    entries = window.entries if window is not None else ()
    return {
        "why_not": proof.why_not,
        "kafka_version": {"value": proof.version, "certainty": _certainty(proof)},
        "inputs": [_input(step) for step in window.inputs] if window is not None else [],
        "lines": [_entry(entry) for entry in entries],
        "expected_lines": sum(entry.expected is not None for entry in entries),
        "missing_lines": sum(entry.line is None for entry in entries),
        "unexplained_lines": sum(entry.expected is None for entry in entries),
        "causes": [_cause(trial, proof.shares, is_tried=trial.ruling is not Ruling.NOT_TRIED) for trial in proof.trials],
    }


def _certainty(proof: Proof) -> str:
    return "unknown" if proof.version is None else "certain" if proof.is_told else "inferred"


def _cause(trial: Trial, shares: Mapping[str, float], *, is_tried: bool) -> dict[str, Any]:
    failure = trial.failure
    return {
        "cause": trial.cause.value,
        "confidence": shares.get(trial.cause.value),
        "ruling": trial.ruling.value,
        "inputs": [_input(step) for step in trial.inputs] if is_tried else [],
        "fails_at": _entry(failure) if failure is not None else None,
        "expected_lines": sum(entry.expected is not None for entry in trial.entries),
        "missing_lines": trial.missing,
        "unexplained_lines": trial.unexplained,
        "needed": [_expected(line) for line in trial.needed],
        "needed_timeout": _timeout(trial.overdue) if trial.overdue is not None else None,
    }


def _timeout(entry: ExplainedLine) -> dict[str, Any] | None:
    """The timeout that would make a timer fire when the line came."""
    if entry.due is None or entry.line is None:
        return None
    return {"name": entry.due.timeout, "ms": entry.line.time_us // US_PER_MS - entry.due.since_ms}


def _input(step: InputLink) -> dict[str, Any]:
    from pipelines.schema.tables import instant_text

    hidden = step.input
    return {
        "at": instant_text(step.at_ms * US_PER_MS),
        "input": hidden.kind,
        "members": [name for member in hidden.members if (name := _named(member)) is not None],
        "unnamed_members": sum(_named(member) is None for member in hidden.members),
        "instance_id": _named(hidden.instance) if hidden.instance else None,
        "due": instant_text(None if step.due is None else step.due.at_ms * US_PER_MS),
        "line": place_of(step.evidence),
    }


def _named(member: str) -> str | None:
    from models.kafka.conformance.explanation import is_named

    return member if is_named(member) else None


def _entry(entry: ExplainedLine) -> dict[str, Any]:
    from pipelines.schema.tables import instant_text

    line = entry.line
    return {
        "expected": _expected(entry.expected, line) if entry.expected is not None else None,
        "line": {**place_of(line), "at": instant_text(line.time_us), "event": line.name, "text": line.text} if line is not None else None,
        "difference_ms": entry.late_ms,
        "differing": list(entry.differing),
    }


def _expected(line: ExpectedLine, seen: Event | None = None) -> dict[str, Any]:
    from pipelines.schema.tables import instant_text

    return {"event": line.event, "at": instant_text(line.at_ms * US_PER_MS), "fields": dict(_shown(line.fields, seen))}


SHOWN = ("generation", "member_count", "member_id", "instance_id", "members", "reason_id", "reason_member_id")
"""Fields of a line that are shown."""


def _shown(fields: Mapping[str, Any], seen: Event | None = None) -> Iterator[tuple[str, Any]]:
    """Known fields of a line, among those that the log's line has."""
    for name in SHOWN:
        value = fields.get(name)
        if seen is not None and seen.fields.get(name) is None and getattr(seen, name, None) is None:
            continue
        if isinstance(value, str):
            value = _named(value)
        elif isinstance(value, Sequence):
            value = [member for member in value if _named(member) is not None]
        if value not in (None, "", []):
            yield name, value


# -- for people ---------------------------------------------------------------------------------------------------


Part: TypeAlias = tuple[str, str]
"""A piece of a proof with its kind, one of `LOOKS` or `heading`."""

STYLES: Mapping[str, dict[str, Any]] = {
    "said": {},
    "step": {"indent": 1, "hang": 2},
    "entry": {"indent": 1, "hang": 2, "is_wide": True},
    "line": {"indent": 3, "hang": 2, "style": "dim", "is_wide": True},
    "failure": {"indent": 3, "hang": 2, "is_wide": True},
    "note": {"indent": 3, "hang": 2},
}
"""Style of each kind on a terminal."""


def show(console: Console, proof: Proof, clock: Clock) -> None:
    """Show the proof for people."""
    heading(console, "Proof")
    for kind, text in proof_parts(proof, clock):
        if kind == "heading":
            heading(console, text)
        else:
            say(console, text, **STYLES[kind])


def proof_parts(proof: Proof, clock: Clock) -> Iterator[Part]:
    """The proof in words: inputs, what the model wrote beside the log, and causes."""
    if proof.window is None:
        yield "said", f"None: {proof.why_not}."
        return
    guessed = "" if proof.is_told else ", guessed from the wording"
    yield "said", f"The model of the coordinator (Kafka {proof.version}{guessed}) was given:"
    for step in proof.window.inputs:
        if step.input.kind in INPUTS:
            yield "step", f"{clock.stamp(step.at_ms * US_PER_MS)} {_in_words(step)}"
    yield "heading", "What it wrote, beside the log"
    for entry in proof.window.entries:
        yield "entry", _entry_in_words(entry, clock)
        if entry.line is not None:
            place, text = entry.line.place, shortened(first_line(entry.line.text), LINE_MAX)
            yield "line", f"{place.file}:{place.line} {text}"
    yield "heading", "Causes"
    for trial in proof.trials:
        yield from _trial(trial, proof.shares, clock)


def _in_words(step: InputLink) -> str:
    hidden = step.input
    names = [_named(member) for member in hidden.members]
    known, unknown = [name for name in names if name], sum(name is None for name in names)
    whose = [*known, *([f"{counted(unknown, 'member')} that no line names"] if unknown else [])]
    if hidden.kind == "rejoin_rest":
        text = INPUTS[hidden.kind] + (f" but {', '.join(whose)}" if whose else "")
    else:
        text = INPUTS[hidden.kind] + (f": {', '.join(whose)}" if whose else "")
    return text + (f" (due {step.at_ms - step.due.at_ms} ms before)" if step.due is not None else "")


def _entry_in_words(entry: ExplainedLine, clock: Clock) -> str:
    line, expected = entry.line, entry.expected
    if line is None and expected is not None:
        return f"{clock.stamp(expected.at_ms * US_PER_MS)} missing: {_line_text(expected)}"
    if line is not None and expected is None:
        return f"{clock.stamp(line.time_us)} unexplained: {line.name}"
    if line is None or expected is None:
        return ""
    head = f"{clock.stamp(line.time_us)} {_line_text(expected, line)} ({entry.late_ms:+d} ms)"
    return head + (f", but the log has another {', '.join(entry.differing)}" if entry.differing else "")


def _line_text(line: ExpectedLine, seen: Event | None = None) -> str:
    fields = ", ".join(f"{name} {' '.join(value) if isinstance(value, list) else value}" for name, value in _shown(line.fields, seen))
    return line.event + (f" ({fields})" if fields else "")


def _trial(trial: Trial, shares: Mapping[str, float], clock: Clock) -> Iterator[Part]:
    title = trial.cause.value.replace("_", " ")
    failure = trial.failure
    yield "step", f"{title} ({share(shares.get(trial.cause.value, 0.0))}): {RULINGS[trial.ruling.value]}"
    if trial.ruling.value == "fails" and failure is not None:
        at = f" at {failure.line.place.file}:{failure.line.place.line}" if failure.line is not None else ""
        yield "failure", f"first{at}: {_entry_in_words(failure, clock)}"
    needed = _timeout(trial.overdue) if trial.overdue is not None else None
    if trial.ruling.value == "fits_if" and needed is not None:
        yield "note", f"{needed['name']} would have to be {needed['ms']}"
    if trial.ruling.value in ("fits", "fits_if") and trial.needed:
        yield "note", f"it would also have written, at a level that the log lacks: {'; '.join(map(_line_text, trial.needed))}"

"""Output of a group's state for people and as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dashboards.wording.durations import NO_VALUE
from dashboards.wording.units import Clock
from models.units import US_PER_MS
from pipelines.cli.output.grid import GridColumn, grid
from pipelines.cli.output.json_csv import write_object
from pipelines.cli.output.screens import heading, say

if TYPE_CHECKING:
    from rich.console import Console

    from models.events import Event
    from models.kafka.conformance.group_view import Fact, MemberView, TimerView, View

_SURE, _GUESSED, _OPEN = "certain", "inferred", "unknown"
TIMERS: Mapping[str, str] = {
    "join": "end of the join phase",
    "sync": "wait for SyncGroup",
    "pending_member": "id that was handed out",
    "new_member_join": "first join",
    "session": "session",
}
"""Purpose of timers in words."""


@dataclass(frozen=True, slots=True)
class StateView:
    """A group's state after one of its lines.

    Includes the line's number and the last line that changed each value.
    """

    group: str
    version: str
    version_told: bool
    number: int
    total: int
    line: Event
    view: View
    changed_by: dict[str, Event]
    unexplained: int
    missing: int
    wanted_at: int | None = None
    """Time that was asked for, in microseconds."""
    ends_at: int | None = None
    """Time of the logs' last record, in microseconds."""


def write(shown: StateView) -> None:
    """Write the state as described by `groupscope schema state`."""
    write_object(state_object(shown))


def state_object(shown: StateView) -> dict[str, Any]:
    """The state as plain values."""
    from pipelines.schema.tables import instant_text

    view, line = shown.view, shown.line
    facts = {name: _fact(getattr(view, name), shown.changed_by.get(name)) for name in ("state", "generation", "leader")}
    return {
        "group": shown.group,
        "kafka_version": {"value": shown.version, "certainty": _SURE if shown.version_told else _GUESSED},
        "at": instant_text(line.time_us),
        "line": {**place_of(line), "event": line.name, "text": line.text},
        "line_number": shown.number,
        "line_count": shown.total,
        **facts,
        "member_count": _fact(view.member_count, shown.changed_by.get("members")),
        "members": [_member(member) for member in view.members],
        "members_changed_by": _maybe_place(shown.changed_by.get("members")),
        "pending_members": _fact(view.pending, shown.changed_by.get("pending")),
        "static_members": _fact(view.static, None),
        "protocol": _fact(view.protocol, None),
        "votes": _fact(view.votes, None),
        "timers": [_timer(timer) for timer in view.timers],
        "rivals": view.rivals,
        "missing_lines": shown.missing,
        "unexplained_lines": shown.unexplained,
    }


def _fact(fact: Fact[Any], changed_by: Event | None) -> dict[str, Any]:
    value = sorted(fact.value) if isinstance(fact.value, tuple) else fact.value
    return {"value": value, "certainty": fact.certainty, "changed_by": _maybe_place(changed_by)}


def _bare(fact: Fact[Any]) -> dict[str, Any]:
    return {"value": fact.value, "certainty": fact.certainty}


def place_of(event: Event) -> dict[str, Any]:
    """File and line of an event, as JSON has them."""
    return {"file": event.place.file, "line": event.place.line}


def _maybe_place(event: Event | None) -> dict[str, Any] | None:
    return None if event is None else place_of(event)


def _member(member: MemberView) -> dict[str, Any]:
    return {
        "member_id": member.member_id,
        "instance_id": member.instance_id,
        "certainty": member.certainty,
        "rejoined": _bare(member.rejoined),
        "synced": _bare(member.synced),
        "awaited": _bare(member.awaited),
    }


def _timer(timer: TimerView) -> dict[str, Any]:
    from pipelines.schema.tables import instant_text

    deadline = None if timer.deadline_ms is None else timer.deadline_ms * US_PER_MS
    return {"timer": timer.kind, "member_id": timer.member_id, "deadline": instant_text(deadline), "certainty": timer.certainty}


def show(console: Console, shown: StateView, clock: Clock) -> None:
    """Show the state for people."""
    view, line = shown.view, shown.line
    say(console, f"{line.place.file}:{line.place.line} (line {shown.number} of {shown.total} of the group)", style="dim", is_wide=True)
    say(console, line.text.splitlines()[0] if line.text else line.name, style="dim", is_wide=True)
    console.print()
    at = clock.stamp(line.time_us)
    wanted = clock.stamp(shown.wanted_at) if shown.wanted_at is not None else at
    say(console, f"{shown.group} at {wanted}: {_words(view.state)}, generation {_words(view.generation)}", style="bold")
    if wanted != at:
        say(console, f"Its last line by then is of {at}.")
    if shown.wanted_at is not None and shown.ends_at is not None and shown.wanted_at > shown.ends_at:
        say(console, f"The logs end at {clock.stamp(shown.ends_at)}: what came after that is unknown.")
    for title, fact, changed in (
        ("state", view.state, shown.changed_by.get("state")),
        ("leader", view.leader, shown.changed_by.get("leader")),
        ("members", view.member_count, shown.changed_by.get("members")),
        ("pending ids", view.pending, shown.changed_by.get("pending")),
    ):
        since = f"; since {changed.place.file}:{changed.place.line}" if changed is not None and fact.certainty != _OPEN else ""
        say(console, f"{title}: {_words(fact)}{since}", hang=2)
    if view.members:
        _members(console, view)
    if any(timer.deadline_ms is not None for timer in view.timers):
        _timers(console, view, clock, shown.wanted_at)
    say(console, _trust(shown), style="dim")


def _words(fact: Fact[Any]) -> str:
    if fact.certainty == _OPEN:
        return "unknown"
    value = ", ".join(fact.value) if isinstance(fact.value, tuple) else fact.value
    return f"{value if value not in (None, '') else 'none'}" + ("" if fact.certainty == _SURE else f" ({fact.certainty})")


def _answer(fact: Fact[bool]) -> str:
    return NO_VALUE if fact.value is None else ("yes" if fact.value else "no") + ("" if fact.certainty == _SURE else "?")


def _members(console: Console, view: View) -> None:
    heading(console, "Members")
    members = view.members
    columns = [
        GridColumn("member", [member.member_id or "(not named yet)" for member in members], least=16),
        GridColumn("instance", [member.instance_id or "" for member in members], rank=2, least=8),
        GridColumn("is one", [member.certainty for member in members], rank=1),
        GridColumn("rejoined", [_answer(member.rejoined) for member in members]),
        GridColumn("synced", [_answer(member.synced) for member in members]),
        GridColumn("awaited", [_answer(member.awaited) for member in members]),
    ]
    console.print(grid(columns, console.width))


def _timers(console: Console, view: View, clock: Clock, wanted_at: int | None) -> None:
    heading(console, f"Timers ({clock.zone_name})")
    timers = [timer for timer in view.timers if timer.deadline_ms is not None]
    columns = [
        GridColumn("timer", [TIMERS.get(timer.kind, timer.kind) for timer in timers]),
        GridColumn("member", [timer.member_id or "" for timer in timers], least=16),
        GridColumn("due", [clock.stamp((timer.deadline_ms or 0) * US_PER_MS) for timer in timers]),
        GridColumn("", ["overdue" if _is_over(timer, wanted_at) else "" for timer in timers]),
        GridColumn("", ["assumed timeout" if timer.certainty == _GUESSED else "" for timer in timers], rank=1),
    ]
    console.print(grid(columns, console.width))


def _is_over(timer: TimerView, wanted_at: int | None) -> bool:
    return wanted_at is not None and (timer.deadline_ms or 0) * US_PER_MS < wanted_at


def _trust(shown: StateView) -> str:
    odd = [
        f"{shown.missing} expected lines are missing" if shown.missing else "",
        f"{shown.unexplained} lines are unexplained" if shown.unexplained else "",
        f"{shown.view.rivals} other explanations fit as well" if shown.view.rivals else "",
    ]
    doubts = "; ".join(filter(None, odd))
    guessed = "" if shown.version_told else " (guessed from the wording)"
    return f"Kafka {shown.version}{guessed}, by its coordinator's lines" + (f"; {doubts}." if doubts else "; all of them are explained.")

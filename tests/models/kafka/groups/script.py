"""Golden scripts of group histories: events in, rows out, as a story that needs no Python.

A script holds events, one a line (`TIME EventName key=value …`, TIME in seconds), then `----`, then all that
must come out. `>` before the event's name puts it into another node's file, as in `4.5 @2 GroupLoaded …`.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator
from pathlib import Path

from models.event_kinds import COMMON_EVENT_FIELDS, EVENTS
from models.events import Event, LogPosition
from models.kafka.cluster.facts import CLUSTER_EVENTS, learn
from models.kafka.verdicts.history import GroupHistory
from models.rows import Person
from pipelines.headlines.headlines import headline
from tests.replaying import replay_group

GROUP = "orders"
UUID = "00000000-0000-4000-8000-{:012d}"
NUMBERS = {"generation", "partition", "member_count", "session_timeout_ms", "rebalance_timeout_ms", "error_code", "total_ms"}
NUMBERS |= {"delay_ms", "response_generation", "max_poll_interval_ms", "offsets_retention_minutes", "offsets_count"}
NUMBERS |= {"consumer_session_timeout_ms", "share_session_timeout_ms"}
NUMBERS |= {"duration_ms", "member_epoch", "previous_epoch", "topology_epoch", "offset", "last_at_us", "count", "deliveries"}
NUMBERS |= {"response_epoch"}
SHOWN_INCIDENTS = {"topology_not_ready", "poison_record", "share_partition_troubled"}


def member(name: str) -> str:
    """`a#1` is the first member id of client a: client id and UUID."""
    client, _, number = name.partition("#")
    return f"{client}-{UUID.format(int(number))}" if number else name


def parse(line: str, number: int) -> Event:
    """Parse one event of a script."""
    words = shlex.split(line)
    at = round(float(words[0]) * 1_000_000)
    node = words[1].lstrip("@") if words[1].startswith("@") else "1"
    name, *pairs = words[2:] if words[1].startswith("@") else words[1:]
    values: dict[str, object] = {}
    for pair in pairs:
        key, _, value = pair.partition("=")
        values[key] = int(value) if key in NUMBERS else member(value) if key.endswith(("member_id", "reason_members")) else value
    kind = EVENTS[name]
    assert values.keys() <= kind.fields, f"line {number}: {name} has no field {sorted(values.keys() - kind.fields)}"
    common = {key: values.pop(key) for key in list(values) if key in COMMON_EVENT_FIELDS}
    if "group" in kind.fields:
        common.setdefault("group", GROUP)
    if kind.witness.value == "coordinator":
        common.setdefault("node", node)
    file = f"{kind.witness.value}-{node}.log"
    return Event(name, at, at, LogPosition(file, number, number), kind.witness, "", line, fields=values, **common)  # type: ignore[arg-type]


def events_of(lines: Iterable[str]) -> list[Event]:
    """All events of a script, in order of time."""
    events = [parse(line, number) for number, line in enumerate(lines, 1) if line.strip() and not line.startswith("#")]
    return sorted(events, key=lambda event: (event.order_us, event.place.byte_offset))


def replay(events: list[Event]) -> GroupHistory:
    facts = learn(event for event in events if event.name in CLUSTER_EVENTS)
    facts.logs_end = max((event.time_us for event in events), default=None)
    return replay_group("test", GROUP, (event for event in events if event.group == GROUP), facts)


def _name(person: Person) -> str:
    return person.client_id or person.instance_id or person.member_id or "?"


def _blocker(person: Person) -> str:
    own = person.reason.partition(": ")[2]
    return f"{_name(person)}({own})" if own else _name(person)


def _seconds(value: float | None) -> str:
    return "?" if value is None else f"{value:g}"


def show(history: GroupHistory) -> Iterator[str]:
    """The results, one line each."""
    for change in history.group_transitions:
        how = "inferred" if change.inferred else "seen"
        yield f"transition {change.from_state or '?'} -> {change.to_state} {how}"
    for row in history.rebalances:
        parts = [
            f"rebalance {row.generation_before}->{row.generation_after} {row.cause} {row.confidence:.2f} {row.outcome}",
            f"join={_seconds(row.join_seconds)} sync={_seconds(row.sync_seconds)}",
        ]
        parts += [f"offenders={','.join(map(_name, row.offenders))}"] if row.offenders else []
        parts += [f"blockers={','.join(map(_blocker, row.blockers))}"] if row.blockers else []
        parts += [f"root={row.root_cause}"] if row.root_cause else []
        parts += [f"rivals={','.join(sorted(row.alternatives))}"] if row.alternatives else []
        yield " ".join(parts)
    for move in history.coordinator_moves:
        yield f"move {move.from_node} -> {move.to_node} gap={_seconds(move.gap_seconds)}"
    for lost in history.offset_expirations:
        yield f"offsets {'lost' if lost.has_expired else 'at risk'} after {_seconds(lost.retention_seconds)} s"
    for incident in history.incidents:
        if incident.kind in SHOWN_INCIDENTS:
            told = headline(incident.headline)
            yield f"incident {incident.kind} {incident.severity} {told}{'' if incident.ended_at else ', lasts'}"
    for divergence in history.divergences:
        yield f"divergence expected {divergence.expected}, observed {divergence.observed}"


def check(path: Path, *, rewrite: bool) -> None:
    """Run a script and compare the results with those in it."""
    given, _, expected = path.read_text(encoding="utf-8").partition("----\n")
    found = "".join(f"{line}\n" for line in show(replay(events_of(given.splitlines()))))
    if rewrite:
        path.write_text(f"{given}----\n{found}", encoding="utf-8")
        return
    assert found == expected

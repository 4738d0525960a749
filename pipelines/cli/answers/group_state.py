"""State of one group at one of its lines.

The reference coordinator follows the lines of a classic group's coordinator; the lines of newer protocols tell their epochs
themselves.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from pipelines.cli.output.group_state import StateView
from pipelines.errors import NothingReadable, UsageError

if TYPE_CHECKING:
    import pyarrow as pa

    from models.events import Event
    from models.kafka.conformance.tracker import Tracker
    from models.kafka.conformance.witnesses import Witnesses
    from parsers.reading.reader import ReadOptions
    from pipelines.warehouse.warehouse_reader import WarehouseReader

_MODERN = "Modern"
"""Prefix of events of the newer protocols."""
_EVENTS_WITHOUT_GROUP = ("LeaderReplaced", "OffsetsExpired", "GroupsDeleted", "BrokerConfigured", "KafkaVersion")
"""Events without a group that concern it, its broker or the version."""


@dataclass(slots=True)
class GroupLines:
    """The group's lines in order, and other lines about its coordinator."""

    events: list[Event] = field(default_factory=list)
    version: str | None = None
    configured: Event | None = None
    groups: set[str] = field(default_factory=set)
    is_rejected: bool = False
    last_us: int | None = None
    levels: set[str] = field(default_factory=set)
    others: list[Event] = field(default_factory=list)
    """Lines of requests and clients about the group."""


def read_lines(
    paths: Sequence[str], group: str, options: ReadOptions, progress: Any = None, wanted: Callable[[str], bool] | None = None
) -> GroupLines:
    """Read a group's lines and those about its coordinator, from the wanted files."""
    from parsers.reading.reader import find_files, read_file

    discovery = find_files(list(paths), options)
    if not discovery.files:
        raise NothingReadable("no log could be read")
    lines = GroupLines()
    total, done = sum(source.size_bytes for source in discovery.files), 0
    versions: dict[str, str] = {}
    for source in discovery.files:
        if wanted is not None and not wanted(source.name):
            continue
        reader = read_file(source, options)
        for chunk in reader:
            _take(lines, chunk.events, group, versions)
            done += chunk.counts.bytes
            if progress is not None:
                progress(source.name, done, total)
        given = options.version_of(source.relative)
        if given is not None:
            versions[source.name] = given
        times = (lines.last_us, reader.report.ended_at, reader.report.last_at)
        lines.last_us = max((at for at in times if at is not None), default=None)
        lines.is_rejected = lines.is_rejected or reader.report.status in ("rejected", "truncated")
    _complete(lines, versions)
    return lines


def stored_lines(warehouse: WarehouseReader, cluster: str, group: str) -> GroupLines:
    """The same lines from the tables of a warehouse."""
    from pipelines.warehouse.warehouse_reader import column_in, quoted_text

    aside = f'"group" is null and {column_in("event", _EVENTS_WITHOUT_GROUP)}'
    lines, versions = GroupLines(), dict[str, str]()
    for batch in warehouse.batches("events", f'cluster = {quoted_text(cluster)} and ("group" = {quoted_text(group)} or ({aside}))'):
        _take(lines, batch, group, versions)
    _complete(lines, versions)
    return lines


def _complete(lines: GroupLines, versions: Mapping[str, str]) -> None:
    """Order the lines, and find the coordinator's settings and version in their files."""
    lines.events.sort(key=lambda event: (event.order_us, event.place.file, event.place.byte_offset))
    files = dict.fromkeys(event.place.file for event in lines.events if event.group is not None)
    lines.version = next((versions[file] for file in files if file in versions), None)
    if lines.configured is not None and lines.configured.place.file not in files:
        lines.configured = None


def _take(lines: GroupLines, batch: pa.RecordBatch, group: str, versions: dict[str, str]) -> None:
    import pyarrow.compute as pc

    from models.events import Witness
    from parsers.arrow_arrays import strings
    from pipelines.schema.row_conversion import events_of

    if not batch.num_rows:
        return
    lines.last_us = max((at for at in (lines.last_us, _latest(batch)) if at is not None), default=None)
    lines.groups.update(name for name in pc.unique(batch["group"]).to_pylist() if name)
    of_group = pc.is_in(batch["group"], value_set=strings([group]))
    aside = pc.and_(pc.is_null(batch["group"]), pc.is_in(batch["event"], value_set=strings(_EVENTS_WITHOUT_GROUP)))
    chosen = batch.filter(pc.or_(of_group, aside))
    coordinators = chosen.filter(pc.is_in(chosen["witness"], value_set=strings([Witness.COORDINATOR])))
    lines.levels.update(level for level in pc.unique(coordinators["level"]).to_pylist() if level)
    for event in events_of(chosen):
        version = event.fields.get("version")
        if event.name == "KafkaVersion" and isinstance(version, str):
            versions.setdefault(event.place.file, version)
        elif event.name == "BrokerConfigured":
            lines.configured = event
        elif event.witness in (Witness.REQUEST, Witness.CLIENT):
            lines.others.append(event)
        elif event.witness is Witness.COORDINATOR:
            lines.events.append(event)


def _latest(batch: pa.RecordBatch) -> int | None:
    """Time of a batch's last record, in microseconds."""
    import pyarrow as pa
    import pyarrow.compute as pc

    latest: int | None = pc.max(batch["file_time_max_at"].cast(pa.int64())).as_py()
    return latest


def check_group(lines: GroupLines, group: str) -> None:
    """Raise UsageError if no state of the group can be shown."""
    group_events = [event for event in lines.events if event.group == group]
    if not group_events:
        if group in lines.groups:
            raise UsageError(f"only clients tell of group {group!r}, and no line of its coordinator; add the server.log of that broker")
        near = difflib.get_close_matches(group, lines.groups, n=1)
        raise UsageError(f"no line of a coordinator tells of group {group!r}" + (f"; did you mean {near[0]}?" if near else ""))


def is_modern(events: Iterable[Event]) -> bool:
    """Return True for lines of a group with a newer protocol."""
    return any(event.name.startswith(_MODERN) or event.name in ("GroupEpochBumped", "TargetComputed") for event in events)


def shown_at(lines: GroupLines, group: str, at_us: int | None, step: int) -> StateView:
    """State of the group at its last line by a time.

    None means its last line; `step` moves by that many lines.
    """
    group_events = [event for event in lines.events if event.group == group]
    before = len(group_events) if at_us is None else sum(event.time_us <= at_us for event in group_events)
    number = before + step
    if step == 0 and number == 0 and at_us is not None and lines.events:
        from pipelines.schema.tables import instant_text

        when, first = instant_text(at_us), instant_text(group_events[0].time_us)
        raise UsageError(f"{when} is before its first line: what the logs tell of group {group!r} begins at {first}")
    if not 1 <= number <= len(group_events):
        where = "before its first" if number < 1 else "behind its last"
        raise UsageError(f"that is {where} line: {len(group_events)} lines of its coordinator tell of group {group!r}")
    if is_modern(group_events[:number]):
        view = _by_epochs(lines, group, group_events[:number], len(group_events))
    else:
        view = _followed(lines, group, group_events[number - 1], number, len(group_events), None if step else at_us)
    return replace(view, wanted_at=None if step else at_us, ends_at=lines.last_us)


def _followed(lines: GroupLines, group: str, wanted: Event, number: int, total: int, at_us: int | None) -> StateView:
    from models.kafka.conformance.group_view import view_of

    course = course_of(lines, group)
    changed: dict[str, Event] = {}
    known: dict[str, object] = {}
    for followed in course.tracker.follow(course.lines):
        line = course.original(followed)
        for name, value in _standing(course.tracker):
            if name not in known or known[name] != value:
                known[name], changed[name] = value, line
        if line is wanted:
            break
    best = course.tracker.best
    began = changed["state"].time_us if "state" in changed else wanted.time_us
    view = course.witnesses.applied(view_of(course.tracker), max(at_us or 0, wanted.time_us), began)
    return StateView(group, course.version, course.is_told, number, total, wanted, view, changed, best.unexplained, best.missing)


def _by_epochs(lines: GroupLines, group: str, events: Sequence[Event], total: int) -> StateView:
    """State of a group of a newer protocol."""
    from models.kafka.conformance.version_hints import policy_of
    from models.kafka.groups.rows.epoch_states import EpochStates

    states = EpochStates()
    changed: dict[str, Event] = {}
    known: dict[str, object] = {}
    for line in events:
        if line.name == "GroupConverted":
            states = EpochStates()
        states.feed(line)
        for name, value in (("state", states.state), ("generation", states.epoch), ("members", tuple(sorted(states.members)))):
            if known.get(name, ...) != value:
                known[name], changed[name] = value, line
    version = lines.version or policy_of(events, None).version
    return StateView(group, version, lines.version is not None, len(events), total, events[-1], states.view(), changed, 0, 0)


@dataclass(slots=True)
class TrackedLines:
    """A tracker and the lines for it, with other witnesses' facts."""

    tracker: Tracker
    version: str
    is_told: bool
    """True if the version is known instead of guessed from the wording."""
    witnesses: Witnesses
    lines: list[Event]
    _originals: dict[int, Event]

    def original(self, line: Event) -> Event:
        """The line as written in the log."""
        return self._originals[id(line)]


def course_of(lines: GroupLines, group: str) -> TrackedLines:
    """The model that follows a group's lines.

    Raises UsageError for a version that has no model.
    """
    from models.kafka.conformance.expected_lines import DEFAULT_LEVELS, Sight
    from models.kafka.conformance.tracker import Tracker
    from models.kafka.conformance.version_hints import policy_of

    try:
        policy = policy_of([event for event in lines.events if event.group == group], lines.version)
    except ValueError as error:
        raise UsageError(f"--kafka-version: {error}") from error
    tracker = Tracker(group, Sight(policy, DEFAULT_LEVELS | lines.levels), _settings(lines, policy))
    witnesses = _witnesses(lines)
    pairs = [(witnesses.enriched(line), line) for line in _of_its_broker(lines.events, group)]
    originals = {id(enriched): line for enriched, line in pairs}
    return TrackedLines(tracker, policy.version, lines.version is not None, witnesses, [enriched for enriched, _ in pairs], originals)


def _witnesses(lines: GroupLines) -> Witnesses:
    from models.kafka.conformance.witnesses import Witnesses

    witnesses = Witnesses()
    for event in lines.others:
        witnesses.take(event)
    return witnesses


def _standing(tracker: Any) -> Iterator[tuple[str, object]]:
    state, generation = tracker.state_and_generation
    yield from (("state", state), ("generation", generation))
    group = tracker.best.group
    yield "leader", None if group is None else group.leader
    yield "members", None if group is None else tuple(group.members)
    yield "pending", None if group is None else frozenset(group.pending_join)


def _of_its_broker(lines: Iterable[Event], group: str) -> Iterator[Event]:
    """The group's lines, and its broker's lines without a group.

    The latter must be about the group's offsets partition, or about none.
    """
    node = partition = None
    for line in lines:
        if line.group == group:
            node, partition = line.node or node, line.partition if line.partition is not None else partition
            yield line
        elif line.node in (None, node) and line.partition in (None, partition):
            yield line


def _settings(lines: GroupLines, policy: Any) -> Any:
    """The broker's settings, None if its file doesn't show them."""
    from dataclasses import replace

    from models.kafka.coordinator.runtime.version_policy import broker_defaults

    configured = lines.configured
    size, delay = (
        (None, None)
        if configured is None
        else (configured.fields.get("group_max_size"), configured.fields.get("initial_rebalance_delay_ms"))
    )
    if not isinstance(size, int):
        return None
    settings = replace(broker_defaults(policy), max_size=size)
    return replace(settings, initial_delay_ms=delay) if isinstance(delay, int) else settings

"""Tables of the page except rebalances: columns and cells as plain data.

The template writes the first rows of each table into the page for readers without scripts; with scripts the page shows
all rows. Texts from logs pass through `visible` here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from conf.causes import cause as cause_entry
from dashboards.answer.history.blocker_ranking import blockers
from dashboards.view.answer import Answer, Incident
from dashboards.view.evidence import Line
from dashboards.wording import units
from dashboards.wording.durations import NO_VALUE, duration
from dashboards.wording.escaping import common_folder, visible

CellKind = Literal["text", "log", "number", "stamp", "places"]
"""Type of a column.

Fixed text, text from logs, number (text, value), time (microseconds), or positions `file:line`.
"""

PLACES_MAX = 3
REJECTED_CHARACTERS = 300


@dataclass(frozen=True, slots=True)
class Heading:
    title: str
    kind: CellKind = "text"


_EVIDENCE = Heading("Evidence", "places")
AVOIDED = (Heading("Avoided", "number"), Heading("Perhaps", "number"), Heading("Added", "number"))
SAVED = (Heading("Stood still", "number"), Heading("Saved", "number"), Heading("Member time saved", "number"))


@dataclass(frozen=True, slots=True)
class Grid:
    """Rows of cells, one cell per column.

    `group_column` is the column that the reader's choice of group filters, None if the table is not filtered.
    """

    name: str
    columns: tuple[Heading, ...]
    rows: Sequence[Sequence[Any]]
    group_column: int | None = None


def tables(answer: Answer, further: Sequence[Incident]) -> dict[str, Grid]:
    """All non-empty tables, by name.

    `further` are incidents without a card.
    """
    base = common_folder([item.path for item in answer.files])
    made = [
        _incidents(further),
        _offenders(answer),
        _blockers(answer),
        _conditions(answer, base),
        _contested(answer),
        _outages(answer, base),
        _brokers(answer, base),
        _moves(answer, base),
        _at_risk(answer),
        _settings(answer),
        _what_ifs(answer),
        _what_if_groups(answer),
        _broker_losses(answer),
        _open_questions(answer),
        _doubts(answer, base),
        _files(answer, base),
        _skipped(answer, base),
        _unknown(answer, base),
        _rejected(answer, base),
    ]
    return {table.name: table for table in made if table.rows}


def _shown(text: object) -> str:
    return NO_VALUE if text is None or text == "" else visible(str(text))


def _count(value: int) -> list[Any]:
    return [f"{value:,}", value]


def _seconds(value: float | None) -> list[Any]:
    return [duration(value), value or 0]


def _names(items: Iterable[str], limit: int = 4) -> str:
    return units.listed([visible(item) for item in items], limit)


def _places(lines: Sequence[Line], base: str) -> list[str]:
    return [f"{visible(line.file.removeprefix(base))}:{line.line}" for line in lines[:PLACES_MAX]]


def _incidents(items: Sequence[Incident]) -> Grid:
    columns = (
        Heading("No.", "number"),
        Heading("Severity"),
        Heading("What happened", "log"),
        Heading("From", "stamp"),
        Heading("To", "stamp"),
        Heading("Stood still", "number"),
    )
    rows = [
        [_count(item.number), item.severity, visible(item.headline), item.started_at, item.ended_at, _seconds(item.stopped_seconds)]
        for item in items
    ]
    return Grid("incidents", columns, rows)


def _offenders(answer: Answer) -> Grid:
    columns = (
        Heading("Member", "log"),
        Heading("Group", "log"),
        Heading("Caused", "number"),
        Heading("Held up", "number"),
        Heading("Stood still", "number"),
        Heading("By"),
        Heading("Last", "stamp"),
    )
    rows = [
        [
            visible(item.name) + (f" on {_names(item.hosts)}" if item.hosts else ""),
            visible(item.group),
            _count(item.caused),
            _count(item.blocked),
            _seconds(item.stopped_seconds),
            ", ".join(f"{cause_entry(item.system, name).title.lower()} ×{count}" for name, count in item.causes) or NO_VALUE,  # noqa: RUF001
            item.last_at,
        ]
        for item in answer.offenders
    ]
    return Grid("offenders", columns, rows, 1)


def _blockers(answer: Answer) -> Grid:
    columns = (
        Heading("Member", "log"),
        Heading("Group", "log"),
        Heading("Held up", "number"),
        Heading("Waited for", "number"),
        Heading("Of the group's waiting", "number"),
        Heading("Longest", "number"),
        Heading("Last", "stamp"),
    )
    rows = [
        [
            visible(item.name) + (f" on {_names(item.hosts)}" if item.hosts else ""),
            visible(item.group),
            _count(item.rebalances),
            _seconds(item.seconds),
            [units.share(item.group_share), item.group_share],
            _seconds(item.longest_seconds),
            item.last_at,
        ]
        for item in blockers(answer.rebalances)
    ]
    return Grid("blockers", columns, rows, 1)


def _conditions(answer: Answer, base: str) -> Grid:
    columns = (
        Heading("Group", "log"),
        Heading("Fault"),
        Heading("From", "stamp"),
        Heading("To", "stamp"),
        Heading("Clients", "log"),
        Heading("Who differs", "log"),
        Heading("What to do"),
        _EVIDENCE,
    )
    rows = [
        [
            visible(item.group),
            item.title + (" (ongoing)" if item.ended_at is None else ""),
            item.started_at,
            item.ended_at,
            _names(item.members),
            visible(item.detail) or NO_VALUE,
            " ".join(advice.do for advice in item.advice) or NO_VALUE,
            _places(item.evidence, base),
        ]
        for item in answer.conditions
    ]
    return Grid("conditions", columns, rows, 0)


def _contested(answer: Answer) -> Grid:
    columns = (
        Heading("Group", "log"),
        Heading("Topic", "log"),
        Heading("Problem"),
        Heading("Queues", "log"),
        Heading("Longest", "number"),
        Heading("From", "stamp"),
        Heading("To", "stamp"),
        Heading("Clients", "log"),
    )
    rows = [
        [
            visible(item.group),
            visible(item.topic),
            item.title + (" (ongoing)" if item.ended_at is None else ""),
            _names(item.queues),
            _seconds(item.seconds),
            item.started_at,
            item.ended_at,
            _names(item.owners),
        ]
        for item in answer.contested
    ]
    return Grid("contested", columns, rows, 0)


def _outages(answer: Answer, base: str) -> Grid:
    columns = (
        Heading("From", "stamp"),
        Heading("To", "stamp"),
        Heading("Partition", "log"),
        Heading("Lasted", "number"),
        Heading("Why", "log"),
        Heading("Ended by"),
        Heading("Groups", "log"),
        _EVIDENCE,
    )
    rows = [
        [
            item.offline_at,
            item.online_at,
            f"{visible(item.topic)}-{item.partition}",
            _seconds(item.seconds),
            item.cause_title
            + (f" ({units.listed([f'broker {visible(node)}' for node in item.lost_brokers], 4)})" if item.lost_brokers else "")
            + (", records at risk" if item.at_risk else ""),
            item.ended_by.replace("_", " "),
            _names(item.groups),
            _places(item.evidence, base),
        ]
        for item in answer.outages
    ]
    return Grid("outages", columns, rows)


def _brokers(answer: Answer, base: str) -> Grid:
    columns = (Heading("Down", "stamp"), Heading("Up", "stamp"), Heading("Broker", "log"), Heading("How"), _EVIDENCE)
    rows = [
        [item.down_at, item.up_at, visible(item.node), _shown(item.how.replace("_", " ")), _places(item.evidence, base)]
        for item in answer.broker_outages
    ]
    return Grid("brokers", columns, rows)


def _moves(answer: Answer, base: str) -> Grid:
    columns = (
        Heading("Loaded", "stamp"),
        Heading("Group", "log"),
        Heading("From", "log"),
        Heading("To", "log"),
        Heading("Gap", "number"),
        _EVIDENCE,
    )
    rows = [
        [
            item.loaded_at,
            visible(item.group),
            _shown(item.from_node),
            _shown(item.to_node),
            _seconds(item.gap_seconds),
            _places(item.evidence, base),
        ]
        for item in answer.moves
    ]
    return Grid("moves", columns, rows, 1)


def _at_risk(answer: Answer) -> Grid:
    columns = (
        Heading("Group", "log"),
        Heading("Empty since", "stamp"),
        Heading("Expire at", "stamp"),
        Heading("Retention", "number"),
        Heading("State"),
    )
    rows = [
        [visible(item.group), item.empty_since, item.expires_at, _seconds(item.retention_seconds), "lost" if item.is_lost else "at risk"]
        for item in answer.at_risk
    ]
    return Grid("risk", columns, rows, 0)


def _settings(answer: Answer) -> Grid:
    columns = (
        Heading("Group", "log"),
        Heading("Set"),
        Heading("Rebalances", "number"),
        Heading("Fewer", "number"),
        Heading("Perhaps", "number"),
        *SAVED,
        Heading("It costs"),
        Heading("Command", "log"),
    )
    rows = [
        [
            visible(item.group),
            item.says if item.helps else f"Does not help: {item.says}",
            *map(_count, (item.count, item.spared, item.perhaps)),
            *map(_seconds, (item.stopped_seconds, item.saved_seconds, item.saved_member_seconds)),
            item.costs,
            visible(item.question),
        ]
        for item in answer.settings
    ]
    return Grid("settings", columns, rows, 0)


def _what_ifs(answer: Answer) -> Grid:
    columns = (
        Heading("Configuration", "log"),
        *AVOIDED,
        *SAVED,
        Heading("Assumes"),
        Heading("Command", "log"),
    )
    rows = [
        [
            item.title,
            *(_count(int(item.total(name))) for name in ("avoided", "perhaps", "added")),
            *(_seconds(item.total(name)) for name in ("stopped_seconds", "saved_seconds", "saved_member_seconds")),
            " ".join(item.assumes) or NO_VALUE,
            f"groupscope whatif {item.options}",
        ]
        for item in answer.what_ifs
    ]
    return Grid("whatif", columns, rows)


def _what_if_groups(answer: Answer) -> Grid:
    columns = (
        Heading("Group", "log"),
        Heading("Configuration", "log"),
        Heading("Rebalances", "number"),
        *AVOIDED,
        *SAVED,
        Heading("Not told by the logs"),
    )
    pairs = [
        (item, group)
        for item in answer.what_ifs
        for group in item.groups
        if group.avoided or group.perhaps or group.added or group.saved_seconds
    ]
    rows = [
        [
            visible(group.group),
            item.title,
            *map(_count, (group.count, group.avoided, group.perhaps, group.added)),
            *map(_seconds, (group.stopped_seconds, group.saved_seconds, group.saved_member_seconds)),
            visible("; ".join(group.assumed)) or NO_VALUE,
        ]
        for item, group in sorted(pairs, key=lambda pair: (-pair[1].saved_seconds, pair[1].cluster, pair[1].group))
    ]
    return Grid("whatif-groups", columns, rows, 0)


def _broker_losses(answer: Answer) -> Grid:
    columns = (
        Heading("Broker", "log"),
        Heading("Cluster", "log"),
        Heading("Would have no leader", "number"),
        Heading("Partitions led", "number"),
        Heading("Which, and why", "log"),
        Heading("Command", "log"),
    )
    rows = [
        [
            visible(item.node),
            visible(item.cluster),
            _count(len(item.exposed)),
            _count(item.of),
            units.listed([f"{visible(name)} ({why.replace('_', ' ')})" for name, why in item.exposed], 4),
            f"groupscope outages --if-down {visible(item.node)}",
        ]
        for item in answer.broker_losses
    ]
    return Grid("losses", columns, rows)


def _open_questions(answer: Answer) -> Grid:
    columns = (
        Heading("Most likely"),
        Heading("Sure", "number"),
        Heading("May also be"),
        Heading("Rebalances", "number"),
        Heading("Groups", "log"),
        Heading("Would settle it"),
    )
    rows = [
        [
            item.cause_title,
            [units.share(item.confidence), item.confidence or 0],
            _names(item.rivals),
            _count(item.count),
            _names(item.groups),
            _shown(item.settled_by),
        ]
        for item in answer.open_questions
    ]
    return Grid("unsure", columns, rows)


def _doubts(answer: Answer, base: str) -> Grid:
    columns = (Heading("When", "stamp"), Heading("Group", "log"), Heading("Expected"), Heading("Observed", "log"), _EVIDENCE)
    rows = [
        [item.at, _shown(item.group), _shown(item.expected), _shown(item.observed), _places(item.evidence, base)] for item in answer.doubts
    ]
    return Grid("doubts", columns, rows, 1)


_NOT_LOGS = ("skipped", "empty")


def _files(answer: Answer, base: str) -> Grid:
    columns = (
        Heading("File", "log"),
        Heading("Kind"),
        Heading("Node", "log"),
        Heading("Version", "log"),
        Heading("Read as"),
        Heading("First", "stamp"),
        Heading("Last", "stamp"),
        Heading("Size", "number"),
        Heading("Recognised", "number"),
        Heading("Unknown", "number"),
        Heading("Rejected", "number"),
        Heading("Status"),
    )
    rows = [
        [
            _shown(item.path.removeprefix(base)),
            _shown(item.kind).replace("_", " "),
            _shown(item.node),
            _shown(item.version),
            _shown(item.time_zone),
            item.first_at,
            item.last_at,
            [units.size(item.bytes_read), item.bytes_read or 0],
            _count(item.recognised),
            _count(item.unknown),
            _count(item.rejected),
            _shown(item.status) + (f": {visible(item.reason)}" if item.reason else ""),
        ]
        for item in answer.files
        if item.status not in _NOT_LOGS
    ]
    return Grid("files", columns, rows)


def _skipped(answer: Answer, base: str) -> Grid:
    columns = (Heading("File", "log"), Heading("Why it was not read"))
    rows = [[_shown(item.path.removeprefix(base)), _shown(item.reason or item.status)] for item in answer.files if item.status in _NOT_LOGS]
    return Grid("skipped", columns, rows)


def _unknown(answer: Answer, base: str) -> Grid:
    columns = (Heading("Count", "number"), Heading("Template", "log"), Heading("Logger", "log"), Heading("First at", "places"))
    rows = [
        [_count(item.count), _shown(item.template), _shown(item.logger), [f"{visible(item.file.removeprefix(base))}:{item.line}"]]
        for item in answer.unknown
    ]
    return Grid("unknown", columns, rows)


def _rejected(answer: Answer, base: str) -> Grid:
    columns = (Heading("Place", "places"), Heading("Why"), Heading("Text", "log"))
    rows = [
        [
            [f"{visible(item.file.removeprefix(base))}:{item.line} (byte {item.byte_offset})"],
            _shown(item.reason),
            _shown((item.text or "")[:REJECTED_CHARACTERS]),
        ]
        for item in answer.rejected
    ]
    return Grid("rejected", columns, rows)

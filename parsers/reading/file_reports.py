"""Reports on reading a file: the parser's part of a `log_files` row.

A file that is read in parts has a report for each; `merge_reports` combines them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from parsers.reading.version_ranges import of_parts, range_of_file
from parsers.records.context import Counts
from parsers.sources.compression import is_damage
from parsers.sources.files import SkippedFile

ReportRow = dict[str, Any]
_WITNESS_KINDS = {"coordinator": "server", "broker": "server", "request": "request", "controller": "controller", "client": "client"}
_BYTES = ("bytes_parsed", "bytes_ignored", "bytes_rejected")
_SUMMED = ("bytes_read", *_BYTES, "lines", "records", "recognised", "unknown", "rejected")
_OF_PARTS = ("part_offset", "part_line", "checkpoints", "ended_at", "version_ranges")
_TALLIES = ("nodes", "witnesses", "systems")
_STATUSES = ("rejected", "truncated", "empty", "skipped", "ok")  # worst first


@dataclass(slots=True)
class FileReport:
    """Report on one file.

    `status` is ok, empty, rejected, truncated or skipped; `reason` explains each but ok, and why an ok file gave nothing.
    """

    path: str
    file_id: str | None
    size_bytes: int
    bytes_read: int = 0
    kind: str = "other"
    layout: str | None = None
    encoding: str | None = None
    wrappers: tuple[str, ...] = ()
    compression: str | None = None
    system: str | None = None
    node: str | None = None
    versions: tuple[str, ...] = ()
    version_ranges: Mapping[str, str] = field(default_factory=dict)
    """Version range of each product, the most frequent first."""
    cluster_ids: tuple[str, ...] = ()
    time_zone: str | None = "UTC"
    first_at: int | None = None
    last_at: int | None = None
    ended_at: int | None = None
    """Time of the last record, recognised or not.

    `first_at` and `last_at` consider recognised records only.
    """
    counts: Counts = field(default_factory=Counts)
    status: str = "ok"
    reason: str | None = None
    nodes: Counter[str] = field(default_factory=Counter)
    witnesses: Counter[str] = field(default_factory=Counter)
    systems: Counter[str] = field(default_factory=Counter)
    checkpoints: dict[int, str] = field(default_factory=dict)

    def conclude(self) -> None:
        """Derive system, node and kind of the file from its events."""
        self.system = _most(self.systems)
        self.node = _most(self.nodes)
        self.kind = _kind(self.witnesses)
        counts = self.counts
        if self.status == "ok" and counts.first_hint and not (counts.recognised or counts.unknown or counts.rejected):
            self.reason = f"nothing was recognised, though line {counts.first_hint} has words of a known message"


def _most(counts: Mapping[str, int]) -> str | None:
    """The most frequent name, ties broken by name.

    A broker's log also names other brokers.
    """
    return min(counts, key=lambda value: (-counts[value], value)) if counts else None


def _kind(witnesses: Mapping[str, int]) -> str:
    telling = {witness: count for witness, count in witnesses.items() if count > 0}
    return _WITNESS_KINDS.get(_most(telling) or "", "other")


def skipped_report(skip: SkippedFile) -> FileReport:
    """The report on a file that is not read."""
    status = "empty" if skip.reason == "empty" else "rejected" if skip.is_named or is_damage(skip.reason) else "skipped"
    return FileReport(skip.name, None, skip.size_bytes, kind="not_a_log", time_zone=None, status=status, reason=skip.reason)


def report_row(report: FileReport, begin: int = 0, line: int = 1) -> ReportRow:
    """A row of `FILE_REPORT_SCHEMA`.

    The reported part begins at `begin`, in `line`.
    """
    counts = report.counts
    return {
        "system": report.system,
        "path": report.path,
        "file_id": report.file_id,
        "size_bytes": report.size_bytes,
        "bytes_read": report.bytes_read,
        "bytes_parsed": counts.bytes_recognised + counts.bytes_unknown,
        "bytes_ignored": counts.bytes_ignored,
        "bytes_rejected": counts.bytes_rejected,
        "kind": report.kind,
        "layout": report.layout,
        "encoding": report.encoding,
        "node": report.node,
        "version": ", ".join(report.versions) or None,
        "version_range": range_of_file(report.kind, report.version_ranges),
        "time_zone": report.time_zone,
        "first_at": report.first_at,
        "last_at": report.last_at,
        "lines": counts.lines,
        "records": counts.records,
        "recognised": counts.recognised,
        "unknown": counts.unknown,
        "rejected": counts.rejected,
        "status": report.status,
        "reason": report.reason,
        "cluster_ids": list(report.cluster_ids),
        "ended_at": report.ended_at,
        "part_offset": begin,
        "part_line": line,
        "checkpoints": sorted(report.checkpoints.items()),
        "version_ranges": list(report.version_ranges.items()),
        **{name: sorted(getattr(report, name).items()) for name in _TALLIES},
    }


def merge_reports(rows: Iterable[Mapping[str, Any]]) -> list[ReportRow]:
    """Merge rows of parts to one row per file, without columns of parts."""
    parts: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        parts.setdefault(row["path"], []).append(row)
    return [whole_report(join_parts(parts[path])) for path in sorted(parts)]


def whole_report(row: Mapping[str, Any]) -> ReportRow:
    """Remove the columns of parts.

    A file with recognised records extends to its last record of any kind.
    """
    whole = {name: value for name, value in row.items() if name not in _TALLIES and name not in _OF_PARTS}
    ended = row.get("ended_at")
    if whole["last_at"] is not None and ended is not None:
        whole["last_at"] = max(whole["last_at"], ended)
    return whole


def join_parts(rows: Iterable[Mapping[str, Any]]) -> ReportRow:
    """Join consecutive parts of a file.

    Name and size are those of the last part.
    """
    parts = sorted(rows, key=lambda part: part["part_offset"])
    tallies = {name: Counter[str]() for name in _TALLIES}
    for part in parts:
        for name, tally in tallies.items():
            tally.update(dict(part[name] or ()))
    row = dict(parts[0]) | {name: parts[-1][name] for name in ("path", "file_id", "size_bytes", "checkpoints")}
    row |= {name: sum(part[name] for part in parts) for name in _SUMMED}
    for name, choose in (("first_at", min), ("last_at", max)):
        row[name] = choose((part[name] for part in parts if part[name] is not None), default=None)
    row["ended_at"] = next((part["ended_at"] for part in reversed(parts) if part.get("ended_at") is not None), None)
    row["version"] = (
        ", ".join(dict.fromkeys(version for part in parts if part["version"] for version in part["version"].split(", "))) or None
    )
    row["cluster_ids"] = list(dict.fromkeys(cluster_id for part in parts for cluster_id in part["cluster_ids"] or ()))
    worst = min(parts, key=lambda part: _STATUSES.index(part["status"]))
    row["status"], row["reason"] = worst["status"], worst["reason"]
    if row["status"] == "ok":
        gave = row["recognised"] or row["unknown"] or row["rejected"]
        row["reason"] = None if gave else next((part["reason"] for part in parts if part["reason"]), None)
    if len(parts) > 1:
        row["node"], row["system"], row["kind"] = _most(tallies["nodes"]), _most(tallies["systems"]), _kind(tallies["witnesses"])
    ranges = of_parts(dict(part.get("version_ranges") or ()) for part in parts)
    row["version_range"], row["version_ranges"] = range_of_file(row["kind"], ranges), list(ranges.items())
    return row | {name: sorted(tally.items()) for name, tally in tallies.items()}

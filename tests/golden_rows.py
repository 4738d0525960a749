"""Rows of all tables in a stable form, and differences between sets of them."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path
from typing import Any

from models.kafka.outages.broker_loss import broker_rows, placement_rows
from parsers.reading.reader import find_files, read_file
from pipelines.analysis.in_process import AnalysisResult, AnalyzeOptions, analyze
from pipelines.schema.tables import CONTRACT, TABLES, VERSIONED, json_row
from tests.compare_paths import Rows, by_key, published
from tests.conftest import ROOT

GOLDEN = ROOT / "tests" / "golden" / "rows"
OF_THIS_VERSION = frozenset({"run_id", "options_id", "catalogue_version", "model_version"})
"""Columns about the run or the code itself."""
STATES = frozenset({"state_snapshots", "group_snapshots", "cluster_snapshots"})
"""Tables of states for later runs.

They contain fingerprints, and are covered by the tests of resuming.
"""
ONLY_THE_JOB = frozenset({"learned_facts", "quality_results", "unknown_in_files"})
"""Tables without rows in `analyze`."""
KEPT = tuple(sorted(set(VERSIONED) - STATES))
OF_EVENTS = ("file", "message")
"""Columns by which events are counted."""
DIGEST_BYTES = 6
DIGITS = 12
"""Number of digits compared of a fraction.

The last digits differ between mathematical libraries.
"""
SHOWN_LENGTH = 300


def of_analysis(paths: Sequence[str], options: AnalyzeOptions, *, events: bool = True) -> Rows:
    """Rows of all tables that one process can fill.

    Without `events` one pass over the files less.
    """
    found = analyze(paths, options)
    rows: dict[str, list[Any]] = {table: list(getattr(found, key)) for key, table in CONTRACT.items()}
    rows["log_files"] = found.log_files
    rows["rebalance_members"] = list(found.rebalance_members)
    rows["partition_placements"] = [row for layout in found.layouts for row in placement_rows(layout)]
    rows["brokers"] = [row for layout in found.layouts for row in broker_rows(layout)]
    if events:
        rows["events"] = events_of(paths, options, found)
    return {table: steady(table, each) for table, each in rows.items()}


def of_warehouse(warehouse: Path) -> Rows:
    """Rows of all tables published by a run."""
    from deltalake import DeltaTable

    versions = published(warehouse)
    tables = {name: DeltaTable(str(warehouse / TABLES[name].path), version=versions[name]).to_pyarrow_table() for name in KEPT}
    return {name: steady(name, table.to_pylist()) for name, table in tables.items()}


def events_of(paths: Sequence[str], options: AnalyzeOptions, found: AnalysisResult) -> list[dict[str, Any]]:
    """Events as stored by the job, with the clusters of their files."""
    read = replace(options.read, fold_runs=True)
    cluster_of = {row["path"]: row["cluster"] for row in found.log_files}
    batches = (chunk.events for source in find_files(paths, read).files for chunk in read_file(source, read))
    return [{**row, "cluster": cluster_of[row["file"]]} for batch in batches for row in batch.to_pylist()]


def steady(table: str, rows: Sequence[Any]) -> list[dict[str, Any]]:
    """Rows without columns that change per run, by key; events by file and message."""
    left_out = {*OF_THIS_VERSION, *TABLES[table].former_names}
    documents = [{name: _rounded(value) for name, value in json_row(table, row).items() if name not in left_out} for row in rows]
    documents.sort(key=lambda row: (_line([row[name] for name in TABLES[table].key]), _line(row)))
    return _summed(documents) if table == "events" else documents


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}")
    if isinstance(value, list):
        return [_rounded(each) for each in value]
    if isinstance(value, dict):
        return {name: _rounded(each) for name, each in value.items()}
    return value


def _summed(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Number of events of each message and file, with a digest."""
    kinds: defaultdict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    for event in events:
        kinds[event["file"], event["message"]].append(event)
    return [
        {"file": file, "message": message, "count": len(some), "digest": digest(some)} for (file, message), some in sorted(kinds.items())
    ]


def digest(rows: list[dict[str, Any]]) -> str:
    """A digest of rows, independent of their order."""
    return blake2b("\n".join(sorted(map(_line, rows))).encode(), digest_size=DIGEST_BYTES).hexdigest()


def _line(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


def written(table: str) -> list[dict[str, Any]]:
    """The golden rows of a table."""
    path = GOLDEN / f"{table}.jsonl"
    assert path.exists(), f"{path.name} is not written down yet; --rewrite does so"
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]


def write(table: str, rows: list[dict[str, Any]]) -> None:
    """Write the golden rows of a table, one per line."""
    GOLDEN.mkdir(parents=True, exist_ok=True)
    (GOLDEN / f"{table}.jsonl").write_text("".join(f"{_line(row)}\n" for row in rows), encoding="utf-8")


def differences(table: str, golden: list[dict[str, Any]], found: list[dict[str, Any]]) -> Iterator[str]:
    """Rows on one side only, and differing values.

    As table, key, column, and both values.
    """
    names = OF_EVENTS if table == "events" else ()
    ours, theirs = by_key(table, golden, names), by_key(table, found, names)
    for key in sorted(ours.keys() | theirs.keys()):
        if key not in theirs:
            yield f"{table} {key}: gone; golden {_short(ours[key])}"
        elif key not in ours:
            yield f"{table} {key}: new; found {_short(theirs[key])}"
        else:
            yield from (f"{table} {key} {line}" for line in _unlike("", ours[key], theirs[key]))


def _unlike(place: str, golden: Any, found: Any) -> Iterator[str]:
    """Location of a difference, by the innermost column or element."""
    if isinstance(golden, dict) and isinstance(found, dict) and golden.keys() == found.keys():
        for name in golden:
            yield from _unlike(f"{place}.{name}".lstrip("."), golden[name], found[name])
    elif isinstance(golden, list) and isinstance(found, list) and len(golden) == len(found):
        for at, (before, now) in enumerate(zip(golden, found, strict=True)):
            yield from _unlike(f"{place}[{at}]", before, now)
    elif golden != found:
        yield f"{place}: golden {_short(golden)}, found {_short(found)}"


def _short(value: Any) -> str:
    text = _line(value)
    return text if len(text) <= SHOWN_LENGTH else f"{text[:SHOWN_LENGTH]}…"

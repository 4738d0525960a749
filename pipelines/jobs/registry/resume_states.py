"""States for later runs, in `silver.state_snapshots`.

How far each file was read, and what each cluster's verdicts depend on.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from models.ids import make_id
from parsers.reading.file_reports import join_parts
from parsers.reading.reader import SourceFile
from parsers.reading.resume import Start, content_end, is_whole_at
from parsers.sources.content_checkpoints import Checkpoint, checkpoints
from pipelines.jobs.overlay import Overlay
from pipelines.schema.tables import without_run
from pipelines.versions import catalogue_version, model_version

FILE_STATE, CLUSTER_STATE = "file", "cluster"
ResumeState = Mapping[str, Any]
ReportedPart = Mapping[str, Any]


STATE_COLUMNS = ("subject", "state")


def stored_states(rows: pa.Table) -> Overlay[str]:
    """Texts of states by subject, from these columns of the table.

    There may be many files, and few of them are read again: `parse_state` reads a text where it is needed.
    """
    texts = rows["state"]

    def text(place: int) -> str:
        return str(texts[place].as_py())

    return Overlay(rows["subject"].to_pylist(), text)


def parse_state(text: str) -> ResumeState:
    """The state in a text."""
    state: ResumeState = json.loads(text)
    return state


def state_text(state: ResumeState) -> str:
    """The text of a state; equal states have equal texts."""
    return json.dumps(state, sort_keys=True)


def cluster_states(rows: Iterable[Mapping[str, Any]]) -> dict[str, ResumeState]:
    """States of clusters, which are valid for one version of the models."""
    version = model_version()
    return {row["subject"]: parse_state(row["state"]) for row in rows if row["kind"] == CLUSTER_STATE and row["model_version"] == version}


def state_rows(kind: str, texts: Mapping[str, str], cluster_of: Mapping[str, str]) -> pa.Table:
    """Rows of the table without the run.

    `cluster_of` gives the cluster of a subject.
    """
    rows = [
        {
            "cluster": cluster_of[subject],
            "state_snapshot_id": make_id("state", kind, subject),
            "kind": kind,
            "subject": subject,
            "state": text,
            "catalogue_version": catalogue_version(),
            "model_version": model_version(),
        }
        for subject, text in sorted(texts.items())
    ]
    return pa.Table.from_pylist(rows, schema=without_run("state_snapshots"))


def file_report(before: ResumeState | None, start: Start | None, parts: Sequence[ReportedPart]) -> dict[str, Any]:
    """Report on a whole file: its earlier content and the parts read now."""
    return join_parts([*_parts_before(before, start), *parts])


def file_state(
    source: SourceFile, before: ResumeState | None, start: Start | None, parts: Sequence[ReportedPart], length: int
) -> dict[str, Any] | None:
    """State of a file: next start, and identification of the content.

    Compressed files do not grow, so theirs has only the identification.
    """
    last = parts[-1]
    if not source.is_plain:
        return _identified(source, last["checkpoints"] or ()) or None
    state: dict[str, Any] = {}
    parts_before = [*_parts_before(before, start), *parts[:-1]]
    # The record before the last part is complete only if another one begins after it.
    is_complete = last["part_offset"] and parts_before and last["records"] and all(part["status"] == "ok" for part in parts_before)
    if is_complete and is_whole_at(source, last["part_offset"]):
        # The part that is read next will set the name and size of the file.
        report = join_parts(parts_before) | {"path": "", "size_bytes": last["part_offset"]}
        state |= {"offset": last["part_offset"], "line": last["part_line"], "report": report}
    elif before is not None and start is not None:
        state |= {name: before[name] for name in ("offset", "line", "report")}
    known = [(at, digest) for at, digest in (before or {}).get("checkpoints", ())]
    end = content_end(source, length)
    state |= _identified(source, checkpoints(source, end, known if start is not None else ()))
    if end < length:
        state["end"] = end
    return state or None


def _identified(source: SourceFile, places: Iterable[Checkpoint]) -> dict[str, Any]:
    values = {"checkpoints": [list(place) for place in places], "zeros": source.zeros}
    return {name: value for name, value in values.items() if value}


def without_start(state: ResumeState) -> ResumeState | None:
    """State of a file that was compressed since."""
    return {name: state[name] for name in ("checkpoints", "zeros") if name in state} or None


def _parts_before(before: ResumeState | None, start: Start | None) -> list[ReportedPart]:
    return [before["report"]] if before is not None and start is not None else []

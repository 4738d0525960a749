"""Tables of a warehouse as left by a published run, written with delta-rs."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable, write_deltalake

from models.kafka.outages.broker_loss import broker_rows, placement_rows
from pipelines.schema.row_conversion import row_values
from pipelines.schema.tables import CONTRACT, TABLES
from tests.dashboards.hostile import CONTROL, PAYLOADS
from tests.dashboards.made import Made
from tests.dashboards.page.test_page import everywhere

RUN = "0001"


def store(analysis: Any, folder: Path, events: Sequence[dict[str, Any]] = ()) -> Path:
    """Write the rows of an analysis to `folder`, and a run that published them."""
    tables: dict[str, Any] = {table: list(getattr(analysis, key)) for key, table in CONTRACT.items()}
    tables["log_files"] = analysis.inputs["log_files"]
    tables["rebalance_members"] = list(getattr(analysis, "rebalance_members", ()))
    layouts = getattr(analysis, "layouts", ())
    tables["partition_placements"] = [row for layout in layouts for row in placement_rows(layout)]
    tables["brokers"] = [row for layout in layouts for row in broker_rows(layout)]
    tables["events"] = list(events)
    for name, rows in tables.items():
        _write(folder, name, [{**_values(row), "run_id": RUN} for row in rows])
    _write(
        folder,
        "runs",
        [
            {
                "run_id": RUN,
                "run_number": 1,
                "status": "published",
                "started_at": 0,
                "seen_at": 0,
                "owner": "{}",
                "inputs": [],
                "options": "{}",
                "product_version": "1",
                "catalogue_version": "1",
                "model_version": "1",
                "table_versions": [(name, 0) for name in tables],
            }
        ],
    )
    return folder


def change(folder: Path, table: str, updates: dict[str, str], run: str = "0002") -> None:
    """Set columns of all rows to SQL values, like a later published run."""
    DeltaTable(str(folder / TABLES[table].path)).update(updates={**updates, "run_id": f"'{run}'"})
    register = DeltaTable(str(folder / TABLES["runs"].path))
    [last] = sorted(register.to_pyarrow_table().to_pylist(), key=lambda row: -row["run_number"])[:1]
    versions = {name: DeltaTable(str(folder / TABLES[name].path)).version() for name, _ in last["table_versions"]}
    entry = {**last, "run_id": run, "run_number": last["run_number"] + 1, "table_versions": list(versions.items())}
    write_deltalake(register, pa.Table.from_pylist([entry], schema=TABLES["runs"].arrow_schema()), mode="append")


def _values(row: Any) -> dict[str, Any]:
    if dataclasses.is_dataclass(row):
        return row_values(row)
    return {name: [_values(item) for item in value] if name == "evidence" else value for name, value in dict(row).items()}


def _write(folder: Path, name: str, rows: list[dict[str, Any]]) -> None:
    table = TABLES[name]
    path = folder / table.path
    path.parent.mkdir(parents=True, exist_ok=True)
    write_deltalake(str(path), pa.Table.from_pylist(rows, schema=table.arrow_schema()))


def hostile_story() -> Made:
    """All payloads, one group each.

    Tables hold UTF-8, so lone surrogates are excluded.
    """
    story = Made(inputs={"log_files": [], "totals": {}})
    texts = [text for text in (*PAYLOADS, *CONTROL) if text.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in text)]
    for number, text in enumerate(texts):
        part = everywhere(text)
        part.rebalances[0].rebalance_id = f"id{number:04}"
        part.client_states[0].state = "STABLE"  # no log fills this column
        part.incidents[0].rebalance_ids = [f"id{number:04}"]
        story.inputs["log_files"] += part.inputs["log_files"]
        for key in CONTRACT:
            getattr(story, key).extend(getattr(part, key))
    return story

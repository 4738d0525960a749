"""What was seen in files is written down with what it rests on, and nothing else of it stays."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from parsers.redaction.pseudonyms import Redaction
from parsers.sources.inspection import ContentPart, Inspection
from pipelines.jobs.ingest.inspection_cache import InspectionCache, load_inspections, store_inspections
from pipelines.schema.tables import TABLES

HIDDEN = Redaction(("hosts", "groups"), b"k" * 32)


def look(name: str = "", size: int = 9) -> Inspection:
    return Inspection(10**18, size, (ContentPart(size, name, file_id="f" * 32, reason=None),))


@pytest.fixture
def warehouse(tmp_path: Path) -> Path:
    place = tmp_path / "warehouse"
    schema = pa.schema([each.remove_metadata() for each in TABLES["file_inspections"].arrow_schema()])
    write_deltalake(str(place / TABLES["file_inspections"].path), schema.empty_table())
    return place


def rows(warehouse: Path) -> set[str]:
    return {row["path"] for row in DeltaTable(str(warehouse / TABLES["file_inspections"].path)).to_pyarrow_table().to_pylist()}


def test_what_is_noted_is_seen_and_written_once(warehouse: Path) -> None:
    found = {"logs/a.log": look(), "logs/b.tgz": look("inner.log"), "logs/young.log": None}
    store_inspections(str(warehouse), InspectionCache(), found, None, "run-1")
    seen = load_inspections(str(warehouse), None)

    assert seen.known == {path: each for path, each in found.items() if each is not None}
    store_inspections(str(warehouse), seen, found, None, "run-2")
    assert DeltaTable(str(warehouse / TABLES["file_inspections"].path)).version() == 1


def test_files_of_other_inputs_stay_as_long_as_they_may_be_there(warehouse: Path, tmp_path: Path) -> None:
    here, gone, store = str(tmp_path / "here.log"), str(tmp_path / "gone.log"), "s3a://bucket/elsewhere.log"
    Path(here).touch()
    store_inspections(str(warehouse), InspectionCache(), {here: look(), gone: look(), store: look(), "mine.log": look()}, None, "run-1")
    store_inspections(str(warehouse), load_inspections(str(warehouse), None), {"mine.log": None}, None, "run-2")

    assert rows(warehouse) == {here, store}


def test_files_that_were_missed_are_looked_into_again(warehouse: Path) -> None:
    store_inspections(
        str(warehouse),
        InspectionCache(),
        {"a.log": look(), "b.tgz": look("in/x.log"), "c.log": look()},
        None,
        "1",
        {"a.log", "b.tgz/in/x.log"},
    )

    assert rows(warehouse) == {"c.log"}


@pytest.mark.parametrize("before", [None, Redaction(("hosts",), b"k" * 32)], ids=["clear", "less was hidden"])
def test_names_that_are_to_be_hidden_do_not_stay(warehouse: Path, before: Redaction | None) -> None:
    store_inspections(str(warehouse), InspectionCache(), {os.fspath(warehouse): look("acme-secret.log")}, before, "run-1")
    seen = load_inspections(str(warehouse), HIDDEN)
    assert (seen.known, seen.has_names) == ({}, True)
    store_inspections(str(warehouse), seen, {"h-1/a.log": None}, HIDDEN, "run-2")

    assert rows(warehouse) == set()
    assert not load_inspections(str(warehouse), HIDDEN).has_names


def test_a_warehouse_that_is_not_there_has_seen_nothing(tmp_path: Path) -> None:
    assert load_inspections(str(tmp_path / "none"), None) == InspectionCache()
    store_inspections(str(tmp_path / "none"), InspectionCache(), {}, None, "run-1")
    assert not (tmp_path / "none").exists()

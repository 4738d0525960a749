"""Tables, rows and the JSON contract say the same."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
from datetime import UTC, datetime
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

import jsonschema
import pyarrow as pa
import pytest

from models import rows
from pipelines.schema.row_conversion import from_batch, to_batch
from pipelines.schema.tables import CONTRACT, ROW_TABLES, TABLES, TOTALS, Table, contract_schema, instant_text, json_row, to_json

SHAPES: dict[Any, pa.DataType] = {
    str: pa.string(),
    str | None: pa.string(),
    bool: pa.bool_(),
    bool | None: pa.bool_(),
    float: pa.float64(),
    float | None: pa.float64(),
    int: pa.int64(),
    rows.Headline: pa.string(),
    rows.Detail: pa.string(),
    list[str]: pa.list_(pa.string()),
    dict[str, float]: pa.map_(pa.string(), pa.float64()),
}

EVIDENCE = rows.Evidence("broker-1/server.log", 7, 512, "Preparing to rebalance group orders", inferred=False)

REBALANCE = rows.Rebalance(
    cluster="c",
    system="kafka",
    rebalance_id="r1",
    group="orders </script> 世界",
    topic=None,
    protocol="classic",
    protocol_type="consumer",
    assignor="range",
    generation_before=4,
    generation_after=5,
    started_at=1_700_000_000_123_456,
    joined_at=1_700_000_001_000_000,
    ended_at=None,
    initial_delay_seconds=None,
    join_seconds=float("nan"),
    sync_seconds=0.25,
    reconcile_seconds=None,
    duration_seconds=None,
    at_least_seconds=12.5,
    outcome="open",
    cause="member_leave",
    root_cause=None,
    confidence=0.75,
    alternatives={"poll_timeout": 0.2, "member_restart": 0.05},
    settled_by="kafka-request.log at DEBUG",
    offenders=[rows.Person("m-1", "m", None, "/10.0.0.1", "left", first=True)],
    blockers=[],
    members_before=3,
    members_after=None,
    member_seconds_stopped=None,
    partition_seconds_stopped=None,
    duplicate_window=None,
    conformance=rows.Conformance(1, 0),
    coordinator="2",
    trigger_text=None,
    evidence=[EVIDENCE],
    advice_id="member_leave",
)


@pytest.mark.parametrize("kind", ROW_TABLES, ids=lambda kind: kind.__name__)
def test_a_row_has_the_columns_of_its_table(kind: type) -> None:
    table = TABLES[ROW_TABLES[kind]]
    assert [*(f.name for f in dataclasses.fields(kind)), "run_id"] == table.column_names
    for name, hint in get_type_hints(kind).items():
        column = table.column(name)
        if pa.types.is_timestamp(column.type):
            assert hint in (int, int | None)
        elif hint in (int, int | None):
            assert pa.types.is_integer(column.type)
        elif hint in SHAPES:
            assert column.type == SHAPES[hint], name
        else:
            assert pa.types.is_nested(column.type), name
        if hint == hint | None:
            assert not column.is_required, f"{name} may be None"


def made(hint: Any) -> Any:
    """A value of this type."""
    if dataclasses.is_dataclass(hint):
        return hint(**{name: made(own) for name, own in get_type_hints(hint).items()})
    if isinstance(hint, UnionType):
        return made(hint.__args__[0])
    return {str: "x", rows.Headline: "x", rows.Detail: "x", int: 7, float: 0.5, bool: True}.get(hint) or {
        list: [made(get_args(hint)[0])],
        dict: {"x": 0.5},
    }[get_origin(hint)]


@pytest.mark.parametrize("kind", ROW_TABLES, ids=lambda kind: kind.__name__)
def test_rows_come_back_as_they_were(kind: type) -> None:
    rows = [made(kind)]
    assert from_batch(ROW_TABLES[kind], to_batch(ROW_TABLES[kind], rows)) == rows


@pytest.mark.parametrize("table", TABLES.values(), ids=lambda table: table.name)
def test_delta_rs_finds_the_statistics_of_what_readers_filter_on(table: Table) -> None:
    """It takes those of the first 32 leaves of a schema and no others, whatever a table's properties say."""
    leaves = [column.name for column in table.columns for _ in range(leaves_of(column.type))]
    assert {*table.clustering, *table.slice, *table.key} <= set(leaves[:32])


def leaves_of(kind: pa.DataType) -> int:
    parts = [kind.field(number).type for number in range(kind.num_fields)]
    return sum(map(leaves_of, parts)) if parts else 1


@pytest.mark.parametrize(("part", "column"), [(rows.Evidence, "evidence"), (rows.Person, "offenders"), (rows.Conformance, "conformance")])
def test_a_nested_row_has_the_fields_of_its_struct(part: type, column: str) -> None:
    kind = TABLES["rebalances"].column(column).type
    struct = kind.value_type if pa.types.is_list(kind) else kind
    assert [f.name for f in dataclasses.fields(part)] == [field.name for field in struct]


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_a_table_is_whole(table: Any) -> None:
    names = table.column_names
    assert len(set(names)) == len(names)
    assert set(table.key) | set(table.slice) | set(table.clustering) <= set(names)
    assert all(table.column(name).is_required for name in table.key)
    assert table.column("run_id").is_required
    assert all(column.description.endswith(".") for column in table.columns)
    if table.layer == "gold" and table.name != "quality_results":
        assert names[:2] == ["cluster", "system"]
        assert table.key == (names[2],)


def test_arrow_and_spark_schemas_agree() -> None:
    from pyspark.sql.pandas.types import to_arrow_schema

    for table in TABLES.values():
        back = to_arrow_schema(table.spark_schema(), timezone="UTC")
        assert back.names == table.arrow_schema().names
        assert [f.metadata["comment"] for f in table.spark_schema().fields] == [column.description for column in table.columns]


def test_no_jvm_is_needed() -> None:
    code = "import sys, pipelines.schema.tables as s; s.contract_schema(); sys.exit('pyspark' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def document(**lists: Any) -> dict[str, Any]:
    empty: dict[str, Any] = {key: [] for key in CONTRACT}
    return {"schema_version": 1, "inputs": {"log_files": [], "totals": dict.fromkeys(TOTALS, 0)}, **empty, **lists}


def test_the_contract_accepts_rows_as_json() -> None:
    jsonschema.Draft202012Validator.check_schema(contract_schema())
    row = to_json(REBALANCE)
    assert row["started_at"] == "2023-11-14T22:13:20.123456Z"
    assert row["join_seconds"] is None
    assert "run_id" not in row
    check = jsonschema.Draft202012Validator(contract_schema(), format_checker=jsonschema.FormatChecker())
    check.validate(json.loads(json.dumps(document(rebalances=[row]), allow_nan=False)))


def test_renamed_columns_have_their_former_names_for_one_release() -> None:
    row = to_json(REBALANCE)
    assert (row["numbers"], row["spike_seconds"]) == (row["measurements_ms"], row["backlog_seconds"])
    declared = contract_schema()["$defs"]["rebalances"]["properties"]
    assert declared["numbers"]["deprecated"]
    assert declared["numbers"]["type"] == declared["measurements_ms"]["type"]
    stored = [name for table in TABLES.values() for name in table.former_names if name in table.column_names]
    assert not stored


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"outcome": "finished"}, "finished"),
        ({"started_at": "yesterday"}, "yesterday"),
        ({"group": None}, "None is not of type 'string'"),
        ({"surprise": 1}, "surprise"),
    ],
)
def test_the_contract_refuses(change: dict[str, Any], complaint: str) -> None:
    with pytest.raises(jsonschema.ValidationError, match=complaint):
        jsonschema.Draft202012Validator(contract_schema()).validate(document(rebalances=[to_json(REBALANCE) | change]))


def test_rows_read_back_from_storage_give_the_same_json() -> None:
    table = TABLES["rebalances"]
    stored = pa.Table.from_pylist([{**dataclasses.asdict(REBALANCE), "join_seconds": None, "run_id": "x"}], schema=table.arrow_schema())
    [back] = stored.to_pylist()
    back.pop("run_id")
    assert json_row(table, back) == to_json(REBALANCE)


def test_a_column_that_the_table_lacks_is_an_error() -> None:
    with pytest.raises(ValueError, match="surprise"):
        json_row("rebalances", {"surprise": 1})


@pytest.mark.parametrize(
    ("at", "text"),
    [
        (None, None),
        (0, "1970-01-01T00:00:00.000000Z"),
        (-1, "1969-12-31T23:59:59.999999Z"),
        (datetime(2024, 2, 29, 12, tzinfo=UTC), "2024-02-29T12:00:00.000000Z"),
        (datetime(2024, 2, 29, 12), "2024-02-29T12:00:00.000000Z"),
    ],
)
def test_instants(at: int | datetime | None, text: str | None) -> None:
    assert instant_text(at) == text

"""Answers as JSON and CSV, streamed to save memory; times are UTC."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pipelines.cli.output.standard_streams import Output

_CHUNK_BYTES = 1 << 16


def dumps(value: object) -> bytes:
    """Compact JSON.

    A lone surrogate, which JSON text must not contain, is written as an escape.
    """
    import orjson

    try:
        return orjson.dumps(value)
    except TypeError:
        import json

        return json.dumps(value, separators=(",", ":"), ensure_ascii=True).encode("ascii")


class BufferedOutput:
    """Buffer of small writes to standard output."""

    def __init__(self) -> None:
        self._out = Output()
        self._buffer = bytearray()

    def write(self, data: bytes) -> None:
        self._buffer += data
        if len(self._buffer) >= _CHUNK_BYTES:
            self.flush()

    def flush(self) -> None:
        self._out.write_bytes(bytes(self._buffer))
        self._buffer.clear()
        self._out.flush()


def write_contract(rows: Any, further: Mapping[str, Iterable[Mapping[str, Any]]]) -> None:
    """Write the object of `analyze --json` item by item.

    `further` are lists that are no tables.
    """
    from pipelines.schema.tables import CONTRACT
    from pipelines.versions import SCHEMA_VERSION

    stream = BufferedOutput()
    stream.write(b'{"schema_version":' + dumps(SCHEMA_VERSION) + b',\n"inputs":')
    stream.write(dumps(inputs_object(rows.inputs)))
    for key, table in CONTRACT.items():
        _write_list(stream, key, json_rows(table, getattr(rows, key)))
    for key, items in further.items():
        _write_list(stream, key, items)
    stream.write(b"}\n")
    stream.flush()


def write_list(key: str, items: Iterable[Mapping[str, Any]]) -> None:
    """Write an object with one list, as commands about one table do."""
    from pipelines.versions import SCHEMA_VERSION

    stream = BufferedOutput()
    stream.write(b'{"schema_version":' + dumps(SCHEMA_VERSION))
    _write_list(stream, key, items)
    stream.write(b"}\n")
    stream.flush()


def write_lines(items: Iterable[Mapping[str, Any]]) -> None:
    """Write one object per line."""
    stream = BufferedOutput()
    for item in items:
        stream.write(dumps(item) + b"\n")
    stream.flush()


def write_contract_lines(rows: Any, further: Mapping[str, Iterable[Mapping[str, Any]]]) -> None:
    """Write the rows of `analyze`, one per line.

    `key` is the row's list in the contract.
    """
    from pipelines.schema.tables import CONTRACT

    def lines() -> Iterable[dict[str, Any]]:
        yield from ({"key": "log_files", "row": row} for row in inputs_object(rows.inputs)["log_files"])
        for key, table in CONTRACT.items():
            yield from ({"key": key, "row": row} for row in json_rows(table, getattr(rows, key)))
        for key, items in further.items():
            yield from ({"key": key, "row": row} for row in items)

    write_lines(lines())


def write_csv(names: Sequence[str], items: Iterable[Mapping[str, Any]]) -> None:
    """Write rows with a heading; lists and maps are one cell each."""
    import csv
    import io

    stream = BufferedOutput()
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    for row in itertools.chain([[*map(cell, names)]], ([cell(item[name]) for name in names] for item in items)):
        writer.writerow(row)
        stream.write(buffer.getvalue().encode("utf-8", "backslashreplace"))
        buffer.seek(0)
        buffer.truncate()
    stream.flush()


def cell(value: Any) -> str:
    """A CSV cell that is neither a formula nor a terminal command."""
    from dashboards.wording.escaping import visible

    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return str(value)
    if isinstance(value, list | dict):
        items = value.items() if isinstance(value, dict) else value
        value = "; ".join(map(_part, items)) if value else ""
    text = visible(str(value))
    return f"'{text}" if text.lstrip().startswith(FORMULA) else text


FORMULA = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20")
"""First characters of spreadsheet formulas, also full-width ones."""


def _part(item: Any) -> str:
    """An element of a list as text.

    A member by name, a line by position, a pair as `name=value`.
    """
    if isinstance(item, tuple):
        return f"{item[0]}={item[1]}"
    if isinstance(item, dict) and "byte_offset" in item:
        return f"{item['file']}:{item['line']}"
    if isinstance(item, dict) and "client_id" in item:
        name = item["client_id"] or item["instance_id"] or item["member_id"] or "?"
        return f"{name} on {item['host'].removeprefix('/')}" if item["host"] else name
    return item if isinstance(item, str) else dumps(item).decode("utf-8", "backslashreplace")


def write_object(value: Mapping[str, Any]) -> None:
    """Write an answer that is one object."""
    stream = BufferedOutput()
    stream.write(dumps(versioned(value)) + b"\n")
    stream.flush()


def versioned(value: Mapping[str, Any]) -> dict[str, Any]:
    """The object with the schema version first."""
    from pipelines.versions import SCHEMA_VERSION

    return {"schema_version": SCHEMA_VERSION, **value}


def json_rows(table: str, rows: Iterable[Any]) -> Iterable[dict[str, Any]]:
    """Rows of a table as in the contract."""
    from pipelines.schema.tables import json_writer

    return map(json_writer(table), rows)


def inputs_object(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Information about the input as JSON values."""
    return {"log_files": list(json_rows("log_files", inputs["log_files"])), "totals": dict(inputs["totals"])}


def _write_list(stream: BufferedOutput, key: str, items: Iterable[Mapping[str, Any]]) -> None:
    stream.write(b",\n" + dumps(key) + b":[")
    between = b"\n"
    for item in items:
        stream.write(between + dumps(item))
        between = b",\n"
    stream.write(b"]")

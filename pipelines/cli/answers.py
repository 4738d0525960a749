"""Answers as JSON: streamed, so that no answer is held as text. Times are UTC."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pipelines.cli.console import Output

_CHUNK_BYTES = 1 << 16


def dumps(value: object) -> bytes:
    """Compact JSON. Half of a surrogate pair, which no JSON text may hold, is written as an escape."""
    import orjson

    try:
        return orjson.dumps(value)
    except TypeError:
        import json

        return json.dumps(value, separators=(",", ":"), ensure_ascii=True).encode("ascii")


class Stream:
    """Gathers small writes for standard output."""

    def __init__(self) -> None:
        self._out = Output()
        self._held = bytearray()

    def write(self, data: bytes) -> None:
        self._held += data
        if len(self._held) >= _CHUNK_BYTES:
            self.flush()

    def flush(self) -> None:
        self._out.write_bytes(bytes(self._held))
        self._held.clear()
        self._out.flush()


def write_contract(rows: Any) -> None:
    """The object of `analyze --json`, item by item."""
    from pipelines.schemas import CONTRACT, SCHEMA_VERSION

    stream = Stream()
    stream.write(b'{"schema_version":' + dumps(SCHEMA_VERSION) + b',\n"inputs":')
    stream.write(dumps(inputs_ready(rows.inputs)))
    for key, table in CONTRACT.items():
        _write_list(stream, key, ready(table, getattr(rows, key)))
    stream.write(b"}\n")
    stream.flush()


def write_list(key: str, items: Iterable[Mapping[str, Any]]) -> None:
    """An object with one list: what the commands about one table print."""
    from pipelines.schemas import SCHEMA_VERSION

    stream = Stream()
    stream.write(b'{"schema_version":' + dumps(SCHEMA_VERSION))
    _write_list(stream, key, items)
    stream.write(b"}\n")
    stream.flush()


def write_lines(items: Iterable[Mapping[str, Any]]) -> None:
    """One object a line."""
    stream = Stream()
    for item in items:
        stream.write(dumps(item) + b"\n")
    stream.flush()


def write_object(value: Mapping[str, Any]) -> None:
    stream = Stream()
    stream.write(dumps(value) + b"\n")
    stream.flush()


def ready(table: str, rows: Iterable[Any]) -> Iterable[dict[str, Any]]:
    """Rows of a table as the contract shows them."""
    from pipelines.schemas import TABLES, json_ready

    declared = TABLES[table]
    return (json_ready(declared, row) for row in rows)


def inputs_ready(inputs: Mapping[str, Any]) -> dict[str, Any]:
    return {"log_files": list(ready("log_files", inputs["log_files"])), "totals": dict(inputs["totals"])}


def _write_list(stream: Stream, key: str, items: Iterable[Mapping[str, Any]]) -> None:
    stream.write(b",\n" + dumps(key) + b":[")
    between = b"\n"
    for item in items:
        stream.write(between + dumps(item))
        between = b",\n"
    stream.write(b"]")

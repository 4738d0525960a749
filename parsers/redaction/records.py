"""Redact the columns, fields and texts of one batch.

Each record is redacted separately, so the result does not depend on splits or order of files.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import orjson
import pyarrow as pa

from parsers.arrow_arrays import array_of
from parsers.records.row_builders import canonical_json
from parsers.redaction.name_detection import PseudonymOf, Replacements, clients_in, spelt
from parsers.redaction.pseudonyms import PSEUDONYM, Redaction

SEALED = "sealed"
"""The field of an event with the encrypted names that verdicts need."""

_CLIENTS = ("client_id", "instance_id", "reason_instance_id", "holder", "listed")
_MEMBERS = (
    *("member_id", "request_member_id", "reason_member_id", "old_member_id", "leader_id", "new_leader"),
    *("members", "assigned_members", "reason_members"),
)
_TOPICS = ("fetchers", "partitions", "assigned", "revoked", "topics", "metadata", "detail")
_OF_TOPICS = "topics"
"""The field with topics and no partitions.

A topic's name may end like a partition's.
"""
_HOSTS = ("client_host", "remote", "address", "coordinator", "broker")
_FREE = frozenset({"reason", "client_reason", "reason_error", "why", "error", "detail", "metadata", "assignments"})
"""Fields with free text of clients and operators.

Models compare only plain words in them.
"""
_FOLDER = "folder"
_PARTS = re.compile(r"[\s,;:=\[\]{}()]+")
_PARTITION = re.compile(r".+-\d{1,6}")
_COLUMNS = ("group", "topic", "client_id", "instance_id", "member_id")
_LOGGER = "logger"
_TEXTS = ("thread", "text")


def _makers(redaction: Redaction) -> dict[str, PseudonymOf]:
    """Functions that replace names in fields with nothing but names."""
    return {
        **dict.fromkeys(("group", "groups"), redaction.group),
        **dict.fromkeys(("topic", "pattern", "regex"), redaction.topic),
        **dict.fromkeys(_CLIENTS, redaction.client),
        **dict.fromkeys(_MEMBERS, redaction.member),
        **dict.fromkeys(_HOSTS, redaction.host),
    }


def redact_batch(redaction: Redaction, kind: str, batch: pa.RecordBatch) -> pa.RecordBatch:
    """Redact a batch of events, unknown or rejected records.

    `file` is redacted during discovery.
    """
    if not batch.num_rows:
        return batch
    if kind == "events":
        cleaned = _events(redaction, batch)
    else:
        columns = {name: batch[name].to_pylist() for name in ("template", "text") if name in batch.schema.names}
        cleaned = {name: [_unknown(redaction, text) for text in texts] for name, texts in columns.items()}
    if redaction.covers_everything and _LOGGER in batch.schema.names:
        cleaned[_LOGGER] = [_unknown(redaction, logger) for logger in batch[_LOGGER].to_pylist()]
    return _with(batch, cleaned)


def _unknown(redaction: Redaction, text: str | None) -> str | None:
    """Redact a text without known structure, which may contain any name."""
    return None if text is None else redaction.text(text, {}, strict=True)


def _events(redaction: Redaction, batch: pa.RecordBatch) -> dict[str, list[Any]]:
    makers = _makers(redaction)
    names = (*_COLUMNS, *_TEXTS, "fields", "system")
    rows = zip(*(batch[name].to_pylist() for name in names), strict=True)
    done: dict[str, list[Any]] = {name: [] for name in names[:-1]}
    for row in rows:
        values = dict(zip(names, row, strict=True))
        for name, value in _record(redaction, makers, values):
            done[name].append(value)
    return done


def _record(redaction: Redaction, makers: Mapping[str, PseudonymOf], values: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    names: Replacements = {}
    for name in _COLUMNS:
        value = values[name]
        yield name, value if value is None else makers[name](value, names)
    fields: dict[str, Any] = orjson.loads(values["fields"]) if values["fields"] else {}
    # Fields with names first, because the others may mention them.
    replaced_fields = {name: _named(makers[name], value, names) for name, value in fields.items() if name in makers}
    free = _FREE if redaction.covers_everything else frozenset[str]()
    for name in (name for name in fields if name in _TOPICS):
        read = redaction.topic if name == _OF_TOPICS else redaction.topic_partition
        replaced_fields[name] = redacted_list(read, redaction, fields[name], names, strict=name in free)
    replaced_fields |= {
        name: _mentions(redaction, value, names, strict=name in free) for name, value in fields.items() if name not in replaced_fields
    }
    if redaction.covers_everything and isinstance(replaced_fields.get(_FOLDER), str):
        replaced_fields[_FOLDER] = redaction.path(fields[_FOLDER])
    sealed = _sealed(redaction, names, values)
    if sealed:
        replaced_fields[SEALED] = redaction.seal(sealed)
    yield "fields", canonical_json(replaced_fields)
    for name in _TEXTS:
        text = values[name]
        yield name, text if text is None else redaction.text(text, names)


def _named(pseudonym_of: PseudonymOf, value: Any, names: Replacements) -> Any:
    if isinstance(value, str):
        return pseudonym_of(value, names)
    if isinstance(value, list):
        return [_named(pseudonym_of, item, names) for item in value]
    return value


def redacted_list(read: PseudonymOf, redaction: Redaction, value: Any, names: Replacements, *, strict: bool) -> Any:
    """Redact topics or partitions in a list or text, with `read`.

    Other values may be among them.
    """
    if isinstance(value, list):
        letters = spelt(redaction, value)
        if letters is not None:
            return list(letters)
        return [
            redacted_list(read, redaction, item, names, strict=strict) if isinstance(item, list) else _redacted_text(read, item, names)
            for item in value
        ]
    if isinstance(value, dict):
        return {_redacted_text(read, name, names): _mentions(redaction, item, names, strict=strict) for name, item in value.items()}
    if isinstance(value, str):
        others = clients_in(redaction, value, names)
        for part in _PARTS.split(value):
            if _PARTITION.fullmatch(part) and part not in others:
                read(part, names)
    return _mentions(redaction, value, names, strict=strict)


def _redacted_text(read: PseudonymOf, value: Any, names: Replacements) -> Any:
    return read(value, names) if isinstance(value, str) and not value.isdigit() else value


def _mentions(redaction: Redaction, value: Any, names: Replacements, *, strict: bool) -> Any:
    """Redact any other field: known names, and in free text possible ones.

    Models compare the remaining words.
    """
    if isinstance(value, str):
        return redaction.text(value, names, strict=strict)
    if isinstance(value, list):
        return [_mentions(redaction, item, names, strict=strict) for item in value]
    if isinstance(value, dict):
        return {
            _mentions(redaction, name, names, strict=strict): _mentions(redaction, item, names, strict=strict)
            for name, item in value.items()
        }
    return value


def _sealed(redaction: Redaction, names: Replacements, values: Mapping[str, Any]) -> list[str]:
    """Names that verdicts need.

    Kafka hashes a group to a partition, and RocketMQ's clients share queues in the order of names.
    """
    if values["system"] == "rocketmq":
        return sorted({redaction.clear.get(by, by) for by in names.values() if PSEUDONYM.fullmatch(by)})
    group = values["group"]
    return [group] if group and PSEUDONYM.fullmatch(names.get(group, "")) else []


def opened(redaction: Redaction, batch: pa.RecordBatch) -> dict[str, str]:
    """Decrypt the sealed names in a batch of events, by pseudonym."""
    names: dict[str, str] = {}
    for sealed in {orjson.loads(text)[SEALED] for text in set(batch["fields"].to_pylist()) if text and f'"{SEALED}":' in text}:
        names.update((redaction.name(name), name) for name in redaction.open_sealed(sealed))
    return names


def _with(batch: pa.RecordBatch, columns: Mapping[str, list[Any]]) -> pa.RecordBatch:
    for name, values in columns.items():
        place = batch.schema.get_field_index(name)
        batch = batch.set_column(place, batch.schema.field(place), array_of(values, batch.schema.field(place).type))
    return batch

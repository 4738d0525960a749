"""Slot types: conversion of parts of a line to values, and back.

A slot is the text between fixed words of a message. Most slots hold ids, which are arbitrary text. The types below
restrict the text (`int`), or define how the product prints an absent value (`None`, `null`, `Optional.empty`). `parse`
returns `NO` for text that does not fit the type; nothing raises for the content of a log.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import partial
from typing import Any, Final


class Unparsed(Enum):
    """The one value that stands for text that a type does not fit."""

    NO = "no"


NO: Final = Unparsed.NO
"""Result of `parse` for text that does not fit the type."""

INT32, INT64 = range(-(2**31), 2**31), range(-(2**63), 2**63)
_UINT31 = range(2**31)
MILLIS = range(253_402_300_800_000)
"""Epoch milliseconds to the end of 9999, the range of host clocks."""
SPANS_MS = range(-(10**12), 10**12)
"""Durations of up to about 30 years in milliseconds.

A change of the clock may make them long, or negative.
"""
COORDINATOR_ID_TOP = 2_147_483_647
"""Largest node id.

Java clients show the coordinator's connection as node `Integer.MAX_VALUE - broker id` (AbstractCoordinator).
"""

_INT = re.compile(r"-?\d{1,19}")
_PYTHON_PARTITION = re.compile(r"TopicPartition\(topic=u?'([^']*)', partition=(\d+)\)")
_FACILITY = re.compile(r"[A-Z0-9_]+")
_CONNECTOR_SCOPE = re.compile(r"worker|validate|task-\d+(?:\|offsets)?")
_EPOCH = re.compile(r"(?:Some\(|OptionalInt\[)?(-?\d{1,10})[)\]]?")
_UUID_END = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_ROLES = ("active", "standby", "warmup")
_TASKS = re.compile(r"\(active=\[([^\[\]]*)\], standby=\[([^\[\]]*)\], warmup=\[([^\[\]]*)\]\)")
_COLLECTION = re.compile(r"(?:[A-Z][A-Za-z]*\((.*)\)|\[(.*)\])", re.DOTALL)


@dataclass(frozen=True, slots=True)
class SlotType:
    """One slot type.

    `tight` is the regular expression of its common form, `is_spaced` is True if spaces are common in it. A type with
    `several` parses to a mapping of these fields, and renders from the fields in `needs`. `quick` parses text matched
    by the tight form with fewer checks. `filler` is written for an unreported slot without a value.
    """

    tight: str
    parse: Callable[[str], Any] | None
    render: Callable[[Any], str]
    is_spaced: bool = False
    several: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    quick: Callable[[str], Any] | None = None
    filler: str = "0"


def parse_int(text: str) -> int | Unparsed:
    """Parse a decimal number of up to 64 bits."""
    if _INT.fullmatch(text) is None:
        return NO
    value = int(text)
    return value if value in INT64 else NO


_UP_TO_INT32 = (
    r"(?:\d{1,9}|1\d{9}|20\d{8}|21[0-3]\d{7}|214[0-6]\d{6}|2147[0-3]\d{5}|21474[0-7]\d{4}|214748[0-2]\d{3}|2147483[0-5]\d\d"
    r"|21474836[0-3]\d|214748364[0-7])"
)
"""0 to 2,147,483,647, a common value for infinite timeouts."""


def parse_int32(text: str) -> int | Unparsed:
    """Parse a decimal number of up to 32 bits.

    The products store generations, epochs, partitions and timeouts in 32 bits.
    """
    return _within(INT32, text)


def _within(bounds: range, text: str) -> int | Unparsed:
    value = parse_int(text)
    return value if value is not NO and value in bounds else NO


def _parse_generation(text: str) -> Any:
    """Parse a client's generation; -1 means none.

    See OffsetCommitRequest.DEFAULT_GENERATION_ID.
    """
    value = parse_int32(text)
    return None if value == -1 else value


def _parse_epoch(text: str) -> Any:
    """Parse an epoch as number, Some(n), OptionalInt[n], None or OptionalInt.empty."""
    if text in {"None", "OptionalInt.empty"}:
        return None
    match = _EPOCH.fullmatch(text)
    return NO if match is None else parse_int32(match[1])


def _parse_facility(text: str) -> Any:
    return NO if _FACILITY.fullmatch(text) is None else text


def _parse_connector_scope(text: str) -> Any:
    return NO if _CONNECTOR_SCOPE.fullmatch(text) is None else text


def _parse_leader(text: str) -> Any:
    """Parse librdkafka's leader, which is marked if it is the client itself."""
    return text.removesuffix(" (me)") or NO


def _parse_word(text: str) -> Any:
    return NO if " " in text or not text else text


def _parse_some(text: str) -> Any:
    """Parse Scala's Option: `None` or `Some(x)`."""
    if text == "None":
        return None
    return text[5:-1] if text.startswith("Some(") and text.endswith(")") else NO


def _parse_option(text: str) -> Any:
    """Parse a wording of Scala or Java: `None`, `Some(x)`, `null` or the bare value."""
    if text == "null":
        return None
    value = _parse_some(text)
    return text if value is NO else value


def _parse_optional(text: str) -> Any:
    """Parse Java's Optional: `Optional.empty` or `Optional[x]`."""
    if text == "Optional.empty":
        return None
    return text[9:-1] if text.startswith("Optional[") and text.endswith("]") else text


def _parse_quoted(text: str) -> Any:
    """Parse Java's nullable string: `null` or `'x'`; 2.3 quotes its null, too."""
    if text in {"null", "'null'"}:
        return None
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] == "'" else NO


def _parse_coordinator_node(text: str) -> Any:
    value = parse_int32(text)
    return NO if value is NO else str(COORDINATOR_ID_TOP - value)


def parse_partition(text: str) -> int | Unparsed:
    """Parse the number of a partition."""
    return int(text) if text.isdecimal() and len(text) < 10 else NO


def _parse_topic_partition(text: str) -> Any:
    topic, dash, number = text.rpartition("-")
    partition = parse_partition(number)
    return {"topic": topic, "partition": partition} if dash and topic and partition is not NO else NO


def _parse_replica_folder(text: str) -> Any:
    """Parse `topic-3` or `[topic,3]`, as printed by Scala 0.x and 1.0."""
    if text.startswith("[") and text.endswith("]"):
        topic, comma, partition = text[1:-1].rpartition(",")
        return _parse_topic_partition(f"{topic}-{partition}") if comma else NO
    return _parse_topic_partition(text)


def unwrap(text: str) -> str:
    """Return the inside of a collection, other text unchanged.

    `[a, b]`, `Set(a, b)`, `ArrayBuffer(a, b)`.
    """
    match = _COLLECTION.fullmatch(text)
    return text if match is None else match[1] if match[1] is not None else match[2]


def parse_list(text: str) -> list[str]:
    """Items of a collection without commas in items (topics, partitions)."""
    inside = unwrap(text)
    return inside.split(", ") if inside else []


def _parse_bracketed(text: str) -> Any:
    """Parse `[a, b]` with items without brackets."""
    inside = text[1:-1]
    if len(text) < 2 or text[0] != "[" or text[-1] != "]" or "[" in inside or "]" in inside:
        return NO
    return inside.split(", ") if inside else []


def _parse_partitions(text: str) -> Any:
    """Parse partitions printed by Java (`[orders-0]`) or as kafka-python's TopicPartition."""
    pairs = _PYTHON_PARTITION.findall(text)
    if pairs:
        return [f"{topic}-{partition}" for topic, partition in pairs]
    return [] if text in {"set()", "{}", "()", "frozenset()", "set([])"} else _parse_bracketed(text)


def _parse_tasks(text: str) -> Any:
    """Parse tasks of a streams member to texts such as `active 0-1`.

    `(active=[0-1, 0-2], standby=[], warmup=[])` (TasksTuple.java, toString).
    """
    match = _TASKS.fullmatch(text)
    if match is None:
        return NO
    return [f"{role} {task}" for role, tasks in zip(_ROLES, match.groups(), strict=True) if tasks for task in tasks.split(", ")]


def _tasks(items: Sequence[str]) -> str:
    by_role = {role: [item.removeprefix(f"{role} ") for item in items if item.startswith(f"{role} ")] for role in _ROLES}
    return "(" + ", ".join(f"{role}=[{', '.join(tasks)}]" for role, tasks in by_role.items()) + ")"


def parse_members(text: str) -> list[str]:
    """Parse member ids of a collection.

    Ids may contain ", ", but all end with a UUID if the first one does.
    """
    pieces = parse_list(text)
    if not any(_UUID_END.search(piece[-36:]) for piece in pieces):
        return pieces
    members: list[str] = []
    pending: list[str] = []
    for piece in pieces:
        pending.append(piece)
        if _UUID_END.fullmatch(piece[-36:]):
            members.append(", ".join(pending))
            pending = []
    return [*members, ", ".join(pending)] if pending else members


def ends_like_member_id(text: str) -> bool:
    """Whether the text ends like a member id assigned by the coordinator.

    See GroupCoordinator, generateMemberId.
    """
    return _UUID_END.fullmatch(text[-36:]) is not None


_THREAD = re.compile(r"(?:(?P<group>.+)-)?[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?:-StreamThread-\d+)?(?:-consumer)?")
_CONSUMER = "-consumer"
_SOME_UUID = "00000000-0000-0000-0000-000000000000"


def _parse_stream_thread(text: str) -> Any:
    """Parse a thread of Streams to its group and client id.

    `APPLICATION-UUID-StreamThread-N`, without the group where client.id is set (KafkaStreams.java, StreamThread.java).
    """
    match = _THREAD.fullmatch(text)
    return {"group": match and match["group"], "client_id": f"{text.removesuffix(_CONSUMER)}{_CONSUMER}"} if text else NO


def _parse_stream_client(text: str) -> Any:
    """Parse an instance of Streams, `APPLICATION-UUID`, to its group."""
    match = _THREAD.fullmatch(text)
    return {"group": match and match["group"]}


_SINK, _SINK_CONSUMER = "connect-", "connector-consumer-"


def _parse_sink_task(text: str) -> Any:
    """Parse a sink task of Connect, `CONNECTOR-N`, to its group and client id.

    See WorkerSinkTask.java and Worker.java, sinkTaskConsumerGroup.
    """
    connector, dash, number = text.rpartition("-")
    return {"group": f"{_SINK}{connector}", "client_id": f"{_SINK_CONSUMER}{text}"} if connector and dash and number.isdigit() else NO


def _parse_box(text: str) -> Any:
    """Parse a table as Faust draws it, in lines or in ASCII."""
    return text if text[:1] in {"┌", "╒", "+"} else NO


def _parse_ruby_hash(text: str) -> Any:
    return text if text.startswith("{") and text.endswith("}") else NO


def _bare(items: Sequence[str]) -> str:
    return ", ".join(items)


def _bracketed(items: Sequence[str]) -> str:
    return f"[{', '.join(items)}]"


def _scala_set(items: Sequence[str]) -> str:
    return f"Set({', '.join(items)})" if len(items) < 5 else f"HashSet({', '.join(items)})"


def _or_null(value: Any) -> str:
    return "null" if value is None else str(value)


_SHARE_PARTITION = re.compile(r"(.+)-[\w-]{22}:(.+)", re.DOTALL)
_SOME_TOPIC_ID = "A" * 22


def _parse_share_partition(text: str) -> Any:
    """Parse group, topic id of 22 characters and topic partition."""
    match = _SHARE_PARTITION.fullmatch(text)
    place = NO if match is None else _parse_topic_partition(match[2])
    return {"group": match[1], **place} if match is not None and isinstance(place, dict) else NO


def _share_partition(fields: Mapping[str, Any]) -> str:
    return f"{fields['group']}-{_SOME_TOPIC_ID}:{_topic_partition(fields)}"


_DEAD_LETTERS = re.compile(
    r"ShareGroupDLQRecordParameter\[groupId=(.+), topicIdPartition=[\w-]{22}:(.+), firstOffset=(\d{1,19}), lastOffset="
)


def _parse_dead_letters(text: str) -> Any:
    """Parse group, partition and first offset of records for a dead letter topic."""
    match = _DEAD_LETTERS.search(text)
    place = NO if match is None else _parse_topic_partition(match[2])
    return {"group": match[1], **place, "offset": int(match[3])} if match is not None and isinstance(place, dict) else NO


def _dead_letters(fields: Mapping[str, Any]) -> str:
    records = f"topicIdPartition={_SOME_TOPIC_ID}:{_topic_partition(fields)}, firstOffset={fields['offset']}, lastOffset={fields['offset']}"
    return f"ShareGroupDLQRecordParameter[groupId={fields['group']}, {records}, deliveryCount=Optional.empty, cause=Optional.empty]"


def _topic_partition(fields: Mapping[str, Any]) -> str:
    return f"{fields['topic']}-{fields['partition']}"


_OLD_CONSUMER = re.compile(r"(.+)_([^_ ]+-\d{13}-[0-9a-f]{1,8})")


def _parse_old_consumer(text: str) -> Any:
    """Parse group and host, time and hash; a host has no underscore."""
    match = _OLD_CONSUMER.fullmatch(text)
    return NO if match is None else {"group": match[1], "client_id": match[2]}


def _old_consumer(fields: Mapping[str, Any]) -> str:
    return f"{fields['group']}_{fields['client_id']}"


_PLACE = ("topic", "partition")
TYPES: dict[str, SlotType] = {
    "text": SlotType(r"[^ ]+", None, str),
    "free": SlotType(r".*", None, str, is_spaced=True),
    "word": SlotType(r"[^ ]+", _parse_word, str, quick=str),
    "plain_name": SlotType(r"[^ ]+", lambda text: NO if text.startswith("LITERAL:") else text, str),
    "facility": SlotType(r"[A-Z0-9_]+", _parse_facility, str, filler="CGRP"),
    "connector": SlotType(r"[^|\]]+", lambda text: NO if "|" in text or "]" in text or not text else text, str, filler="sink"),
    "connector_scope": SlotType(r"(?:worker|validate|task-\d+(?:\|offsets)?)", _parse_connector_scope, str, filler="task-0"),
    "leader": SlotType(r"[^ ]+(?: \(me\))?", _parse_leader, str),
    "int": SlotType(r"-?\d{1,18}", parse_int, str, quick=int),
    "int32": SlotType(f"-?{_UP_TO_INT32}", parse_int32, str, quick=int),
    "count": SlotType(_UP_TO_INT32, partial(_within, _UINT31), str, quick=int),
    "millis": SlotType(r"\d{1,14}", partial(_within, MILLIS), str, quick=int),
    "span_ms": SlotType(r"-?\d{1,12}", partial(_within, SPANS_MS), str, quick=int),
    "digits": SlotType(r"-?\d{1,10}", lambda text: NO if parse_int(text) is NO else text, str, quick=str),
    "gen": SlotType(r"-?\d{1,19}", _parse_generation, lambda value: "-1" if value is None else str(value)),
    "blank": SlotType(r"[^ ]*", lambda text: text or None, lambda value: value or ""),
    "nullable": SlotType(r"[^ ]+", lambda text: None if text == "null" else text, _or_null),
    "go_nil": SlotType(r"[^ ]+", lambda text: None if text == "<nil>" else text, lambda value: "<nil>" if value is None else str(value)),
    "blank_or_null": SlotType(r"[^ ]*", lambda text: None if text in {"", "null"} else text, _or_null),
    "quoted": SlotType(r"[^ ]+", _parse_quoted, lambda value: "null" if value is None else f"'{value}'"),
    "some": SlotType(r"[^ ]+", _parse_some, lambda value: "None" if value is None else f"Some({value})"),
    "option": SlotType(r"[^ ]+", _parse_option, _or_null),
    "optional": SlotType(r"[^ ]+", _parse_optional, lambda value: "Optional.empty" if value is None else f"Optional[{value}]"),
    "epoch": SlotType(r"[A-Za-z]*[\[(]?[-\w.]+[\])]?", _parse_epoch, lambda value: "OptionalInt.empty" if value is None else str(value)),
    "flag": SlotType(
        r"true|false", lambda text: {"true": True, "false": False}.get(text, NO), lambda value: str(value).lower(), filler="true"
    ),
    "coordinator_node": SlotType(r"-?\d{1,10}", _parse_coordinator_node, lambda value: str(COORDINATOR_ID_TOP - int(value))),
    "stream_thread": SlotType(
        r"[^ ]+",
        _parse_stream_thread,
        lambda fields: str(fields["client_id"]).removesuffix(_CONSUMER),
        several=("group", "client_id"),
        needs=("client_id",),
    ),
    "stream_client": SlotType(
        r"[^ ]+", _parse_stream_client, lambda fields: f"{fields['group']}-{_SOME_UUID}", several=("group",), needs=("group",)
    ),
    "sink_task": SlotType(
        r"[^ }]+",
        _parse_sink_task,
        lambda fields: str(fields["client_id"]).removeprefix(_SINK_CONSUMER),
        several=("group", "client_id"),
        needs=("group", "client_id"),
    ),
    "old_consumer": SlotType(r"[^ ]+", _parse_old_consumer, _old_consumer, several=("group", "client_id"), needs=("group", "client_id")),
    "share_partition": SlotType(r"[^ ]+", _parse_share_partition, _share_partition, several=("group", *_PLACE), needs=("group", *_PLACE)),
    "dead_letters": SlotType(
        r".*",
        _parse_dead_letters,
        _dead_letters,
        is_spaced=True,
        several=("group", *_PLACE, "offset"),
        needs=("group", *_PLACE, "offset"),
    ),
    "box": SlotType(r".*", _parse_box, str, is_spaced=True, filler="┌┐"),
    "ruby_hash": SlotType(r"\{.*\}", _parse_ruby_hash, str, is_spaced=True, filler="{}"),
    "topic_partition": SlotType(r"[^ ]+", _parse_topic_partition, _topic_partition, several=_PLACE, needs=_PLACE),
    "replica": SlotType(r"[^ ]+", _parse_replica_folder, _topic_partition, several=_PLACE, needs=_PLACE),
    "list": SlotType(r".*", _parse_bracketed, _bracketed, is_spaced=True, filler="[]"),
    "partitions": SlotType(r".*", _parse_partitions, _bracketed, is_spaced=True, filler="[]"),
    "tasks": SlotType(r".*", _parse_tasks, _tasks, is_spaced=True),
    "bare_list": SlotType(r".*", parse_list, _bare, is_spaced=True),
    "members": SlotType(r".*", parse_members, _bracketed, is_spaced=True),
    "bare_members": SlotType(r".*", parse_members, _bare, is_spaced=True),
    "protocols": SlotType(
        r".*", lambda text: parse_list(text.removesuffix(", ")), lambda items: f"List({', '.join(items)})", is_spaced=True
    ),
    "scala_members": SlotType(r".*", parse_members, _scala_set, is_spaced=True),
    "scala_list": SlotType(r".*", parse_list, _scala_set, is_spaced=True),
}
"""Types by name; a slot without a type is `text`."""

_INT32_FIELDS = (
    *("partition", "generation", "version", "port", "client_number", "tries", "request_code", "group_max_size"),
    *("leader_epoch", "previous_epoch", "controller_epoch", "partition_epoch", "member_epoch", "offsets_partitions"),
    *("epoch", "from_epoch", "coordinator_epoch", "topology_epoch", "master_epoch", "response_epoch", "response_generation"),
    *("session_timeout_ms", "rebalance_timeout_ms", "max_poll_interval_ms", "offsets_retention_minutes"),
)
_COUNTS = ("count", "member_count", "static_count", "groups_count", "client_count", "queue_count", "share_count", "reads", "reads_before")
NARROWER: Mapping[str, str] = {
    **dict.fromkeys(_INT32_FIELDS, "int32"),
    **dict.fromkeys(_COUNTS, "count"),
    **dict.fromkeys(("seen_ms", "clock_ms"), "millis"),
    **dict.fromkeys(("duration_ms", "exceeded_ms"), "span_ms"),
}
"""Types of integer fields with less than 64 bits, and of times."""

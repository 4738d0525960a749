"""Events, the input of the models, and access to their fields.

`models.event_kinds` lists the kinds of events.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from types import MappingProxyType


class Witness(StrEnum):
    """Kind of log that contains a line."""

    COORDINATOR = "coordinator"  # a group coordinator, in server.log
    REQUEST = "request"  # kafka-request.log
    CLIENT = "client"  # a client's own log
    BROKER = "broker"  # other lines of a broker
    CONTROLLER = "controller"  # ZooKeeper or KRaft controller, state changes
    AUTHORIZER = "authorizer"  # kafka-authorizer.log


@dataclass(frozen=True, slots=True)
class LogPosition:
    """Path of a record's file, line from 1, byte offset in the decompressed file."""

    file: str
    line: int
    byte_offset: int

    @property
    def log(self) -> str:
        """Name of the log that the file belongs to."""
        return self.file

    @property
    def position(self) -> int:
        """Position in the whole log, increasing from file to file."""
        return self.byte_offset


@dataclass(frozen=True, slots=True)
class Event:
    """One recognised record.

    `at_us` is the record's own time in microseconds since 1970 (UTC), None if it has none. `order_us` never falls within
    one file: it is the greatest time of the file up to this record. `generation` is the group epoch in the newer protocols.
    """

    name: str
    at_us: int | None
    order_us: int
    place: LogPosition
    witness: Witness
    message: str = ""
    text: str = ""
    node: str | None = None
    group: str | None = None
    generation: int | None = None
    member_id: str | None = None
    client_id: str | None = None
    instance_id: str | None = None
    topic: str | None = None
    partition: int | None = None
    fields: Mapping[str, object] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def time_us(self) -> int:
        """Time of the event, or the last known time in its file."""
        return self.at_us if self.at_us is not None else self.order_us

    def put_after(self, now: int) -> Event:
        """The event, after others if it has no time of its own."""
        return self if self.at_us is not None or self.order_us > now else replace(self, order_us=now + 1)


def when(event: Event | None) -> int | None:
    """Time of an event, None without an event."""
    return event.time_us if event is not None else None


BEFORE_ANY_TIME_US = 1_000_000
"""Greatest order, counted from 0, of events before any time."""


def logged_at(event: Event | None) -> int | None:
    """Time of an event, or of a line before it; None without either."""
    return None if event is None or (event.at_us is None and event.order_us < BEFORE_ANY_TIME_US) else event.time_us


def text_field(event: Event, name: str) -> str | None:
    """Return a text field of the event, None if absent or empty."""
    value = event.fields.get(name)
    return value if isinstance(value, str) and value else None


def int_field(event: Event, name: str) -> int | None:
    """Return an integer field of the event, None if absent."""
    value = event.fields.get(name)
    return int(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def names_field(event: Event, name: str) -> list[str]:
    """Return a field with names, given as a list or separated by commas."""
    value = event.fields.get(name)
    if isinstance(value, (list, tuple)):
        return [str(item) for item in value]
    return [part for part in (piece.strip() for piece in value.split(",")) if part] if isinstance(value, str) else []


PARTITION_DIGITS_MAX = 9
"""Maximum digits of a partition number, which is a 32-bit integer."""


def partition_name(name: str) -> tuple[str, int] | None:
    """Topic and number of a name such as `topic-3`, else None."""
    topic, dash, number = name.strip().rpartition("-")
    return (topic, int(number)) if dash and number.isdecimal() and len(number) <= PARTITION_DIGITS_MAX else None

"""Slot types for queues of RocketMQ's gRPC clients.

Each library prints them in a form of its own.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from parsers.catalogue.slots import NO, SlotType, parse_int32

_PLACE = ("topic", "broker", "partition")
_DOTTED = re.compile(r"(?P<broker>[^\s@]+)\.(?P<topic>[^\s.@]+)\.(?P<partition>-?\d{1,10})", re.ASCII)
_AT_SIGNS = re.compile(r"(?P<topic>[^\s@]+)@(?P<broker>[^\s@]+)@(?P<partition>-?\d{1,10})", re.ASCII)
_PLAIN = re.compile(r"[%|\w-]+", re.ASCII)
_NAME = r'name:"([^"\n]*)"'
_GO_TOPIC = re.compile(rf"topic:\{{[^}}\n]*?{_NAME}")
_GO_BROKER = re.compile(rf"broker:\{{[^}}\n]*?{_NAME}")
_GO_ID = re.compile(r"(?:^|[ }])id:(-?\d{1,10})(?!\d)")


def _parse_queue(text: str) -> Any:
    """Parse `broker.topic.id` of Java and C#, or `topic@broker@id` of Node."""
    found = _AT_SIGNS.fullmatch(text) or _DOTTED.fullmatch(text)
    return _placed(found["topic"], found["broker"], found["partition"]) if found is not None else NO


def _parse_go_queue(text: str) -> Any:
    """Parse a queue as Go prints it: a Protobuf message.

    It leaves out an id of 0.
    """
    topic, broker, number = _GO_TOPIC.search(text), _GO_BROKER.search(text), _GO_ID.search(text)
    return _placed(topic[1], broker[1], number[1] if number is not None else "0") if topic is not None and broker is not None else NO


def _placed(topic: str, broker: str, number: str) -> Any:
    partition = parse_int32(number)
    return partition if partition is NO else {"topic": topic, "broker": broker, "partition": partition}


def _dotted(fields: Mapping[str, Any]) -> str:
    return f"{fields['broker']}.{fields['topic']}.{fields['partition']}"


def _go(fields: Mapping[str, Any]) -> str:
    return f'topic:{{name:"{fields["topic"]}"}} id:{fields["partition"]} broker:{{name:"{fields["broker"]}"}}'


def _parse_client(text: str) -> Any:
    """Parse a client id.

    Go prints one with a wrong verb as `%!d(string=id)`.
    """
    return NO if not text or " " in text or "%!" in text else text


def _parse_name(text: str) -> Any:
    """Parse a name of RocketMQ (Validators.java, TopicValidator.java)."""
    return text if _PLAIN.fullmatch(text) is not None else NO


def slot_types() -> dict[str, SlotType]:
    """Slot types by name."""
    return {
        "name": SlotType(r"[%|\w-]+", _parse_name, str),
        "grpc_client": SlotType(r"[^ ]+", _parse_client, str),
        "queue": SlotType(r"[^ ]+", _parse_queue, _dotted, several=_PLACE, needs=_PLACE),
        "go_queue": SlotType(r".*", _parse_go_queue, _go, spaced=True, several=_PLACE, needs=_PLACE),
    }

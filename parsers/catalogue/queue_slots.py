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
    match = _AT_SIGNS.fullmatch(text) or _DOTTED.fullmatch(text)
    return _placed(match["topic"], match["broker"], match["partition"]) if match is not None else NO


def _parse_go_queue(text: str) -> Any:
    """Parse a queue as Go prints it: a Protobuf message.

    It leaves out an id of 0.
    """
    topic, broker, number = _GO_TOPIC.search(text), _GO_BROKER.search(text), _GO_ID.search(text)
    return _placed(topic[1], broker[1], number[1] if number is not None else "0") if topic is not None and broker is not None else NO


_LISTED = (
    re.compile(r"MessageQueue \[topic=(?P<topic>[^,\]]+), brokerName=(?P<broker>[^,\]]+), queueId=(?P<partition>-?\d{1,10})\]"),
    re.compile(r"messageQueue=(?P<broker>[^\s,}]+)\.(?P<topic>[^\s,.}]+)\.(?P<partition>-?\d{1,10})(?!\d)"),
    re.compile(r'"topic":"(?P<topic>[^"]+)","brokerName":"(?P<broker>[^"]+)","queueId":(?P<partition>-?\d{1,10})(?!\d)'),
)
"""Queues in lists, as Java and Go print them, and in Go's JSON."""

_GO_QUEUE = re.compile(r"message_queue:\{")
_QUEUE = "MessageQueue [topic={topic}, brokerName={broker}, queueId={partition}]"
_NAMELESS_ASSIGNMENTS = "Assignments { _assignmentList = System.Collections.Generic.List`1[Org.Apache.Rocketmq.Assignment] }"


def _parse_assignments(text: str) -> Any:
    """Parse a list of queues to texts as the remoting client prints.

    None if the list does not tell them, as in C#. "null" stands for no list before.
    """
    for form in _LISTED:
        queues = [_QUEUE.format(**match.groupdict()) for match in form.finditer(text)]
        if queues:
            return queues
    parts = [_parse_go_queue(part) for part in _GO_QUEUE.split(text)[1:]]
    if parts:
        return [_QUEUE.format(**part) for part in parts if part is not NO]
    return [] if text in {"null", "<nil>"} or "[]" in text else None


def _assignments(queues: Any) -> str:
    if queues is None:
        return _NAMELESS_ASSIGNMENTS
    parts = (_dotted(match.groupdict()) for queue in queues if (match := _LISTED[0].fullmatch(queue)) is not None)
    return f"Assignments{{assignmentList=[{', '.join(f'Assignment{{messageQueue={part}}}' for part in parts)}]}}"


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
        "assignments": SlotType(r".*", _parse_assignments, _assignments, is_spaced=True),
        "queue": SlotType(r"[^ ]+", _parse_queue, _dotted, several=_PLACE, needs=_PLACE),
        "go_queue": SlotType(r".*", _parse_go_queue, _go, is_spaced=True, several=_PLACE, needs=_PLACE),
    }

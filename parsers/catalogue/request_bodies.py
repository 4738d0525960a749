"""Bodies of group requests as text: structs and generated classes.

Examples are `{group_id=g,…}` and `JoinGroupRequestData(groupId='g', …)`. Both are read with the templates of
`messages/kafka_request_bodies.yaml` into mappings with the names of the JSON form. Nested lists keep what the models
need: names of protocols and topics, member ids, error codes. The JSON form, and the fields taken of either, are in
`request_log`.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

from parsers.catalogue.slots import TYPES, SlotType, parse_list, unwrap
from parsers.catalogue.templates import Template, TooManyReadings, compile_template

_CLASS_PROTOCOL = re.compile(r"\(name='([^']*)', metadata=\[([-0-9, ]*)\]\)")
_STRUCT_PROTOCOL = re.compile(r"\{(?:protocol_)?name=([^,{}]*),")
_TOPIC = re.compile(r"\((?:name|topic)='([^']*)', |\{(?:name|topic)=([^,{}]*),partitions=")
_CODE = re.compile(r"error_?[cC]ode=(-?\d{1,6})")
_TOPOLOGY_EPOCH = re.compile(r"Topology\(epoch=(\d{1,10}), ")
_SOURCE_TOPICS = re.compile(r"', sourceTopics=\[([^\]]*)\], sourceTopicRegex=")
_AFTER_CLASS_ID = ("', groupInstanceId=", "', assignment=", "', metadata=", "')")
_AFTER_STRUCT_ID = (",group_instance_id=", ",member_metadata=", ",member_assignment=", ",metadata=", ",assignment=", "}")
_IDENTITY_END = re.compile(r"(?:\)|\})(?:, ?|,)?\]?$")


def decode_subscription(metadata: bytes) -> list[str] | None:
    """Topics of a consumer's subscription, None if invalid.

    ConsumerProtocolSubscription: int16 version, array of strings, and further fields.
    """
    if len(metadata) < 6:
        return None
    count = int.from_bytes(metadata[2:6], "big", signed=True)
    if not 0 <= count <= len(metadata):
        return None
    topics: list[str] = []
    at = 6
    for _ in range(count):
        size = int.from_bytes(metadata[at : at + 2], "big", signed=True)
        at += 2
        if size < 0 or at + size > len(metadata):
            return None
        topics.append(metadata[at : at + size].decode("utf-8", "replace"))
        at += size
    return topics


def decode_base64(text: Any) -> bytes:
    """Decode base64 in a JSON body; empty if invalid."""
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, TypeError, ValueError):
        return b""


def _bytes(numbers: str) -> bytes:
    """Bytes printed by Java as signed numbers."""
    try:
        return bytes([int(number) & 0xFF for number in numbers.split(", ")])
    except ValueError:
        return b""


def parse_protocols(text: str) -> list[dict[str, Any]]:
    """Names of the protocols offered by a member.

    With their metadata if the text shows its bytes.
    """
    named = [{"name": name, "numbers": numbers} for name, numbers in _CLASS_PROTOCOL.findall(text)]
    return named or [{"name": name} for name in _STRUCT_PROTOCOL.findall(text)]


def _parse_member_ids(text: str) -> list[str]:
    """Member ids of a nested list, in either form."""
    ids: list[str] = []
    for piece in text.split("memberId='")[1:]:
        ids.append(piece[: _first(piece, _AFTER_CLASS_ID)])
    for piece in text.split("{member_id=")[1:]:
        ids.append(piece[: _first(piece, _AFTER_STRUCT_ID)])
    return ids


def _first(text: str, ends: tuple[str, ...]) -> int:
    places = [place for place in map(text.find, ends) if place >= 0]
    return min(places) if places else len(text)


def _parse_identities(text: str) -> list[dict[str, str | None]]:
    """Leaving members: id, instance id, reason."""
    identities: list[dict[str, str | None]] = []
    for piece in text.split("MemberIdentity(memberId='")[1:]:
        member, _, rest = piece.partition("', groupInstanceId=")
        rest = _IDENTITY_END.sub("", rest)
        instance, has_reason, reason = rest.partition(", reason=")
        identities.append({"memberId": member, "groupInstanceId": _quoted(instance), "reason": _quoted(reason) if has_reason else None})
    for piece in text.split("{member_id=")[1:]:
        member, _, rest = piece.partition(",group_instance_id=")
        instance = _IDENTITY_END.sub("", rest)
        identities.append({"memberId": member, "groupInstanceId": None if instance == "null" else instance, "reason": None})
    return identities


def _quoted(text: str) -> str | None:
    bare = text.removeprefix("'").removesuffix("'")
    return None if bare in {"", "null"} else bare  # Kafka 2.3 quotes its null, too


def _parse_names_or_null(text: str) -> list[str] | None:
    return None if text == "null" else parse_list(text)


def _parse_topology(text: str) -> dict[str, Any] | None:
    """Epoch and source topics of a streams topology."""
    epoch = _TOPOLOGY_EPOCH.match(text)
    if epoch is None:
        return None
    return {"epoch": int(epoch[1]), "subtopologies": [{"sourceTopics": parse_list(f"[{names}]")} for names in _SOURCE_TOPICS.findall(text)]}


def _parse_quoted_list(text: str) -> list[str]:
    inside = unwrap(text)
    return inside.removeprefix("'").removesuffix("'").split("', '") if inside.startswith("'") else parse_list(text)


_QUOTED_FREE = SlotType(r".*", TYPES["quoted"].parse, TYPES["quoted"].render, is_spaced=True)
BODY_TYPES: dict[str, SlotType] = {
    **TYPES,
    "quoted_free": _QUOTED_FREE,
    "protocols": SlotType(r".*", parse_protocols, str, is_spaced=True),
    "member_ids": SlotType(r".*", _parse_member_ids, str, is_spaced=True),
    "identities": SlotType(r".*", _parse_identities, str, is_spaced=True),
    "topic_names": SlotType(r".*", lambda text: [{"name": first or second} for first, second in _TOPIC.findall(text)], str, is_spaced=True),
    "codes": SlotType(r".*", lambda text: [int(code) for code in _CODE.findall(text)], str, is_spaced=True),
    "names_or_null": SlotType(r".*", _parse_names_or_null, str, is_spaced=True),
    "topology": SlotType(r".*", _parse_topology, str, is_spaced=True),
    "quoted_list": SlotType(r".*", _parse_quoted_list, str, is_spaced=True),
}


MAX_KEPT = 4096
MAX_KEPT_CHARACTERS = 512
"""Bounds of the bodies that are kept with their mappings."""


class Bodies:
    """The text forms of requests and answers, by API and side."""

    def __init__(self, entries: Iterable[Mapping[str, Any]]) -> None:
        self._texts: dict[tuple[str, str], list[str]] = {}
        for entry in entries:
            for side in ("request", "response"):
                self._texts[entry["api"], side] = entry[side]
        self._templates: dict[tuple[str, str], list[Template]] = {}
        self._parsed = lru_cache(MAX_KEPT)(self._parse)

    def read(self, api: str, side: str, text: str) -> dict[str, Any] | None:
        """Parse a body to a mapping, None unless exactly one reading fits.

        Most bodies, as those of heartbeats, are like earlier ones. The mapping must not be changed.
        """
        parse = self._parsed if len(text) <= MAX_KEPT_CHARACTERS else self._parse
        return parse(api, side, text)

    def _parse(self, api: str, side: str, text: str) -> dict[str, Any] | None:
        """Parse a body that was not seen lately.

        Forms with more fixed text come first, because forms with less would take it as part of an id.
        """
        templates = self._templates.get((api, side))
        if templates is None:
            forms = (compile_template(form, BODY_TYPES) for form in self._texts.get((api, side), ()))
            templates = sorted(forms, key=lambda template: -template.fixed_length)
            self._templates[api, side] = templates
        for template in templates:
            values = template.quick(text, 0)
            if values is not None:
                return values
        try:
            for template in templates:
                readings = list(template.readings(text, 0))
                if readings:
                    return readings[0] if len(readings) == 1 else None
        except TooManyReadings:
            return None
        return None


def topics_in_metadata(protocols: Iterable[Mapping[str, Any]]) -> list[str] | None:
    """Topics of a member's subscription, from its protocols' metadata.

    None if the metadata does not show them.
    """
    for protocol in protocols:
        raw = _bytes(protocol["numbers"]) if "numbers" in protocol else decode_base64(protocol.get("metadata"))
        topics = decode_subscription(raw)
        if topics is not None:
            return topics
    return None

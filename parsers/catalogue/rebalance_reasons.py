"""Reasons in `(reason: …)` of "Preparing to rebalance"."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from parsers.catalogue.slots import NO, SlotType, ends_like_member_id
from parsers.catalogue.templates import Template, TooManyReadings, compile_template


class Alike(NamedTuple):
    """Reasons with a common wording: indexes of the texts and values of slots.

    Without a wording, `parse` must examine the text.
    """

    id: str | None
    template: Template | None
    texts: list[int]
    pieces: list[Sequence[str]]


class Reasons:
    """All reasons named by coordinators."""

    def __init__(self, entries: Iterable[Mapping[str, Any]]) -> None:
        self._by_word: dict[str, list[tuple[str, Template]]] = {}
        self.templates: list[tuple[str, Template]] = []
        self.wordings: dict[str, list[tuple[tuple[str, ...], Template]]] = {}
        """Wordings of each reason, with their first and last version."""
        for entry in entries:
            for pattern in entry["patterns"]:
                template = compile_template(pattern["text"])
                self.templates.append((entry["id"], template))
                self.wordings.setdefault(entry["id"], []).append((tuple(pattern["seen_in"]), template))
                self._by_word.setdefault(template.literals[0].split(" ")[0], []).append((entry["id"], template))
        for known in self._by_word.values():
            known.sort(key=lambda pair: -pair[1].fixed_length)

    def slot_type(self) -> SlotType:
        """The type of slots that contain a reason."""
        names = frozenset({"reason", "reason_id"}).union(*(template.names() for _, template in self.templates))
        return SlotType(
            r".*", self.parse, lambda fields: str(fields["reason"]), is_spaced=True, several=tuple(sorted(names)), needs=("reason",)
        )

    def alike(self, texts: Sequence[str]) -> Iterator[Alike]:
        """Group reasons by wording; each text appears once."""
        by_word: dict[str, list[int]] = {}
        for at, text in enumerate(texts):
            by_word.setdefault(text.split(" ", 1)[0], []).append(at)
        for word, rows in by_word.items():
            left = rows
            for reason_id, template in self._by_word.get(word, ()):
                fits = [at for at in left if template.mark in texts[at] and texts[at].endswith(template.tail)]
                pieces = template.pieces_of([texts[at] for at in fits])
                pieces_by_row = {at: piece for at, piece in zip(fits, pieces, strict=True) if piece is not None}
                if pieces_by_row:
                    yield Alike(reason_id, template, list(pieces_by_row), list(pieces_by_row.values()))
                    left = [at for at in left if at not in pieces_by_row]
            if left:
                yield Alike(None, None, left, [()] * len(left))

    def parse(self, text: str) -> dict[str, Any]:
        """Return the reason's id and values.

        If several readings fit, only their common values are returned.
        """
        values = self._values(text)
        if values["reason_id"] is None and text[:1].isalpha():  # people write a reason with a capital, or without its own
            values = {**self._values(text[0].swapcase() + text[1:]), "reason": text}
        return values

    def _values(self, text: str) -> dict[str, Any]:
        known = self._by_word.get(text.split(" ", 1)[0], ())
        for reason_id, template in known:
            values = template.quick(text, 0)
            if values is not None:
                return {"reason": text, "reason_id": reason_id, **values}
        readings: list[dict[str, Any]] = []
        try:
            for reason_id, template in known:
                readings.extend({"reason_id": reason_id, **values} for values in template.readings(text, 0))
        except TooManyReadings:
            readings = []
        whole = [reading for reading in readings if ends_like_member_id(reading.get("reason_member_id") or "")] or readings
        whole = [reading for reading in whole if _says_its_id_again(reading)] or whole
        if not whole:
            return {"reason": text, "reason_id": None}
        return {"reason": text, **{name: value for name, value in whole[0].items() if all(other.get(name, NO) == value for other in whole)}}


def _says_its_id_again(values: Mapping[str, Any]) -> bool:
    """Whether the member's own reason repeats the id.

    KIP-394: "… the given member-id: X". Both readings are correct.
    """
    member_id = values.get("reason_member_id")
    return bool(member_id) and str(values.get("client_reason") or "").endswith(f" {member_id}")

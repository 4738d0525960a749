"""Texts of records without the escapes of what they were copied from."""

from __future__ import annotations

import pytest

from parsers.catalogue.catalogue import catalogue
from parsers.excerpts.excerpt_reader import ExcerptReader
from parsers.formats.cleaning import unescape_json
from parsers.formats.pages import PAGES


@pytest.mark.parametrize(
    ("escaped", "text"),
    [
        (r"group \"a\" at C:\\logs", 'group "a" at C:\\logs'),
        (r"caf\u00e9", "café"),
        (r"\ud83d\ude00 of two units", "\U0001f600 of two units"),
        (r"half \ud83d of one", "half \ufffd of one"),
        (r"half \ude00\ud83d in the wrong order", "half \ufffd\ufffd in the wrong order"),
    ],
)
def test_escapes_of_json(escaped: str, text: str) -> None:
    assert unescape_json(escaped) == text


def test_two_units_of_rich_text_are_one_character() -> None:
    unwrapped = PAGES["rich_text"].peel(rb"group caf\u-10179 ?\u-8704 ?s\line")

    assert unwrapped is not None
    assert "\U0001f600" in unwrapped.line.decode()


def test_half_a_character_in_a_damaged_document_rejects_nothing() -> None:
    line = r'{"timestamp":"2026-11-25T03:37:13.245Z" "message":"[ConsumerGroup] Consumer has joined the group","x":"[6,7]\ud800"}'

    found = list(ExcerptReader(catalogue()).read(line))

    assert [excerpt.match.message_id for excerpt in found] == []

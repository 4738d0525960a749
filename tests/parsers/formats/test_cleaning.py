"""Texts of records without the escapes of what they were copied from."""

from __future__ import annotations

import pytest

from parsers.catalogue.catalogue import catalogue
from parsers.excerpts.excerpt_reader import ExcerptReader
from parsers.formats.cleaning import clean_line, unescape_json
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


@pytest.mark.parametrize(
    ("shown", "plain"),
    [
        ("[10:00:01] **Preparing to rebalance** group depot", "[10:00:01] Preparing to rebalance group depot"),
        ("Member a-1 in group depot *has failed*, removing it", "Member a-1 in group depot has failed, removing it"),
        ("**[10:00:01] INFO [GroupCoordinator 1]: Stabilized (kafka)**", "[10:00:01] INFO [GroupCoordinator 1]: Stabilized (kafka)"),
        ("\u3010GroupCoordinator 1\u3011\uff1aStabilized \uff08a\uff09", "[GroupCoordinator 1]:Stabilized (a)"),
    ],
)
def test_marks_of_pages_and_input_methods_go(shown: str, plain: str) -> None:
    assert clean_line(shown) == plain


@pytest.mark.parametrize(
    "text",
    [
        "Subscribed to pattern: '.*orders.*'",
        "Subscribed to pattern: '*.orders.*'",
        "topics=[*orders*]-suffix, 2 * 3 * 4",
        "subscription=TOPIC:* expression *",
        "\u7d44\uff1adepot",
    ],
)
def test_stars_of_patterns_and_names_in_other_scripts_stay(text: str) -> None:
    assert clean_line(text) == text

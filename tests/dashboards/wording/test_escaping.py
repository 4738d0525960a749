"""Log text made safe, one way for each place that shows it."""

import base64
import json
import re
import zlib

import pytest

from dashboards.wording.escaping import chart_label, first_line, packed, shortened, visible
from tests.dashboards.hostile import CONTROL, PAYLOADS


@pytest.mark.parametrize("text", PAYLOADS)
def test_printable_text_is_shown_as_it_is(text: str) -> None:
    assert visible(text) == text


@pytest.mark.parametrize("text", CONTROL)
def test_nothing_that_a_terminal_obeys_is_left(text: str) -> None:
    shown = visible(text)
    assert shown.isprintable()
    assert shown != text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31m", "\\x1b[31m"),
        ("a\tb\nc\r", "a\\tb\\nc\\r"),
        ("\x9b", "\\x9b"),
        ("\u202egnp", "\\u202egnp"),
        ("\U000e0041", "\\U000e0041"),
        ("\ud800", "\\ud800"),
        ("e\u0301", "e\u0301"),
        ("e" + "\u0301" * 4, "e" + "\u0301" * 3 + "\\u0301"),
        ("数据 ✓", "数据 ✓"),
    ],
)
def test_escapes_name_the_character(text: str, shown: str) -> None:
    assert visible(text) == shown


@pytest.mark.parametrize("text", [*PAYLOADS, *CONTROL])
def test_a_chart_label_holds_no_markup(text: str) -> None:
    label = chart_label(text)
    assert not set("<>&$") & set(label)
    assert label.isprintable()
    assert len(label) <= 48


@pytest.mark.parametrize("text", [*PAYLOADS, *CONTROL])
def test_packed_data_means_nothing_to_html_and_reads_back(text: str) -> None:
    held = packed({"key": text, text: [1, None, True]})
    assert re.fullmatch(r"[A-Za-z0-9+/=]+", held)
    assert json.loads(zlib.decompress(base64.b64decode(held)))["key"] == text


def test_packed_data_is_the_same_for_any_order_of_keys() -> None:
    assert packed({"b": 1, "a": 2}) == packed({"a": 2, "b": 1})


def test_what_no_json_can_hold_is_refused() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        packed(float("nan"))


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("one", "one"),
        ("one\n", "one"),
        ("one\r\ntwo", "one (+1 line)"),
        ("one\ntwo\nthree\n", "one (+2 lines)"),
        ("", ""),
    ],
)
def test_a_record_is_shown_by_its_first_line(text: str, line: str) -> None:
    assert first_line(text) == line


def test_what_is_cut_leaves_an_ellipsis() -> None:
    assert shortened("abcdef", 4) == "abc…"
    assert shortened("abcd", 4) == "abcd"

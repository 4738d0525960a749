"""Spans of time as people type them."""

from __future__ import annotations

import pytest

from models.durations import span_us

SECOND = 1_000_000


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("250ms", 0.25), ("30s", 30), ("5m", 300), ("5min", 300), ("1.5h", 5400), ("30d", 2_592_000), ("2 w", 1_209_600), ("0.5ms", 0.0005)],
)
def test_spans(text: str, seconds: float) -> None:
    assert span_us(text) == seconds * SECOND


@pytest.mark.parametrize("text", ["", "5", "m", "-5m", "²s", "1.s", ".5s", "5 m 3", "5y", " 5m", "5m\n", "1e3s"])
def test_no_spans(text: str) -> None:
    assert span_us(text) is None


@pytest.mark.parametrize("text", ["1.5h", "1.0h", "5 m"])
def test_whole_spans_are_a_whole_number_right_before_its_unit(text: str) -> None:
    assert span_us(text) is not None
    assert span_us(text, is_whole=True) is None


def test_units_may_be_fewer() -> None:
    assert span_us("5m", ("s", "m")) == 300 * SECOND
    assert span_us("5w", ("s", "m")) is None


def test_numbers_may_have_any_length() -> None:
    assert span_us("9" * 5_000 + "d", is_whole=True) is not None

"""Times and counts as people read them."""

import pytest

from dashboards.wording.units import Clock, counted, lasted, listed, share, size
from tests.dashboards.made import at


@pytest.mark.parametrize(
    ("seconds", "least", "text"), [(3.0, None, "3.0 s"), (None, 212.0, "≥ 3 min 32 s"), (None, None, "–"), (1.0, 5.0, "1.0 s")]
)
def test_a_duration_without_an_end_is_a_lower_bound(seconds: float | None, least: float | None, text: str) -> None:
    assert lasted(seconds, least) == text


@pytest.mark.parametrize(("value", "text"), [(None, "–"), (0.0, "0 %"), (0.62, "62 %"), (0.999, "99 %"), (1.0, "100 %")])
def test_certainty_is_never_rounded_up_to(value: float | None, text: str) -> None:
    assert share(value) == text


@pytest.mark.parametrize(
    ("count", "text"), [(None, "–"), (0, "0 B"), (1023, "1023 B"), (1536, "1.5 KiB"), (10 << 30, "10.0 GiB"), (5 << 40, "5120 GiB")]
)
def test_sizes(count: int | None, text: str) -> None:
    assert size(count) == text


def test_counts_and_lists() -> None:
    assert counted(1, "rebalance") == "1 rebalance"
    assert counted(1234, "rebalance") == "1,234 rebalances"
    assert [listed(list("abcde")[:count]) for count in range(6)] == [
        "–",
        "a",
        "a and b",
        "a, b and c",
        "a, b, c and 1 more",
        "a, b, c and 2 more",
    ]


def test_a_time_names_its_zone() -> None:
    assert Clock("UTC").full(at(5.123)) == "2026-03-01 10:00:05.123 UTC"
    assert Clock("Europe/Berlin").full(at(5.123)) == "2026-03-01 11:00:05.123 CET (+01:00)"
    assert Clock("Asia/Kolkata").full(at(0)) == "2026-03-01 15:30:00.000 IST (+05:30)"
    assert Clock("America/Sao_Paulo").full(at(0)) == "2026-03-01 07:00:00.000 -03:00"
    assert Clock().full(None) == "at an unknown time"
    assert Clock().stamp(None) == "–"


def test_a_span_says_the_date_once() -> None:
    assert Clock().span(at(0), at(61)) == "2026-03-01 10:00:00 to 10:01:01 UTC"
    assert Clock().span(at(0), at(86_400)) == "2026-03-01 10:00:00 to 2026-03-02 10:00:00 UTC"
    assert Clock().span(at(0), at(0.4)) == "2026-03-01 10:00:00 UTC"
    assert Clock().span(at(0), None) == "2026-03-01 10:00:00.000 UTC"
    assert Clock().span(None, None) == "at unknown times"

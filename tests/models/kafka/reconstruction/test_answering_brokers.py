"""Which broker answers, and how long an answer waited, at the limits of each rule."""

from __future__ import annotations

import pytest

from models.events import Event
from models.kafka.observations.actions import PARKED_US, has_waited, is_taken_unanswered
from models.kafka.reconstruction.answering_brokers import answering_broker, waited_to_deadline
from models.kafka.reconstruction.request_members import RequestSign
from models.tolerances import PHASE_OVERRUN_US, PHASE_UNDERRUN_US
from models.units import US_PER_MS
from tests.models.kafka.reconstruction.lines import request

NOW = 100_000_000
PARKED_MS = PARKED_US // US_PER_MS


@pytest.mark.parametrize(
    ("code", "connection", "broker"),
    [
        (0, "10.0.0.1:9092-10.0.0.9:5000-1", "10.0.0.1"),
        (None, "10.0.0.1:9092-10.0.0.9:5000-1", "10.0.0.1"),
        (22, "10.0.0.1:9092-10.0.0.9:5000-1", "10.0.0.1"),
        (25, "10.0.0.1:9092-10.0.0.9:5000-1", "10.0.0.1"),
        (27, "10.0.0.1:9092-10.0.0.9:5000-1", "10.0.0.1"),
        (79, "10.0.0.1:9092-10.0.0.9:5000-1", "10.0.0.1"),
        (16, "10.0.0.1:9092-10.0.0.9:5000-1", None),
        (15, "10.0.0.1:9092-10.0.0.9:5000-1", None),
        (0, "127.0.0.1:9092-127.0.0.1:5000-1", "127.0.0.1:9092"),
        (0, "[::1]:9092-[::1]:5000-1", "[::1]:9092"),
        (0, None, None),
        (0, "unknown", None),
    ],
)
def test_a_broker_answers_as_coordinator_by_its_host(code: int | None, connection: str | None, broker: str | None) -> None:
    assert answering_broker(request("Heartbeat", NOW, error_code=code, connection=connection)) == broker


@pytest.mark.parametrize(("total_ms", "expected"), [(PARKED_MS - 1, False), (PARKED_MS, True), (PARKED_MS + 1, True)])
def test_an_answer_has_waited_from_a_limit_on(total_ms: int, expected: bool) -> None:
    assert has_waited(request("JoinGroup", NOW, total_ms=total_ms)) is expected
    assert is_taken_unanswered(request("JoinGroup", NOW, total_ms=total_ms, error_code=15)) is expected
    assert not is_taken_unanswered(request("JoinGroup", NOW, total_ms=total_ms, error_code=16))


def test_time_in_queues_is_no_waiting() -> None:
    queued = request("JoinGroup", NOW, total_ms=2 * PARKED_MS, request_queue_ms=PARKED_MS, send_ms=PARKED_MS // 2)

    assert not has_waited(queued)


def _join(at: int, timeout_ms: int | None) -> RequestSign:
    event: Event = request("JoinGroup", at, rebalance_timeout_ms=timeout_ms)
    return RequestSign(at, event)


@pytest.mark.parametrize(
    ("over_us", "expected"),
    [
        (-PHASE_UNDERRUN_US - 1, False),
        (-PHASE_UNDERRUN_US, True),
        (0, True),
        (PHASE_OVERRUN_US, True),
        (PHASE_OVERRUN_US + 1, False),
    ],
)
def test_a_phase_lasts_as_long_as_the_longest_timeout_from_the_first_join(over_us: int, expected: bool) -> None:
    joins = [_join(NOW + 5_000, 30_000), _join(NOW, 60_000), _join(NOW + 9_000, None)]

    assert waited_to_deadline(joins, NOW + 60_000 * US_PER_MS + over_us) is expected


@pytest.mark.parametrize("lasted", [0, 1, 1_000, PHASE_OVERRUN_US])
def test_without_a_timeout_no_phase_lasts_as_long(lasted: int) -> None:
    assert not waited_to_deadline([_join(NOW, None)], NOW + lasted)


def test_the_shortest_timeout_counts() -> None:
    assert waited_to_deadline([_join(NOW, 1)], NOW + US_PER_MS)

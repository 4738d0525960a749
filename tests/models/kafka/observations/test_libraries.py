"""What client libraries do, and that it agrees with what the catalogue says of their messages."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from models.kafka.observations.libraries import LIBRARIES, default_timeouts, is_default_id, known_library, library_of
from parsers.catalogue.loading import load

QUIET = frozenset({"DEBUG", "TRACE"})

ONE_LOGGER = frozenset({"sarama"})
"""Libraries whose debug lines go where the others go, unless the program asks otherwise (sarama.go, DebugLogger)."""

LOG_LEAVES = sorted(name for name, library in LIBRARIES.items() if library.logs_leaves)
LOG_NO_LATE_POLLS = sorted(name for name, library in LIBRARIES.items() if not library.logs_late_polls)
WITH_TIMEOUTS = [name for name, library in LIBRARIES.items() if library.timeouts]


def _messages(library: str) -> Iterator[dict[str, Any]]:
    for area in load()["areas"]:
        for message in area["messages"]:
            if library_of(message["id"].rpartition(".")[0]) == library:
                yield message


@pytest.mark.parametrize("library", LIBRARIES)
def test_each_library_has_messages(library: str) -> None:
    assert any(True for _ in _messages(library))


@pytest.mark.parametrize("library", LOG_LEAVES)
def test_library_that_logs_leaves_logs_one_at_its_ordinary_level(library: str) -> None:
    telling = [message for message in _messages(library) if message["emits"] in {"ClientLeaveSent", "ClientClosed"}]

    levels = {pattern.get("level", message.get("level", "INFO")) for message in telling for pattern in message["patterns"]}
    assert levels
    assert library in ONE_LOGGER or levels - QUIET


@pytest.mark.parametrize("library", LOG_NO_LATE_POLLS)
def test_library_that_logs_no_late_poll_has_no_message_for_it(library: str) -> None:
    assert all(message["emits"] != "ClientPollTimedOut" for message in _messages(library))


@pytest.mark.parametrize(
    ("library", "version", "session_ms"),
    [
        ("java", "2.8.2", 10_000),
        ("java", "3.0.0", 45_000),
        ("java", None, 45_000),
        ("spring", "4.1.2", 45_000),
        ("librdkafka", "1.6.2", 10_000),
        ("librdkafka", "v1.7.0", 45_000),
        ("karafka", "2.11.0", 45_000),
        ("kafka_python", "2.0.2", 10_000),
        ("kafka_python", "3.0.12", 45_000),
        ("sarama", "unknown", 10_000),
        ("kafkajs", "2.2.4", 30_000),
    ],
)
def test_sessions_are_those_of_the_version(library: str, version: str | None, session_ms: int) -> None:
    found = default_timeouts(library, version)
    assert found is not None
    assert found.session_ms == session_ms


def test_unknown_libraries_have_no_timeouts() -> None:
    assert default_timeouts("kafkaesque", "1.0") is None
    assert default_timeouts(None, None) is None


def test_every_library_that_logs_leaves_says_good_bye() -> None:
    assert all(known_library(library).leaves for library in LOG_LEAVES)
    assert not known_library("streams").leaves


@pytest.mark.parametrize("library", WITH_TIMEOUTS)
def test_sessions_hold_several_heartbeats_and_versions_descend(library: str) -> None:
    timeouts = known_library(library).timeouts
    for each in timeouts:
        assert 3 * each.heartbeat_ms <= each.session_ms
    assert [each.since for each in timeouts] == sorted((each.since for each in timeouts), reverse=True)
    assert timeouts[-1].since == ()


@pytest.mark.parametrize("library", LIBRARIES)
def test_what_is_built_on_another_is_built_on_a_library(library: str) -> None:
    base = known_library(library).built_on
    assert base is None or known_library(base).timeouts


@pytest.mark.parametrize(
    ("client_id", "is_default"),
    [
        ("rdkafka", True),
        ("sarama", True),
        ("kafkajs", True),
        ("kgo", True),
        ("consumer-1", True),
        ("kafka-python-2.0.2", True),
        ("aiokafka-0.8.1", True),
        ("orders-1", False),
        ("consumer-orders-1", False),
        ("my-rdkafka", False),
        ("", False),
    ],
)
def test_default_ids_are_those_of_libraries(client_id: str, is_default: bool) -> None:
    assert is_default_id(client_id) is is_default

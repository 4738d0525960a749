"""Default timeouts of client libraries, by version."""

from __future__ import annotations

import pytest

from models.kafka.observations.library_defaults import DEFAULTS, defaults_of
from models.kafka.observations.roster import TELL_LEAVES


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
    found = defaults_of(library, version)
    assert found is not None
    assert found.session_ms == session_ms


def test_unknown_libraries_have_no_defaults() -> None:
    assert defaults_of("kafkaesque", "1.0") is None
    assert defaults_of(None, None) is None


def test_every_library_that_tells_leaves_says_good_bye() -> None:
    assert all(each.leaves for library in TELL_LEAVES for each in DEFAULTS[library])
    assert not any(each.leaves for each in DEFAULTS["streams"])


@pytest.mark.parametrize("library", DEFAULTS)
def test_sessions_hold_several_heartbeats_and_versions_descend(library: str) -> None:
    for each in DEFAULTS[library]:
        assert 3 * each.heartbeat_ms <= each.session_ms
    assert [each.since for each in DEFAULTS[library]] == sorted((each.since for each in DEFAULTS[library]), reverse=True)
    assert DEFAULTS[library][-1].since == ()

"""Client ids that tell nobody from anybody."""

from __future__ import annotations

import pytest

from models.kafka.observations.default_client_ids import DEFAULTS, is_default


@pytest.mark.parametrize(
    ("client_id", "default"),
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
def test_default_ids(client_id: str, default: bool) -> None:
    assert is_default(client_id) is default


def test_each_default_has_a_source() -> None:
    assert all(DEFAULTS.values())

"""Default client ids of libraries.

Processes with the same default id are different clients.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

DEFAULTS: Mapping[str, str] = {
    r"rdkafka": "librdkafka, client.id (CONFIGURATION.md)",
    r"sarama": "Sarama, Config.ClientID (config.go)",
    r"kafkajs": "kafkajs, clientId of its constructor (src/index.js)",
    r"kgo": "franz-go, ClientID (pkg/kgo/config.go)",
    r"consumer-\d+": "Java consumer to 2.3, client.id (KafkaConsumer)",
    r"kafka-python-[\d.]+\w*": "kafka-python, client_id (kafka/consumer/group.py)",
    r"aiokafka-[\d.]+\w*": "aiokafka, client_id (aiokafka/consumer/consumer.py)",
}
"""Patterns of whole ids, each with its source."""

_ANY = re.compile("|".join(f"(?:{pattern})" for pattern in DEFAULTS))

IDS_REMEMBERED = 4096


@lru_cache(maxsize=IDS_REMEMBERED)
def is_default(client_id: str) -> bool:
    """Return True if the id is a library's default."""
    return _ANY.fullmatch(client_id) is not None

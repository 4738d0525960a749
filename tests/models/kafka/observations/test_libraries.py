"""What the models take for granted of client libraries stands in the catalogue."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from models.kafka.observations.knowledge import SILENT_LIBRARIES
from models.kafka.observations.roster import LIBRARIES, TELL_LEAVES
from parsers.catalogue.loading import load

QUIET = frozenset({"DEBUG", "TRACE"})

ONE_LOGGER = frozenset({"sarama"})
"""Libraries whose debug lines go where the others go, unless the program asks otherwise (sarama.go, DebugLogger)."""


def _messages(library: str) -> Iterator[dict[str, Any]]:
    for area in load()["areas"]:
        for message in area["messages"]:
            family = message["id"].removeprefix("kafka.").rpartition(".")[0]
            if LIBRARIES.get(family, family) == library:
                yield message


@pytest.mark.parametrize("library", sorted(TELL_LEAVES))
def test_library_that_tells_leaves_logs_one_at_its_ordinary_level(library: str) -> None:
    telling = [message for message in _messages(library) if message["emits"] in {"ClientLeaveSent", "ClientClosed"}]

    levels = {pattern.get("level", message.get("level", "INFO")) for message in telling for pattern in message["patterns"]}
    assert levels
    assert library in ONE_LOGGER or levels - QUIET


@pytest.mark.parametrize("library", sorted(SILENT_LIBRARIES))
def test_silent_library_logs_no_late_poll(library: str) -> None:
    messages = list(_messages(library.removeprefix("kafka.")))

    assert messages
    assert all(message["emits"] != "ClientPollTimedOut" for message in messages)

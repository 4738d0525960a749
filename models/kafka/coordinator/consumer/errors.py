"""How a request is refused."""

from __future__ import annotations

from models.kafka.coordinator.protocol.errors import Error


class Refusal(Exception):
    """A request is refused; nothing that it asked for has been done."""

    def __init__(self, error: Error) -> None:
        super().__init__(error.value)
        self.error = error

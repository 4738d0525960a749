"""Refusal of a request."""

from __future__ import annotations

from models.kafka.coordinator.protocol.errors import Error


class Refusal(Exception):
    """Raised to refuse a request before it has any effect."""

    def __init__(self, error: Error) -> None:
        super().__init__(error.value)
        self.error = error

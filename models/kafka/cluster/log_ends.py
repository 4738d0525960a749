"""Where the logs of a cluster end."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True)
class LogEnds:
    """Last times in the files of a cluster, in microseconds."""

    brokers: int | None = None
    clients: dict[str, int] = field(default_factory=dict)
    """By file."""

"""The verdict on a changed share."""

from __future__ import annotations

from dataclasses import dataclass, field

from models.events import Event


@dataclass(slots=True)
class Verdict:
    """Cause, offenders, confidence and alternatives of a changed share."""

    cause: str
    confidence: float
    offenders: dict[str, str] = field(default_factory=dict)  # action by client id
    trigger: str = "period"
    alternatives: dict[str, float] = field(default_factory=dict)
    evidence: list[Event] = field(default_factory=list)

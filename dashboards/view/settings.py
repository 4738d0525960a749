"""Changes of settings that a search tried, in words."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SettingAdvice:
    """A change of settings with its effects on a group, and its costs.

    `spared` is how many of `count` rebalances would not have been, negative if there would have been more; `perhaps` counts
    those of the others that were possibly avoidable.
    """

    cluster: str
    group: str
    says: str
    costs: str
    question: str
    count: int
    spared: int
    perhaps: int
    stopped_seconds: float
    saved_seconds: float
    saved_member_seconds: float
    helps: bool

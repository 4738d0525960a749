"""Opinions on what started a rebalance, as the rules of diagnosis give them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum

from models.causes import Cause
from models.kafka.hypotheses.window import Case
from models.kafka.observations.actions import Act

PROMPT_US = 300_000
"""A request that starts a rebalance is answered by "Preparing" within this time, slow brokers included."""

LOOK_BACK_US = 2_000_000
"""A client's own explanation (poll timeout, wish to rejoin) stands this close before its request."""


class Settles(StrEnum):
    """Files that would decide between causes, by the words that stand before " of " and whose they are."""

    CLIENT_LOG = "client log at INFO"
    REQUEST_LOG = "kafka-request.log at DEBUG"
    EARLIER_LINES = "server.log at INFO"
    COORDINATOR_AT_DEBUG = "server.log at DEBUG"
    APPLICATION = "source code"


CLIENT_LOG, REQUEST_LOG, EARLIER_LINES = Settles.CLIENT_LOG, Settles.REQUEST_LOG, Settles.EARLIER_LINES


@dataclass(slots=True)
class Opinion:
    """A cause with its probability, the acts that it consists of, and what would make it sure.

    `told_by` are acts that only tell the cause: evidence, though nobody's offence.
    """

    cause: Cause
    probability: float
    acts: list[Act] = field(default_factory=list)
    settled_by: Settles | None = None
    told_by: list[Act] = field(default_factory=list)


SUREST = 0.99
RIVAL_MIN = 0.01
"""Rivals less likely than this are not named."""

_PARTS = 10_000
"""Confidence is told in so many parts."""


@dataclass(slots=True)
class Judgement:
    """The opinions on one rebalance, best first; probabilities add up to at most one."""

    opinions: list[Opinion]
    trigger: Act | None = None

    def shares(self) -> tuple[float, dict[str, float]]:
        """How sure the best opinion is, and its rivals by cause. Rounded, they are together no surer than certain."""
        sure = round(min(self.best.probability, SUREST) * _PARTS)
        left, rivals = _PARTS - sure, {}
        for opinion in self.opinions[1:]:
            if opinion.probability >= RIVAL_MIN:
                share = min(round(opinion.probability * _PARTS), left)
                left, rivals[opinion.cause.value] = left - share, share / _PARTS
        return sure / _PARTS, rivals

    @property
    def best(self) -> Opinion:
        """The likeliest."""
        return self.opinions[0]


def with_first(first: Act | None, others: Iterable[Act], case: Case) -> list[Act]:
    """Acts with the one that started it in front, one per actor."""
    actor = case.actor(first) if first else None
    rest = [act for act in others if case.actor(act) != actor]
    return [first, *rest] if first else rest

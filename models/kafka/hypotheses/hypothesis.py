"""Hypotheses on what started a rebalance, as the rules give them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum

from models.causes import Cause
from models.kafka.hypotheses.window import RebalanceContext
from models.kafka.observations.actions import MemberAction
from models.tolerances import real, whole

PROMPT_US = whole("kafka.hypothesis.prompt_us")
"""Longest time from a request to its "Preparing", on slow brokers."""

LOOK_BACK_US = whole("kafka.hypothesis.look_back_us")
"""How long before its request a client's own explanation may stand.

A poll timeout, or the wish to rejoin.
"""


class Settles(StrEnum):
    """Files that would decide between causes.

    By the words that stand before " of " and whose they are.
    """

    CLIENT_LOG = "client log at INFO"
    REQUEST_LOG = "kafka-request.log at DEBUG"
    EARLIER_LINES = "server.log at INFO"
    COORDINATOR_AT_DEBUG = "server.log at DEBUG"
    APPLICATION = "source code"


CLIENT_LOG, REQUEST_LOG, EARLIER_LINES = Settles.CLIENT_LOG, Settles.REQUEST_LOG, Settles.EARLIER_LINES


@dataclass(slots=True)
class Hypothesis:
    """A cause with its probability, its actions and what would decide it.

    `supporting_actions` only tell the cause: evidence, though nobody's offence.
    """

    cause: Cause
    probability: float
    actions: list[MemberAction] = field(default_factory=list)
    settled_by: Settles | None = None
    supporting_actions: list[MemberAction] = field(default_factory=list)


SUREST = real("kafka.hypothesis.surest")
RIVAL_MIN = real("kafka.hypothesis.rival_min")
"""Rivals less likely than this are not named."""

_PARTS = 10_000
"""Resolution of confidences: parts of one."""


@dataclass(slots=True)
class Ranking:
    """The hypotheses on one rebalance, best first.

    Probabilities add up to at most one.
    """

    hypotheses: list[Hypothesis]
    trigger: MemberAction | None = None

    def shares(self) -> tuple[float, dict[str, float]]:
        """Confidence of the best hypothesis, and its rivals by cause.

        Rounded, they are together no surer than certain.
        """
        sure = round(min(self.best.probability, SUREST) * _PARTS)
        left, rivals = _PARTS - sure, {}
        for hypothesis in self.hypotheses[1:]:
            if hypothesis.probability >= RIVAL_MIN:
                share = min(round(hypothesis.probability * _PARTS), left)
                left, rivals[hypothesis.cause.value] = left - share, share / _PARTS
        return sure / _PARTS, rivals

    @property
    def best(self) -> Hypothesis:
        """The likeliest."""
        return self.hypotheses[0]


def with_first(first: MemberAction | None, others: Iterable[MemberAction], context: RebalanceContext) -> list[MemberAction]:
    """Actions with the one that started it in front, one per actor."""
    actor = context.actor(first) if first else None
    rest = [action for action in others if context.actor(action) != actor]
    return [first, *rest] if first else rest

"""Hypotheses on what started a rebalance, as the rules give them."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from models.causes import Cause
from models.kafka.observations.actions import MemberAction
from models.tolerances import float_tolerance, int_tolerance

PROMPT_US = int_tolerance("kafka.hypothesis.prompt_us")
"""Longest time from a request to its "Preparing", on slow brokers."""

INITIAL_DELAY_OVERRUN = float_tolerance("kafka.hypothesis.initial_delay_overrun")
"""Share by which a join phase may overrun its initial delay.

The timer of a busy broker.
"""

LOOK_BACK_US = int_tolerance("kafka.hypothesis.look_back_us")
"""Maximum time of a client's own explanation before its request.

A poll timeout, or the wish to rejoin.
"""


class DecidingEvidence(StrEnum):
    """Files that would decide between causes.

    By the words that stand before " of " and whose they are.
    """

    CLIENT_LOG = "client log at INFO"
    REQUEST_LOG = "kafka-request.log at DEBUG"
    EARLIER_LINES = "server.log at INFO"
    COORDINATOR_AT_DEBUG = "server.log at DEBUG"
    APPLICATION = "source code"


CLIENT_LOG, REQUEST_LOG, EARLIER_LINES = DecidingEvidence.CLIENT_LOG, DecidingEvidence.REQUEST_LOG, DecidingEvidence.EARLIER_LINES


@dataclass(slots=True)
class Hypothesis:
    """A cause with its probability, its actions and what would decide it.

    `supporting_actions` only tell the cause: evidence, though nobody's offence.
    """

    cause: Cause
    probability: float
    actions: list[MemberAction] = field(default_factory=list)
    settled_by: DecidingEvidence | None = None
    supporting_actions: list[MemberAction] = field(default_factory=list)

"""States of a classic group and their valid transitions."""

from __future__ import annotations

from enum import StrEnum


class State(StrEnum):
    """GroupState of GroupMetadata.scala; `AwaitingSync` until 1.0 is CompletingRebalance."""

    EMPTY = "Empty"
    PREPARING_REBALANCE = "PreparingRebalance"
    COMPLETING_REBALANCE = "CompletingRebalance"
    STABLE = "Stable"
    DEAD = "Dead"


EMPTY, PREPARING_REBALANCE, COMPLETING_REBALANCE, STABLE, DEAD = State
"""Names of the module for what each request compares.

Python 3.11 takes ten times as long to look up a member of an enumeration.
"""

# GroupMetadata.scala (0.10.1 to 3.9) and ClassicGroupState.java (3.7 and later): validPreviousStates.
VALID_PREVIOUS: dict[State, frozenset[State]] = {
    EMPTY: frozenset({PREPARING_REBALANCE}),
    PREPARING_REBALANCE: frozenset({STABLE, COMPLETING_REBALANCE, EMPTY}),
    COMPLETING_REBALANCE: frozenset({PREPARING_REBALANCE}),
    STABLE: frozenset({COMPLETING_REBALANCE}),
    DEAD: frozenset({STABLE, PREPARING_REBALANCE, COMPLETING_REBALANCE, EMPTY, DEAD}),
}

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


# GroupMetadata.scala (0.10.1 to 3.9) and ClassicGroupState.java (3.7 and later): validPreviousStates.
VALID_PREVIOUS: dict[State, frozenset[State]] = {
    State.EMPTY: frozenset({State.PREPARING_REBALANCE}),
    State.PREPARING_REBALANCE: frozenset({State.STABLE, State.COMPLETING_REBALANCE, State.EMPTY}),
    State.COMPLETING_REBALANCE: frozenset({State.PREPARING_REBALANCE}),
    State.STABLE: frozenset({State.COMPLETING_REBALANCE}),
    State.DEAD: frozenset({State.STABLE, State.PREPARING_REBALANCE, State.COMPLETING_REBALANCE, State.EMPTY, State.DEAD}),
}

"""Writes states.md: diagrams drawn from the models' own tables."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from pathlib import Path

from models.kafka.coordinator.consumer.member import STEPS, MemberState
from models.kafka.coordinator.protocol.group_states import VALID_PREVIOUS, State
from models.kafka.elections.controller_states import PARTITION_PREVIOUS, REPLICA_PREVIOUS, ControllerPartitionState, ReplicaState

HEAD = [
    "# States",
    "",
    "<!-- Written by docs/write_states.py from the models' tables; `python docs/write_states.py` writes it again. -->",
    "",
    "An arrow is a step that the broker's code allows. The models take no other; where a log shows another, lines are missing, and",
    "the steps in between are marked as inferred.",
]

CLASSIC = """
## Classic groups

`models/kafka/coordinator/protocol/group_states.py`; GroupMetadata.scala and ClassicGroupState.java,
validPreviousStates. A new group is Empty, one that is
loaded is Stable or Empty. The generation rises by one with each way out of PreparingRebalance save that to Dead.
"""

MODERN = """
## Members of consumer groups (KIP-848)

`models/kafka/coordinator/consumer/member.py`; CurrentAssignmentBuilder.java. The group's own state follows from its members and
epochs: Empty without members, Assigning while the group epoch is above that of the target, Reconciling while a member is not
STABLE at the target's epoch, else Stable.
"""

PARTITIONS = """
## Partitions as a ZooKeeper controller sees them

`models/kafka/elections/controller_states.py`; PartitionStateMachine.scala, validPreviousStates.
"""

REPLICAS = """
## Replicas as a ZooKeeper controller sees them

ReplicaStateMachine.scala, validPreviousStates.
"""

Arrow = tuple[str, str, str]


def page() -> str:
    """The whole page as Markdown."""
    parts = [
        *HEAD,
        CLASSIC,
        *diagram(State.EMPTY, arrows(VALID_PREVIOUS)),
        MODERN,
        *diagram(MemberState.STABLE, ((before, after, why) for before, steps in STEPS.items() for after, why in steps.items())),
        PARTITIONS,
        *diagram(ControllerPartitionState.NON_EXISTENT, arrows(PARTITION_PREVIOUS)),
        REPLICAS,
        *diagram(ReplicaState.NON_EXISTENT, arrows(REPLICA_PREVIOUS)),
    ]
    return "\n".join([*parts, ""])


def arrows(previous: Mapping[StrEnum, frozenset[StrEnum]]) -> Iterator[Arrow]:
    """The steps of a table that holds the states before each state."""
    for after, befores in previous.items():
        yield from ((before.value, after.value, "") for before in sorted(befores))


def diagram(first: str, steps: Iterable[Arrow]) -> list[str]:
    """A diagram in Mermaid's language, which GitHub draws."""
    lines = [f"    {before} --> {after}" + (f": {why}" if why else "") for before, after, why in steps]
    return ["```mermaid", "stateDiagram-v2", f"    [*] --> {first}", *lines, "```"]


if __name__ == "__main__":
    target = Path(__file__).with_name("states.md")
    target.write_text(page(), encoding="utf-8")
    sys.stdout.write(f"{target}\n")

"""Which names several members have."""

from __future__ import annotations

import pytest

from models.kafka.observations.knowledge import GroupKnowledge, learn
from models.kafka.observations.roster import Roster
from tests.models.kafka.reconstruction.lines import client


@pytest.mark.parametrize(
    ("instances", "ids", "shared"),
    [
        ((None, None), ("A1", "A2"), True),
        ((None, None), ("A1", "A1"), False),
        (("i", "i"), ("A1", "A2"), False),
        ((None, "i"), ("A1", "A2"), False),
        (("i", None), ("A1", "A2"), False),
    ],
    ids=["two members", "the same", "a static one", "static by its second line", "static by its first line"],
)
def test_who_has_two_ids_in_a_generation_is_two_members_unless_it_is_static(
    instances: tuple[str | None, ...], ids: tuple[str, ...], shared: bool
) -> None:
    """A static member that comes back keeps its place under a new id (KIP-345)."""
    knowledge, roster = GroupKnowledge(), Roster()
    for at, (member_id, instance) in enumerate(zip(ids, instances, strict=True)):
        learn(knowledge, roster, client("Joined", at, client_id="a", member_id=member_id, instance_id=instance, generation=4))

    assert ("a" in knowledge.shared) is shared

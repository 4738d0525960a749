"""Which names several members have, and when members committed and got assignments."""

from __future__ import annotations

import pytest

from models.events import Witness
from models.kafka.observations.actions import ActionKind, MemberAction
from models.kafka.observations.knowledge import GroupKnowledge, end_session, learn
from models.kafka.observations.roster import Roster
from tests.models.kafka.reconstruction.lines import client, line, request


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


@pytest.mark.parametrize(
    ("error", "last_at", "committed_at"),
    [(0, None, {"A": 9}), (None, None, {"A": 9}), (0, 50, {"A": 50}), (22, None, {"A": 4}), (22, 50, {"A": 4})],
    ids=["one", "without a code", "a run of equal ones", "refused", "a run of refused ones"],
)
def test_the_last_commit_that_was_taken_is_known(error: int | None, last_at: int | None, committed_at: dict[str, int]) -> None:
    knowledge, roster = GroupKnowledge(), Roster()
    learn(knowledge, roster, request("OffsetCommit", 4, member_id="A", error_code=0))
    learn(knowledge, roster, request("OffsetCommit", 9, member_id="A", error_code=error, last_at_us=last_at))

    assert knowledge.committed_at == committed_at
    knowledge.forget([roster.members["A"]], set(), 0)
    assert knowledge.committed_at == {}


def test_the_generation_from_which_the_coordinator_removed_a_client_is_known() -> None:
    knowledge, roster = GroupKnowledge(), Roster()

    def remove(client_id: str, witness: Witness = Witness.COORDINATOR) -> None:
        expiry = line("MemberFailed", 9, witness, client_id=client_id)
        end_session(knowledge, roster, MemberAction(ActionKind.EXPIRE, 9, None, client_id, None, None, None, expiry))

    for name, generation in (("a", 4), ("b", 5), ("c", 6)):
        learn(knowledge, roster, client("Joined", 1, client_id=name, generation=generation))
    learn(knowledge, roster, client("Joining", 2, client_id="c"))
    remove("b", Witness.CLIENT)
    for name in ("a", "c", "d"):
        remove(name)

    assert knowledge.ended_in == {"a": 4}, "b is only said to be, c was about to join again, and d has no log"
    knowledge.forget([], {"a"}, 0)
    assert knowledge.ended_in == {"a": 4}, "it is in a generation"
    knowledge.forget_generations(5)
    knowledge.forget([], {"a"}, 0)
    assert knowledge.ended_in == {}


def test_the_last_answer_with_an_assignment_is_known() -> None:
    """It is ready once the assignment is written; a refused request tells nothing."""
    knowledge, roster = GroupKnowledge(), Roster()
    for at, generation, error in ((9, 4, 0), (7, 4, 0), (12, 4, 27), (20, 5, 0)):
        learn(knowledge, roster, request("SyncGroup", at, member_id="A", generation=generation, error_code=error))

    assert knowledge.synced_at == {4: 9, 5: 20}
    knowledge.forget_generations(5)
    assert knowledge.synced_at == {5: 20}
    knowledge.end_life()
    assert knowledge.synced_at == {}


ASSIGNED = "{a-1=Assignment(partitions=[t-0]), b-1=Assignment(partitions=[t-1])}"


@pytest.mark.parametrize(
    ("lines", "generations"),
    [
        ([("Joined", 5), ("AssignmentMade", None)], {5: {"a", "b"}}),
        ([("AssignmentMade", None), ("Joined", 5)], {5: {"a", "b"}}),
        ([("Joined", 4), ("Joining", None), ("AssignmentMade", None), ("Joined", 5)], {4: {"a"}, 5: {"a", "b"}}),
        ([("AssignmentMade", None), ("Joining", None), ("Joined", 5)], {5: {"a"}}),
        ([("Joined", 4), ("AssignmentMade", 5)], {4: {"a"}, 5: {"a", "b"}}),
        ([("AssignmentMade", None)], {}),
    ],
    ids=["told before", "told behind it", "told again", "refused meanwhile", "told by the line", "never told"],
)
def test_whom_a_leader_assigns_are_members_of_the_generation_it_names(
    lines: list[tuple[str, int | None]], generations: dict[int, set[str]]
) -> None:
    """Until 2.3 the line itself lacks the generation (ConsumerCoordinator, performAssignment)."""
    knowledge, roster = GroupKnowledge(), Roster()
    for at, (name, generation) in enumerate(lines):
        values = {"assignments": ASSIGNED} if name == "AssignmentMade" else {}
        member_id = "a-1" if name == "Joined" else None
        learn(knowledge, roster, client(name, at, client_id="a", member_id=member_id, generation=generation, **values))

    assert {generation: {actor[:1] for actor in members} for generation, members in knowledge.generations.items()} == generations


@pytest.mark.parametrize(
    ("instance", "joined_in", "synced_at"),
    [("i", 4, 9), (None, 4, 50), ("i", 5, 9)],
    ids=["a static member that comes back", "a dynamic one", "a static one in the next generation"],
)
def test_a_static_member_that_comes_back_gets_the_old_assignment(instance: str | None, joined_in: int, synced_at: int) -> None:
    knowledge, roster = GroupKnowledge(), Roster()
    learn(knowledge, roster, request("SyncGroup", 9, member_id="A", generation=4, error_code=0))
    answer = {"member_id": "A2", "client_id": "a", "instance_id": instance, "response_generation": joined_in}
    learn(knowledge, roster, request("JoinGroup", 49, error_code=0, **answer))
    learn(knowledge, roster, request("SyncGroup", 50, member_id="A2", generation=joined_in, error_code=0))

    assert knowledge.synced_at == ({4: synced_at} if joined_in == 4 else {4: 9, 5: 50})
    learn(knowledge, roster, request("SyncGroup", 60, member_id="A2", generation=5, error_code=0))
    assert knowledge.synced_at[5] == 60

"""RocketMQ's allocation strategies: the rules by hand, what must hold for any input, and a sample of what the real ones gave."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.rocketmq.strategies import (
    ILLEGAL_ARGUMENT,
    NULL_POINTER,
    AllocationError,
    AllocationStrategy,
    Average,
    AverageByCircle,
    ConfiguredQueues,
    ConsistentHash,
    MachineRoom,
    MachineRoomNearby,
    Queue,
    QueueMove,
    moves,
    preview,
    readable_queues,
    sorted_inputs,
    strategy_named,
)
from tests.conformance import check_file

EIGHT = readable_queues("orders", {"broker-a": 8})
CLIENTS = ["c0", "c1", "c2"]


def shares(strategy: AllocationStrategy, queues: list[Queue], client_ids: list[str]) -> list[list[int]]:
    """Numbers of the queues of each client."""
    return [[queue.queue_id for queue in share.queues] for share in preview(strategy, queues, client_ids).shares]


@pytest.mark.parametrize(
    ("strategy", "client_ids", "expected"),
    [
        pytest.param(Average(), CLIENTS, [[0, 1, 2], [3, 4, 5], [6, 7]], id="AVG: blocks, the first ones larger"),
        pytest.param(Average(), CLIENTS[:2], [[0, 1, 2, 3], [4, 5, 6, 7]], id="AVG: one client less moves queue 3 to a client that stays"),
        pytest.param(AverageByCircle(), CLIENTS, [[0, 3, 6], [1, 4, 7], [2, 5]], id="AVG_BY_CIRCLE: dealt out one by one"),
        pytest.param(
            ConsistentHash(),
            ["10.0.0.1@101#1", "10.0.0.2@202#2", "10.0.0.3@303#3"],
            [[1, 2, 5, 7], [0], [3, 4, 6]],
            id="CONSISTENT_HASH: shares are not even",
        ),
        pytest.param(ConsistentHash(0), CLIENTS, [[], [], []], id="CONSISTENT_HASH: without virtual nodes nobody owns anything"),
        pytest.param(ConfiguredQueues(tuple(EIGHT[:2])), CLIENTS, [[0, 1]] * 3, id="CONFIG: the same list for everybody"),
        pytest.param(ConfiguredQueues(), CLIENTS, [[], [], []], id="CONFIG: a list that was never set"),
        pytest.param(
            Average(), ["c0", "c0", "c1"], [[0, 1, 2], [0, 1, 2], [6, 7]], id="an id that is there twice: its second share is lost"
        ),
    ],
)
def test_shares(strategy: AllocationStrategy, client_ids: list[str], expected: list[list[int]]) -> None:
    assert shares(strategy, EIGHT, client_ids) == expected


def test_with_more_clients_than_queues_the_last_ones_idle() -> None:
    assert shares(Average(), EIGHT[:2], CLIENTS) == [[0], [1], []]
    assert shares(AverageByCircle(), EIGHT[:2], CLIENTS) == [[0], [1], []]


ROOMS = [
    *readable_queues("orders", {"hz@broker-a": 8}),
    *readable_queues("orders", {"sh@broker-a": 2, "broker-c": 2, "hz@": 1, "a@hz@b": 1}),
]


def test_machine_room_looks_at_its_rooms_only_and_gives_what_is_left_over_one_by_one() -> None:
    assert shares(MachineRoom(frozenset({"hz"})), ROOMS, CLIENTS) == [[0, 1, 6], [2, 3, 7], [4, 5]]
    assert shares(MachineRoom(frozenset({"bj"})), ROOMS, CLIENTS) == [[], [], []]


def test_machine_room_cut_its_blocks_from_all_queues_up_to_4_7_1() -> None:
    queues, client_ids = sorted_inputs(
        [*readable_queues("orders", {"a-broker": 2}), *readable_queues("orders", {"hz@broker-a": 8})], CLIENTS
    )

    share = MachineRoom(frozenset({"hz"}), blocks_of_all=True).allocate(queues, client_ids, "c0")

    assert [str(queue.broker) for queue in share or ()] == ["a-broker", "a-broker", "hz@broker-a"]


def test_machine_room_without_rooms_fails_at_the_first_queue_of_any_room() -> None:
    with pytest.raises(AllocationError) as found:
        preview(MachineRoom(), ROOMS, CLIENTS)

    assert found.value.java_class == NULL_POINTER
    assert shares(MachineRoom(), EIGHT, CLIENTS) == [[], [], []]


NEARBY = strategy_named("MACHINE_ROOM_NEARBY-AVG")


def test_nearby_shares_a_room_among_its_own_clients_and_rooms_without_clients_among_all() -> None:
    queues = readable_queues("orders", {"hz-broker": 4, "sh-broker": 2, "bj-broker": 3})

    found = {
        share.client_id: [str(queue.broker) for queue in share.queues] for share in preview(NEARBY, queues, ["hz-1", "hz-2", "sh-1"]).shares
    }

    assert found == {
        "hz-1": ["hz-broker", "hz-broker", "bj-broker"],
        "hz-2": ["hz-broker", "hz-broker", "bj-broker"],
        "sh-1": ["sh-broker", "sh-broker", "bj-broker"],
    }


@pytest.mark.parametrize(
    ("queue_room", "client_room", "message"),
    [("", "hz", "for mq MessageQueue .topic=orders, brokerName=broker-a, queueId=0"), ("hz", None, "for consumer id c0")],
)
def test_nearby_needs_a_room_for_everything(queue_room: str | None, client_room: str | None, message: str) -> None:
    strategy = MachineRoomNearby(Average(), lambda _: queue_room, lambda _: client_room)

    with pytest.raises(AllocationError, match=message):
        preview(strategy, EIGHT, CLIENTS)


@pytest.mark.parametrize(
    ("queues", "client_ids", "client_id", "message"),
    [
        (EIGHT, CLIENTS, "", "currentCID is empty"),
        (EIGHT, CLIENTS, None, "currentCID is empty"),
        ([], [], "c0", "mqAll is null or mqAll empty"),
        (EIGHT, None, "c0", "cidAll is null or cidAll empty"),
    ],
)
@pytest.mark.parametrize("name", ["AVG", "AVG_BY_CIRCLE", "CONSISTENT_HASH", "MACHINE_ROOM", "MACHINE_ROOM_NEARBY-AVG_BY_CIRCLE"])
def test_arguments_are_checked_in_this_order(
    name: str, queues: list[Queue], client_ids: list[str] | None, client_id: str | None, message: str
) -> None:
    with pytest.raises(AllocationError, match=message) as found:
        strategy_named(name).allocate(queues, client_ids, client_id)

    assert found.value.java_class == ILLEGAL_ARGUMENT


def test_a_client_that_others_do_not_know_of_gets_nothing_save_what_is_configured() -> None:
    assert Average().allocate(EIGHT, CLIENTS, "c9") == []
    assert ConfiguredQueues(tuple(EIGHT)).allocate(None, None, None) == EIGHT
    assert ConfiguredQueues(tuple(EIGHT)).share(EIGHT[:1], CLIENTS, "c0") == EIGHT


def test_virtual_nodes_can_not_be_fewer_than_none() -> None:
    with pytest.raises(AllocationError, match="illegal virtualNodeCnt :-1"):
        strategy_named("CONSISTENT_HASH", virtual_nodes=-1)


@pytest.mark.parametrize(
    "name", ["AVG", "AVG_BY_CIRCLE", "CONSISTENT_HASH", "CONFIG", "MACHINE_ROOM", "MACHINE_ROOM_NEARBY-CONSISTENT_HASH"]
)
def test_a_strategy_is_called_as_clients_print_it(name: str) -> None:
    assert strategy_named(name).name == name


def test_an_unknown_strategy_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ValueError, match=r"no strategy is called 'STICKY'; known are AVG, .*MACHINE_ROOM_NEARBY-<strategy>"):
        strategy_named("STICKY")


def test_inputs_are_sorted_as_java_sorts() -> None:
    """By UTF-16 units, in which what lies beyond the first plane comes before U+FFxx; numbers of queues by value."""
    queues, client_ids = sorted_inputs(readable_queues("t", {"b": 11}), ["\uff21", "\U0001f600", "10.0.0.9@1", "10.0.0.10@1"])

    assert client_ids == ["10.0.0.10@1", "10.0.0.9@1", "\U0001f600", "\uff21"]
    assert [queue.queue_id for queue in queues] == list(range(11))


def test_a_preview_names_queues_without_and_with_several_owners() -> None:
    found = preview(Average(), EIGHT, ["c0", "c0", "c1"])

    assert [queue.queue_id for queue in found.contested] == [0, 1, 2]
    assert [queue.queue_id for queue in found.unowned] == [3, 4, 5]
    assert found.owners()[EIGHT[0]] == ("c0", "c0")
    assert found.owners()[EIGHT[3]] == ()


def test_moves_say_what_one_client_or_one_queue_more_would_do() -> None:
    now = preview(Average(), EIGHT, CLIENTS[:2])

    assert moves(now, preview(Average(), EIGHT, CLIENTS)) == (
        QueueMove(EIGHT[3], ("c0",), ("c1",)),
        QueueMove(EIGHT[6], ("c1",), ("c2",)),
        QueueMove(EIGHT[7], ("c1",), ("c2",)),
    )
    ninth = Queue("orders", "broker-a", 8)
    assert moves(now, preview(Average(), [*EIGHT, ninth], CLIENTS[:2])) == (
        QueueMove(EIGHT[4], ("c1",), ("c0",)),
        QueueMove(ninth, (), ("c1",)),
    )
    assert moves(now, now) == ()


# -- whatever the input ------------------------------------------------------------------------------------

QUEUES = st.lists(
    st.builds(Queue, st.sampled_from(["orders", "%RETRY%g"]), st.sampled_from(["hz-a", "hz-b", "sh-a"]), st.integers(0, 9)),
    unique=True,
    min_size=1,
    max_size=24,
)
CLIENT_IDS = st.lists(
    st.sampled_from([f"{room}-10.0.0.{number}@{number}" for room in ("hz", "sh", "bj") for number in range(6)]), unique=True
)
COVERING = ["AVG", "AVG_BY_CIRCLE", "CONSISTENT_HASH", *(f"MACHINE_ROOM_NEARBY-{inner}" for inner in ("AVG", "AVG_BY_CIRCLE"))]


@given(st.sampled_from(COVERING), QUEUES, CLIENT_IDS.filter(bool), st.randoms(use_true_random=False))
def test_each_queue_has_one_owner_in_whatever_order_clients_and_queues_are_named(
    name: str, queues: list[Queue], client_ids: list[str], random: object
) -> None:
    strategy = strategy_named(name)
    found = preview(strategy, queues, client_ids)
    random.shuffle(queues)  # type: ignore[attr-defined]
    random.shuffle(client_ids)  # type: ignore[attr-defined]

    assert Counter(queue for share in found.shares for queue in share.queues) == Counter(queues)
    assert (found.unowned, found.contested) == ((), ())
    assert preview(strategy, queues, client_ids) == found


@given(st.sampled_from(COVERING[:2]), QUEUES, CLIENT_IDS.filter(bool))
def test_averages_differ_by_one_at_most(name: str, queues: list[Queue], client_ids: list[str]) -> None:
    sizes = [len(share.queues) for share in preview(strategy_named(name), queues, client_ids).shares]

    assert max(sizes) - min(sizes) <= 1


@given(QUEUES, CLIENT_IDS.filter(lambda ids: len(ids) > 1))
def test_on_the_ring_only_a_leavers_queues_move(queues: list[Queue], client_ids: list[str]) -> None:
    before = preview(ConsistentHash(), queues, client_ids)
    after = preview(ConsistentHash(), queues, client_ids[1:])

    assert {move.before for move in moves(before, after)} <= {(client_ids[0],)}


@given(
    st.sampled_from([*COVERING, "MACHINE_ROOM", "CONFIG"]), QUEUES, st.lists(st.sampled_from("abcdef"), min_size=1, max_size=9).map(sorted)
)
def test_all_shares_in_one_go_are_those_of_each_client(name: str, queues: list[Queue], client_ids: list[str]) -> None:
    strategy = strategy_named(name, rooms=["r"])
    found = strategy.everyone(queues, client_ids)
    assert {who: list(share) for who, share in found.items()} == {
        who: strategy.allocate(queues, client_ids, who) or [] for who in client_ids
    }


def test_the_real_strategies_gave_the_same(shared: Path) -> None:
    result = check_file(shared / "vectors" / "allocation_vectors.jsonl.gz", every=2)

    assert result.mismatches == []
    assert result.equal == result.lines > 0

"""Headlines about partitions, brokers and log directories: facts and the words for them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from models.incidents.headline_facts import (
    AbsenceFacts,
    DirectoryFacts,
    HeadlineFacts,
    LossConsequences,
    OutageFacts,
    QuorumFacts,
    StaleLeaderFacts,
)
from pipelines.headlines.headlines import headline

A, B, C, D = (("a", 0), ("b", 0), ("c", 0), ("d", 0))
ONE = OutageFacts(("2",), (), frozenset({A}), 40.0, 0, 0)
TWO = replace(ONE, partitions=frozenset({A, B}))
UNTOLD = "no partition without leader is told"
NO_OUTAGE = "no partition was without leader"
KILLED = AbsenceFacts(("2",), ("2",), "killed", 20.0, 2)
FAILED = DirectoryFacts("2", ("/logs",), (A, B), (), False, 0, False)
TOLD: dict[HeadlineFacts, str] = {
    ONE: "broker 2 went: a-0 without leader, up to 40 s",
    TWO: "broker 2 went: 2 partitions without leader, up to 40 s",
    replace(TWO, brokers=("2", "10")): "brokers 2, 10 went: 2 partitions without leader, up to 40 s",
    replace(ONE, brokers=()): "a-0 without leader, up to 40 s",
    replace(ONE, brokers=(), directory_brokers=("2",)): "a log directory of broker 2 failed: a-0 without leader, up to 40 s",
    replace(ONE, directory_brokers=("3", "4")): (
        "broker 2 went and a log directory of brokers 3, 4 failed: a-0 without leader, up to 40 s"
    ),
    replace(ONE, longest_seconds=None): "broker 2 went: a-0 without leader, still open",
    replace(ONE, brokers=(), longest_seconds=0.0): "a-0 at once with another leader",
    replace(ONE, brokers=(), longest_seconds=0.0, has_begun_unseen=True): "a-0 without leader, begun before these lines",
    replace(TWO, has_begun_unseen=True): "broker 2 went: 2 partitions without leader, up to 40 s, begun before these lines",
    replace(TWO, at_risk_count=1, coordinator_count=2, consequences=LossConsequences(2, 1)): (
        "broker 2 went: 2 partitions without leader, up to 40 s; 1 of the new leaders was not in sync, "
        "so that acknowledged records may be lost; 2 of them held coordinators; "
        "2 groups lost their coordinator; 1 rebalance followed"
    ),
    KILLED: f"broker 2 was killed, away for 20 s; 2 leaderships moved; {NO_OUTAGE}",
    replace(KILLED, moved_leaderships=1, consequences=LossConsequences(1, 3)): (
        f"broker 2 was killed, away for 20 s; 1 leadership moved; {NO_OUTAGE}; 1 group lost its coordinator; 3 rebalances followed"
    ),
    replace(KILLED, brokers=("2", "3"), back=("2", "3"), shutdown_kind="controlled"): (
        f"brokers 2, 3 were shut down in good order, away for 20 s; 2 leaderships moved; {NO_OUTAGE}"
    ),
    replace(KILLED, brokers=("2", "3"), shutdown_kind=None): (
        f"brokers 2, 3 went; broker 3 not seen back, broker 2 back after 20 s; 2 leaderships moved; {NO_OUTAGE}"
    ),
    QuorumFacts(
        "101", is_voter=False, seconds=2.1, leader_before=None, leader_after=None, epochs=(69, 73), election_count=0, is_open=True
    ): ("the controllers have no leader when the logs end: node 101 knew none for at least 2.1 s (epoch 69 to 73)"),
    QuorumFacts("2", is_voter=True, seconds=2.0, leader_before="1", leader_after="2", epochs=(5, 6), election_count=1, silent=("1", "3")): (
        "controller 2 leads the controllers instead of 1 (epoch 5 to 6); controller 2 knew no leader for 2.0 s; voters 1, 3 did not answer"
    ),
    StaleLeaderFacts("2", 3, 910.0, is_lasting=True): (
        "broker 2 worked with a state of 3 partitions that ZooKeeper no longer had, for at least 15 min 10 s: its changes of in-sync "
        "replicas were refused, and who leads them, or is in sync, is not what it says"
    ),
    StaleLeaderFacts(None, 1, 0.0, is_lasting=False): (
        "ZooKeeper refused a broker a change of the in-sync replicas of 1 partition, as it knows a later one; in passing, as far as is told"
    ),
    AbsenceFacts(("2",), ("2",), "session_expired", 1.0, 0): f"broker 2 lost its session, away for 1.0 s; {UNTOLD}",
    AbsenceFacts(("2", "3"), ("2", "3"), "session_expired", 1.0, 0): f"brokers 2, 3 lost their session, away for 1.0 s; {UNTOLD}",
    AbsenceFacts(
        ("2",), (), "log_dir_failed", None, 0
    ): f"broker 2 shut down as all its log directories had failed, not seen back; {UNTOLD}",
    AbsenceFacts(("5", "6"), (), "fenced", None, 0): f"brokers 5, 6 were fenced, not seen back; {UNTOLD}",
    FAILED: "a log directory of broker 2 failed (/logs); replicas of a-0, b-0 are offline there; it led none of them",
    replace(FAILED, folders=("/1", "/2"), replicas=(A, B, C, D), moved_leaderships=1): (
        "log directories of broker 2 failed (/1, /2); 4 replicas are offline there; 1 leadership moved"
    ),
    replace(FAILED, moved_leaderships=2, has_moved_all=True): (
        f"a log directory of broker 2 failed (/logs); replicas of a-0, b-0 are offline there; 2 leaderships moved; {NO_OUTAGE}"
    ),
    replace(FAILED, replicas=(A,), led=(A,)): (
        "a log directory of broker 2 failed (/logs); the replica of a-0 is offline there; "
        "the broker led the replica of a-0, and no line tells who leads now"
    ),
    replace(FAILED, replicas=(A,), has_unknown_leaders=True): (
        "a log directory of broker 2 failed (/logs); the replica of a-0 is offline there; no line tells whether the broker led it"
    ),
    replace(FAILED, has_unknown_leaders=True): (
        "a log directory of broker 2 failed (/logs); replicas of a-0, b-0 are offline there; no line tells whether the broker led them"
    ),
    replace(FAILED, folders=(), replicas=()): "a log directory of broker 2 failed; which replicas lay there is not told",
}


@pytest.mark.parametrize(("facts", "text"), TOLD.items(), ids=TOLD.values())
def test_an_outage_is_told(facts: HeadlineFacts, text: str) -> None:
    assert headline(facts) == text

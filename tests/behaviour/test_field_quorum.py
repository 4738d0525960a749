"""Excerpts about leaders of a KRaft quorum: who led, how long a node knew no leader, and why.

Kinds after bitnami/charts 20403 (epochs that nobody wins), KIP-996 (a node that was cut off finds its leader again) and KIP-835.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from pipelines.analysis.in_process import AnalysisResult, analyze

VOTERS = "voters=[1, 2, 3]"
MARK = "highWatermark=Optional.empty"
OLD_FOLLOWER = f"FollowerState(fetchTimeoutMs=2000, epoch={{}}, leaderId={{}}, {VOTERS}, {MARK}, fetchingSnapshot=Optional.empty)"
FOLLOWER = f"FollowerState(fetchTimeoutMs=2000, epoch={{}}, leader={{}}, {VOTERS}, {MARK}, fetchingSnapshot=Optional.empty)"
UNATTACHED = f"Unattached(epoch={{}}, {VOTERS}, electionTimeoutMs=9223372036854775807)"
NEW_UNATTACHED = (
    f"UnattachedState(epoch={{}}, leaderId=OptionalInt.empty, votedKey=Optional.empty, {VOTERS}, electionTimeoutMs=1530, {MARK})"
)
PROSPECTIVE = f"ProspectiveState(epoch={{}}, leaderId=OptionalInt[{{}}], votedKey=Optional.empty, electionTimeoutMs=1530, {MARK})"
CANDIDATE = "CandidateState(localId={}, epoch={}, retries=1, voteStates={{1=GRANTED, 2=UNRECORDED}}, electionTimeoutMs=1380)"
LEADER = f"Leader(localId={{}}, epoch={{}}, epochStartOffset=240, {MARK}, voterStates={{{{}}}})"
RESIGNED = f"ResignedState(localId={{}}, epoch={{}}, {VOTERS}, electionTimeoutMs=1450, unackedVoters=[2, 3], preferredSuccessors=[2, 3])"
STATE = "[RaftManager id={}] Completed transition to {} from {} (org.apache.kafka.raft.QuorumState)"
UNHEARD = "[RaftManager id=1] Did not receive fetch request from the majority of the voters within 3000ms. Current fetched voters are \
[ReplicaKey(id=2, directoryId=<undefined>)], and voters are [ReplicaKey(id=1, directoryId=<undefined>), ReplicaKey(id=2, \
directoryId=<undefined>), ReplicaKey(id=3, directoryId=<undefined>)] (org.apache.kafka.raft.LeaderState)"

LOOP = [(second, STATE.format(101, UNATTACHED.format(70 + second), UNATTACHED.format(69 + second))) for second in range(4)]
FOUND = (4, STATE.format(101, OLD_FOLLOWER.format(73, 1), UNATTACHED.format(73)))
LOST = STATE.format(2, PROSPECTIVE.format(5, 1), FOLLOWER.format(5, 1))
WON = [
    (0, LOST),
    (1, STATE.format(2, CANDIDATE.format(2, 6), PROSPECTIVE.format(5, 1))),
    (1, STATE.format(3, NEW_UNATTACHED.format(6), FOLLOWER.format(5, 1))),
    (2, STATE.format(2, LEADER.format(2, 6), CANDIDATE.format(2, 6))),
    (3, STATE.format(3, FOLLOWER.format(6, 2), NEW_UNATTACHED.format(6))),
]
BOOT = [
    (0, STATE.format(2, NEW_UNATTACHED.format(0), "null")),
    (1, STATE.format(2, PROSPECTIVE.format(0, 1), NEW_UNATTACHED.format(0))),
    (2, STATE.format(2, LEADER.format(2, 1), CANDIDATE.format(2, 1))),
]
BEHIND = ", as it had heard nothing from its leader for the fetch timeout (2.0 s)"


def told(folder: Path, lines: list[tuple[int, str]]) -> AnalysisResult:
    path = folder / "server.log"
    path.write_text("".join(f"[2029-04-02 10:15:{second:02d},120] INFO {line}\n" for second, line in lines), encoding="utf-8")
    return analyze([str(path)])


@pytest.mark.parametrize(
    ("lines", "severity", "headline"),
    [
        (
            LOOP,
            "warning",
            "the controllers have no leader when the logs end: node 101 knew none for at least 3.0 s (epoch 69 to 73)",
        ),
        ([*LOOP, FOUND], "info", "controller 1 leads the controllers (epoch 69 to 73); node 101 knew no leader for at least 4.0 s"),
        (
            WON,
            "info",
            f"controller 2 leads the controllers instead of 1{BEHIND} (epoch 5 to 6); controller 2 knew no leader for 2.0 s",
        ),
        (
            [(0, LOST), (2, STATE.format(2, FOLLOWER.format(5, 1), PROSPECTIVE.format(5, 1)))],
            "info",
            f"controller 2 lost its leader 1 for 2.0 s{BEHIND}; the quorum kept that leader",
        ),
        (
            [(0, LOST), (12, STATE.format(2, PROSPECTIVE.format(5, 1), PROSPECTIVE.format(5, 1)))],
            "critical",
            f"the controllers have no leader when the logs end: controller 2 knew none for at least 12 s{BEHIND} (epoch 5)",
        ),
        (
            [(0, UNHEARD), (0, STATE.format(1, RESIGNED.format(1, 5), LEADER.format(1, 5)))],
            "info",
            "controller 1 leads the controllers no more, as the leader heard from too few voters; voter 3 did not answer; who does next "
            "is not told",
        ),
        (
            [
                (0, STATE.format(1, RESIGNED.format(1, 5), LEADER.format(1, 5))),
                (20, STATE.format(2, FOLLOWER.format(6, 3), FOLLOWER.format(5, 1))),
            ],
            "info",
            "controller 3 leads the controllers instead of 1, as the leader resigned (epoch 5 to 6)",
        ),
        (
            [(0, BOOT[0][1]), (12, BOOT[2][1])],
            "warning",
            "controller 2 found no leader of the controllers for 12 s after it started, then controller 2",
        ),
    ],
    ids=["nobody wins", "somebody wins", "another leader", "cut off", "cut off for long", "too few voters", "resigned", "slow start"],
)
def test_turns_of_the_quorum_are_told(tmp_path: Path, lines: list[tuple[int, str]], severity: str, headline: str) -> None:
    (incident,) = told(tmp_path, lines).incidents
    assert (incident.kind, incident.severity, incident.headline) == ("quorum_turn", severity, headline)
    assert incident.evidence


@pytest.mark.parametrize("lines", [BOOT, [(0, STATE.format(101, OLD_FOLLOWER.format(73, 1), "null"))]], ids=["boot", "observer"])
def test_a_node_that_starts_and_finds_its_leader_is_no_incident(tmp_path: Path, lines: list[tuple[int, str]]) -> None:
    assert not told(tmp_path, lines).incidents


def test_many_elections_need_attention(tmp_path: Path) -> None:
    turns = [
        (2 * turn + aside, line)
        for turn in range(3)
        for aside, line in (
            (0, STATE.format(3, NEW_UNATTACHED.format(6 + turn), FOLLOWER.format(5 + turn, 1 + turn % 2))),
            (1, STATE.format(3, FOLLOWER.format(6 + turn, 2 - turn % 2), NEW_UNATTACHED.format(6 + turn))),
        )
    ]
    (incident,) = told(tmp_path, turns).incidents
    assert (incident.severity, "elected a leader 3 times, last controller 2" in incident.headline) == ("warning", True)

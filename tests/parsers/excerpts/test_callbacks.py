"""What programs print in the callbacks of librdkafka and its like, each in its own presentation."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.parsers.reading.source_files import read_bytes

AT = "2029-04-02 10:15:13.310"
ASSIGNED, REVOKED, LOST = "assigned", "revoked", "lost"
NAMELESS = {
    "a field of logrus": (f'time="{AT}" level=info msg="giving up" partitions="RevokedPartitions: [bolts[9]@unset]" topic=bolts', REVOKED),
    "a field of JSON": (
        '{"consumer":"rdkafka#consumer-2","msg":"Event: AssignedPartitions: [bolts[0]@unset]","time":"2029-04-02T10:15:47Z"}',
        ASSIGNED,
    ),
    "an example in Go": (f"{AT} % COOPERATIVE rebalance: 1 partition(s) revoked: [bolts[0]@unset]", REVOKED),
    "an example in C++": ("RebalanceCb: Local: Assign partitions: bolts[0], bolts[1], ", ASSIGNED),
    "an example in C": (f"{AT} % Consumer group rebalanced: revoked (eager):", REVOKED),
    "an example in Python": (f"{AT} mill INFO Assignment: [TopicPartition{{topic=bolts,partition=0,offset=-1001,error=None}}]", ASSIGNED),
    "a program in .NET": ("10:15:20 info: Mill.Worker[0] Partitions incrementally revoked: [0], remaining: [1]", REVOKED),
    "a lost assignment in .NET": ("10:15:21 warn: Mill.Worker[0] Partitions were lost: [1]", LOST),
    "an older program in .NET": (f"{AT} Assigned partitions: [bolts [[0]]], member id: rdkafka-aa1", ASSIGNED),
    "a table": (
        "2029.04.02 10:15:13.096987 [ 3 ] {} <Trace> StorageKafka (mill): [client-id:mill-1] Topics/partitions assigned: [ bolts[0:#] ]",
        ASSIGNED,
    ),
    "an older table": (
        "2029.04.02 10:15:13.096987 [ 3 ] {} <Trace> StorageKafka (mill): Rebalance initiated. Revoking partitions: [ bolts[0:#] ]",
        REVOKED,
    ),
}


@pytest.mark.parametrize("name", NAMELESS)
def test_assignments_are_recognised(tmp_path: Path, name: str) -> None:
    line, what = NAMELESS[name]
    assert [row["message"] for row in read_bytes(tmp_path, line.encode() + b"\n").rows()] == [f"kafka.callbacks.{what}"]


def test_a_table_names_its_client(tmp_path: Path) -> None:
    table = "2029.04.02 10:15:13.096987 [ 3 ] {} <Error> StorageKafka (mill): [client-id:mill-1]"
    text = f"{table} Exception during commit attempt: Broker: Unknown member\n{table} [rdk:MAXPOLL] [thrd:main]: Application maximum poll "
    text += "interval (300000ms) exceeded by 346ms (adjust max.poll.interval.ms for long-running message processing): leaving group\n"
    rows = read_bytes(tmp_path, text.encode()).rows()
    assert [(row["event"], row["client_id"]) for row in rows] == [("ClientCommitFailed", "mill-1"), ("ClientPollTimedOut", "mill-1")]


REBALANCING = "Broker: Group rebalance in progress"
EVENT = """{at} Forwarder.task-1 |Notice| :
------------------------------------------------------------
 event.type()= 2
 event.str()= Group "mill" heartbeat error response in state up (join state started, 3 partition(s) assigned): {error}
 event.err()= 0. detail: Success
 event.fac()= HEARTBEAT
"""


def test_an_event_told_value_by_value_names_its_group(tmp_path: Path) -> None:
    rows = read_bytes(
        tmp_path, "".join(EVENT.format(at=f"2029-04-02 10:15:{second}Z", error=REBALANCING) for second in (13, 14)).encode()
    ).rows()
    assert [(row["event"], row["group"]) for row in rows] == [("ClientHeartbeatRebalancing", "mill")] * 2


def test_a_failed_rebalance_of_an_old_library_is_a_failed_join(tmp_path: Path) -> None:
    error = "kafka server: A rebalance for the group is in progress. Please re-join the group."
    text = f"2029/04/02 10:15:13 cluster/consumer mill-aa1 rebalance error: {error}\n2029/04/02 10:15:14 rebalance error: {error}\n"
    assert [row["event"] for row in read_bytes(tmp_path, text.encode()).rows()] == ["ClientJoinFailed"] * 2

"""Members of Kafka 2.3, which quote their null and write nothing as static ones close."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipelines.analysis.in_process import analyze

PROTOCOLS = "[JoinGroupRequestProtocol(name='range', metadata=[0, 0, 0, 0, 0, 1, 0, 5, 100, 101, 112, 111, 116, 0, 0, 0, 0])]"
NODE = "10.4.0.7:9092 (id: 2147483646 rack: null)"
COORDINATOR = "org.apache.kafka.clients.consumer.internals.AbstractCoordinator"


def line(time: str, level: str, member: str, text: str) -> str:
    return f"[2024-05-06 {time}] {level} [Consumer {member}, groupId=depot] {text} ({COORDINATOR})\n"


def join(time: str, member: str, member_id: str, instance: str) -> str:
    body = f"groupId='depot', sessionTimeoutMs=9000, rebalanceTimeoutMs=300000, memberId='{member_id}', groupInstanceId='{instance}'"
    request = f"Sending JoinGroup (JoinGroupRequestData({body}, protocolType='consumer', protocols={PROTOCOLS})) to coordinator {NODE}"
    return line(time, "DEBUG", member, request)


def joined(time: str, member: str, member_id: str, generation: int, leader: str) -> str:
    answer = f"throttleTimeMs=0, errorCode=0, generationId={generation}, protocolName='range', leader='{leader}', memberId='{member_id}'"
    received = line(time, "DEBUG", member, f"Received successful JoinGroup response: JoinGroupResponseData({answer}, members=[])")
    return received + line(time, "INFO", member, f"Successfully joined group with generation {generation}")


def members(instances: tuple[str, str]) -> tuple[list[str], list[str]]:
    """Their names in lines, and their ids."""
    shown = [f"instanceId={instance}, " if instance != "null" else "" for instance in instances]
    ids = [
        f"{f'clerk-{number}' if instance == 'null' else instance}-0d6b4c11-7c7e-4a3e-9d52-1f30b6c9a2e{number}"
        for number, instance in enumerate(instances)
    ]
    return [f"{who}clientId=clerk-{number}" for number, who in enumerate(shown)], ids


@pytest.mark.parametrize(
    ("instances", "leave_sent", "cause"),
    [(("null", "null"), True, "member_leave"), (("desk-a", "desk-b"), False, "session_timeout")],
)
def test_who_goes_is_known_by_its_kind(tmp_path: Path, instances: tuple[str, str], leave_sent: bool, cause: str) -> None:
    (first, second), (first_id, second_id) = members(instances)
    leave = line("10:00:21,700", "INFO", second, f"Member {second_id} sending LeaveGroup request to coordinator {NODE}")
    log = [
        join("10:00:01,100", first, "", instances[0]),
        join("10:00:01,150", second, "", instances[1]),
        *([join("10:00:01,160", second, second_id, instances[1])] if leave_sent else []),  # MEMBER_ID_REQUIRED gave it one
        joined("10:00:04,110", first, first_id, 1, first_id),
        joined("10:00:04,120", second, second_id, 1, first_id),
        *([leave] if leave_sent else []),
        line("10:00:22,000", "INFO", first, "Attempt to heartbeat failed since group is rebalancing"),
        join("10:00:22,010", first, first_id, instances[0]),
        joined("10:00:22,030", first, first_id, 2, first_id),
    ]
    path = tmp_path / "clients.log"
    path.write_text("".join(log), encoding="utf-8")

    last = max(analyze([str(path)]).rebalances, key=lambda row: row.began)

    assert last.cause == cause
    assert [who.client_id for who in last.offenders] == ["clerk-1"]

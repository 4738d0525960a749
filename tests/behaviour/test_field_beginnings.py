"""Clients' logs that begin in the middle of a member's life."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipelines.analysis.in_process import analyze

MEMBER = "shop-1-0aa1bb5a-1111-4b8c-9a9a-8b1e5fd5ffe2"
NODE = "kafka-2.example:9092 (id: 2147483645 rack: null)"


def line(time: str, text: str, who: str = "Consumer clientId=shop-1, groupId=orders", name: str = "ConsumerCoordinator") -> str:
    return f"[2026-05-07 {time}] INFO [{who}] {text} (org.apache.kafka.clients.consumer.internals.{name})\n"


def worker(time: str, text: str) -> str:
    return line(time, text, "Worker clientId=connect-1, groupId=mirror", "WorkerCoordinator")


def answer(member_id: str, generation: int) -> str:
    return f"Successfully joined group with generation Generation{{generationId={generation}, memberId='{member_id}', protocol='range'}}"


JOINED = line("09:44:05,130", answer(MEMBER, 12))
WORKER_JOINED = worker("09:44:03,130", answer("connect-1-0aa1bb5a-1111-4b8c-9a9a-8b1e5fd5ffe2", 12))
REVOKED = line("09:44:00,100", "Revoke previously assigned partitions stock-0, stock-1")
JOINING = line("09:44:00,110", "(Re-)joining group")
AMID = {
    "a worker begins a rebalance": worker("09:44:00,100", "Rebalance started") + WORKER_JOINED,
    "a worker begins one and joins": worker("09:44:00,100", "Rebalance started")
    + worker("09:44:00,101", "(Re-)joining group")
    + WORKER_JOINED,
    "a consumer gives its partitions up": REVOKED + JOINING + JOINED,
    "a consumer joins": JOINING + JOINED,
    "a binder tells of it first": "2026-05-07 09:44:00.099  INFO 1 --- [container-0-C-1] o.s.c.s.b.k.KafkaMessageChannelBinder$1  : "
    "orders: partitions revoked: [stock-0, stock-1]\n" + JOINING + JOINED,
}


@pytest.mark.parametrize("log", AMID.values(), ids=AMID)
def test_why_a_rebalance_began_is_not_known_where_the_log_begins_in_it(tmp_path: Path, log: str) -> None:
    (tmp_path / "app.log").write_text(log)
    (rebalance,) = analyze([str(tmp_path)]).rebalances

    assert (rebalance.cause, rebalance.offenders) == ("unknown", [])
    assert {"member_join", "member_leave"} <= rebalance.alternatives.keys()


FOUND = line("09:44:00,050", f"Discovered group coordinator {NODE}")
GIVEN = line("09:44:00,120", f"Request joining group due to: need to re-join with the given member-id: {MEMBER}")
LEFT = line("09:44:00,120", f"Member {MEMBER} sending LeaveGroup request to coordinator {NODE} due to the consumer is being closed")
LATER = (
    line("09:54:00,050", "Attempt to heartbeat failed since group is rebalancing")
    + line("09:54:00,051", "Revoke previously assigned partitions stock-0")
    + line("09:54:00,052", "(Re-)joining group")
    + line("09:54:03,130", answer(MEMBER, 13))
)
SHOWN = {
    "it finds its coordinator first": (FOUND + JOINING + JOINED, ["member_join"]),
    "it is given its first id": (JOINING + GIVEN + line("09:44:00,121", "(Re-)joining group") + JOINED, ["member_join"]),
    "it leaves": (REVOKED + LEFT, ["member_leave"]),
    "it hears of the next one": (JOINING + JOINED + LATER, ["unknown", "member_join"]),
}


@pytest.mark.parametrize(("log", "causes"), SHOWN.values(), ids=SHOWN)
def test_what_the_lines_show_is_judged_as_ever(tmp_path: Path, log: str, causes: list[str]) -> None:
    (tmp_path / "app.log").write_text(log)

    assert [rebalance.cause for rebalance in analyze([str(tmp_path)]).rebalances] == causes

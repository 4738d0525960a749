"""Joins that came when a rebalance had begun already, or may have."""

from __future__ import annotations

from pathlib import Path

import pytest

from groupscope import analyze

BROKER = "[2024-05-06 10:%s] INFO [GroupCoordinator 7]: %s (kafka.coordinator.group.GroupCoordinator)\n"
MEMBER = "[2024-05-06 10:%s] INFO [Consumer clientId=%s, groupId=depot] %s (org.apache.kafka.clients.consumer.internals.%s)\n"


def coordinator_log(began: str) -> str:
    """A coordinator before 2.1, which prints no reasons."""
    lines = [
        ("00:01,000", "Preparing to rebalance group depot with old generation 0 (__consumer_offsets-4)"),
        ("00:04,002", "Stabilized group depot generation 1 (__consumer_offsets-4)"),
        ("00:04,010", "Assignment received from leader for group depot for generation 1"),
        (began, "Preparing to rebalance group depot with old generation 1 (__consumer_offsets-4)"),
        ("05:02,400", "Stabilized group depot generation 2 (__consumer_offsets-4)"),
        ("05:02,410", "Assignment received from leader for group depot for generation 2"),
    ]
    return "".join(BROKER % line for line in lines)


def newcomer_log(answered: str) -> str:
    lines = [
        ("05:01,040", "packer-2", "(Re-)joining group", "AbstractCoordinator"),
        (answered, "packer-2", "Successfully joined group with generation 2", "AbstractCoordinator"),
        (answered, "packer-2", "Setting newly assigned partitions [crates-0]", "ConsumerCoordinator"),
    ]
    return "".join(MEMBER % line for line in lines)


@pytest.mark.parametrize(
    ("began", "answered", "is_sure"),
    [
        ("05:01,042", "05:02,402", True),
        ("05:01,005", "05:02,402", False),
        ("05:01,005", "05:02,441", True),  # its clock may be ahead by 41 ms
    ],
)
def test_a_join_is_no_trigger_if_it_was_sent_later(tmp_path: Path, began: str, answered: str, is_sure: bool) -> None:
    (tmp_path / "server.log").write_text(coordinator_log(began), encoding="utf-8")
    (tmp_path / "packer-2.log").write_text(newcomer_log(answered), encoding="utf-8")
    (row,) = (row for row in analyze([str(tmp_path)]).rebalances if row.generation_after == 2)
    assert (row.confidence > 0.9) == is_sure
    assert not is_sure or row.cause == "member_join"


@pytest.mark.parametrize("is_assigned", [True, False])
def test_a_join_is_less_sure_where_no_sync_was_answered(tmp_path: Path, is_assigned: bool) -> None:
    """The coordinator may have stopped waiting for assignments before."""
    members = {"packer-1": ("00:01,000", 0), "packer-2": ("00:01,100", 1)}
    generation = "Generation{generationId=%s, memberId='%s-8c1f6f6e-95a1-4f0e-a0c6-4b1f3f0d2b5a', protocol='range'}"
    joined = f"Successfully joined group with generation {generation}"
    for who, (time, partition) in members.items():
        assigned = MEMBER % ("00:05,010", who, f"Setting newly assigned partitions [crates-{partition}]", "ConsumerCoordinator")
        lines = [
            MEMBER % (time, who, "(Re-)joining group", "AbstractCoordinator"),
            MEMBER % ("00:04,900", who, joined % (1, who), "AbstractCoordinator"),
            assigned if is_assigned else "",
            MEMBER % ("00:24,000", who, "(Re-)joining group", "AbstractCoordinator") if is_assigned else "",
            MEMBER % ("00:24,010", who, joined % (2, who), "AbstractCoordinator"),
            assigned.replace("00:05,010", "00:24,020"),
        ]
        (tmp_path / f"{who}.log").write_text("".join(lines), encoding="utf-8")
    third = [
        MEMBER % ("00:23,000", "packer-3", "(Re-)joining group", "AbstractCoordinator"),
        MEMBER % ("00:24,010", "packer-3", joined % (2, "packer-3"), "AbstractCoordinator"),
        MEMBER % ("00:24,020", "packer-3", "Setting newly assigned partitions [crates-1]", "ConsumerCoordinator"),
    ]
    (tmp_path / "packer-3.log").write_text("".join(third), encoding="utf-8")
    rows = {row.generation_after: row for row in analyze([str(tmp_path)]).rebalances}
    assert rows[2].cause == "member_join"
    assert (rows[2].confidence > 0.9) == is_assigned

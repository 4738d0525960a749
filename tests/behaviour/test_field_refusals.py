"""Excerpts that begin as a member is refused, since its group had gone on without it.

Kinds after elastic/logstash 10690 and Cyb3rWard0g/HELK 73 (Logstash's layout, Java clients 2.1).
"""

from __future__ import annotations

from pathlib import Path

import pytest

from pipelines.analysis.in_process import analyze

CLIENT = "org.apache.kafka.clients.consumer.internals"
UNKNOWN = "The coordinator is not aware of this member."
REBALANCED = "Commit cannot be completed since the group has already rebalanced and assigned the partitions to another member."
OFFSETS = "{coal-4=OffsetAndMetadata{offset=975, leaderEpoch=null, metadata=''}}"
ONE_BY_ONE = ("757", "ERROR", f"Offset commit failed on partition coal-4 at offset 975: {UNKNOWN}")
AUTOMATIC = ("757", "WARN ", f"Asynchronous auto-commit of offsets {OFFSETS} failed: {REBALANCED}")
OLD = ("757", "INFO ", "Attempt to heartbeat failed since generation 81 is not current")
BACK = (("758", "INFO ", "Revoking previously assigned partitions [coal-4]"), ("760", "INFO ", "(Re-)joining group"))
JOINED = ("951", "INFO ", "Successfully joined group with generation 91")


def logstash(*lines: tuple[str, str, str]) -> str:
    head = "[2029-04-16T08:31:50,{}][{}][{}.ConsumerCoordinator] [Consumer clientId=pit-8, groupId=pit] {}\n"
    return "".join(head.format(milliseconds, level, CLIENT, text) for milliseconds, level, text in lines)


@pytest.mark.parametrize(
    ("lines", "cause", "offenders", "surest"),
    [
        ((ONE_BY_ONE, AUTOMATIC, *BACK, JOINED), "poll_timeout", ["pit-8"], 0.5),
        ((ONE_BY_ONE, *BACK, JOINED), "poll_timeout", ["pit-8"], 0.5),
        ((AUTOMATIC, *BACK, JOINED), "poll_timeout", ["pit-8"], 0.5),
        ((ONE_BY_ONE, *BACK), "poll_timeout", ["pit-8"], 0.5),
        ((AUTOMATIC, BACK[1]), "poll_timeout", ["pit-8"], 0.5),
        ((OLD, *BACK, JOINED), "member_join", [], 0.5),
    ],
)
def test_who_was_refused_and_rejoins_did_not_change_its_topics(
    tmp_path: Path, lines: tuple[tuple[str, str, str], ...], cause: str, offenders: list[str], surest: float
) -> None:
    path = tmp_path / "logstash-plain.log"
    path.write_text(logstash(*lines), encoding="utf-8")
    (row,) = analyze([str(path)]).rebalances
    assert (row.cause, [each.client_id for each in row.offenders]) == (cause, offenders)
    assert row.confidence <= surest

"""Excerpts of one client that was put out of its group, and what is not to be called a restart or a mere join.

Kinds after akka/alpakka-kafka (commits refused as the coordinator knows the member no more) and Azure Event Hubs (a JoinGroup
that is refused after a minute); both wordings are of Kafka's Java client 2.4 to 3.4.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from pipelines.analysis.in_process import AnalysisResult, analyze

CLIENT = "[Consumer clientId=gauge-1, groupId=gauges] {}"
UNKNOWN = "The coordinator is not aware of this member."
LOST = (
    "Giving away all assigned partitions as lost since generation has been reset,indicating that consumer is no longer part of the group",
    "Lost previously assigned partitions meters-4, meters-5",
)
JOINED = "Successfully joined group with generation Generation{{generationId={}, memberId='gauge-1-{}', protocol='range'}}"
ID = "5d1c0f4e-8e74-4a29-9a25-1f2f6f9b1a10"


def told(folder: Path, *lines: tuple[float, str]) -> AnalysisResult:
    path = folder / "gauge.log"
    texts = (f"2029-04-02 10:{int(at // 60):02d}:{at % 60:06.3f} INFO {CLIENT.format(text)}\n".replace(".", ",", 1) for at, text in lines)
    path.write_text("".join(texts), encoding="utf-8")
    return analyze([str(path)])


@pytest.mark.parametrize("has_lost", [True, False], ids=["partitions lost", "a commit alone"])
def test_a_commit_that_is_refused_before_a_join_needs_attention(tmp_path: Path, has_lost: bool) -> None:
    refused = (44.402, f"Offset commit failed on partition meters-4 at offset 8822132: {UNKNOWN}")
    lost = [(44.41 + number / 1000, text) for number, text in enumerate(LOST)] if has_lost else []
    joins = [(44.415, "(Re-)joining group"), (47.9, JOINED.format(118, ID)), (47.91, "Adding newly assigned partitions: meters-4")]
    found = told(tmp_path, refused, *lost, *joins)
    (row,) = found.rebalances
    assert (row.cause not in {"member_join", "member_restart", "new_group"}, row.confidence <= 0.5) == (True, True)
    assert {"session_timeout", "member_join"} <= row.alternatives.keys()
    (incident,) = found.incidents
    assert incident.severity == "warning"


@pytest.mark.parametrize("waited", [5.0, 60.0])
def test_a_member_that_heard_of_a_rebalance_and_was_refused_did_not_restart(tmp_path: Path, waited: float) -> None:
    sent = f"Generation{{generationId=54, memberId='gauge-1-{ID}', protocol='range'}}"
    found = told(
        tmp_path,
        (25.43, "Attempt to heartbeat failed since group is rebalancing"),
        (25.431, "Request joining group due to: group is already rebalancing"),
        (25.433, "Revoke previously assigned partitions meters-0"),
        (25.434, "(Re-)joining group"),
        (25.44 + waited, f"JoinGroup failed: {UNKNOWN} Need to re-join the group. Sent generation was {sent}"),
        (25.441 + waited, "(Re-)joining group"),
        (28.6 + waited, JOINED.format(57, ID.replace("5", "6"))),
    )
    row = found.rebalances[-1]
    assert row.generation_after == 57
    assert row.at_least_seconds == pytest.approx(3.17 + waited, abs=0.1)
    assert (row.cause != "member_restart", row.confidence <= 0.5) == (True, True)

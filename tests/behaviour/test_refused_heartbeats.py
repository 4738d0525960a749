"""Heartbeats that are refused as a log ends, in the wordings of several libraries: no calm is told of their groups."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipelines.analysis.in_process import analyze

MEMBER = "stock-1-6f1c2a44-0d5e-4c8f-9a53-7b2d9c1e0f10"
PYTHON = "2026-03-02 {} - kafka.coordinator - {} - {}"
JAVA = "[2026-03-02 {}] {} [Consumer clientId=stock-1, groupId=stock] {} (org.apache.kafka.clients.consumer.internals.AbstractCoordinator)"
GENERATION = f"Generation{{generationId=3, memberId='{MEMBER}', protocol='range'}}"

JOINED = {
    PYTHON: (
        "(Re-)joining group stock",
        "Successfully joined group stock with generation 3",
        "Discovered coordinator coordinator-1 for group stock",
    ),
    JAVA: (
        "(Re-)joining group",
        f"Successfully joined group with generation {GENERATION}",
        f"Successfully synced group in generation {GENERATION}",
    ),
}
"""How members tell that they joined: kafka-python without a client id (coordinator/base.py), Java (AbstractCoordinator)."""

HEARTBEAT = f"Attempt to heartbeat with {GENERATION} and group instance id Optional.empty failed due to"

REFUSALS = {
    "anonymous, rebalancing": (PYTHON, "Heartbeat failed for group stock because it is rebalancing", "member_join"),
    "anonymous, unknown": (PYTHON, "Heartbeat: local member_id was not recognized; this consumer needs to re-join", "session_timeout"),
    "anonymous, old generation": (PYTHON, "Heartbeat failed for group stock: generation id is not  current.", "member_join"),
    "named, unknown": (JAVA, f"{HEARTBEAT} UNKNOWN_MEMBER_ID, resetting generation", "session_timeout"),
    "named, old generation": (JAVA, f"{HEARTBEAT} ILLEGAL_GENERATION, resetting generation", "member_join"),
}


@pytest.mark.parametrize("rejoins", [False, True], ids=["as the log ends", "before it asks again"])
@pytest.mark.parametrize("kind", REFUSALS)
def test_a_refused_heartbeat_shows_that_the_group_rebalanced(kind: str, rejoins: bool, tmp_path: Path) -> None:
    layout, refusal, cause = REFUSALS[kind]
    lines = [layout.format(f"10:00:0{second},000", "INFO", text) for second, text in enumerate(JOINED[layout])]
    lines.append(layout.format("10:05:00,000", "WARNING" if layout is PYTHON else "INFO", refusal))
    if rejoins:
        lines.append(layout.format("10:05:00,050", "INFO", JOINED[layout][0]))
    (tmp_path / "app.log").write_text("\n".join(lines) + "\n", encoding="utf-8")

    first, last = sorted(analyze([str(tmp_path)]).rebalances, key=lambda row: row.began)
    assert first.generation_after == 3
    assert (last.generation_before, last.cause, last.outcome) == (3, cause, "open")
    assert last.confidence <= 0.9

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


LOST = (
    "Group coordinator k3:9092 (id: 2147483644 rack: null) is unavailable or invalid due to cause: session timed out without receiving a \
heartbeat response. isDisconnected: false. Rediscovery will be attempted."
)


@pytest.mark.parametrize("has_joined", [False, True], ids=["the log begins later", "joined before"])
def test_a_member_that_its_coordinator_knows_no_more_was_put_out_while_it_had_none(has_joined: bool, tmp_path: Path) -> None:
    lines = [JAVA.format(f"10:00:0{second},000", "INFO", text) for second, text in enumerate(JOINED[JAVA]) if has_joined]
    lines.append(JAVA.format("10:05:00,000", "INFO", LOST))
    lines.append(JAVA.format("10:05:01,000", "INFO", f"{HEARTBEAT} UNKNOWN_MEMBER_ID, resetting generation"))
    (tmp_path / "app.log").write_text("\n".join(lines) + "\n", encoding="utf-8")

    last = max(analyze([str(tmp_path)]).rebalances, key=lambda row: row.began)
    assert (last.cause, last.outcome, last.confidence <= 0.9) == ("session_timeout", "open", True)


RDKAFKA = "%7|1612943{}|REBALANCE|rdkafka#consumer-1| [thrd:main]: {}"


@pytest.mark.parametrize(
    "notice",
    [
        'Group "stock" is rebalancing (EAGER) in state up (join-state steady) with 1 assigned partition(s): rebalance in progress',
        'Group "stock" is rebalancing (COOPERATIVE) in state up (join-state steady) without an assignment: rebalance in progress',
        'Group "stock" is rebalancing in state up (join-state started) with assignment: group is rebalancing',
    ],
    ids=["1.6", "1.6, nothing assigned", "1.5"],
)
@pytest.mark.parametrize("ends", [False, True], ids=["as the log ends", "joined again"])
def test_librdkafka_says_that_its_group_rebalances(notice: str, ends: bool, tmp_path: Path) -> None:
    lines = [RDKAFKA.format("384.862", notice)]
    joined = "JoinGroup response: GenerationId 5, Protocol range, LeaderId rdkafka-9 (me), my MemberId rdkafka-9, member metadata count 2: "
    if ends:
        lines.append(RDKAFKA.format("387.862", f"{joined}(no error)").replace("REBALANCE", "JOINGROUP"))
    (tmp_path / "app.log").write_text("\n".join(lines) + "\n", encoding="utf-8")

    (row,) = analyze([str(tmp_path)]).rebalances
    assert row.began % 1_000_000_000 == 384_862_000 % 1_000_000_000
    assert row.generation_before == (4 if ends else None)

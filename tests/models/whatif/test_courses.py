"""Runs of nearly the same behaviour: the second takes from the first what is the same in both."""

from __future__ import annotations

from models.whatif.behaviour.members import Behaviour, Life, MemberBehaviour, ProcessStretch, StretchKind
from models.whatif.history import rerun, reruns
from models.whatif.runs.run import RunSettings

SETTINGS = RunSettings(version="3.9.1", session_ms={"": 10_000}, max_poll_ms={"": 300_000}, heartbeat_ms=3_000, initial_delay_ms=3_000)
SAID_MS = 1_000_000
ENDS_MS = 2_000_000


def behaviour(*, restarts: bool) -> Behaviour:
    """Members that are restarted every 100 s, one of which was killed or held in between."""
    restarted = [Life(at_ms, at_ms + 95_000) for at_ms in range(0, ENDS_MS, 100_000)]
    held = ProcessStretch(StretchKind.PAUSE, SAID_MS, SAID_MS + 20_000)
    killed = [Life(0, SAID_MS, is_orderly=False), Life(SAID_MS + 20_000)]
    unsure = MemberBehaviour("c", lives=killed if restarts else [Life(0, stretches=[held])])
    members = {"a": MemberBehaviour("a", lives=[Life(0)]), "b": MemberBehaviour("b", lives=restarted), "c": unsure}
    return Behaviour("orders", 0, ENDS_MS, members=members)


def test_a_second_run_is_the_same_where_it_takes_from_the_first() -> None:
    first, second = reruns([(behaviour(restarts=restarts), SETTINGS) for restarts in (True, False)], is_shared=True)
    alone = rerun(behaviour(restarts=False), SETTINGS)
    assert first == rerun(behaviour(restarts=True), SETTINGS)
    assert [(row.trigger, row.kind) for row in second] == [(row.trigger, row.kind) for row in alone]
    assert sum(row in first for row in second) > len(second) * 3 // 4
    assert all(abs(one.start_ms - other.start_ms) <= SETTINGS.heartbeat_ms for one, other in zip(second, alone, strict=True))


def test_runs_under_other_settings_share_nothing() -> None:
    other = RunSettings(version="3.9.1", session_ms={"": 30_000}, max_poll_ms={"": 300_000}, heartbeat_ms=3_000, initial_delay_ms=3_000)
    _, second = reruns([(behaviour(restarts=True), SETTINGS), (behaviour(restarts=False), other)], is_shared=True)

    assert second == rerun(behaviour(restarts=False), other)

"""What-if by a coordinator's log alone, which names members only as they come and go."""

from __future__ import annotations

from dataclasses import replace

import pytest

from models.kafka.simulation.scenario import GroupPlan, InjectedFault, Scenario
from models.whatif.behaviour.reading import behaviour_of
from models.whatif.configuration import Configuration
from models.whatif.history import GroupBaseline, History
from models.whatif.outlook import under
from parsers.reading.reader import ReadOptions
from pipelines.analysis.in_process import AnalyzeOptions, analyze
from pipelines.simulate.run import simulate

MEMBERS = 4
BUSY = Scenario(
    duration_ms=1_800_000,
    groups=(GroupPlan(name="orders", members=MEMBERS, max_poll_ms=45_000),),
    faults=(InjectedFault(kind="crash", every_ms=90_000, back_ms=6_000), InjectedFault(kind="close", every_ms=60_000, back_ms=4_000)),
    closes=False,
)


@pytest.fixture(scope="module")
def busy(tmp_path_factory: pytest.TempPathFactory) -> GroupBaseline:
    folder = tmp_path_factory.mktemp("busy")
    simulate(BUSY, "3.9.1", 1, folder)
    logs = [str(path) for path in folder.glob("broker-*/server.log")]
    found = analyze(logs, AnalyzeOptions(ReadOptions(log_tz=[(None, "UTC")], kafka_versions=[("*", "3.9.1")])))
    (group,) = History(list(found.rebalances), list(found.rebalance_members), list(found.members), list(found.client_states)).groups()
    return group


def test_restarted_members_are_not_taken_for_ever_more_members(busy: GroupBaseline) -> None:
    behaviour = behaviour_of(busy.rows, busy.witnesses, busy.ends_ms)
    at_once = max(
        sum(1 for member in behaviour.members.values() for life in member.lives if life.start_ms <= at <= (life.end_ms or busy.ends_ms))
        for at in (row.began // 1000 for row in busy.rows)
    )
    assert len(busy.rows) > 60
    assert at_once <= MEMBERS + 1


def test_the_present_configuration_gives_the_rebalances_that_happened(busy: GroupBaseline) -> None:
    _, _, rerun = busy.reading()
    assert abs(len(rerun) - len(busy.rows)) <= 0.05 * len(busy.rows)
    told = under(busy, Configuration(session_timeout_ms=30_000), is_varied=False)
    assert told.reproduced >= 0.9 * len(busy.rows)


@pytest.mark.parametrize(("library", "session_ms", "poll_ms"), [("sarama", 10_000, 60_000), ("streams", 10_000, 300_000)])
def test_where_no_line_tells_a_session_it_is_the_default_of_the_library(
    busy: GroupBaseline, library: str, session_ms: int, poll_ms: int
) -> None:
    rows = [replace(row, measurements_ms={}) for row in busy.rows]
    sessions = [
        replace(each, library=library, client_version="2.8.2", session_timeout_ms=None, rebalance_timeout_ms=None)
        for each in busy.witnesses.sessions
    ]
    behaviour = behaviour_of(rows, replace(busy.witnesses, sessions=sessions), busy.ends_ms)
    named = [member for name, member in behaviour.members.items() if not name.startswith("?")]
    assert named
    assert {(member.session_ms, member.max_poll_ms) for member in named} == {(session_ms, poll_ms)}


def test_a_member_that_heard_that_it_is_fenced_is_gone(busy: GroupBaseline) -> None:
    fenced = [replace(each, ended_how="fenced" if each.ended_how == "expired" else each.ended_how) for each in busy.witnesses.sessions]
    assert fenced != busy.witnesses.sessions
    heard = behaviour_of(busy.rows, replace(busy.witnesses, sessions=fenced), busy.ends_ms)
    assert heard.members == behaviour_of(busy.rows, busy.witnesses, busy.ends_ms).members


def test_a_session_that_no_line_tells_is_not_longer_than_a_member_stayed(busy: GroupBaseline) -> None:
    rows = [replace(row, measurements_ms={}) for row in busy.rows[15:17]]  # only members' sessions tell when one came
    assert "is taken to be 30 s" in behaviour_of(rows, busy.witnesses, busy.ends_ms).assumed["session"]

"""States of groups within their history: the way from one to the rows is shorter, and the rows are the same."""

from __future__ import annotations

import dataclasses
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from models import clear_names
from models.events import Event, LogPosition, Witness
from models.kafka.cluster.fact_fingerprints import FactFingerprints, fingerprint_facts
from models.kafka.cluster.facts import ClusterFacts, learn
from models.kafka.groups.group_memory import GroupMemory
from models.kafka.groups.group_stage import GroupStage
from models.state_codec import UnreadableState
from parsers.reading.reader import ReadOptions
from parsers.redaction.pseudonyms import REDACTED_KINDS, Redaction
from pipelines.analysis.in_process import AnalyzeOptions, analyze
from pipelines.jobs.ingest.ingest import ChangedScope
from pipelines.jobs.replay import group_snapshots as snapshots
from pipelines.jobs.replay.group_snapshots import StoredCheckpoint, StoredCheckpoints, plan_resume
from pipelines.jobs.replay.stage_runner import StageRunner
from pipelines.jobs.run_options import RunOutcome
from pipelines.simulate.run import read_scenario, simulate
from pipelines.transforms.replay_checkpoints import CheckpointBoundary, CheckpointRecorder, CheckpointRules, CheckpointSeal
from pipelines.versions import catalogue_version, model_version
from pipelines.warehouse.delta.sql import micros_of
from pipelines.warehouse.rows.predicates import RowScope
from pipelines.warehouse.warehouse import Warehouse
from tests.conftest import LONG
from tests.pipelines.site import Site

RULES = CheckpointRules(events=10, events_per_row=0.0, lags_seconds=(120.0, 660.0, 1500.0))
US = 1_000_000
READ = ReadOptions(clusters=[(None, "c")])
REDACTION = Redaction(REDACTED_KINDS, b"a key that is long enough")
LATE = "clients/orders-1.log"
"""A file that comes last, though most of it is old."""


@pytest.fixture(scope="module")
def day(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three groups, for so long; their coordinators move after 25 minutes."""
    folder = tmp_path_factory.mktemp("day")
    simulate(read_scenario("busy_day", duration="40m"), "3.9.1", 5, folder)
    (folder / "truth.json").unlink()
    return folder


@pytest.fixture
def site(tmp_path: Path, day: Path) -> Site:
    return Site(tmp_path / "site")


def bring(site: Site, day: Path, until: str, *, without: str = "") -> None:
    """Let the logs have grown until a time of day."""
    for path in sorted(each for each in day.rglob("*") if each.is_file()):
        name = path.relative_to(day)
        if str(name) == without:
            continue
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
        stop = next((index for index, line in enumerate(lines) if line.startswith("[") and line[12:20] > until), len(lines))
        (site.logs / name).parent.mkdir(parents=True, exist_ok=True)
        (site.logs / name).write_text("".join(lines[:stop]), encoding="utf-8")


def rows(site: Site) -> dict[str, list[str]]:
    """All rows but those states: which of them are there depends on when runs were."""
    return {name: lines for name, lines in site.content().items() if name != "group_snapshots"}


def reached(site: Site) -> dict[str, list[str]]:
    """Until when the states of each group reach."""
    found: dict[str, list[str]] = {}
    for row in sorted(site.table("group_snapshots"), key=lambda row: row["covers_until_at"]):
        found.setdefault(row["group"], []).append(f"{row['covers_until_at']:%H:%M}")
    return found


def run(site: Site, day: Path, until: str) -> RunOutcome:
    """Let the logs grow, all but the one that comes late, and run the job."""
    bring(site, day, until, without=LATE)
    return site.run(read=READ, snapshots=RULES)


def garble(site: Site, group: str) -> None:
    """Put what no version can read in place of a group's states, in the files of the table: no commit tells of it."""
    garbled = 0
    for path in (site.warehouse / "silver" / "group_snapshots").rglob("*.parquet"):
        table = pq.read_table(path, partitioning=None)
        states = [
            '[1,["Nothing"],[[0]],[0]]' if name == group else state
            for name, state in zip(table["group"].to_pylist(), table["state"].to_pylist(), strict=True)
        ]
        garbled += table["group"].to_pylist().count(group)
        index = table.schema.get_field_index("state")
        pq.write_table(table.set_column(index, table.schema.field(index), pa.array(states, table.schema.field(index).type)), path)
        path.with_name(f".{path.name}.crc").unlink(missing_ok=True)
    assert garbled


def assert_as_rebuilt(site: Site, read: ReadOptions = READ) -> None:
    """The tables are those of a run that begins anew."""
    before = rows(site)
    whole = site.run(read=read, rebuild=True, snapshots=RULES)
    assert whole.counts["groups_resumed"] == 0
    assert rows(site) == before


@pytest.mark.spark
@LONG
def test_groups_go_on_from_their_states_and_the_rows_are_those_of_a_rebuild(
    spark: object, site: Site, day: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = run(site, day, "00:20:00")
    assert first.counts["groups_resumed"] == 0
    taken = reached(site)
    assert taken.keys() == {"orders", "billing", "search"}
    assert all(time <= "00:18" for times in taken.values() for time in times)

    monkeypatch.setattr(snapshots, "LOCAL_CHECKPOINT_BYTES", 0)  # states that are too large for this process
    garble(site, "billing")
    moved = run(site, day, "00:40:00")  # the facts of the cluster are other ones, but not those of the time before the states
    assert (moved.counts["groups_resumed"], moved.counts["states_unreadable"]) == (2, 1)
    assert all(times[-1] > "00:20" for times in reached(site).values())
    assert_as_rebuilt(site)


@pytest.mark.spark
def test_events_without_a_group_are_not_read_for_groups(spark: object, site: Site, day: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """There may be millions, which would send the replay of a few groups to Spark."""
    asked: list[RowScope] = []
    read = StageRunner.events

    def events(runner: StageRunner, scope: RowScope) -> object:
        asked.append(scope)
        return read(runner, scope)

    monkeypatch.setattr(StageRunner, "events", events)
    run(site, day, "00:05:00")
    times = pa.array([1 << 60] * 2, pa.timestamp("us", tz="UTC"))
    stored = pa.table({"cluster": ["c"] * 2, "group": ["orders", None], "event": ["MemberLeft"] * 2, "file_time_max_at": times})
    assert [group for scope in asked for group in stored.filter(scope.arrow)["group"].to_pylist()] == ["orders"]


@LONG
@pytest.mark.spark
def test_rows_that_were_final_are_not_made_again_and_a_file_that_comes_late_discards_the_states_behind_it(
    spark: object, site: Site, day: Path
) -> None:
    run(site, day, "00:36:00")
    grown = run(site, day, "00:40:00")
    assert grown.counts["groups_resumed"] == grown.counts["groups_replayed"] > 0
    told = {row["rebalance_id"]: row["final_at"] for row in site.table("rebalances")}
    assert 0 < grown.counts["rebalances"] < len(told)
    assert len(told) == len(site.table("rebalances"))
    analysis = analyze([str(site.logs)], AnalyzeOptions(read=READ))
    assert {key: at and micros_of(at) for key, at in told.items()} == {row.rebalance_id: row.final_at for row in analysis.rebalances}

    run(site, day, "00:40:00")
    shutil.copy(day / LATE, site.logs / LATE)
    late = site.run(read=READ, snapshots=RULES)
    assert (late.counts["groups_replayed"], late.counts["groups_resumed"]) == (1, 0)  # older than each state of its group
    assert_as_rebuilt(site)


@LONG
@pytest.mark.spark
def test_where_names_are_hidden_a_run_resumes_from_encrypted_checkpoints(spark: object, site: Site, day: Path) -> None:
    hidden = dataclasses.replace(READ, redaction=REDACTION)
    bring(site, day, "00:20:00", without=LATE)
    site.run(read=hidden, snapshots=RULES)
    assert site.table("group_snapshots")
    assert not any("{" in row["state"] for row in site.table("group_snapshots"))
    bring(site, day, "00:40:00", without=LATE)
    grown = site.run(read=hidden, snapshots=RULES)
    assert (grown.counts["groups_resumed"], grown.counts["states_unreadable"]) == (grown.counts["groups_replayed"], 0)
    assert_as_rebuilt(site, hidden)


def test_a_sealed_checkpoint_is_read_under_its_key_alone() -> None:
    seal = CheckpointSeal(REDACTION)
    pseudonym = REDACTION.name("orders")
    seal.learn({pseudonym: "orders"})
    stored = seal.close('{"group": "orders"}')
    assert "orders" not in stored
    assert seal.close('{"group": "orders"}') == stored
    assert CheckpointSeal(REDACTION).open(stored) == '{"group": "orders"}'
    assert clear_names.clear(pseudonym) == "orders"
    for other in (Redaction(REDACTED_KINDS, b"another key that is long"), REDACTION):
        with pytest.raises(UnreadableState):
            CheckpointSeal(other).open(stored if other is not REDACTION else stored[:-8])


def test_without_redaction_a_checkpoint_is_text() -> None:
    assert CheckpointSeal().open(CheckpointSeal().close("state")) == "state"


def line(name: str, second: int, **values: object) -> Event:
    at = second * US
    return Event(name, at, at, LogPosition("server.log", second, second), Witness.COORDINATOR, node="1", group="g", **values)  # type: ignore[arg-type]


def rebalances(seconds: range) -> list[Event]:
    names = ("RebalanceStarted", "GenerationStarted", "AssignmentReceived")
    return [line(names[at % 3], at, generation=at // 3 + (at % 3 > 0)) for at in seconds]


def taken(events: list[Event], *boundaries: int, rules: CheckpointRules) -> list[int]:
    """Seconds that states reach which are taken of a group with these events."""
    stage = GroupStage(GroupMemory("c", "g", ClusterFacts("c")))
    taking = CheckpointRecorder(
        "c", "g", [CheckpointBoundary(at * US, at * US, "facts", "catalogue", "models") for at in boundaries], rules
    )
    for event in events:
        taking.feed(stage, event)
    taking.end(stage)
    told = {(state.cluster, state.group, state.facts_fingerprint, state.catalogue_version, state.model_version) for state in taking.taken}
    assert told <= {("c", "g", "facts", "catalogue", "models")}
    return [state.covers_until_at // US for state in taking.taken]


def test_states_are_taken_before_each_boundary_once_there_is_enough_in_them() -> None:
    heartbeats = [line("HeartbeatCompleted", at, client_id="c-1") for at in range(100, 200)]
    few = CheckpointRules(events=20)
    assert taken(heartbeats, 150, 180, rules=few) == [150, 180]
    assert taken(heartbeats, 180, 150, 99, rules=few) == [150, 180]
    assert taken(heartbeats, 150, 160, rules=few) == [150]
    assert taken(heartbeats, 150, 900, rules=few) == [150, 900]  # none of its events is behind the last boundary
    assert taken(heartbeats, 150, rules=CheckpointRules(events=60)) == []
    assert taken([], 150, rules=CheckpointRules(events=0)) == []


def test_where_each_event_makes_rows_a_state_is_not_worth_it() -> None:
    assert taken(rebalances(range(3, 90)), 60, rules=CheckpointRules(events=20)) == []
    assert taken(rebalances(range(3, 90)), 60, rules=CheckpointRules(events=20, events_per_row=0.0)) == [60]
    heartbeats = [line("HeartbeatCompleted", at, client_id="c-1") for at in range(90, 900)]
    assert taken(rebalances(range(3, 90)) + heartbeats, 800, rules=CheckpointRules(events=20)) == [800]


def test_a_state_that_is_too_large_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """The group is replayed from the state before it."""
    quiet = [line("HeartbeatCompleted", at, client_id="c-1") for at in range(100)]
    crowd = [line("HeartbeatCompleted", at, client_id=f"c-{at}", member_id=f"m-{at}") for at in range(100, 400)]
    few = CheckpointRules(events=20, events_per_row=0.0)
    assert taken([*quiet, *crowd], 50, 90, 390, rules=few) == [50, 90, 390]
    monkeypatch.setattr("pipelines.transforms.replay_checkpoints.STATE_MAX", 20_000)
    assert taken([*quiet, *crowd], 50, 90, 390, rules=few) == [50, 90]
    monkeypatch.undo()
    assert taken(rebalances(range(3, 90)), 30, 60, rules=few) == [30, 60]
    monkeypatch.setattr("pipelines.transforms.replay_checkpoints.ROWS_MAX", 50)
    assert taken(rebalances(range(3, 90)), 30, 60, rules=few) == [30]


def test_of_states_of_other_groups_nobody_asks_whether_they_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    """A cluster has as many states as groups; a batch seldom touches more than some of these."""
    facts = learn([line("PartitionLoaded", 50, partition=3)], "c")
    facts.logs_end = 90 * US
    names = [f"g-{number}" for number in range(20)]
    held, mine = fingerprint_facts(facts).until(60 * US), {"catalogue_version": catalogue_version(), "model_version": model_version()}
    stored = [
        {"group_snapshot_id": f"{group} at {at}", "cluster": "c", "group": group, "covers_until_at": at, "facts_until_at": 60}
        | {"facts_fingerprint": told}
        | mine
        for group in names
        for at, told in ((40, held), (50, "others"))
    ]
    rows = pa.Table.from_pylist(stored)
    for name in ("covers_until_at", "facts_until_at"):
        times = pc.multiply(rows[name], US).cast(pa.timestamp("us", "UTC"))
        rows = rows.set_column(rows.schema.get_field_index(name), name, times)
    asked: list[int] = []

    class Counted(FactFingerprints):
        def until(self, at: int) -> str:
            asked.append(at)
            return super().until(at)

    known = fingerprint_facts(facts)
    monkeypatch.setattr(snapshots, "fingerprint_facts", lambda _: Counted(known.times, known.fingerprints))
    stored = SimpleNamespace(versions=SimpleNamespace(is_known_empty=lambda _: False), rows=SimpleNamespace(as_arrow=lambda *_: rows))
    warehouse = cast(Warehouse, stored)
    touched = ChangedScope(events={"c": {"HeartbeatCompleted"}}, groups={"c": {"g-3"}}, least={("c", "g-3"): 45 * US})
    found = plan_resume(warehouse, touched, {"c": facts}, CheckpointRules(lags_seconds=()), {"c": {"g-3", "g-4"}}, ())
    assert {group: each.upto // US for (_, group), each in found.chosen.items()} == {"g-3": 40, "g-4": 40}
    assert len(asked) == 3
    found = plan_resume(warehouse, touched, {"c": facts}, CheckpointRules(lags_seconds=()), {}, ("c",))
    assert {group: each.upto // US for (_, group), each in found.chosen.items()} == dict.fromkeys(names, 40)


@pytest.mark.spark
@pytest.mark.parametrize(
    ("stored", "new", "gone"),
    [
        ({10: True, 50: True, 90: True}, [], set()),
        ({10: True, 20: True, 50: True, 70: True, 90: True}, [], {10, 70}),  # before 40 and 100 the last one, behind 40 the next to be it
        ({10: True, 50: False, 90: True}, [], {50}),
        ({50: True, 90: True}, [95], {90, 95}),
        ({50: False, 90: False}, [95], {50, 90, 95}),
    ],
    ids=["all stay", "between", "holds no more", "a new one", "only a new one"],
)
def test_of_each_group_those_around_the_boundaries_stay(spark: object, stored: dict[int, bool], new: list[int], gone: set[int]) -> None:
    held = [StoredCheckpoint(str(at), "c", "g", at, holds) for at, holds in stored.items()]
    found = StoredCheckpoints(
        {"c": [CheckpointBoundary(at, at, "", "", "") for at in (100, 40)]}, [*held, StoredCheckpoint("another's", "d", "g", 1)]
    )
    columns = {"group_snapshot_id": list(map(str, new)), "cluster": ["c"] * len(new), "group": ["g"] * len(new)}
    texts = {name: pa.array(values, pa.string()) for name, values in columns.items()}
    rows = pa.table({**texts, "covers_until_at": pa.array(new, pa.int64())})
    keys = pa.table({"group_snapshot_id": sorted({*map(str, stored), *columns["group_snapshot_id"]})})
    for groups, whole in (({"c": {"g"}}, ()), ({}, ("c",))):
        replaced = keys.filter(found.replaced(rows, groups, whole).arrow)
        assert set(replaced["group_snapshot_id"].to_pylist()) == set(map(str, gone))

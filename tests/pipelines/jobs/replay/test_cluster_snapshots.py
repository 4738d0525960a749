"""States of clusters' outages: the way from one to the rows is shorter, and the rows are the same."""

from __future__ import annotations

import dataclasses
from datetime import timedelta
from pathlib import Path

import pyarrow as pa
import pytest

from models.kafka.cluster.facts import ClusterFacts
from models.kafka.outages.affected_groups import Readers
from models.kafka.outages.reader_fingerprints import fingerprint_readers
from parsers.reading.reader import ReadOptions
from parsers.redaction.pseudonyms import REDACTED_KINDS, Redaction
from pipelines.analysis import in_process as local
from pipelines.analysis.in_process import AnalyzeOptions, analyze
from pipelines.analysis.rocketmq_spill import RocketStore
from pipelines.analysis.spill import EventStore
from pipelines.jobs.replay import cluster_snapshots
from pipelines.jobs.run_options import RunOutcome
from pipelines.transforms.outage_replay import OutageReplay
from pipelines.transforms.replay_checkpoints import CLUSTER_SNAPSHOTS, STATE, CheckpointBoundary, CheckpointRules
from pipelines.warehouse.delta.sql import micros_of
from tests.conftest import LONG
from tests.pipelines import losses
from tests.pipelines.losses import START, name_of
from tests.pipelines.site import Site

pytestmark = pytest.mark.spark

RULES = CheckpointRules(events=10, events_per_row=0.0, lags_seconds=(900.0, 30_000.0))
READ = ReadOptions(clusters=[(None, "c")])
OUTAGES = ("partition_outages", "under_replicated_spans", "leader_moves", "broker_outages")


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path / "site")


def run(site: Site, hours: int | None = None, **options: object) -> RunOutcome:
    """Let the logs have grown for so many hours, and run."""
    if hours is not None:
        losses.write(site.logs, hours)
    found = site.run(**{"read": READ, "snapshots": RULES} | options)  # type: ignore[arg-type]
    assert found.exit_code == 0
    return found


def client(site: Site, name: str, *lines: str) -> None:
    path = site.logs / "clients" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(lines), encoding="utf-8")


def rows(site: Site) -> dict[str, list[str]]:
    """All rows but the states: which of them are there depends on when runs were."""
    return {name: lines for name, lines in site.content().items() if name not in {CLUSTER_SNAPSHOTS, "group_snapshots"}}


def reached(site: Site) -> list[str]:
    return sorted(f"{row['covers_until_at']:%H:%M}" for row in site.table(CLUSTER_SNAPSHOTS))


def assert_as_rebuilt(site: Site) -> None:
    """The tables are those of a run that begins anew, and say what is said of the logs without them."""
    before = rows(site)
    analysis = analyze([str(site.logs)], AnalyzeOptions(read=READ))
    told = {row["outage_id"]: (row["groups"], row["final_at"] and micros_of(row["final_at"])) for row in site.table("partition_outages")}
    assert told == {row.outage_id: (row.groups, row.final_at) for row in analysis.outages}
    assert run(site, rebuild=True).counts["clusters_resumed"] == 0
    assert rows(site) == before


@LONG
def test_outages_go_on_from_their_states_and_the_rows_are_those_of_a_rebuild(spark: object, site: Site) -> None:
    assert run(site, 8).counts["clusters_resumed"] == 0
    assert reached(site)
    count = {name: len(site.table(name)) for name in OUTAGES}
    final = {row["outage_id"] for row in site.table("partition_outages") if row["final_at"] is not None}

    grown = run(site, 16)
    assert grown.counts["clusters_resumed"] == 1
    for name in OUTAGES:  # those that were final are not made again
        assert 0 < grown.counts[name] < len(site.table(name))
        assert len(site.table(name)) > count[name]
    assert final <= {row["outage_id"] for row in site.table("partition_outages")}
    assert_as_rebuilt(site)


@LONG
def test_what_comes_late_of_the_past_discards_the_states_behind_it(spark: object, site: Site) -> None:
    run(site, 12)
    again = f"Changed partition {name_of(1)} from OnlinePartition to OnlinePartition with state {losses.state('2', 1, ['2'])}"
    late = losses.changed(START + timedelta(minutes=30), again)
    (site.logs / "broker-4" / "state-change.log.1").write_text(late, encoding="utf-8")
    assert run(site).counts["clusters_resumed"] == 0
    assert_as_rebuilt(site)


@LONG
def test_groups_that_are_known_later_are_named_by_later_outages(spark: object, site: Site) -> None:
    topic = name_of(0).rpartition("-")[0]
    client(site, "early.log", losses.subscribed(START + timedelta(hours=2), "early", topic))
    run(site, 12)
    client(site, "late.log", losses.subscribed(START + timedelta(hours=11, minutes=50), "late", topic))
    assert run(site).counts["clusters_resumed"] == 1
    named = {(each["offline_at"].hour, tuple(each["groups"])) for each in site.table("partition_outages") if each["topic"] == topic}
    assert (1, ("early",)) in named
    assert (11, ("early", "late")) in named
    assert_as_rebuilt(site)
    client(site, "earlier.log", losses.subscribed(START + timedelta(minutes=5), "earlier", topic))
    assert run(site).counts["clusters_resumed"] == 0  # what a state rests on was known earlier than it says
    assert_as_rebuilt(site)


@LONG
def test_clocks_that_turn_out_to_differ_put_all_in_another_order(spark: object, site: Site) -> None:
    run(site, 12)
    behind = START + timedelta(hours=11) - timedelta(seconds=20)
    lines = (
        losses.told(
            behind, f"[Broker id=1] Leader {name_of(number)} starts at leader epoch {epoch} from offset 5 with high watermark 5 ISR [1] "
            "addingReplicas [] removingReplicas []. Previous leader epoch was 0.", "state.change.logger",
        )
        for number, epoch in led_by_first(12)
    )  # fmt: skip
    path = site.logs / "broker-1" / "state-change.log"
    path.parent.mkdir()
    path.write_text("".join(lines), encoding="utf-8")
    found = run(site)
    assert found.counts["clusters_resumed"] == 0
    assert [row["observed"] for row in site.table("divergences")] == ["node 1 is 20.000 s behind; its times were corrected"]
    assert site.table(CLUSTER_SNAPSHOTS) == []
    assert_as_rebuilt(site)


def led_by_first(hours: int) -> list[tuple[int, int]]:
    """Partitions that broker 1 takes over in the last loss of so many hours, with their leader epochs then."""
    events = [line for line in losses.state_changes(hours, 20) if f"{START + timedelta(hours=hours - 1):%H:%M:%S}" in line]
    taken = [line for line in events if "Leader:1," in line]
    return [
        (int(line.split("topic")[1][:3]) * 10 + int(line.split("topic")[1][4]), int(line.partition("LeaderEpoch:")[2].partition(",")[0]))
        for line in taken
    ]


@LONG
def test_where_names_are_hidden_a_run_resumes_from_encrypted_checkpoints(spark: object, site: Site) -> None:
    hidden = dataclasses.replace(READ, redaction=Redaction(REDACTED_KINDS, b"a key that is long enough"))
    run(site, 8, read=hidden)
    assert site.table(CLUSTER_SNAPSHOTS)
    assert not any("{" in row["state"] for row in site.table(CLUSTER_SNAPSHOTS))
    grown = run(site, 12, read=hidden)
    assert (grown.counts["clusters_resumed"], grown.counts["states_unreadable"]) == (1, 0)
    before = rows(site)
    assert run(site, read=hidden, rebuild=True).counts["clusters_resumed"] == 0
    assert rows(site) == before


@LONG
def test_of_each_cluster_those_states_stay_that_later_runs_may_go_on_from(spark: object, site: Site) -> None:
    for hours in (8, 12, 16):
        run(site, hours)
    assert 2 <= len(reached(site)) <= 4


def test_a_state_that_is_too_large_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    losses.write(tmp_path, 12)
    assert taken(tmp_path)
    monkeypatch.setattr("pipelines.transforms.outage_replay.STATE_MAX", 10)
    assert not taken(tmp_path)


def taken(logs: Path, rules: CheckpointRules = RULES) -> list[int]:
    """Hours that states reach which are taken of these logs."""
    with EventStore() as store, EventStore() as partitions, RocketStore() as rocket:
        local.ReadingPass(AnalyzeOptions(read=READ), store, partitions, rocket, local.AnalysisResult(), local.Workers(1)).read(
            [str(logs)], None
        )
        batches = [batch.append_column(STATE, pa.nulls(len(batch), pa.string())) for _, own in partitions.groups() for batch in own]
    end = int((START + timedelta(hours=12)).timestamp()) * 1_000_000
    boundaries = [CheckpointBoundary(end - hours * 3_600_000_000, 0, "", "", "") for hours in (1, 5)]
    replay = OutageReplay({}, {}, {}, boundaries={"c": boundaries}, rules=rules)
    return [row.covers_until_at for rows in replay("c", iter(batches)) for row in rows.get(CLUSTER_SNAPSHOTS, ())]


def test_facts_that_change_nothing_here_leave_states_as_they_are() -> None:
    facts = ClusterFacts("c", logs_end=100)
    known = cluster_snapshots.FactsByTime(cluster_snapshots.fingerprint_departures(facts, {}), fingerprint_readers(Readers()))
    facts.deletions.append((5, "a group", None))  # type: ignore[arg-type]
    again = cluster_snapshots.FactsByTime(cluster_snapshots.fingerprint_departures(facts, {}), fingerprint_readers(Readers()))
    assert known.until(10) == again.until(10)

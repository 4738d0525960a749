"""The job from end to end, on real Spark and Delta: what it writes, when it writes nothing, and what it does in trouble."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest
from deltalake import DeltaTable

from models.incidents.incidents import Limits
from parsers.reading.reader import ReadOptions
from pipelines.errors import CannotWrite, GateFailed, NeedsRebuild, NothingReadable, WarehouseBusy
from pipelines.jobs.ingest import ingest
from pipelines.jobs.registry.runs import Owner, RunEntry, Runs
from pipelines.schema.tables import TABLES
from pipelines.warehouse.rows import arrow_diff
from pipelines.warehouse.warehouse import Warehouse
from tests.conftest import LONG
from tests.crash.loop import OF_RUNS
from tests.pipelines.site import Site

pytestmark = pytest.mark.spark
Copied = Callable[[Site], Site]
RUNS_OF_ITS_OWN = 1  # versions of `runs` that a run makes which finds nothing new


def counts(changes: dict[str, Any]) -> dict[str, tuple[int, int, int]]:
    return {table: (change.inserted, change.updated, change.deleted) for table, change in changes.items() if change}


def test_a_run_fills_the_tables_and_says_so(published: Site) -> None:
    [run] = published.table("runs")

    assert (run["status"], run["exit_code"], run["run_number"], run["error"]) == ("published", 0, 1, None)
    assert run["inputs"] == ["logs"]
    assert dict(run["table_versions"]).keys() == {name for name, table in TABLES.items() if table.layer != "ops"}
    sizes = dict(run["counts"])
    assert sizes["files"] == sizes["files_read"] == len(published.table("log_files")) == 4
    assert sizes["rebalances"] == len(published.table("rebalances")) > 0
    assert {row["run_id"] for row in published.table("rebalances")} == {run["run_id"]}
    results = published.table("quality_results")
    assert {row["gate"] for row in results} == {"silver", "gold"}
    assert all(row["success"] for row in results)


@LONG
@pytest.mark.parametrize("most", [30, 0], ids=["some are few", "none are few"])
def test_what_is_not_few_is_read_compared_and_written_by_spark(
    published: Site, halfway: Site, copied: Copied, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    monkeypatch.setattr(ingest, "LOCAL_BYTES_MAX", 0)
    monkeypatch.setattr(arrow_diff, "LOCAL_ROWS_MAX", most)
    site = copied(halfway)
    shutil.copy(published.logs / "broker-1" / "server.log", site.logs / "broker-1" / "server.log")
    assert site.run().exit_code == 0
    found, wanted = site.content(), published.content()
    assert {name for name in wanted if name not in OF_RUNS and found[name] != wanted[name]} == set()


def test_the_same_input_changes_nothing(published: Site, copied: Copied) -> None:
    site = copied(published)
    before = site.versions()
    outcome = site.run()

    assert (outcome.exit_code, counts(outcome.changes), outcome.counts["files_read"]) == (0, {}, 0)
    assert site.versions() == before | {"runs": before["runs"] + RUNS_OF_ITS_OWN}
    assert site.content() == published.content()


def test_a_log_that_has_grown_corrects_what_was_told_without_it(published: Site, halfway: Site, copied: Copied) -> None:
    site = copied(halfway)
    shutil.copy(published.logs / "broker-1" / "server.log", site.logs / "broker-1" / "server.log")
    assert site.content() != published.content()
    files = [path for path in site.logs.rglob("*") if path.is_file()]
    for path in files:
        os.utime(path, (1_700_000_000, 1_700_000_000))
    outcome = site.run()

    assert outcome.counts["files_read"] == 1
    assert site.content() == published.content()
    # What the new half does not touch keeps the run that wrote it.
    assert len({row["run_id"] for row in site.table("events")}) == 2
    # Files that have not changed for long are known by that, and not opened again.
    looks = site.table("file_inspections")
    assert {row["path"] for row in looks} == {str(path.relative_to(site.place)) for path in files}
    assert {(row["modified_ns"], row["run_id"]) for row in looks} == {(1_700_000_000 * 10**9, outcome.run_id)}
    for path in files:
        path.write_bytes(bytes(path.stat().st_size))
        os.utime(path, (1_700_000_000, 1_700_000_000))
    assert site.run().was_skipped
    assert site.table("file_inspections") == looks


@LONG
def test_logs_that_are_gone_are_not_forgotten_and_renamed_ones_are_known_by_their_new_name(published: Site, copied: Copied) -> None:
    site = copied(published)
    shutil.rmtree(site.logs / "clients")
    (site.logs / "broker-1" / "server.log").rename(site.logs / "broker-1" / "server.log.1")
    outcome = site.run()

    assert outcome.counts["files_read"] == 0
    expected = {
        table: sorted(line.replace("/broker-1/server.log", "/broker-1/server.log.1") for line in lines)
        for table, lines in published.content().items()
    }
    by_name = {"learned_facts", "state_snapshots"}  # their ids hold the name of the file
    assert {table: lines for table, lines in site.content().items() if table not in by_name} == {
        table: lines for table, lines in expected.items() if table not in by_name
    }


OTHER_GROUP = "".join(
    f"[2026-11-21 09:09:{second},000] INFO [GroupCoordinator 1]: {text} (kafka.coordinator.group.GroupCoordinator)\n"
    for second, text in [
        (10, "Preparing to rebalance group returns-f with old generation 0 (__consumer_offsets-6)"),
        (13, "Stabilized group returns-f generation 1 (__consumer_offsets-6)"),
        (14, "Assignment received from leader for group returns-f for generation 1"),
    ]
)


def rebuilt_otherwise(site: Site) -> set[str]:
    """Tables that a rebuild from all the files changes: none, but for the gates' results, which tell what was checked."""
    return counts(site.run(rebuild=True).changes).keys() - {"quality_results"}


def test_only_groups_with_new_records_are_replayed_and_a_rebuild_finds_the_same(published: Site, copied: Copied) -> None:
    site = copied(published)
    with (site.logs / "broker-1" / "server.log").open("a", encoding="utf-8") as log:
        log.write(OTHER_GROUP)
    outcome = site.run()

    assert (outcome.counts["files_read"], outcome.counts["groups_replayed"], outcome.counts["rebalances"]) == (1, 1, 1)
    assert outcome.changes["events"].inserted == 3
    by_group = {row["group"]: row["run_id"] for row in site.table("rebalances")}
    assert by_group == {"shipping-e": published.table("rebalances")[0]["run_id"], "returns-f": outcome.run_id}
    assert rebuilt_otherwise(site) == set()


@LONG
def test_a_log_that_rotates_while_a_run_begins_is_left_to_the_next_one(
    published: Site, halfway: Site, copied: Copied, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = copied(halfway)
    log = site.logs / "broker-1" / "server.log"
    shutil.copy(published.logs / "broker-1" / "server.log", log)
    known = log.read_text(encoding="utf-8").splitlines()[0] + "\n"
    (site.logs / "broker-1" / "more.log").write_text(known + OTHER_GROUP, encoding="utf-8")
    real = ingest.parse_files

    def rotating(*given: Any, **how: Any) -> Any:
        monkeypatch.setattr(ingest, "parse_files", real)
        log.rename(log.with_name("server.log.1"))
        log.write_text(known + OTHER_GROUP.replace("returns-f", "refunds-g") * 20, encoding="utf-8")
        return real(*given, **{**how, "is_local": False})

    monkeypatch.setattr(ingest, "parse_files", rotating)
    outcome = site.run()
    assert [text for text in outcome.warnings if "it changed while it was read" in text]
    assert {row["group"] for row in site.table("rebalances")} - {row["group"] for row in halfway.table("rebalances")} == {"returns-f"}
    assert len(site.table("events")) == len(halfway.table("events")) + 1 + 3

    assert site.run().exit_code == 0
    assert {row["group"] for row in site.table("rebalances")} == {"shipping-e", "returns-f", "refunds-g"}
    assert len(site.table("events")) == len(published.table("events")) + 1 + 3 + 1 + 20 * 3
    assert rebuilt_otherwise(site) == set()


@LONG
def test_gold_reads_the_same_in_spark_delta_rs_and_duckdb(spark: Any, published: Site) -> None:
    paths = {name: published.warehouse / table.path for name, table in TABLES.items() if table.layer == "gold"}
    rows = {name: DeltaTable(str(path)).to_pyarrow_table().num_rows for name, path in paths.items()}
    by_duckdb = {name: duckdb.from_arrow(DeltaTable(str(path)).to_pyarrow_dataset()).count("*").fetchall() for name, path in paths.items()}
    assert by_duckdb == {name: [(count,)] for name, count in rows.items()}
    # Spark takes seconds to plan each; these have rows of all shapes.
    for name in ("rebalances", "rebalance_members", "incidents"):
        assert spark.read.format("delta").load(str(paths[name])).count() == rows[name] > 0


@LONG
def test_other_options_are_not_mixed_with_what_was_read_by_the_old_ones(published: Site, copied: Copied) -> None:
    site = copied(published)
    berlin = ReadOptions(log_tz=[(None, "UTC"), ("clients/*", "Europe/Berlin")])
    strict = Limits(critical_stopped_seconds=0.001)
    for options, named in (({"read": berlin}, "logs/clients"), ({"limits": strict}, "the option limits")):
        with pytest.raises(NeedsRebuild, match=f"{named}.*--rebuild") as refused:
            site.run(**options)
        assert refused.value.exit_code == 2
    before = site.versions()
    done = site.run(read=berlin, limits=strict, rebuild=True)

    assert before["events"] == published.versions()["events"]
    assert done.counts["files_read"] == 4
    assert done.changes["events"].updated == len([row for row in site.table("events") if row["file"].startswith("logs/clients")])
    assert {row["severity"] for row in site.table("incidents")} == {"critical"}


def test_other_models_make_all_verdicts_anew_from_the_stored_events(
    published: Site, copied: Copied, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = copied(published)
    before = site.content()
    for module in ("run", "registry.resume_states", "replay.group_snapshots", "replay.cluster_snapshots"):
        monkeypatch.setattr(f"pipelines.jobs.{module}.model_version", lambda: "another")
    done = site.run()

    assert not done.was_skipped
    assert done.counts["files_read"] == done.counts["groups_resumed"] == done.counts["clusters_resumed"] == 0
    assert {row["model_version"] for row in site.table("state_snapshots") if row["kind"] == "cluster"} == {"another"}
    assert {name: rows for name, rows in site.content().items() if "snapshot" not in name} == {
        name: rows for name, rows in before.items() if "snapshot" not in name
    }
    assert site.run().was_skipped


def test_a_failed_gate_stops_publication(spark: Any, published: Site, copied: Copied, caplog: pytest.LogCaptureFixture) -> None:
    site = copied(published)
    events = str(site.warehouse / TABLES["events"].path)
    twin = spark.read.format("delta").load(events).where("message = 'kafka.group.rebalance_started'").orderBy("byte_offset").limit(1)
    place = twin.select("file", "byte_offset").first()
    twin.write.format("delta").mode("append").save(events)
    gold = {name: version for name, version in site.versions().items() if TABLES[name].layer == "gold" and name != "quality_results"}
    (site.place / "no folder").touch()
    with pytest.raises(GateFailed) as failure, caplog.at_level("WARNING"):
        site.run(data_docs=site.place / "no folder")

    assert failure.value.exit_code == 5
    assert "no folder: the pages of the quality gates can't be written" in caplog.text
    [first, counted, line] = str(failure.value).splitlines()
    assert first == "quality gate failed, nothing is published:"
    assert counted.startswith("  bronze.log_files: never: rows are not as many as the ledger counts: not met by 1 of 4 rows")
    assert line.startswith("  silver.events: file, byte_offset, message tells rows apart: not met by 2 of ")
    assert f'"byte_offset": {place.byte_offset}' in line
    assert gold.items() <= site.versions().items()
    assert site.content() == published.content()
    failed = {(row["table"], row["severity"], row["unexpected_rows"]) for row in site.table("quality_results") if not row["success"]}
    assert failed == {("events", "critical", 2), ("log_files", "critical", 1)}
    [run] = [row for row in site.table("runs") if row["run_number"] == 2]
    assert (run["status"], run["exit_code"]) == ("failed", 5)
    assert line.strip() in run["error"]


def test_pages_of_the_gates_that_cannot_be_written_keep_no_run_from_publishing(published: Site, copied: Copied) -> None:
    site = copied(published)
    (site.place / "no folder").touch()
    with (site.logs / "broker-1" / "server.log").open("a", encoding="utf-8") as log:
        log.write(OTHER_GROUP)
    outcome = site.run(data_docs=site.place / "no folder")

    assert [type(trouble) for trouble in outcome.troubles] == [CannotWrite]
    assert "returns-f" in {row["group"] for row in site.table("rebalances")}
    assert sorted(row["status"] for row in site.table("runs")) == ["published", "published"]


@LONG
def test_pages_of_the_gates_follow_each_run_that_checks_something(published: Site, copied: Copied) -> None:
    site = copied(published)
    docs = site.place / "docs"
    with (site.logs / "broker-1" / "server.log").open("a", encoding="utf-8") as log:
        log.write(OTHER_GROUP)
    site.run(data_docs=docs)
    pages = {path.name: path.read_bytes() for path in docs.iterdir()}
    assert {"index.html", "silver-log_files.html", "gold-rebalances.html"} <= pages.keys()
    assert site.run(data_docs=docs).was_skipped
    assert {path.name: path.read_bytes() for path in docs.iterdir()} == pages

    before = docs / "gold-queue_ownership.html"
    before.write_bytes(pages["gold-rebalances.html"])
    with (site.logs / "broker-1" / "server.log").open("a", encoding="utf-8") as log:
        log.write(OTHER_GROUP.replace("returns-f", "returns-g"))
    assert site.run(data_docs=docs).has_changed
    assert not before.exists()
    assert "gold-rebalances.html" in {path.name for path in docs.iterdir()}


class Killed(BaseException):
    """The process is gone: nothing behind this point happens."""


def killed_before(point: str, patch: pytest.MonkeyPatch) -> None:
    """Let a run end without a word before it writes a table, or before it publishes."""
    replace = Warehouse.replace
    gone = subprocess.Popen(["true"])
    gone.wait()

    def replaced(self: Warehouse, name: str, *arguments: Any, **options: Any) -> Any:
        if name == point:
            raise Killed
        return replace(self, name, *arguments, **options)

    def finish(*_: Any, **__: Any) -> None:
        raise Killed

    patch.setattr(Warehouse, "replace", replaced)
    patch.setattr(Runs, "finish", finish)
    patch.setattr(Owner, "this_process", lambda _=None: Owner(socket.gethostname(), gone.pid, "long ago"))


@LONG
@pytest.mark.parametrize("point", ["log_files", "publication"])
def test_the_run_after_a_crash_makes_good(published: Site, halfway: Site, copied: Copied, point: str) -> None:
    site = copied(halfway)
    shutil.copy(published.logs / "broker-1" / "server.log", site.logs / "broker-1" / "server.log")
    with pytest.MonkeyPatch.context() as patch:
        killed_before(point, patch)
        with pytest.raises(Killed):
            site.run()
    assert site.content() == halfway.content()
    outcome = site.run()

    assert outcome.exit_code == 0
    assert outcome.counts["files_read"] == 1
    assert "RESTORE" in {commit["operation"] for commit in DeltaTable(str(site.warehouse / TABLES["events"].path)).history()}
    assert site.content() == published.content()
    assert [(row["run_number"], row["status"]) for row in sorted(site.table("runs"), key=lambda row: row["run_number"])] == [
        (1, "published"),
        (2, "failed"),
        (3, "published"),
    ]


def test_one_run_at_a_time_holds_a_warehouse(spark: Any, published: Site, copied: Copied) -> None:
    from datetime import timedelta

    site = copied(published)
    warehouse = Warehouse(spark, str(site.warehouse))
    warehouse.open_one("runs")
    holder = RunEntry("holder", ["logs"], {}, "1", "1", "1")
    Runs(warehouse, timedelta(hours=1)).start(holder)
    with pytest.raises(WarehouseBusy, match=f"another run holds the warehouse: holder, process {os.getpid()} on ") as refused:
        site.run()

    assert refused.value.exit_code == 6
    assert site.content() == published.content()


def test_bad_files_are_listed_and_the_others_are_read(published: Site, samples: Path, tmp_path: Path) -> None:
    site = Site(tmp_path)
    shutil.copytree(published.logs, site.logs)
    log = (site.logs / "broker-1" / "server.log").read_bytes()
    other = (samples / "kafka" / "2.8.2" / "coordinator-failover" / "broker-2" / "server.log").read_bytes()
    (site.logs / "torn.log.gz").write_bytes(gzip.compress(other)[:6000])
    (site.logs / "picture.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 40)
    (site.logs / "empty.log").touch()
    (site.logs / "spoilt.log").write_bytes(log[:4000].replace(b"[2026-11-21", b"[2026-13-41", 3))
    outcome = site.run()

    assert outcome.exit_code == 4
    files = {Path(row["path"]).name: row for row in site.table("log_files")}
    assert {name: files[name]["status"] for name in ("torn.log.gz", "picture.png", "empty.log", "server.log")} == {
        "torn.log.gz": "truncated",
        "picture.png": "skipped",
        "empty.log": "empty",
        "server.log": "ok",
    }
    assert files["picture.png"]["kind"] == "not_a_log"
    assert files["torn.log.gz"]["recognised"] > 0
    rejected = site.table("rejected_records")
    assert files["spoilt.log"]["rejected"] == len([row for row in rejected if row["file"] == "logs/spoilt.log"]) > 0
    assert all(row["reason"] and row["line"] and row["text"] for row in rejected)
    assert len(site.table("rebalances")) >= len(published.table("rebalances"))


def test_a_path_that_is_not_there_is_said_before_anything_is_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Site, "empty", None)
    with pytest.raises(NothingReadable, match="nowhere: no such file or folder") as failure:
        Site(tmp_path).run("nowhere")

    assert failure.value.exit_code == 3
    assert not (tmp_path / "warehouse").exists()


def test_a_folder_without_logs_is_nothing_to_read(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "picture.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 40)
    with pytest.raises(NothingReadable, match=r"no log could be read; logs/picture\.png: binary"):
        Site(tmp_path).run()


def test_a_warehouse_that_cannot_be_made_is_said(published: Site, copied: Copied) -> None:
    site = copied(published)
    shutil.rmtree(site.warehouse)
    site.warehouse.write_text("a file is in the way", encoding="utf-8")
    with pytest.raises(CannotWrite, match="warehouse: the warehouse can't be made: File exists") as failure:
        site.run()

    assert failure.value.exit_code == 74


QUESTIONS = ["rebalances", "offenders", "timeline", "outages"]


@pytest.mark.parametrize("question", QUESTIONS)
def test_questions_have_the_answers_that_the_logs_give(
    published: Site, groupscope: Callable[..., subprocess.CompletedProcess[str]], question: str
) -> None:
    told = groupscope(question, "--warehouse", "warehouse", "--json", cwd=published.place)
    read = groupscope(question, "logs", "--json", cwd=published.place)

    assert (told.returncode, read.returncode) == (0, 0), told.stderr + read.stderr
    assert _sorted(json.loads(told.stdout)) == _sorted(json.loads(read.stdout))


def test_a_story_reads_the_same(published: Site, groupscope: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    longest = max(published.table("rebalances"), key=lambda row: row["duration_seconds"] or 0)
    told = groupscope("explain", longest["rebalance_id"], "--warehouse", "warehouse", cwd=published.place)
    read = groupscope("explain", longest["rebalance_id"], "logs", cwd=published.place)

    assert told.stdout == read.stdout
    assert longest["group"] in told.stdout


@pytest.mark.parametrize(("arguments", "code", "said"), [(("nowhere", "warehouse"), 3, "nowhere"), (("logs", "file/below"), 74, "file")])
def test_the_command_fails_with_one_line_and_a_code(
    published: Site,
    tmp_path: Path,
    groupscope: Callable[..., subprocess.CompletedProcess[str]],
    arguments: tuple[str, str],
    code: int,
    said: str,
) -> None:
    shutil.copytree(published.logs, tmp_path / "logs")
    (tmp_path / "file").touch()
    done = groupscope("run", "--input", arguments[0], "--warehouse", arguments[1], cwd=tmp_path)

    assert done.returncode == code
    [line] = done.stderr.splitlines()
    assert line.startswith("error: ")
    assert said in line


def _sorted(value: Any) -> Any:
    """Lists of rows have no order of their own."""
    if isinstance(value, dict):
        return {key: _sorted(item) for key, item in value.items()}
    if isinstance(value, list):
        return sorted((_sorted(item) for item in value), key=lambda item: json.dumps(item, sort_keys=True))
    return value

"""A schedule of runs goes on whatever becomes of one of them, and its metrics say what did."""

from __future__ import annotations

import json
import os
import platform
import shutil
import signal
import subprocess
import sys
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from pipelines import exit_codes as codes
from pipelines.cli import spark_submit as job
from pipelines.cli.after_run import RunRecipients
from pipelines.cli.commands.run import RunDisplay, run_repeatedly
from pipelines.cli.main import main
from pipelines.cli.output.atomic_write import write_text
from pipelines.cli.output.standard_streams import Messenger, ReaderGone
from pipelines.errors import CannotWrite, GateFailed, NothingReadable, UsageError, WarehouseBusy
from pipelines.jobs.operations.alerts import AlertOptions
from pipelines.jobs.operations.metrics import RunMetrics, gauge, kept_metrics, metrics_text
from pipelines.jobs.run_options import RunOptions, RunOutcome
from pipelines.schema.tables import TABLES
from tests.conftest import ROOT
from tests.pipelines.jobs.operations.test_operation import VERSIONS, incident, write


@pytest.fixture
def place(tmp_path: Path) -> Path:
    write(tmp_path, "incidents", [incident("now")])
    for table in ("rebalances", "partition_outages", "alerts"):
        write(tmp_path, table, [])
    return tmp_path


@pytest.fixture
def followers(place: Path) -> RunRecipients:
    return RunRecipients(str(place), Messenger(), metrics=place / "groupscope.prom")


OUTCOME = RunOutcome("r", table_versions=VERSIONS)
INCIDENTS = 'groupscope_incidents{cluster="prod",severity="critical"} 1.0'


def samples(followers: RunRecipients) -> set[str]:
    assert followers.metrics is not None
    return set(followers.metrics.read_text(encoding="utf-8").splitlines())


# -- metrics ----------------------------------------------------------------------------------------------------


def test_metrics_are_written_where_alerts_and_pages_fail_and_say_so(place: Path, followers: RunRecipients) -> None:
    told: list[Any] = []
    both = replace(followers, report=place / "pages", alerts=AlertOptions(""), send=told.append)
    shutil.rmtree(place / TABLES["alerts"].path)
    with pytest.raises(Exception, match=r"ops/alerts.* does not exist") as failure:
        both.succeeded(OUTCOME)

    assert not hasattr(failure.value, "exit_code")
    assert {f"groupscope_run_exit_code {codes.OUR_BUG}.0", INCIDENTS} <= samples(followers)
    with pytest.raises(NothingReadable, match="is no warehouse"):  # there are no runs to make pages of
        replace(both, alerts=None).succeeded(OUTCOME)
    assert {f"groupscope_run_exit_code {codes.NOTHING_READABLE}.0", INCIDENTS} <= samples(followers)


def test_trouble_with_the_pages_of_the_gates_is_told_after_all_else(place: Path, followers: RunRecipients) -> None:
    told: list[Any] = []
    both = replace(followers, alerts=AlertOptions("", news_for=timedelta(days=9999)), send=told.append)
    with pytest.raises(CannotWrite, match="pages of the quality gates"):
        both.succeeded(replace(OUTCOME, troubles=[CannotWrite("docs: the pages of the quality gates can't be written")]))

    assert {f"groupscope_run_exit_code {codes.CANNOT_WRITE}.0", INCIDENTS} <= samples(followers)
    assert [each["incident_id"] for each in told] == ["now"]


def test_a_failed_run_keeps_what_the_tables_say(followers: RunRecipients) -> None:
    followers.succeeded(OUTCOME)
    of_tables = {line for line in samples(followers) if "groupscope_incidents" in line or "stopped" in line}
    followers.failed(GateFailed("rows are missing"), codes.QUALITY_GATE_FAILED)

    assert {*of_tables, INCIDENTS, f"groupscope_run_exit_code {codes.QUALITY_GATE_FAILED}.0"} <= samples(followers)
    followers.succeeded(OUTCOME)
    followers.succeeded(OUTCOME)
    assert INCIDENTS in samples(followers)


def test_names_that_hold_ends_of_lines_are_kept_whole(tmp_path: Path) -> None:
    incidents = [({"cluster": name}, 1.0) for name in ("a\u2028b", "a\x85b", "a\rb", "a\r\nb", "a\x0bb", "plain")]
    path = tmp_path / "groupscope.prom"
    text = metrics_text(RunMetrics(codes.GOOD, 1.0), [gauge("groupscope_incidents", "Incidents.", incidents)], None)
    write_text(path, text + "groupscope_incidents{cut off")

    (kept,) = kept_metrics(path)
    assert [(sample.labels, sample.value) for sample in kept.samples] == incidents


def test_a_run_that_gives_way_leaves_the_metrics_of_the_other_one(followers: RunRecipients) -> None:
    followers.succeeded(OUTCOME)
    before = samples(followers)
    followers.failed(WarehouseBusy("another run holds the warehouse"), codes.WAREHOUSE_BUSY)

    assert samples(followers) == before


# -- the log ----------------------------------------------------------------------------------------------------

TALKATIVE = """
import logging, os, subprocess, sys, threading, warnings
from pipelines.cli.main import run
from pipelines.jobs.run_options import RunOutcome

def work(options):
    logging.getLogger("pipelines.jobs").warning("incident %s\\ncould not be told", "i1")
    logging.getLogger("others").setLevel("INFO")
    logging.getLogger("others").info("made a folder")
    warnings.warn("old")
    os.write(2, b"from below, \\xff\\n")
    subprocess.run(["sh", "-c", "echo out of a child >&2"])
    thread = threading.Thread(target=lambda: 1 / 0)
    thread.start()
    thread.join()
    if "bad" in options.warehouse:
        os.write(2, b"no end of line")
        raise LookupError("boom")
    return RunOutcome("r", warnings=["no file matches x"])

import pipelines.jobs.run
pipelines.jobs.run.run = work
run()
"""


@pytest.mark.parametrize(("warehouse", "code"), [("good", codes.GOOD), ("bad", codes.OUR_BUG)])
def test_everything_in_a_log_of_json_is_json(tmp_path: Path, warehouse: str, code: int) -> None:
    command = [sys.executable, "-c", TALKATIVE, "run", "--input", str(tmp_path), "--warehouse", warehouse, "--log-json", "-v"]
    done = subprocess.run(command, cwd=tmp_path, env=os.environ | {"PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=False)
    lines = [json.loads(line) for line in done.stderr.splitlines()]
    said = [line["text"] for line in lines if line["event"] == "said"]

    assert (done.returncode, done.stdout) == (code, "")
    assert all(line["at"] for line in lines)
    [logged] = [line for line in lines if line["event"] == "log"]
    assert (logged["level"], logged["text"]) == ("warning", "incident i1\ncould not be told")
    assert {"from below, \\xff", "out of a child", "ZeroDivisionError: division by zero"} <= set(said)
    events = [line["event"] for line in lines if line["event"] not in ("said", "log")]
    assert events == (["run finished", "warning"] if code == codes.GOOD else ["run failed", "error"])
    if code:
        assert said[-1] == "no end of line"
        assert "Traceback" in next(line["traceback"] for line in lines if line["event"] == "error")


def test_wrong_use_is_told_in_json_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--log-json", "--nonsense"]) == codes.USAGE
    [line] = capsys.readouterr().err.splitlines()
    assert json.loads(line)["exit_code"] == codes.USAGE
    assert main(["run", "--nonsense"]) == codes.USAGE
    assert capsys.readouterr().err.startswith("error: ")


def test_alerts_that_could_not_be_delivered_are_counted(place: Path, followers: RunRecipients) -> None:
    def broken(_: Any) -> None:
        raise ConnectionRefusedError("nobody there")

    both = replace(followers, alerts=AlertOptions("", news_for=timedelta(days=9999)), send=broken)
    both.succeeded(OUTCOME)
    assert {'groupscope_run_count{what="alerts"} 0.0', 'groupscope_run_count{what="alerts_failed"} 1.0'} <= samples(followers)


# -- the entry for platforms ------------------------------------------------------------------------------------


def test_platforms_take_what_was_published_for_a_success(
    place: Path, followers: RunRecipients, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One rejected record makes all later runs end with 4; the metrics say so."""
    monkeypatch.setattr("pipelines.jobs.run.run", lambda _: replace(OUTCOME, exit_code=codes.SOME_REJECTED))
    asked = ["--input", str(place), "--warehouse", str(place), "--metrics", str(followers.metrics), "--log-json"]
    job.main(asked)
    assert '"exit_code": 4' in capsys.readouterr().err
    assert f"groupscope_run_exit_code {codes.SOME_REJECTED}.0" in samples(followers)
    assert main(["run", *asked]) == codes.SOME_REJECTED
    job.main(["run", *asked])


def test_platforms_are_told_of_a_failure(place: Path) -> None:
    with pytest.raises(SystemExit) as ended:
        job.main(["--input", str(place / "nothing"), "--warehouse", str(place)])
    assert ended.value.code == codes.NOTHING_READABLE
    with pytest.raises(SystemExit) as ended:
        job.main(["maintain", "--keep-runs-days", "none"])
    assert ended.value.code == codes.USAGE


# -- again and again --------------------------------------------------------------------------------------------


def scheduled(followers: RunRecipients, patch: pytest.MonkeyPatch, *errors: Exception) -> int:
    """A schedule whose runs end with these errors, and then well; it is told to stop meanwhile."""
    left = list(errors)

    def run(_: RunOptions) -> RunOutcome:
        if left:
            raise left.pop(0)
        signal.raise_signal(signal.SIGTERM)
        return OUTCOME

    patch.setattr("pipelines.jobs.run.run", run)
    show = RunDisplay(as_json=False, quiet=True, talk=followers.talk, place=followers.place)
    code = run_repeatedly(0.001, RunOptions([followers.place], followers.place), followers, show)
    assert not left
    return code


def test_a_schedule_goes_on_after_any_error_and_tells_of_it(
    followers: RunRecipients, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    errors = (LookupError("executor 3 was lost"), OSError("slow down"), WarehouseBusy("another run"), CannotWrite("full"))

    assert scheduled(followers, monkeypatch, *errors) == codes.GOOD
    said = capsys.readouterr().err
    assert "LookupError: executor 3 was lost; the next run tries again" in said
    assert said.count("Traceback (most recent call last)") == 2
    assert "error: full\n" in said
    assert scheduled(replace(followers, log_json=True), monkeypatch, LookupError("executor 3 was lost")) == codes.GOOD
    assert '"event": "unexpected error"' in capsys.readouterr().err


def test_a_schedule_tells_of_failures_also_where_it_is_to_be_quiet(
    followers: RunRecipients, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    quiet = replace(followers, talk=Messenger(quiet=True))
    scheduled(quiet, monkeypatch, GateFailed("quality gate failed:\n  rows \x1b are missing"), LookupError("lost"))
    said = capsys.readouterr().err.splitlines()

    assert said[:2] == ["error: quality gate failed:", "  rows \\x1b are missing"]
    assert said[2:4] == ["error: LookupError: lost; the next run tries again", "Traceback (most recent call last):"]


def test_a_folder_that_is_not_mounted_is_a_failed_run_like_any_other(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The metrics say so, and a schedule goes on until it is there."""
    metrics = place / "groupscope.prom"
    asked = ["run", "--input", str(place / "mnt"), "--warehouse", str(place / "warehouse"), "--metrics", str(metrics), "--log-json"]
    assert main(asked) == codes.NOTHING_READABLE
    assert f"groupscope_run_exit_code {codes.NOTHING_READABLE}.0\n" in metrics.read_text(encoding="utf-8")
    assert "mnt: no such file or folder" in capsys.readouterr().err
    (place / "mnt").mkdir()
    assert main(asked) == codes.NOTHING_READABLE
    assert "mnt: the folder is empty" in capsys.readouterr().err
    (place / "mnt").rmdir()
    followed: list[int] = []

    def failed(_: Any, error: BaseException, exit_code: int) -> None:
        followed.append(exit_code)
        if len(followed) == 3:
            signal.raise_signal(signal.SIGTERM)

    monkeypatch.setattr(RunRecipients, "failed", failed)
    assert main([*asked, "--every", "1s"]) == codes.NOTHING_READABLE
    assert followed == [codes.NOTHING_READABLE] * 3


@pytest.mark.parametrize("error", [UsageError("--rebuild is needed"), ReaderGone()])
def test_wrong_use_ends_a_schedule(followers: RunRecipients, monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    with pytest.raises(type(error)):
        scheduled(followers, monkeypatch, error)


SPARK_DIES = """
import os, signal, sys
from pathlib import Path
from pipelines.spark.session import get_session, let_go_of_dead
from tests.pipelines.conftest import SETTINGS
from tests.pipelines.site import Site
from tests.pipelines.jobs.test_run import OTHER_GROUP

site = Site(Path(sys.argv[1]))
site.run(spark=SETTINGS)
let_go_of_dead()  # nothing is dead
spark = get_session()
spark._jsc.sc().stop()  # as where a cluster ends an application
with (site.logs / "broker-1" / "server.log").open("a") as log:
    log.write(OTHER_GROUP)
for again in ("stopped", "killed"):
    try:
        spark.range(3).count()  # a run over few new lines may do without Spark
        raise SystemExit(f"{again}: the session is not dead")
    except Exception as error:
        print(again, type(error).__name__, flush=True)
    let_go_of_dead()
    spark = get_session(SETTINGS)
    assert spark.range(3).count() == 3
    if again == "stopped":
        jvm = spark.sparkContext._gateway.proc
        os.kill(jvm.pid, signal.SIGKILL)
        jvm.wait()
site.run(spark=SETTINGS)
print([row["status"] for row in sorted(site.table("runs"), key=lambda row: row["run_number"])])
"""


@pytest.mark.skipif(not os.environ.get("GROUPSCOPE_CLUSTER"), reason="minutes of Spark: python -m tests.cluster")
@pytest.mark.spark
def test_a_session_that_died_is_replaced(poll_timeout: Path, tmp_path: Path) -> None:
    shutil.copytree(poll_timeout, tmp_path / "logs")
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", SPARK_DIES, str(tmp_path)], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stderr[-4000:]
    assert done.stdout.splitlines()[-1] == "['published', 'published']"


@pytest.mark.parametrize(("before", "is_system"), [("", True), ("import pyarrow; ", False)], ids=["not loaded", "loaded"])
def test_a_schedule_lets_arrow_give_memory_back(before: str, is_system: bool) -> None:
    """Arrow chooses its allocator once, as it is loaded."""
    text = f"{before}from pipelines.jobs.schedule import release_memory, use_system_allocator; use_system_allocator(); release_memory(); "
    text += "import pyarrow; print(pyarrow.default_memory_pool().backend_name)"
    environment = {name: value for name, value in os.environ.items() if name != "ARROW_DEFAULT_MEMORY_POOL"}

    done = subprocess.run([sys.executable, "-c", text], env=environment, capture_output=True, text=True, check=True)

    assert (done.stdout.strip() == "system") is is_system


def test_a_schedule_lets_delta_rs_give_memory_back() -> None:
    """The allocator of delta-rs tells its options as it is loaded, and what it makes of them."""
    text = "from pipelines.jobs.schedule import use_system_allocator; use_system_allocator(); import deltalake"
    environment = {name: value for name, value in os.environ.items() if name != "_RJEM_MALLOC_CONF"}

    def complaints(options: str | None) -> str:
        own = environment if options is None else environment | {"_RJEM_MALLOC_CONF": options}
        return subprocess.run([sys.executable, "-c", text], env=own, capture_output=True, text=True, check=True).stderr

    assert complaints(None) == ""
    assert "Invalid conf" in complaints("no_such_option:1"), "the variable is not read any more"


ARENAS = """
import os, sys, threading
from pathlib import Path
from pipelines.jobs.schedule import use_system_allocator
use_system_allocator() if sys.argv[1] == "limited" else os.environ.update(ARROW_DEFAULT_MEMORY_POOL="system")
import pyarrow
def work():
    blocks = [pyarrow.allocate_buffer(900) for _ in range(40)]
    together.wait()
together = threading.Barrier(12)
threads = [threading.Thread(target=work) for _ in range(12)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
reserved = [line.split()[0].split("-") for line in Path("/proc/self/maps").read_text().splitlines() if " ---p " in line]
print(sum(int(end, 16) % (64 << 20) == 0 for _, end in reserved))
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="limits of glibc")
def test_threads_of_a_schedule_share_two_arenas() -> None:
    """What one thread has freed is there for the others; without limits, each has an arena. A limit of one's own holds."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MALLOC_")}
    arenas = {
        case: int(subprocess.run([sys.executable, "-c", ARENAS, how], env=own, capture_output=True, text=True, check=True).stdout)
        for case, how, own in (
            ("limited", "limited", environment),
            ("unlimited", "unlimited", environment),
            ("own", "limited", environment | {"MALLOC_ARENA_MAX": "6"}),
        )
    }

    assert arenas["limited"] <= 2 < arenas["own"] <= 6 < arenas["unlimited"]

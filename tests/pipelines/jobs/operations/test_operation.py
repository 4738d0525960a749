"""What goes with runs: repeating them, metrics, alerts, pages, and whose packages are imported."""

from __future__ import annotations

import http.server
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from base64 import b64decode
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.error import HTTPError

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from models.units import US_PER_SECOND
from pipelines import import_guard as packages
from pipelines.cli.commands.run import interval_seconds
from pipelines.cli.report_folder import INCIDENTS_MAX, index_page
from pipelines.errors import UsageError
from pipelines.jobs.operations.alert_log import LEASE_SECONDS, SentIncidents
from pipelines.jobs.operations.alerts import FAILURES_MAX, AlertOptions, DeliveryCounts, send_new, sender
from pipelines.jobs.operations.metrics import RunMetrics, gauge, last_success, metrics_text, table_metrics
from pipelines.jobs.schedule import repeat, until_stopped
from pipelines.schema.tables import TABLES
from tests.conftest import ROOT

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)


# -- again and again ------------------------------------------------------------------------------------------


def test_runs_follow_each_other_until_told_to_stop() -> None:
    over, started = threading.Event(), []

    def once() -> None:
        started.append(len(started))
        if len(started) == 3:
            over.set()

    assert repeat(0.001, once, over) == 3


def test_runs_that_take_longer_are_not_made_up_for() -> None:
    """A run of 100 s every 10 s begins anew at once, not ten times over."""
    over, now, waits = threading.Event(), [0.0], []

    class Over:
        is_set = staticmethod(over.is_set)

        @staticmethod
        def wait(seconds: float) -> None:
            waits.append(seconds)
            now[0] += seconds

    def once() -> None:
        now[0] += 100.0 if now[0] < 50 else 1.0
        if now[0] > 130:
            over.set()

    repeat(10.0, once, Over, clock=lambda: now[0])  # type: ignore[arg-type]
    assert waits[:2] == [0.0, 9.0]


def test_a_signal_lets_the_run_end_and_a_second_one_does_not() -> None:
    over = threading.Event()
    with until_stopped(over):
        signal.raise_signal(signal.SIGTERM)
        assert over.is_set()
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGTERM)
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


@pytest.mark.parametrize(("text", "seconds"), [("30s", 30), ("5m", 300), ("2h", 7200), ("1d", 86400)])
def test_spans(text: str, seconds: float) -> None:
    assert interval_seconds(text) == seconds


@pytest.mark.parametrize("text", ["", "5", "m", "-5m", "0m", "5 m", "5w", "1.5h", "²s", "366d", "9" * 30 + "s", "9" * 5_000 + "s"])
def test_no_spans(text: str) -> None:
    with pytest.raises(UsageError, match="--every"):
        interval_seconds(text)


# -- a warehouse of some tables, made without Spark -------------------------------------------------------------


def incident(name: str, severity: str = "critical", ended_at: datetime | None = NOW, **values: Any) -> dict[str, Any]:
    return {
        "cluster": "prod", "system": "kafka", "incident_id": name, "kind": "storm", "severity": severity, "groups": ["orders"],
        "started_at": NOW - timedelta(minutes=5), "ended_at": ended_at, "rebalance_count": 3, "stopped_seconds": 12.5,
        "root_cause": None, "worst_offender": None, "headline": f"orders: {name}", "rebalance_ids": [], "outage_ids": [], "run_id": "r",
    } | values  # fmt: skip


def write(place: Path, table: str, rows: list[dict[str, Any]]) -> None:
    schema = pa.schema([each.remove_metadata() for each in TABLES[table].arrow_schema()])
    write_deltalake(str(place / TABLES[table].path), pa.Table.from_pylist(rows, schema=schema), mode="overwrite")


VERSIONS = {"incidents": 0, "rebalances": 0, "partition_outages": 0}


@pytest.fixture
def place(tmp_path: Path) -> Path:
    rows = [
        incident("now"),
        incident("open", ended_at=None),
        incident("old", ended_at=NOW - timedelta(days=3)),
        incident("mild", "warning"),
    ]
    write(tmp_path, "incidents", rows)
    for table in ("rebalances", "partition_outages", "alerts", "runs"):
        write(tmp_path, table, [])
    return tmp_path


# -- alerts -----------------------------------------------------------------------------------------------------


def test_each_incident_is_told_once(place: Path) -> None:
    told: list[Any] = []
    options = AlertOptions("")

    assert send_new(str(place), VERSIONS, "run-1", options, told.append, NOW).sent == 2
    assert send_new(str(place), VERSIONS, "run-2", options, told.append, NOW).sent == 0
    assert sorted(each["incident_id"] for each in told) == ["now", "open"]
    assert send_new(str(place), VERSIONS, "run-3", AlertOptions("", "warning"), told.append, NOW).sent == 1


def test_a_broken_rule_is_told_once_and_stands_for_no_incident(place: Path) -> None:
    told: list[Any] = []
    options = AlertOptions("")
    rules = [incident("rule-1", "warning", groups=[], kind="rule"), incident("rule-2", "warning", NOW - timedelta(days=3), kind="rule")]

    assert send_new(str(place), VERSIONS, "run-1", options, told.append, NOW, rules).sent == 3
    assert send_new(str(place), VERSIONS, "run-2", options, told.append, NOW, rules).sent == 0
    assert sorted(each["incident_id"] for each in told) == ["now", "open", "rule-1"]
    write(place, "incidents", [incident("outage", groups=[], started_at=NOW - timedelta(minutes=9))])
    assert send_new(str(place), {**VERSIONS, "incidents": 1}, "run-3", options, told.append, NOW, rules).sent == 1


def test_what_could_not_be_told_is_told_by_the_next_run(place: Path) -> None:
    told: list[Any] = []

    def broken(_: Any) -> None:
        raise ConnectionRefusedError("nobody there")

    assert send_new(str(place), VERSIONS, "run-1", AlertOptions(""), broken, NOW) == DeliveryCounts(sent=0, failed=2)
    assert send_new(str(place), VERSIONS, "run-2", AlertOptions(""), told.append, NOW).sent == 2


def test_what_cannot_be_told_keeps_nothing_else_from_being_told_or_written_down(place: Path) -> None:
    """The hook answers the first with nonsense, then has an address that is none, then works."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def nonsense() -> None:
            with listening.accept()[0] as connection:
                connection.recv(65536)
                connection.sendall(b"nonsense\r\n\r\n")

        answering = threading.Thread(target=nonsense)
        answering.start()
        told: list[Any] = []
        ways = [sender(f"http://127.0.0.1:{listening.getsockname()[1]}/"), sender("http://127.0.0.1:80/a b"), told.append, told.append]
        options = AlertOptions("", "warning")
        assert send_new(str(place), VERSIONS, "run-1", options, lambda incident: ways.pop(0)(incident), NOW).sent == 1
        answering.join()

    assert send_new(str(place), VERSIONS, "run-2", options, told.append, NOW).sent == 2
    assert len({each["incident_id"] for each in told}) == len(told) == 3


def test_one_whose_delivery_breaks_off_everything_leaves_what_was_told_written_down(place: Path) -> None:
    told: list[Any] = []

    def broken_at_the_second(incident: Any) -> None:
        if told:
            raise LookupError("nobody thought of this")
        told.append(incident)

    with pytest.raises(LookupError):
        send_new(str(place), VERSIONS, "run-1", AlertOptions(""), broken_at_the_second, NOW)
    assert send_new(str(place), VERSIONS, "run-2", AlertOptions(""), told.append, NOW).sent == 1


LATER = VERSIONS | {"incidents": 1}


def earlier(name: str, **values: Any) -> dict[str, Any]:
    """One that began ten minutes before the others."""
    return incident(name, started_at=NOW - timedelta(minutes=15), **values)


SUCCESSORS = {
    "an earlier rebalance was read late": (earlier("now-2"), 0),
    "its cluster got a name": (incident("now-2", cluster="east"), 0),
    "it still goes on": (earlier("now-2", ended_at=None), 0),
    "another group joined in": (earlier("now-2", groups=["audit", "orders"]), 0),
    "it is of another group": (earlier("now-2", groups=["audit"]), 1),
    "it is of no group": (earlier("now-2", groups=[]), 1),
    "it was over before": (earlier("now-2", ended_at=NOW - timedelta(minutes=6)), 1),
    "it began later": (incident("now-2", started_at=NOW - timedelta(minutes=4)), 1),
}


def test_what_was_told_stands_for_one_of_its_own_cluster_first(place: Path) -> None:
    """A group of another cluster has the same name, and an incident at the same time."""
    write(place, "incidents", [incident("b"), incident("other", "info", cluster="staging")])
    told: list[Any] = []
    send_new(str(place), LATER, "run-1", AlertOptions(""), told.append, NOW)
    write(place, "incidents", [incident("a", cluster="staging"), earlier("c")])
    send_new(str(place), LATER | {"incidents": 2}, "run-2", AlertOptions(""), told.append, NOW)
    assert [each["incident_id"] for each in told] == ["b", "a"]


@pytest.mark.parametrize(("minutes", "told_anew"), [(5, 0), (6, 1)])
def test_where_names_were_hidden_since_what_began_then_was_told(place: Path, minutes: int, told_anew: int) -> None:
    write(place, "alerts", [{"incident_id": "clear", "cluster": "prod", "severity": "critical", "started_at": NOW - timedelta(minutes=5),
                             "sent_at": NOW, "run_id": "run-1"}])  # fmt: skip
    write(place, "incidents", [incident("hidden", groups=["name-x"], started_at=NOW - timedelta(minutes=minutes))])
    assert send_new(str(place), LATER, "run-2", AlertOptions(""), lambda _: None, NOW).sent == told_anew


@pytest.mark.parametrize("case", SUCCESSORS)
def test_what_was_told_by_another_id_is_not_told_again(place: Path, case: str) -> None:
    """The one that was told is there no more, and one that holds its beginning is."""
    successor, told_anew = SUCCESSORS[case]
    write(place, "incidents", [incident("now")])
    told: list[Any] = []
    assert send_new(str(place), LATER, "run-1", AlertOptions(""), told.append, NOW).sent == 1

    write(place, "incidents", [successor])
    for run in range(2):
        send_new(str(place), LATER | {"incidents": 2}, f"run-{run + 2}", AlertOptions(""), told.append, NOW + timedelta(hours=1))
    assert [each["incident_id"] for each in told] == ["now", "now-2"][: 1 + told_anew]
    rows = {row["incident_id"]: row for row in DeltaTable(str(place / TABLES["alerts"].path)).to_pyarrow_table().to_pylist()}
    assert rows["now-2"]["previous_incident_id"] == (None if told_anew else "now")
    assert rows["now-2"]["sent_at"] == NOW + timedelta(hours=told_anew)


def test_what_was_told_stands_for_one_that_it_became_and_for_what_that_becomes(place: Path) -> None:
    told: list[Any] = []
    stages = [["now"], ["now-2"], ["now-3", "beside"], ["now-4", "beside"]]
    for version, names in enumerate(stages, 1):
        write(place, "incidents", [incident(name) for name in names])
        send_new(str(place), VERSIONS | {"incidents": version}, f"run-{version}", AlertOptions(""), told.append, NOW)
    assert len(told) == 2  # of those that came at once, one is that which was told
    assert told[0]["incident_id"] == "now"


def test_one_that_is_there_still_stands_for_no_other(place: Path) -> None:
    """Two at the same time, of the same groups: each is told."""
    write(place, "incidents", [incident("now")])
    told: list[Any] = []
    send_new(str(place), LATER, "run-1", AlertOptions(""), told.append, NOW)
    write(place, "incidents", [incident("now", severity="info"), earlier("beside")])
    send_new(str(place), LATER | {"incidents": 2}, "run-2", AlertOptions(""), told.append, NOW)
    assert [each["incident_id"] for each in told] == ["now", "beside"]


def test_alerts_of_an_older_warehouse_get_the_columns_that_they_lack(place: Path) -> None:
    schema = pa.schema([each.remove_metadata() for each in TABLES["alerts"].arrow_schema()])
    of_before = [schema.field(name) for name in ("incident_id", "cluster", "severity", "sent_at", "run_id")]
    row = {"incident_id": "now", "cluster": "prod", "severity": "critical", "sent_at": NOW, "run_id": "run-1"}
    path = str(place / TABLES["alerts"].path)
    write_deltalake(path, pa.Table.from_pylist([row], schema=pa.schema(of_before)), mode="overwrite", schema_mode="overwrite")

    told: list[Any] = []
    assert send_new(str(place), VERSIONS, "run-2", AlertOptions(""), told.append, NOW) == DeliveryCounts(sent=1, failed=0)
    assert told[0]["incident_id"] == "open"
    rows = DeltaTable(path).to_pyarrow_table().to_pylist()
    assert {row["incident_id"]: row["groups"] for row in rows} == {"now": None, "open": ["orders"]}


def test_one_process_sends_at_a_time(place: Path) -> None:
    """While one sends its first incident, another one waits in vain; its alerts are left to its next run."""
    sent: list[str] = []
    others: list[DeliveryCounts] = []
    options = AlertOptions("", "warning")

    def send(incident: Any) -> None:
        others.append(send_new(str(place), VERSIONS, "run-2", options, lambda row: sent.append(row["incident_id"]), NOW, wait_seconds=0.0))
        sent.append(incident["incident_id"])

    assert send_new(str(place), VERSIONS, "run-1", options, send, NOW).sent == 3
    assert others == [DeliveryCounts(0, 3), DeliveryCounts(0, 2), DeliveryCounts(0, 1)]
    assert sorted(sent) == ["mild", "now", "open"]
    assert send_new(str(place), VERSIONS, "run-2", options, send, NOW) == DeliveryCounts(0, 0)


def test_processes_that_send_at_the_same_moment_send_each_incident_once(place: Path) -> None:
    names = [f"number {number}" for number in range(6)]
    write(place, "incidents", [incident(name) for name in names])
    versions = VERSIONS | {"incidents": 1}
    sent: list[str] = []
    counts: list[int] = []
    together = threading.Barrier(4)

    def process(number: int) -> None:
        together.wait()
        counts.append(
            send_new(str(place), versions, f"run-{number}", AlertOptions(""), lambda row: sent.append(row["incident_id"]), NOW).sent
        )

    threads = [threading.Thread(target=process, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(sent) == names
    assert sum(counts) == len(names)


@pytest.mark.parametrize(("ends_in", "sent_count"), [(LEASE_SECONDS, 0), (-1, 2)])
def test_the_lease_of_a_killed_sender_ends(place: Path, ends_in: int, sent_count: int) -> None:
    alerts = SentIncidents(str(place / TABLES["alerts"].path), NOW, "run-1")
    alerts._append([], time.time_ns() // 1000 + ends_in * US_PER_SECOND)

    counts = send_new(str(place), VERSIONS, "run-2", AlertOptions(""), lambda _: None, NOW, wait_seconds=0.0)

    assert counts == DeliveryCounts(sent_count, 2 - sent_count)


def test_a_sender_that_was_overtaken_still_records_and_leaves_the_lease_to_the_other(place: Path) -> None:
    slow, other = (SentIncidents(str(place / TABLES["alerts"].path), NOW, name) for name in ("run-1", "run-2"))
    assert slow.claim()
    slow._append([], time.time_ns() // 1000 - 1)  # its time is over
    assert other.claim()

    slow.record_sent([incident("now")])
    slow.release()

    assert not slow.claim()
    other.record_sent([incident("open", ended_at=None)])
    other.refresh()
    assert other.rows.keys() == {"now", "open"}


@pytest.fixture
def web_hook() -> Iterator[tuple[str, list[tuple[dict[str, str], Any]]]]:
    """A web hook, and what was posted to it."""
    posted: list[tuple[dict[str, str], Any]] = []

    class Hook(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            posted.append((dict(self.headers), json.loads(self.rfile.read(int(self.headers["Content-Length"])))))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hook)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/hook", posted
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_web_hook_gets_one_post_of_json_for_each(place: Path, web_hook: tuple[str, list[tuple[dict[str, str], Any]]]) -> None:
    url, posted = web_hook
    send_new(str(place), VERSIONS, "run-1", AlertOptions(url), sender(url), NOW)

    assert [headers["Idempotency-Key"] for headers, _ in posted] == [body["incident_id"] for _, body in posted]
    [body] = [body for _, body in posted if body["incident_id"] == "now"]
    assert body == {
        "source": "groupscope", "incident_id": "now", "cluster": "prod", "kind": "storm", "severity": "critical", "groups": ["orders"],
        "started_at": "2026-11-21T11:55:00.000000Z", "ended_at": "2026-11-21T12:00:00.000000Z", "root_cause": None,
        "headline": "orders: now",
    }  # fmt: skip


def test_a_web_hook_that_sends_on_to_another_address_was_not_told(place: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The other address would be asked without a body, and might call that good."""
    asked: list[str] = []

    class Elsewhere(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(301)
            self.send_header("Location", "/hook/")
            self.end_headers()

        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Elsewhere) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        told = send_new(str(place), VERSIONS, "run-1", AlertOptions(""), sender(f"http://127.0.0.1:{server.server_port}/hook"), NOW)
        server.shutdown()
        thread.join()
    assert (told.sent, told.failed, asked) == (0, 2, [])
    assert "/hook/, where alerts would get lost; name that address" in caplog.text


def test_a_place_that_takes_none_is_not_asked_for_all(place: Path) -> None:
    write(place, "incidents", [incident(f"number {number}") for number in range(FAILURES_MAX + 3)])
    asked: list[Any] = []

    def nobody(each: Any) -> None:
        asked.append(each)
        raise OSError("timed out")

    told = send_new(str(place), VERSIONS | {"incidents": 1}, "run-1", AlertOptions(""), nobody, NOW)
    assert (told.sent, told.failed, len(asked)) == (0, FAILURES_MAX + 3, FAILURES_MAX)


def test_incidents_that_are_refused_keep_no_other_back(place: Path) -> None:
    write(place, "incidents", [incident(f"number {number}") for number in range(FAILURES_MAX + 3)])

    def picky(each: Any) -> None:
        if each["incident_id"] != f"number {FAILURES_MAX + 2}":
            raise HTTPError("", 400, "no", None, None)  # type: ignore[arg-type]

    assert send_new(str(place), VERSIONS | {"incidents": 1}, "run-1", AlertOptions(""), picky, NOW) == DeliveryCounts(1, FAILURES_MAX + 2)


def test_a_web_hook_is_told_who_asks(web_hook: tuple[str, list[tuple[dict[str, str], Any]]]) -> None:
    url, posted = web_hook
    sender(url.replace("http://", "http://bot:a%40b@"))({"incident_id": "one"})
    assert b64decode(posted[0][0]["Authorization"].removeprefix("Basic ")) == b"bot:a@b"


def test_other_places_need_apprise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "apprise", None)
    with pytest.raises(UsageError, match=r"slack: need Apprise: pip install 'groupscope\[alerts\]'"):
        sender("slack://token")


def test_apprise_is_used_where_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[dict[str, str]] = []

    class Apprise:
        def add(self, url: str) -> bool:
            return url.startswith("slack:")

        def notify(self, **values: str) -> bool:
            said.append(values)
            return len(said) == 1

    monkeypatch.setitem(sys.modules, "apprise", SimpleNamespace(Apprise=Apprise))  # type: ignore[arg-type]
    send = sender("slack://token")
    send(incident("one"))
    assert said == [{"title": "critical: orders", "body": "orders: one"}]
    with pytest.raises(OSError, match="could not deliver"):
        send(incident("two"))
    with pytest.raises(UsageError, match="knows no place"):
        sender("nowhere://")


# -- metrics ----------------------------------------------------------------------------------------------------


def test_metrics_say_what_ran_and_what_there_is(place: Path, tmp_path: Path) -> None:
    run = RunMetrics(4, 1700000000.25, {"files": 3}, {"ingest": 1.5})
    text = metrics_text(run, table_metrics(str(place), VERSIONS), None)
    samples = [line for line in text.splitlines() if not line.startswith("#")]

    assert samples == [
        "groupscope_run_last_timestamp_seconds 1.70000000025e+09",
        "groupscope_run_last_success_timestamp_seconds 1.70000000025e+09",
        "groupscope_run_exit_code 4.0",
        'groupscope_run_stage_seconds{stage="ingest"} 1.5',
        'groupscope_run_count{what="files"} 3.0',
        'groupscope_incidents{cluster="prod",severity="critical"} 3.0',
        'groupscope_incidents{cluster="prod",severity="warning"} 1.0',
        'groupscope_incidents_open{cluster="prod",severity="critical"} 1.0',
        'groupscope_stopped_seconds{cluster="prod"} 50.0',
    ]
    helped = {line.split()[2] for line in text.splitlines() if line.startswith("# HELP")}
    typed = {line.split()[2] for line in text.splitlines() if line.startswith("# TYPE")}
    assert helped == typed == {line.split("{")[0].split()[0] for line in samples}
    path = tmp_path / "metrics.prom"
    path.write_text(text, encoding="utf-8")
    assert last_success(path) == 1700000000.25


def test_a_failed_run_passes_the_last_success_on() -> None:
    text = metrics_text(RunMetrics(3, 200.0, has_succeeded=False), [], 100.0)

    assert "groupscope_run_last_success_timestamp_seconds 100.0\n" in text
    assert "groupscope_run_exit_code 3.0\n" in text


def test_labels_hold_what_logs_say() -> None:
    text = metrics_text(RunMetrics(0, 1.0), [gauge("groupscope_incidents", "Incidents.", [({"cluster": 'a"b\\c\nd'}, 1.0)])], None)

    assert 'groupscope_incidents{cluster="a\\"b\\\\c\\nd"} 1.0\n' in text


# -- pages ------------------------------------------------------------------------------------------------------


def test_the_index_runs_nothing_that_a_log_says() -> None:
    hostile = "<script>alert(1)</script>\"'&\x1b[31m"
    row = SimpleNamespace(severity="critical", started_at=0, cluster=hostile, incident_id="a1", headline=hostile)
    page = index_page([row] * INCIDENTS_MAX)

    assert "<script" not in page
    assert "\x1b" not in page
    assert page.count('href="incident-a1.html"') == INCIDENTS_MAX
    assert "No incident needs attention" in index_page([])


# -- packages ---------------------------------------------------------------------------------------------------


def test_our_own_packages_are_found() -> None:
    packages.check_packages()


def test_an_intruder_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "__init__.py").touch()
    monkeypatch.syspath_prepend(str(tmp_path))
    for name in [name for name in sys.modules if name == "conf" or name.startswith("conf.")]:
        monkeypatch.delitem(sys.modules, name)
    with pytest.raises(UsageError, match=rf"the package conf is taken from {tmp_path}"):
        packages.check_packages()


STARTS = {
    "groupscope": ["-c", "from pipelines.cli.main import run; run()", "run"],
    "groupscope-job": ["-c", "from pipelines.cli.spark_submit import main; main()"],
    "spark-submit job.py": [str(ROOT / "docs" / "examples" / "job.py")],
    "spark-submit pipelines/cli/spark_submit.py": [str(ROOT / "pipelines" / "cli" / "spark_submit.py")],
}


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("name", packages.PACKAGES)
@pytest.mark.parametrize("form", ["package", "module"])
def test_every_start_names_an_intruder_before_it_needs_the_package(tmp_path: Path, start: str, name: str, form: str) -> None:
    if name == "pipelines":
        pytest.skip("nothing of ours is imported there: Python's own error says so")
    intruder = tmp_path / name / "__init__.py" if form == "package" else tmp_path / f"{name}.py"
    intruder.parent.mkdir(exist_ok=True)
    intruder.touch()
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT)])}
    command = [sys.executable, *STARTS[start], "--input", "logs", "--warehouse", str(tmp_path / "warehouse")]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)

    assert (done.returncode, done.stdout) == (2, "")
    [line] = done.stderr.splitlines()
    assert line.startswith(f"error: the package {name} ")
    assert str(tmp_path) in line

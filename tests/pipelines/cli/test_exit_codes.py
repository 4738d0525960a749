"""Exit codes, each reached as a user reaches it, with one line that says what, where and what next."""

from __future__ import annotations

import errno
import gzip
import os
import signal
import subprocess
import sys
from itertools import combinations
from pathlib import Path

import pytest

from pipelines import exit_codes as codes
from tests.pipelines.cli.conftest import POLL_TIMEOUT, ROOT, Cli

SERVER_LOG = f"{POLL_TIMEOUT}/broker-1/server.log"
GOOD_LINE = (ROOT / SERVER_LOG).read_bytes()
COMMAND = str(Path(sys.executable).with_name("groupscope"))

USAGE = {
    "no such command": (["analyse", SERVER_LOG], "Did you mean 'analyze'?"),
    "no such option": (["analyze", "--jsn", SERVER_LOG], "--json"),
    "no argument": (["explain"], "Missing argument 'REBALANCE'"),
    "nothing to read": (["analyze"], "give log files or folders, or --warehouse"),
    "two sources": (["rebalances", SERVER_LOG, "--warehouse", "x"], "not both"),
    "two forms": (["rebalances", SERVER_LOG, "--json", "--jsonl"], "cannot be combined"),
    "two other forms": (["analyze", SERVER_LOG, "--jsonl", "--csv"], "--jsonl and --csv cannot be combined"),
    "around and since": (["analyze", SERVER_LOG, "--around", "10:00", "--since", "1m"], "without --since and --until"),
    "no such line": (["explain", "server.log:99999", SERVER_LOG], "it has lines 1 to "),
    "nothing else set": (["whatif", SERVER_LOG], "say what would be set otherwise"),
    "no length of time": (["whatif", SERVER_LOG, "--session-timeout", "soon"], "examples are 500ms, 45s and 5m"),
    "no stretch": (["analyze", SERVER_LOG, "--around", "10:00/soon"], "is no stretch of time; examples are"),
    "stretch beyond all dates": (["analyze", SERVER_LOG, "--since", "99999999999w"], "is no time; examples are"),
    "negative limit": (["analyze", SERVER_LOG, "--limit", "-1"], "--limit"),
    "no such severity": (["analyze", SERVER_LOG, "--fail-on", "fatal"], "'warning', 'critical'"),
    "zone to show": (["analyze", SERVER_LOG, "--tz", "Europe/Berln"], "did you mean Europe/Berlin?"),
    "zone of logs": (["analyze", SERVER_LOG, "--log-tz", "Europe/Berln"], "did you mean Europe/Berlin?"),
    "empty rule": (["analyze", SERVER_LOG, "--cluster", "*="], "expected VALUE or GLOB=VALUE"),
    "assumption": (["analyze", SERVER_LOG, "--assume", "session_timeout=5"], "did you mean session_timeout_ms?"),
    "assumed text": (["analyze", SERVER_LOG, "--assume", "session_timeout_ms=ten"], "whole number"),
    "no time": (["analyze", SERVER_LOG, "--since", "yesterday noon"], "is no time; examples are"),
    "time order": (["analyze", SERVER_LOG, "--since", "1m", "--until", "2m"], "--since lies behind --until"),
    "no such group": (["analyze", SERVER_LOG, "--group", "shiping-e"], "did you mean 'shipping-e'?"),
    "no such rebalance": (["explain", "shipping-e/99", SERVER_LOG], "the logs have generations 1 to"),
    "no such schema": (["schema", "rebalance"], "did you mean rebalances?"),
    "settings": (["analyze", SERVER_LOG, "--settings", "conf/causes.yaml"], "not valid TOML"),
}


@pytest.mark.parametrize("case", USAGE)
def test_usage(cli: Cli, case: str) -> None:
    arguments, told = USAGE[case]
    done = cli(*arguments)
    assert (done.code, done.out) == (codes.USAGE, "")
    assert told in done.err
    assert done.err.startswith("error: ")
    assert done.err.count("\n") == 1


@pytest.mark.parametrize("command", ["analyze", "rebalances", "offenders", "timeline", "outages", "events"])
def test_a_missing_path(cli: Cli, command: str) -> None:
    done = cli(command, "data_sample")
    assert done == (type(done)(codes.NOTHING_READABLE, "", "error: data_sample: no such file or folder; did you mean data_samples?\n"))


def test_a_missing_path_beside_a_good_one_stops_before_any_work(cli: Cli) -> None:
    assert cli("analyze", SERVER_LOG, "missing.log").code == codes.NOTHING_READABLE


@pytest.mark.parametrize("command", ["analyze", "events"])
def test_nothing_readable(cli: Cli, tmp_path: Path, command: str) -> None:
    empty = cli(command, tmp_path)
    assert (empty.code, empty.err) == (codes.NOTHING_READABLE, f"error: {tmp_path}: the folder is empty\n")
    (tmp_path / "notes.txt").write_text("nothing of a log\n")
    done = cli(command, tmp_path / "notes.txt")
    assert done.code == codes.NOTHING_READABLE
    assert "notes.txt: not a log" in done.err


def test_no_warehouse(cli: Cli, tmp_path: Path) -> None:
    done = cli("rebalances", "--warehouse", tmp_path)
    assert done.code == codes.NOTHING_READABLE
    assert "is no warehouse" in done.err


def test_findings(cli: Cli, story_warehouse: Path) -> None:
    for severity in ("warning", "critical"):
        assert cli("analyze", "--warehouse", story_warehouse, "--fail-on", severity).code == codes.FINDINGS
    calm = ("analyze", "--warehouse", story_warehouse, "--group", "billing", "--fail-on")
    assert cli(*calm, "warning").code == codes.FINDINGS
    assert cli(*calm, "critical").code == codes.GOOD


def broken_folder(folder: Path, name: str, content: bytes) -> Path:
    (folder / "server.log").write_bytes(GOOD_LINE)
    (folder / name).write_bytes(content)
    return folder / name


@pytest.mark.parametrize("command", ["analyze", "events"])
def test_part_of_the_input_rejected(cli: Cli, tmp_path: Path, command: str) -> None:
    cut = broken_folder(tmp_path, "server.log.1.gz", gzip.compress(GOOD_LINE * 3 + b"x")[:-20])
    assert cli(command, tmp_path).code == codes.SOME_REJECTED
    cut.unlink()
    assert cli(command, tmp_path).code == codes.GOOD


def test_what_is_no_log_counts_only_where_it_was_named(cli: Cli, tmp_path: Path) -> None:
    core = broken_folder(tmp_path, "core", bytes(range(256)) * 64)
    by_folder = cli("analyze", tmp_path)
    assert by_folder.code == codes.GOOD
    assert "1 other file skipped, such as" in by_folder.out
    assert cli("analyze", tmp_path / "server.log", core).code == codes.SOME_REJECTED


def test_output_that_cannot_be_written(cli: Cli, tmp_path: Path) -> None:
    done = cli("analyze", SERVER_LOG, "--report", tmp_path / "none" / "report.html")
    assert done.code == codes.CANNOT_WRITE
    assert "report.html can't be written: No such file or directory" in done.err


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full on this system")
@pytest.mark.parametrize("arguments", [["analyze", SERVER_LOG], ["analyze", SERVER_LOG, "--json"], ["events", SERVER_LOG], ["--help"]])
def test_a_full_disk(arguments: list[str]) -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run([COMMAND, *arguments], cwd=ROOT, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == codes.CANNOT_WRITE
    assert done.stderr == "error: standard output can't be written: No space left on device\n"


def test_our_bug_is_told_in_two_lines_and_with_v_in_full(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise LookupError("\x1b[31mboom")

    monkeypatch.setattr("pipelines.analysis.in_process.analyze", broken)
    short, long = cli("analyze", SERVER_LOG), cli("analyze", SERVER_LOG, "-v")
    assert short.code == long.code == codes.OUR_BUG
    assert short.err.splitlines()[0] == "error: LookupError: \\x1b[31mboom"
    assert "run again with -v" in short.err
    assert "Traceback" in long.err


@pytest.mark.parametrize("error", [BrokenPipeError(errno.EPIPE, "Broken pipe"), EOFError("the end"), SystemExit(3)], ids=repr)
def test_what_looks_like_an_end_in_the_middle_of_work_is_an_error(cli: Cli, monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    def broken(*_: object) -> None:
        raise error

    monkeypatch.setattr("pipelines.analysis.in_process.analyze", broken)
    done = cli("analyze", SERVER_LOG)
    assert (done.code, done.err.splitlines()[0]) == (codes.OUR_BUG, f"error: {type(error).__name__}: {error}")


@pytest.mark.parametrize(("arguments", "code"), [(["analyze", "no.log"], codes.NOTHING_READABLE), (["-h"], codes.GOOD)])
def test_nobody_reads_what_is_said_beside_the_answer(arguments: list[str], code: int) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with open(writing, "wb") as gone:
        done = subprocess.run([COMMAND, *arguments], cwd=ROOT, stdout=subprocess.DEVNULL, stderr=gone, check=False)
    assert done.returncode == code


def test_an_interrupt_in_the_middle_of_work(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("pipelines.analysis.in_process.analyze", interrupted)
    done = cli("analyze", SERVER_LOG)
    assert (done.code, done.out, done.err) == (codes.INTERRUPTED, "", "interrupted\n")


def interrupted(running: subprocess.Popen[str]) -> tuple[str, str]:
    """Press Control-C, and again while nothing happens, as people do."""
    for _ in range(5):
        running.send_signal(signal.SIGINT)
        try:
            return running.communicate(timeout=20)
        except subprocess.TimeoutExpired:
            continue
    running.kill()
    return running.communicate()


def _heed_control_c() -> None:
    """A shell's background jobs ignore the signal, and so would what they start."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def test_control_c(tmp_path: Path) -> None:
    """The command waits for a named pipe; whoever opened the other end knows that it does."""
    pipe = tmp_path / "pipe.log"
    os.mkfifo(pipe)
    waiting = [COMMAND, "analyze", str(pipe)]
    with (
        subprocess.Popen(waiting, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=_heed_control_c) as running,
        pipe.open("wb"),
    ):
        out, err = interrupted(running)
    assert (running.returncode, out, err) == (codes.INTERRUPTED, "", "interrupted\n")


def test_which_code_applies_of_several() -> None:
    order = [70, 130, 2, 74, 6, 3, 5, 1, 4]
    assert codes.decisive([]) == 0
    assert [codes.decisive([code, 0]) for code in order] == order
    assert all(codes.decisive(reversed(pair)) == pair[0] for pair in combinations(order, 2))


def test_a_scheme_that_only_spark_may_know_is_named(cli: Cli) -> None:
    done = cli("analyze", "dbfs:/logs")
    assert (done.code, done.out) == (codes.NOTHING_READABLE, "")
    assert done.err == "error: dbfs:/logs: no driver is here for such URIs; groupscope run reads them, through Spark\n"


def test_the_last_collections_have_nothing_to_search_while_exit_handlers_still_run() -> None:
    script = (
        "import atexit, gc, sys; from pipelines.cli.main import run\n"
        "atexit.register(lambda: print('left', len(gc.get_objects()) * 100 < gc.get_freeze_count()))\n"
        f"sys.argv = ['groupscope', 'analyze', {SERVER_LOG!r}]; run()"
    )
    ended = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=False)

    assert ended.returncode == codes.GOOD, ended.stderr
    assert ended.stdout.rstrip().endswith("left True")


OTHER = """2026-11-20 01:00:00,000 INFO com.example.Checkout - order 1 placed
2026-11-20 01:00:01,000 WARN com.example.Checkout - slow payment 3021 ms
"""


@pytest.mark.parametrize("command", ["rebalances", "offenders", "outages", "deploys", "groups", "timeline", "trend"])
def test_people_hear_where_no_line_could_have_shown_anything(cli: Cli, tmp_path: Path, command: str) -> None:
    log = tmp_path / "app.log"
    log.write_text(OTHER)
    for arguments, reason in (((log,), "recognised"), ((SERVER_LOG, "--since", "2031-01-01"), "before --since")):
        done = cli(command, *arguments)
        assert (done.code, done.out) == (codes.NOTHING_READABLE, "")
        assert reason in done.err
    done = cli(command, SERVER_LOG, "--since", "2031-01-01", "--json")
    assert done.code == codes.GOOD
    assert "before --since" in done.err


@pytest.mark.parametrize(
    ("query", "hint"),
    [
        ("select group from rebalances", True),
        ("select r.group, cause from rebalances r", False),
        ("select cause from rebalances where group = 'a'", True),
        ("select cause, count(*) from rebalances group by", False),
        ('select "group", nothing from rebalances', False),
    ],
)
def test_a_query_that_takes_group_for_a_column_gets_a_hint(cli: Cli, query: str, hint: bool) -> None:
    done = cli("sql", query, SERVER_LOG)
    assert ('the column is written "group"' in done.err) is hint
    assert done.code == codes.USAGE or not hint

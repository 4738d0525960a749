"""Real terminals and real pipes: bars and colour where someone looks, none elsewhere, and a quiet end where nobody reads."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from pipelines.cli.output.standard_streams import Messenger
from tests.conftest import spread
from tests.pipelines.cli.conftest import POLL_TIMEOUT, ROOT, Cli

COMMAND = str(Path(sys.executable).with_name("groupscope"))
SAMPLES = "data_samples/kafka/2.8.2/rolling-restart"
ESCAPE = b"\x1b["


def on_terminal(*arguments: str, out: bool = False, err: bool = False, **environment: str) -> tuple[int, bytes, bytes]:
    """Exit code, standard output and standard error, of which each may be a terminal."""
    inherited = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "COLUMNS", "FORCE_COLOR", "TERM")}
    variables = {**inherited, "TERM": "xterm-256color", **environment}
    ends = [pty.openpty() if wanted else os.pipe() for wanted in (out, err)]
    running = subprocess.Popen([COMMAND, *arguments], cwd=ROOT, env=variables, stdout=ends[0][1], stderr=ends[1][1])
    for _, end in ends:
        os.close(end)
    # Both at once: a terminal holds 4 KiB, and a program that draws more waits for its reader.
    with ThreadPoolExecutor() as readers:
        written = list(readers.map(_all_of, (end for end, _ in ends)))
    return running.wait(), written[0], written[1]


def _all_of(descriptor: int) -> bytes:
    found = b""
    while True:
        try:
            block = os.read(descriptor, 1 << 16)
        except OSError:  # how Linux says that a terminal's other end is closed
            block = b""
        if not block:
            os.close(descriptor)
            return found
        found += block


@pytest.mark.parametrize("command", spread(["analyze", "events", "rebalances"], 2))
def test_a_bar_on_a_terminal_only(command: str) -> None:
    code, _, err = on_terminal(command, POLL_TIMEOUT, err=True)
    assert code == 0
    assert b"reading" in err
    assert on_terminal(command, POLL_TIMEOUT)[2] == b""


@pytest.mark.parametrize(("options", "environment"), [(("--quiet",), {}), ((), {"TERM": "dumb"})])
def test_no_bar_where_it_is_not_wanted(options: tuple[str, ...], environment: dict[str, str]) -> None:
    assert on_terminal("analyze", POLL_TIMEOUT, *options, err=True, **environment)[2] == b""


def test_a_bar_needs_no_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    before = set(threading.enumerate())
    with Messenger().progress("reading") as tell:
        assert tell is not None
        tell("/logs/server.log", 1 << 20, 2 << 20)
        assert set(threading.enumerate()) <= before  # beside another thread no process is forked


def test_a_bar_never_mixes_with_the_answer() -> None:
    plain = on_terminal("rebalances", POLL_TIMEOUT, "--json")[1]
    assert on_terminal("rebalances", POLL_TIMEOUT, "--json", err=True)[1] == plain


@pytest.mark.parametrize("command", spread(["analyze", "timeline", "doctor"], 2))
def test_colour_on_a_terminal_only(command: str) -> None:
    arguments = [command] if command == "doctor" else [command, POLL_TIMEOUT]
    assert ESCAPE in on_terminal(*arguments, out=True)[1]
    assert ESCAPE not in on_terminal(*arguments)[1]


@pytest.mark.parametrize("environment", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
@pytest.mark.parametrize("command", spread(["analyze", "timeline", "rebalances"], 3))
def test_no_colour_where_it_is_not_wanted(command: str, environment: dict[str, str]) -> None:
    shown = on_terminal(command, POLL_TIMEOUT, out=True, **environment)[1]
    assert not any(f"\x1b[{number}".encode() in shown for number in range(30, 50))


def test_json_on_a_terminal_is_json() -> None:
    assert ESCAPE not in on_terminal("rebalances", POLL_TIMEOUT, "--json", out=True)[1]


@pytest.mark.parametrize(
    "arguments",
    spread([("events", SAMPLES), ("analyze", SAMPLES, "--json"), ("analyze", SAMPLES), ("schema",), ("--help",)], 2),
    ids=" ".join,
)
def test_a_pipe_that_is_closed_early_is_no_failure(arguments: tuple[str, ...]) -> None:
    """As with `| head`: the reader goes away before, or after, the first byte."""
    for wanted in (0, 1):
        with subprocess.Popen([COMMAND, *arguments], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
            assert running.stdout is not None
            assert running.stderr is not None
            running.stdout.read(wanted)
            running.stdout.close()
            assert (running.wait(), running.stderr.read()) == (0, b"")


@pytest.mark.parametrize("form", spread(["--json", "--jsonl", "--markdown", "--quiet"], 3))
@pytest.mark.parametrize(("command", "option"), [("analyze", ("--fail-on", "warning")), ("gate", ("--max-rebalances", "1"))])
def test_a_pipe_that_is_closed_early_changes_no_verdict(command: str, option: tuple[str, str], form: str) -> None:
    """As in `groupscope gate ... | head -1` of a script that asks for the exit code."""
    if command == "gate" and form in ("--jsonl", "--markdown"):
        pytest.skip("a gate has no such form")
    with subprocess.Popen([COMMAND, command, POLL_TIMEOUT, *option, form], cwd=ROOT, stdout=subprocess.PIPE) as running:
        assert running.stdout is not None
        running.stdout.close()
        assert running.wait() == 1


@pytest.mark.parametrize("columns", [60, 70, 80, 100, 120, 160])
def test_a_table_of_rebalances_keeps_who_and_id_at_any_width(cli: Cli, columns: int) -> None:
    """The id is what explain takes; others are left out or folded."""
    told = cli("rebalances", POLL_TIMEOUT, columns=columns).out
    head = told.splitlines()[1]
    assert [title for title in ("group", "cause", "who", "id") if title not in head.split()] == []
    assert all(len(line) <= columns for line in told.splitlines())
    assert re.search(r"\b[0-9a-f]{10}\b", told)

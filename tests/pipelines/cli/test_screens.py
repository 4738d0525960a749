"""What people see: golden screens, any width, and nothing of a log that a terminal would obey.

`--rewrite` writes the screens down as they are now; read the difference before you keep it.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len

from tests.conftest import spread
from tests.dashboards import golden
from tests.dashboards.hostile import PAYLOADS
from tests.pipelines.cli.conftest import POLL_TIMEOUT, Cli

SCREENS = {
    "analyze": ("analyze",),
    "analyze-verbose": ("analyze", "-v"),
    "analyze-group": ("analyze", "--group", "billing", "--tz", "Europe/Berlin"),
    "rebalances": ("rebalances",),
    "offenders": ("offenders",),
    "timeline": ("timeline",),
    "outages": ("outages",),
    "explain": ("explain", "orders/41"),
    "explain-unsure": ("explain", "billing@10:07"),
}
# Letters that a terminal obeys, or that turn text around: none may come from a log.
OBEYED = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\x9f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff\U000e0000-\U000e007f]"
)


@pytest.mark.parametrize("width", [80, 140])
@pytest.mark.parametrize("screen", SCREENS)
def test_screens_are_as_written_down(cli: Cli, story_warehouse: Path, request: pytest.FixtureRequest, screen: str, width: int) -> None:
    command, *options = SCREENS[screen]
    done = cli(command, *options, "--warehouse", story_warehouse, columns=width)
    assert (done.code, done.err) == (0, "")
    text = "".join(line.rstrip() + "\n" for line in done.out.splitlines())
    golden.check(f"screens/{screen}-{width}.txt", text, rewrite=request.config.getoption("--rewrite"))


@pytest.mark.parametrize("width", [80, 140])
@pytest.mark.parametrize("command", ["analyze", "ownership"])
def test_queues_and_their_owners(cli: Cli, queue_warehouse: Path, request: pytest.FixtureRequest, command: str, width: int) -> None:
    done = cli(command, "--warehouse", queue_warehouse, columns=width)
    assert (done.code, done.err) == (0, "")
    text = "".join(line.rstrip() + "\n" for line in done.out.splitlines())
    golden.check(f"screens/{command}-queues-{width}.txt", text, rewrite=request.config.getoption("--rewrite"))


@pytest.mark.parametrize("width", spread([60, 72, 80, 100, 140, 200], 3))
@pytest.mark.parametrize("screen", SCREENS)
def test_no_line_is_wider_than_the_terminal(cli: Cli, story_warehouse: Path, screen: str, width: int) -> None:
    command, *options = SCREENS[screen]
    done = cli(command, *options, "--warehouse", story_warehouse, columns=width)
    wide = [line for line in done.out.splitlines() if cell_len(line.rstrip()) > width]
    assert wide == []


@pytest.mark.parametrize("width", spread([10, 20, 40], 2))
@pytest.mark.parametrize("screen", SCREENS)
def test_a_very_narrow_terminal_is_no_failure(cli: Cli, story_warehouse: Path, screen: str, width: int) -> None:
    command, *options = SCREENS[screen]
    done = cli(command, *options, "--warehouse", story_warehouse, columns=width)
    assert (done.code, done.err) == (0, "")
    assert done.out.strip()


@pytest.mark.parametrize("width", spread([80, 140], 2))
@pytest.mark.parametrize("command", ["analyze", "rebalances", "offenders", "timeline", "outages", "ownership"])
@pytest.mark.parametrize("more", [(), ("-v",), ("--limit", "0")], ids=" ".join)
def test_no_text_of_a_log_is_obeyed(cli: Cli, hostile_warehouse: Path, command: str, width: int, more: tuple[str, ...]) -> None:
    done = cli(command, "--warehouse", hostile_warehouse, *more, columns=width)
    assert done.code == 0
    assert OBEYED.findall(done.out + done.err) == []


def test_text_of_a_log_is_shown_whole(cli: Cli, hostile_warehouse: Path) -> None:
    """No payload is taken for markup, an emoji code or a format: each stands where it is to stand."""
    shown = cli("offenders", "--warehouse", hostile_warehouse, "--limit", 0, columns=2000).out
    ascii_only = [text for text in PAYLOADS if text.isascii()]
    assert [text for text in ascii_only if text not in shown] == []


@pytest.mark.parametrize("number", range(0, 80, 7))
def test_a_story_of_hostile_names(cli: Cli, hostile_warehouse: Path, number: int) -> None:
    done = cli("explain", f"id{number:04}", "--warehouse", hostile_warehouse)
    assert done.code == 0
    assert OBEYED.findall(done.out) == []


def test_errors_show_hostile_names_as_escapes(cli: Cli, story_warehouse: Path, tmp_path: Path) -> None:
    for arguments in (
        ("explain", "\x1b[31mred\u202e/7", "--warehouse", story_warehouse),
        ("analyze", "--warehouse", story_warehouse, "--group", "\x1b]52;c;x\x07"),
        ("analyze", tmp_path / "\x1b[31mnone"),
        ("analyze", POLL_TIMEOUT, "--log-tz", "\x1b[31mred"),
        ("\x1b[31mred",),
    ):
        done = cli(*arguments)
        assert done.code in (2, 3)
        assert OBEYED.findall(done.err) == []
        assert "\\x1b" in done.err


def test_file_names_are_shown_as_escapes(cli: Cli, tmp_path: Path) -> None:
    folder = tmp_path / "logs"
    folder.mkdir()
    for name in (b"a\x1b[31mred.txt", b"bytes\xff.txt", "bidi\u202etxt".encode()):
        (Path(str(folder).encode().decode()) / name.decode("utf-8", "surrogateescape")).write_text("no log\n")
    (folder / "server.log").write_bytes(Path(POLL_TIMEOUT, "broker-1/server.log").read_bytes())
    done = cli("analyze", folder, "-v")
    assert done.code == 0
    assert OBEYED.findall(done.out + done.err) == []


@pytest.mark.parametrize("screen", SCREENS)
def test_a_terminal_without_unicode_gets_escapes(cli: Cli, story_warehouse: Path, screen: str) -> None:
    command, *options = SCREENS[screen]
    done = cli(command, *options, "--warehouse", story_warehouse, encoding="ascii")
    assert done.code == 0
    assert done.out.isascii()


def test_lanes_without_unicode_are_drawn_in_ascii(cli: Cli, story_warehouse: Path) -> None:
    drawn: Any = cli("timeline", "--warehouse", story_warehouse, encoding="ascii").out
    assert "\\u" not in drawn
    assert "# PreparingRebalance" in drawn


def test_nothing_found_says_what_was_read(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "server.log").write_text("[2026-03-01 10:00:00,000] INFO [KafkaServer id=1] started (kafka.server.KafkaServer)\n")
    done = cli("analyze", tmp_path)
    assert done.code == 0
    assert "No " in done.out
    assert "1 file" in done.out


def test_where_a_broker_went_outages_are_not_denied(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "server.log").write_text(
        "[2026-11-21 09:00:00,001] WARN [ReplicaManager broker=2] Stopping serving replicas in dir /d1 (kafka.server.ReplicaManager)\n"
        "[2026-11-21 09:00:00,003] ERROR Shutdown broker because all log dirs in /d1 have failed (kafka.log.LogManager)\n"
    )
    told = " ".join(cli("analyze", tmp_path / "server.log").out.split())
    assert "No rebalance and no partition without a leader is in these logs." in told
    assert "broker 2 shut down as all its log directories had failed, not seen back; no partition without leader is told" in told
    assert "no outage" not in told

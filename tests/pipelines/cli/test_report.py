"""`groupscope report`: one page, from logs or from tables."""

from __future__ import annotations

import re
from pathlib import Path

from pipelines import exit_codes as codes
from tests.pipelines.cli.conftest import POLL_TIMEOUT, ROOT, Cli


def test_from_logs_from_tables_and_with_analyze_it_is_one_page(cli: Cli, tmp_path: Path, sample_warehouse: Path) -> None:
    title = ("--title", "Friday night")
    logs = cli("report", POLL_TIMEOUT, *title, "--out", tmp_path / "logs.html")
    tables = cli("report", "--warehouse", sample_warehouse, *title, "--out", tmp_path / "tables.html")

    assert (logs.code, logs.out, logs.err) == (codes.GOOD, "", f"report written: {tmp_path}/logs.html\n")
    assert tables.code == codes.GOOD
    text = (tmp_path / "logs.html").read_text()
    assert "<title>Friday night" in text
    assert text == (tmp_path / "tables.html").read_text()


def test_the_title_says_what_was_read(cli: Cli, tmp_path: Path) -> None:
    cli("report", POLL_TIMEOUT, "-o", tmp_path / "report.html", "-q")
    cli("analyze", POLL_TIMEOUT, "--report", tmp_path / "analyze.html", "-q")

    text = (tmp_path / "report.html").read_text()
    assert re.search("<title>[^<]*poll-timeout", text)
    assert text == (tmp_path / "analyze.html").read_text()


def test_what_to_set_stands_in_a_table_and_with_its_incident(cli: Cli, tmp_path: Path) -> None:
    cli("report", POLL_TIMEOUT, "-o", tmp_path / "report.html", "-q")
    text = (tmp_path / "report.html").read_text()
    table = text.partition('<div data-grid="settings">')[2].partition("</table>")[0]
    assert "max.poll.interval.ms of at least 14 s" in table
    assert "groupscope whatif --group shipping-e --max-poll-interval 14s" in table
    card = text.partition('<ul class="advice remedies">')[2].partition("</ul>")[0]
    assert "max.poll.interval.ms of at least 14 s, or smaller batches (max.poll.records): 2 of 4 rebalances" in card


def test_only_what_was_asked_for_is_shown(cli: Cli, tmp_path: Path) -> None:
    done = cli("report", POLL_TIMEOUT, "--group", "no-such-group", "-o", tmp_path / "report.html")
    assert done.code == codes.USAGE
    assert not (tmp_path / "report.html").exists()


def test_no_half_page_is_left(cli: Cli, tmp_path: Path) -> None:
    done = cli("report", POLL_TIMEOUT, "--out", tmp_path / "none" / "report.html")
    assert done.code == codes.CANNOT_WRITE
    assert "can't be written" in done.err
    assert not list(tmp_path.iterdir())
    assert not (ROOT / "groupscope.html").exists()

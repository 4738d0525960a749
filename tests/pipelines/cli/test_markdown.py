"""Incidents as Markdown: complete, and nothing of a log is markup."""

import pytest

from pipelines.cli.output.markdown import code, plain
from tests.pipelines.cli.conftest import POLL_TIMEOUT, Cli


def test_a_ticket_holds_what_happened_the_lines_and_what_to_do(cli: Cli) -> None:
    done = cli("analyze", POLL_TIMEOUT, "--markdown")
    assert done.code == 0
    assert done.out.startswith("# 1 incident that needs attention\n")
    assert "## WARNING: shipping-e: 4 rebalances in 22 s" in done.out
    assert "- trigger: poll interval exceeded (93 %)" in done.out
    assert "server.log:43: ` [2026-11-21 09:08:46,570] INFO" in done.out.replace("\\", "")
    assert "- [ ] Fetch less per poll" in done.out
    assert "- [ ] Set max.poll.interval.ms of at least 14 s" in done.out


def test_one_form_at_a_time(cli: Cli) -> None:
    done = cli("analyze", POLL_TIMEOUT, "--markdown", "--json")
    assert (done.code, done.out) == (2, "")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("<img src=x>", "\\<img src=x\\>"),
        ("[a](b)", "\\[a\\](b)"),
        ("a\n# b", "a\\\\n\\# b"),
        ("@all", "\\@all"),
        ("&lt;", "\\&lt;"),
    ],
)
def test_text_of_logs_is_no_markup(text: str, shown: str) -> None:
    assert plain(text) == shown


def test_no_backtick_ends_a_log_line() -> None:
    assert code("a ``b`` c") == "``` a ``b`` c ```"

"""Help: complete, plain, narrow where the terminal is, and there before anything heavy is loaded."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from pipelines.cli.registry import COMMANDS as REGISTERED
from pipelines.cli.registry import whole_app
from tests.conftest import spread
from tests.pipelines.cli.conftest import POLL_TIMEOUT, ROOT, Cli

COMMANDS = sorted(REGISTERED)
COMMAND = str(Path(sys.executable).with_name("groupscope"))
HEAVY = ("pyspark", "delta", "great_expectations", "pandas", "plotly", "deltalake", "duckdb", "jinja2")
APPLIED = ("dashboards.view.answer",)
"""What only answers need."""


def test_all_commands_are_there() -> None:
    wanted = {"analyze", "explain", "events", "rebalances", "offenders", "timeline", "outages", "run", "schema", "doctor"}
    assert wanted <= set(COMMANDS)


@pytest.mark.parametrize("option", ["--help", "-h"])
@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_has_help(cli: Cli, command: str, option: str) -> None:
    done = cli(command, option, columns=80)
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith(f"Usage: groupscope {command}")
    assert max(map(len, done.out.splitlines())) <= 80
    assert "\x1b" not in done.out


def test_the_list_of_commands_names_all_and_the_exit_codes(cli: Cli) -> None:
    done = cli("--help", columns=80)
    assert done.code == 0
    listed = [line.split()[0] for line in done.out.partition("Commands:\n")[2].splitlines() if line.startswith("  ") and line[2] != " "]
    assert set(COMMANDS) <= set(listed)
    assert "130 interrupted" in " ".join(done.out.split())


def test_the_list_is_that_of_the_commands_as_they_are(cli: Cli) -> None:
    """It is printed without their options, which take long to import."""
    whole = CliRunner().invoke(whole_app(), ["--help"], prog_name="groupscope", env={"COLUMNS": "80"})
    assert cli("--help", columns=80).out == whole.stdout


@pytest.mark.parametrize("words", [("--", "schema", "analyze"), ("schema", "analyze")], ids=" ".join)
def test_a_command_runs_wherever_it_stands(cli: Cli, words: tuple[str, ...]) -> None:
    done = cli(*words)
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("{")


@pytest.mark.parametrize(
    ("words", "offered"), [(("an",), "analyze"), (("analyze", "--fail"), "--fail-on"), (("explain", "--pro"), "--proof")]
)
def test_a_shell_is_offered_commands_and_options(words: tuple[str, ...], offered: str) -> None:
    asked = {"_GROUPSCOPE_COMPLETE": "complete_bash", "COMP_WORDS": " ".join(("groupscope", *words)), "COMP_CWORD": str(len(words))}
    done = subprocess.run([COMMAND], capture_output=True, text=True, check=False, env={**os.environ, **asked})
    assert offered in done.stdout.split()


def test_without_a_command_help_goes_to_standard_error(cli: Cli) -> None:
    done = cli()
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("Usage: groupscope")


def test_version(cli: Cli) -> None:
    done = cli("--version")
    assert done.code == 0
    assert done.out.split()[0] == "groupscope"


OF_A_PREVIEW = {("allocate", "--client"), ("allocate", "--topic")}
"""These make a group up, which `allocate` previews; elsewhere they select what logs show."""


def test_the_same_word_means_the_same_everywhere() -> None:
    """Options with one name have one help text, whichever command has them."""
    shared: dict[str, set[str]] = {}
    for name, each in typer.main.get_command(whole_app()).commands.items():  # type: ignore[attr-defined]
        for parameter in each.params:
            for option in getattr(parameter, "opts", ()):
                if option.startswith("--") and name not in ("run", "maintain", "doctor", "simulate") and (name, option) not in OF_A_PREVIEW:
                    shared.setdefault(option, set()).add(str(getattr(parameter, "help", "")))
    assert {option: texts for option, texts in shared.items() if len(texts) > 1} == {}


def loaded_by(*arguments: str) -> set[str]:
    """The heavy libraries that a command has imported, asked of a process of its own."""
    script = (
        "import sys\nfrom pipelines.cli.main import main\n"
        f"code = main({list(arguments)!r})\n"
        f"print('\\n' + repr((code, [name for name in {(*HEAVY, *APPLIED)!r} if name in sys.modules])))"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    code, names = ast.literal_eval(done.stdout.splitlines()[-1])
    assert code == 0
    return set(names)


@pytest.mark.parametrize("arguments", [("--help",), *((command, "--help") for command in spread(COMMANDS, 3))], ids=" ".join)
def test_help_loads_nothing_heavy(arguments: tuple[str, ...]) -> None:
    assert loaded_by(*arguments) == set()


QUESTIONS = (
    "analyze", "rebalances", "offenders", "timeline", "events", "outages", "ownership", "groups", "trend", "deploys", "spans", "advise",
    "explain shipping-e/2", "explain shipping-e/2 --proof", "state shipping-e", "whatif --session-timeout 45s", "gate --max-rebalances 99",
)  # fmt: skip


@pytest.mark.parametrize("question", spread(QUESTIONS, 4))
def test_an_answer_from_logs_loads_nothing_heavy(question: str) -> None:
    assert loaded_by(*question.split(), POLL_TIMEOUT) <= {*APPLIED, *(("jinja2",) if question.startswith("explain") else ())}


DIVIDED = """
import sys

class Watch:
    def find_spec(self, name, *_):
        if name in {heavy}:
            print(f"loads {{name}}", file=sys.stderr)

sys.meta_path.insert(0, Watch())
from pipelines.analysis.parallel import workers
from pipelines.cli.main import main
workers.WORTH_BYTES = workers.WORTH_BYTES_NEW = 0
sys.exit(main(["analyze", "data_samples", "--json"]))
"""


def test_nor_do_the_processes_of_a_divided_analysis(tmp_path: Path) -> None:
    """Rows go from process to process as Arrow files, which pandas plays no part in."""
    asked = {**os.environ, "GROUPSCOPE_INPUT_PROCESSES": "2", "TMPDIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", DIVIDED.format(heavy=HEAVY)], cwd=ROOT, capture_output=True, text=True, check=True, env=asked
    )
    assert [line for line in done.stderr.splitlines() if line.startswith("loads")] == []


def test_nor_does_an_answer_from_logs_of_every_kind() -> None:
    assert loaded_by("analyze", "data_samples") <= set(APPLIED)

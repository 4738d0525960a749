"""README's commands exist."""

from __future__ import annotations

import re
import runpy
import shlex
import subprocess
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
SHELL = [line for block in re.findall(r"```sh\n(.*?)```", README, re.DOTALL) for line in block.splitlines()]
COMMANDS = sorted({line.split(" # ")[0].strip() for line in SHELL if line.startswith("groupscope ")})
EXIT_CODES = {int(code): meaning for code, meaning in re.findall(r"^\| (\d+) \| (.+?) \|$", README, re.MULTILINE)}


@pytest.fixture(scope="module")
def help_of(groupscope: Callable[..., subprocess.CompletedProcess[str]]) -> Callable[[str], str]:
    @cache
    def text(command: str) -> str:
        done = groupscope(command, "--help", env={"PATH": "/usr/bin:/bin", "COLUMNS": "200", "NO_COLOR": "1", "TERM": "dumb"})
        assert done.returncode == 0, done.stderr
        return done.stdout

    return text


def test_commands_are_shown() -> None:
    assert {shlex.split(command)[1] for command in COMMANDS} >= {"analyze", "explain", "events", "run", "rebalances", "doctor"}


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_and_its_options_exist(command: str, help_of: Callable[[str], str]) -> None:
    words = shlex.split(command)
    offered = set(re.findall(r"--[a-z][a-z-]*", help_of(words[1])))

    assert {word for word in words if word.startswith("--")} - offered == set()


def test_the_screen_is_the_one_that_its_command_prints(groupscope: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    command, screen = re.search(r"`groupscope (analyze [^`]+)`.*?```text\n(.*?)```", README, re.DOTALL).groups()  # type: ignore[union-attr]
    done = groupscope(*shlex.split(command), cwd=ROOT, env={"PATH": "/usr/bin:/bin", "COLUMNS": "100", "NO_COLOR": "1", "TERM": "dumb"})

    assert done.stdout == screen


def test_targets_of_make_exist() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))

    assert set(re.findall(r"\bmake ([a-z-]+)", README)) - targets == set()


def test_the_list_of_clients_is_that_of_the_catalogue() -> None:
    """Write it anew with `make docs`."""
    page = runpy.run_path(str(ROOT / "docs" / "write_clients.py"))["page"]

    assert page(README) == README


def test_exit_codes_are_those_of_the_command_line() -> None:
    from pipelines import exit_codes as codes

    assert set(EXIT_CODES) == {value for name, value in vars(codes).items() if name.isupper() and isinstance(value, int)}

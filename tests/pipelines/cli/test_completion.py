"""What the tab key offers, asked as each of the four shells asks."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.pipelines.cli.conftest import ROOT

COMMAND = Path(sys.executable).with_name("groupscope")


def ask(shell: str, line: str) -> subprocess.CompletedProcess[str]:
    """Standard output of the program when a shell asks for completions of `line`."""
    words = shlex.split(line) + ([""] if line.endswith(" ") else [])
    asking = {
        "bash": {"COMP_WORDS": "\n".join(words), "COMP_CWORD": str(len(words) - 1)},
        "zsh": {"_TYPER_COMPLETE_ARGS": line},
        "fish": {"_TYPER_COMPLETE_ARGS": line, "_TYPER_COMPLETE_FISH_ACTION": "get-args"},
        "powershell": {"_TYPER_COMPLETE_ARGS": line, "_TYPER_COMPLETE_WORD_TO_COMPLETE": words[-1]},
    }[shell]
    environment = {**os.environ, **asking, "_GROUPSCOPE_COMPLETE": f"complete_{shell}"}
    return subprocess.run([COMMAND], env=environment, cwd=ROOT, capture_output=True, text=True, check=False)


def offered(line: str) -> list[str]:
    done = ask("bash", line)
    assert done.stderr == ""
    return done.stdout.split()


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish", "powershell"])
def test_each_shell_is_offered_groups_of_the_warehouse(sample_warehouse: Path, shell: str) -> None:
    done = ask(shell, f"groupscope rebalances --warehouse {sample_warehouse} --group ")
    assert "shipping-e" in done.stdout
    assert done.stderr == ""


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish", "powershell"])
def test_each_shell_has_a_script_to_source(shell: str) -> None:
    environment = {**os.environ, "_GROUPSCOPE_COMPLETE": f"source_{shell}"}
    done = subprocess.run([COMMAND], env=environment, capture_output=True, text=True, check=True)
    assert "groupscope" in done.stdout
    assert f"complete_{shell}" in done.stdout


def test_bash_completes(sample_warehouse: Path) -> None:
    """The script at work in a real shell."""
    line = f"groupscope timeline --warehouse {sample_warehouse} --group ship"
    script = f"""
        source <(_GROUPSCOPE_COMPLETE=source_bash {shlex.quote(str(COMMAND))})
        COMP_WORDS=({line}); COMP_CWORD=$(( ${{#COMP_WORDS[@]}} - 1 ))
        _groupscope_completion {shlex.quote(str(COMMAND))}
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    done = subprocess.run(["bash", "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["shipping-e"]


def test_other_names_of_the_warehouse(sample_warehouse: Path) -> None:
    start = f"--warehouse {sample_warehouse}"
    assert "shipping-e/2" in offered(f"groupscope explain {start} shipping-e/")
    assert offered(f"groupscope compare {start} --clusters ") != []
    assert offered("groupscope schema reb") == ["rebalances"]
    assert {"rebalances", "report"} <= set(offered("groupscope re"))


def test_no_warehouse_offers_nothing_and_says_nothing(tmp_path: Path) -> None:
    assert offered("groupscope rebalances --group ") == []
    assert offered(f"groupscope rebalances --warehouse {tmp_path} --group ") == []


def test_names_that_a_shell_would_obey_are_not_offered(hostile_warehouse: Path) -> None:
    found = offered(f"groupscope rebalances --warehouse {hostile_warehouse} --group ")
    assert not [name for name in found if set(name) & set("$`;&|<>(){}'\"\\*?!~#\x1b")]

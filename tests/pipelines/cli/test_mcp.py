"""Tools for assistants: what they send is never an option, and commands that write are out of reach."""

from __future__ import annotations

import asyncio
import importlib.util
import inspect
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pipelines.cli.answers.news.assistant_tools import TOOLS, NoAnswer, Tool, arguments_of, function_of, output_of
from pipelines.cli.commands.integration.mcp import MISSING
from tests.pipelines.cli.conftest import POLL_TIMEOUT, ROOT, Cli

BY_NAME = {tool.name: tool for tool in TOOLS}
HAS_SDK = importlib.util.find_spec("mcp") is not None

LINES = [
    ("incidents", {"group": "orders", "since": ""}, ["analyze", "--markdown", "--quiet", "--group=orders", "--", "logs"]),
    ("explain", {"rebalance": "--out=x"}, ["explain", "--json", "--quiet", "--", "--out=x", "logs"]),
    ("offenders", {"blockers": True}, ["offenders", "--json", "--quiet", "--blockers", "--", "logs"]),
    ("what_if", {"session_timeout": "45s", "cooperative": False}, ["whatif", "--json", "--quiet", "--session-timeout=45s", "--", "logs"]),
]


@pytest.mark.parametrize(("name", "given", "words"), LINES)
def test_a_question_is_a_command_line(name: str, given: dict[str, Any], words: list[str]) -> None:
    assert arguments_of(BY_NAME[name], given, ["logs"]) == words


def test_options_of_the_source_come_first() -> None:
    words = arguments_of(BY_NAME["groups"], {}, ["--log-tz=Europe/Berlin", "logs"])
    assert words == ["groups", "--json", "--quiet", "--log-tz=Europe/Berlin", "--", "logs"]


@pytest.mark.parametrize(("name", "given"), [("groups", {"report": "x.html"}), ("explain", {}), ("state", {"at": "14:00"})])
def test_what_a_tool_does_not_have_is_refused(name: str, given: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=f"{name} (has no|needs)"):
        arguments_of(BY_NAME[name], given, ["logs"])


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_tools_only_read(cli: Cli, tool: Tool) -> None:
    assert tool.command[0] not in {"run", "maintain", "simulate", "report"}
    offered = cli(tool.command[0], "--help", columns=200).out
    assert all(option in offered for option in [*tool.options.values(), *tool.flags.values(), *tool.command[1:]])
    assert list(inspect.signature(function_of(tool, ["logs"])).parameters) == [
        *([tool.subject] if tool.subject else []),
        *tool.options,
        *tool.flags,
    ]


def test_an_answer_comes_from_the_logs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    assert "exceeded its poll interval" in output_of(BY_NAME["incidents"], {}, [POLL_TIMEOUT])
    explained = json.loads(output_of(BY_NAME["explain"], {"rebalance": "shipping-e/2"}, [POLL_TIMEOUT]))
    assert explained["rebalance"]["cause"] == "poll_timeout"
    with pytest.raises(NoAnswer, match=r"could not answer \(exit code 2\): error: no group 'nobody' here"):
        output_of(BY_NAME["explain"], {"rebalance": "nobody/1"}, [POLL_TIMEOUT])


@pytest.mark.skipif(HAS_SDK, reason="the SDK is installed")
def test_without_the_sdk_it_says_what_to_install(cli: Cli) -> None:
    done = cli("mcp", POLL_TIMEOUT)
    assert (done.code, done.err) == (2, f"error: {MISSING}\n")


@pytest.mark.parametrize("words", [(), (POLL_TIMEOUT, "--warehouse", "x")])
def test_it_answers_from_one_source(cli: Cli, words: tuple[str, ...]) -> None:
    assert "either PATH... or --warehouse" in cli("mcp", *words).err


SDK = {
    "mcp/__init__.py": "",
    "mcp/types.py": "def ToolAnnotations(**hints): return hints\n",
    "mcp/server/__init__.py": "",
    "mcp/server/fastmcp.py": (
        "import sys\n"
        "class FastMCP:\n"
        "    def __init__(self, *names, **texts): pass\n"
        "    def add_tool(self, *tools, **texts): pass\n"
        "    def run(self):\n"
        "        sys.stdout.buffer.write(b'{}')\n"
        "        sys.stdout.buffer.close()\n"
    ),
}
"""An SDK that closes standard output at the end, as the real one does."""


def test_the_end_of_a_session_is_no_failure(tmp_path: Path) -> None:
    for name, text in SDK.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    command = [sys.executable, "-m", "groupscope", "mcp", POLL_TIMEOUT]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT)])}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)

    assert (done.returncode, done.stdout, done.stderr) == (0, "{}", "")


@pytest.mark.skipif(not HAS_SDK, reason="the Python SDK of the Model Context Protocol is not installed (extra mcp)")
def test_the_server_lists_read_only_tools() -> None:
    from pipelines.cli.commands.integration.mcp import server

    made = server([POLL_TIMEOUT])
    listed = asyncio.run(made.list_tools())
    assert {tool.name for tool in listed} == set(BY_NAME)
    assert all(tool.annotations.readOnlyHint for tool in listed)
    [explain] = [tool for tool in listed if tool.name == "explain"]
    assert explain.inputSchema["required"] == ["rebalance"]

"""Command `groupscope mcp`: read-only tools for assistants, over standard input and output."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from importlib import import_module
from typing import Any

from pipelines import exit_codes as codes
from pipelines.cli.arguments import options as o
from pipelines.errors import UsageError

MISSING = "groupscope mcp needs the Python SDK of the Model Context Protocol: pip install 'groupscope[mcp]'"


def mcp(
    paths: o.MaybePaths = None,
    warehouse: o.WarehouseUri = None,
    log_tz: o.LogZones = None,
    redact: o.Redact = None,
    settings: o.SettingsFile = None,
) -> int:
    """Answer assistants with read-only tools (Model Context Protocol).

    They are incidents, explain, state, offenders, groups and what_if.
    """
    if bool(paths) == bool(warehouse):
        raise UsageError("give either PATH... or --warehouse: what the tools answer from")
    if paths:
        from pipelines.cli.answers.source import check_paths

        check_paths(paths)
    named = [("--warehouse", warehouse), ("--redact", redact), ("--settings", settings)]
    options = [f"{name}={value}" for name, value in named if value] + [f"--log-tz={zone}" for zone in log_tz or ()]
    served = server([*options, *(paths or ())])
    with _spare_output():
        served.run()
    return codes.GOOD


@contextlib.contextmanager
def _spare_output() -> Iterator[None]:
    """Hand out a copy of standard output, which the SDK closes at the end."""
    original = sys.stdout
    original.flush()
    sys.stdout = open(os.dup(original.fileno()), "w", encoding="utf-8")  # noqa: SIM115 - whoever takes it closes it
    try:
        yield
    finally:
        sys.stdout = original


def server(source: list[str]) -> Any:
    """A server with all tools over one source."""
    from pipelines.cli.answers.news.assistant_tools import TOOLS, function_of

    try:
        fast, types = import_module("mcp.server.fastmcp"), import_module("mcp.types")
    except ImportError as error:
        raise UsageError(MISSING) from error
    made = fast.FastMCP(
        "groupscope", instructions="Why Kafka and RocketMQ consumer groups rebalanced, from their log files. Nothing is changed."
    )
    for tool in TOOLS:
        hints = types.ToolAnnotations(readOnlyHint=True, destructiveHint=False, idempotentHint=True, openWorldHint=False)
        made.add_tool(function_of(tool, source), name=tool.name, description=tool.description, annotations=hints)
    return made

"""Write commands.md and groupscope.1 from the command line's own help.

`make docs` calls it.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer.main

from pipelines.cli.registry import EPILOG, SECTIONS, whole_app

HEAD = """# Commands

<!-- Written by docs/write_commands.py from the help of the commands; `make docs` writes it again. -->

`groupscope COMMAND --help` prints the same. Paths and names that hold `*` or `?` are globs: quote them.
"""
EXIT_CODES = EPILOG.removeprefix("Exit codes: ").rstrip(".").split(", ")


@dataclass(frozen=True)
class Parameter:
    """An argument or an option, with its help."""

    form: str
    help: str


@dataclass(frozen=True)
class Command:
    """One command as its help shows it."""

    name: str
    usage: str
    about: list[str]
    sections: dict[str, list[Parameter]]


def commands() -> Iterator[Command]:
    """All commands, in the order of `groupscope --help`."""
    group: Any = typer.main.get_command(whole_app())
    for name, command in group.commands.items():
        context = command.context_class(command, info_name=f"groupscope {name}", terminal_width=200, max_content_width=200)
        usage = " ".join(command.get_usage(context).removeprefix("Usage: ").split())
        about = [" ".join(part.split()) for part in (command.help or "").split("\n\n")]
        yield Command(name, usage, about, _sections(command, context))


def _sections(command: Any, context: Any) -> dict[str, list[Parameter]]:
    found: dict[str, list[Parameter]] = {title: [] for title in SECTIONS}
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        if record is not None and parameter.name != "help":
            is_argument = parameter.param_type_name == "argument"
            title = "Arguments" if is_argument else getattr(parameter, "rich_help_panel", None) or "Options"
            found[title].append(Parameter(record[0].split(" <")[0] if is_argument else record[0], " ".join(record[1].split())))
    return {title: parameters for title, parameters in found.items() if parameters}


def page() -> str:
    """The reference as Markdown."""
    return "\n".join([HEAD, *(line for command in commands() for line in _in_markdown(command)), *_exit_codes()])


def _in_markdown(command: Command) -> Iterator[str]:
    yield from (f"## {command.name}", "", f"`{command.usage}`", "")
    for part in command.about:
        yield from (part, "")
    for title, parameters in command.sections.items():
        yield from (f"{title}:", "")
        yield from (f"- `{each.form}`: {_plain(each.help)}" for each in parameters)
        yield ""


def _plain(text: str) -> str:
    """Escape what Markdown would take for markup."""
    return re.sub(r"([\\*_<\[])", r"\\\1", text)


def _exit_codes() -> Iterator[str]:
    yield from ("## Exit codes", "", "| code | meaning |", "| --- | --- |")
    yield from ("| {} | {} |".format(*code.split(" ", 1)) for code in EXIT_CODES)
    yield ""


def manual() -> str:
    """The manual page, in the macros of man (groff_man(7))."""
    lines = [
        '.\\" Written by docs/write_commands.py from the help of the commands; `make docs` writes it again.',
        '.TH GROUPSCOPE 1 "" "groupscope" "User commands"',
        ".SH NAME",
        "groupscope \\- " + _roff(_about()),
        ".SH SYNOPSIS",
        ".B groupscope",
        ".I COMMAND",
        "[\\fIOPTIONS\\fR] [\\fIPATH\\fR]...",
        ".SH DESCRIPTION",
        "Reads the log files that Kafka brokers and clients, and RocketMQ, write anyway. It needs no access to the cluster.",
        ".SH COMMANDS",
    ]
    return "\n".join([*lines, *(line for command in commands() for line in _in_roff(command)), *_last_sections()])


def _about() -> str:
    return "tells from log files which consumer groups rebalanced, and why"


def _in_roff(command: Command) -> Iterator[str]:
    yield from (f".SS {_roff(command.usage)}", *(text for part in command.about for text in (_roff(part), ".PP")))
    for parameters in command.sections.values():
        yield from (text for each in parameters for text in (".TP", f".B {_roff(each.form)}", _roff(each.help)))


def _last_sections() -> Iterator[str]:
    yield ".SH EXIT STATUS"
    for code in EXIT_CODES:
        number, meaning = code.split(" ", 1)
        yield from (".TP", f".B {number}", _roff(meaning))
    yield from (
        ".SH ENVIRONMENT",
        *(".TP", ".B GROUPSCOPE_SETTINGS", "File with settings (TOML), if no \\-\\-settings is given."),
        *(".TP", ".B GROUPSCOPE_REDACT_KEY", "Key of \\-\\-redact, at least 16 bytes."),
        ".SH FILES",
        *(".TP", ".I ~/.config/groupscope/settings.toml", "Settings of the user."),
        "",
    )


def _roff(text: str) -> str:
    """Escape what groff would take for a command."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{escaped}" if escaped.startswith((".", "'")) else escaped


if __name__ == "__main__":
    place = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent
    (place / "commands.md").write_text(page(), encoding="utf-8")
    (place / "groupscope.1").write_text(manual(), encoding="utf-8")

"""Read-only questions of an assistant as commands of groupscope.

Each tool names a command and the options that it takes. What an assistant sends is passed as the value of an option,
never as an option, and only to commands that write nothing.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

ANSWER_CHARACTERS_MAX = 200_000
"""Maximum length of an answer; an assistant cannot use more."""
SECONDS_MAX = 600


class NoAnswer(Exception):
    """A question that groupscope could not answer."""


@dataclass(frozen=True, slots=True)
class Tool:
    """A question: its command and options.

    `subject` names what is asked about.
    """

    name: str
    description: str
    command: Sequence[str]
    options: Mapping[str, str] = field(default_factory=dict)
    """Options by parameter."""
    flags: Mapping[str, str] = field(default_factory=dict)
    subject: str | None = None
    """Parameter that is the command's first argument."""


_PERIOD = {"group": "--group", "since": "--since", "until": "--until"}

TOOLS = (
    Tool(
        "incidents",
        "Incidents of consumer groups, the worst first, as Markdown: what happened, why, who, what to do, with log lines.",
        ("analyze", "--markdown"),
        {**_PERIOD, "cause": "--cause", "severity": "--severity"},
    ),
    Tool(
        "explain",
        "One rebalance step by step with its log lines, as JSON. `rebalance` is GROUP/GENERATION, GROUP@TIME, FILE:LINE or an id.",
        ("explain", "--json"),
        subject="rebalance",
    ),
    Tool(
        "state",
        "A classic group as its coordinator held it at a time: state, generation, leader, members, timers. As JSON; needs logs.",
        ("state", "--json"),
        {"at": "--at"},
        subject="group",
    ),
    Tool(
        "offenders",
        "Members ranked by the trouble they made, as JSON; with `blockers` by the seconds that others waited for them.",
        ("offenders", "--json"),
        _PERIOD,
        {"blockers": "--blockers"},
    ),
    Tool("groups", "What each group is and costs, and its readiness for KIP-848, as JSON.", ("groups", "--json"), {"group": "--group"}),
    Tool(
        "what_if",
        "Which rebalances another configuration would have avoided, as JSON. Times are such as 45s.",
        ("whatif", "--json"),
        {
            **_PERIOD,
            "session_timeout": "--session-timeout",
            "heartbeat_interval": "--heartbeat-interval",
            "max_poll_interval": "--max-poll-interval",
            "restart_pause": "--restart-pause",
            "scheduled_delay": "--scheduled-delay",
            "consumer_session_timeout": "--consumer-session-timeout",
            "consumer_heartbeat_interval": "--consumer-heartbeat-interval",
        },
        {"static_membership": "--static-membership", "cooperative": "--cooperative", "consumer_protocol": "--consumer-protocol"},
    ),
)


def arguments_of(tool: Tool, given: Mapping[str, object], source: Sequence[str]) -> list[str]:
    """Command line of a question.

    Raises ValueError for a parameter that the tool has not.
    """
    unknown = sorted(set(given) - {*tool.options, *tool.flags, *filter(None, [tool.subject])})
    if unknown:
        raise ValueError(f"{tool.name} has no {', '.join(unknown)}")
    if tool.subject is not None and not given.get(tool.subject):
        raise ValueError(f"{tool.name} needs {tool.subject}")
    options = [f"{tool.options[name]}={value}" for name, value in given.items() if name in tool.options and value not in (None, "")]
    flags = [tool.flags[name] for name, value in given.items() if name in tool.flags and value]
    words = [] if tool.subject is None else [str(given[tool.subject])]
    paths, read = _split(source)
    return [*tool.command, "--quiet", *options, *flags, *read, "--", *words, *paths]


def _split(source: Sequence[str]) -> tuple[list[str], list[str]]:
    """Paths, and the options in front of them."""
    paths = [word for word in source if not word.startswith("--")]
    return paths, [word for word in source if word.startswith("--")]


def output_of(tool: Tool, given: Mapping[str, object], source: Sequence[str]) -> str:
    """Answer a question in a process of its own.

    It cannot disturb the protocol. Raises NoAnswer, which the SDK marks as an error, so that no assistant takes it for one.
    """
    words = [sys.executable, "-m", "groupscope", *arguments_of(tool, given, source)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=SECONDS_MAX, stdin=subprocess.DEVNULL, check=False)  # noqa: S603 - our own program
    if done.returncode not in (0, 1, 4):
        raise NoAnswer(f"groupscope could not answer (exit code {done.returncode}): {done.stderr.strip()}")
    if len(done.stdout) > ANSWER_CHARACTERS_MAX:
        return done.stdout[:ANSWER_CHARACTERS_MAX] + "\n… cut: ask about one group or a shorter time"
    return done.stdout


def function_of(tool: Tool, source: Sequence[str]) -> Callable[..., str]:
    """A function with the tool's parameters, from whose signature clients learn them."""
    import inspect

    def ask(**given: object) -> str:
        return output_of(tool, given, source)

    subject = [inspect.Parameter(tool.subject, inspect.Parameter.KEYWORD_ONLY, annotation=str)] if tool.subject else []
    kinds = [*((name, str, "") for name in tool.options), *((name, bool, False) for name in tool.flags)]
    rest = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=kind, default=default) for name, kind, default in kinds]
    ask.__signature__ = inspect.Signature([*subject, *rest], return_annotation=str)  # type: ignore[attr-defined]
    ask.__annotations__ = {parameter.name: parameter.annotation for parameter in (*subject, *rest)} | {"return": str}
    ask.__name__, ask.__doc__ = tool.name, tool.description
    return ask

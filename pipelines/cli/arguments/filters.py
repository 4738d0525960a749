"""Options that filter rebalances, shared by the commands that list them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Annotated

import typer

from pipelines.cli.arguments import options as o

Members = Annotated[
    list[str] | None,
    typer.Option(
        "--member",
        metavar="ID",
        help="Only rebalances that this member id, instance id or client id caused or held up; may be a glob. Repeatable.",
        rich_help_panel=o.SHOW,
    ),
]
ClientsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--client",
        metavar="ID",
        help="Only rebalances that this client id caused or held up; may be a glob. Repeatable.",
        rich_help_panel=o.SHOW,
    ),
]
Causes = Annotated[
    list[str] | None,
    typer.Option("--cause", metavar="CAUSE", help="Only rebalances with this cause or root cause. Repeatable.", rich_help_panel=o.SHOW),
]
TopicsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--topic", metavar="NAME", help="Only rebalances of this topic (RocketMQ); may be a glob. Repeatable.", rich_help_panel=o.SHOW
    ),
]
Severities = Annotated[
    list[str] | None,
    typer.Option(
        "--severity", metavar="SEVERITY", help="Only incidents this bad, and their rebalances. Repeatable.", rich_help_panel=o.SHOW
    ),
]


@dataclass(frozen=True, slots=True)
class Filters:
    """Conditions on rebalances.

    Names may be globs; one of each list is enough.
    """

    members: Sequence[str] = ()
    clients: Sequence[str] = ()
    causes: Sequence[str] = ()
    topics: Sequence[str] = ()
    severities: Sequence[str] = ()

    def __bool__(self) -> bool:
        return any(getattr(self, field.name) for field in fields(self))


def filters_of(
    member: Members = None, client: ClientsOption = None, cause: Causes = None, topic: TopicsOption = None, severity: Severities = None
) -> Filters:
    """The requested filters."""
    return Filters(member or (), client or (), cause or (), topic or (), severity or ())

"""Options shared by all commands that answer a question.

They say what to read, what to show and how much to print. Such a command has a parameter
`query_options: QueryOptions`, `form: Form` if its answer has several forms, and `filters: Filters` if it lists
rebalances; `question` replaces these by the options that fill them.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_type_hints

from pipelines.cli.arguments import options as o
from pipelines.cli.arguments.filters import filters_of
from pipelines.cli.output.standard_streams import Messenger

if TYPE_CHECKING:
    from pipelines.cli.arguments.option_parsing import ReadArguments


@dataclass(slots=True)
class QueryOptions:
    """Shared options of a command."""

    paths: Sequence[str] | None = None
    warehouse: str | None = None
    log_zones: Sequence[str] | None = None
    clusters: Sequence[str] | None = None
    kafka_versions: Sequence[str] | None = None
    assumptions: Sequence[str] | None = None
    groups: Sequence[str] | None = None
    since: str | None = None
    until: str | None = None
    around: str | None = None
    zone: str | None = None
    settings_file: Path | None = None
    redact: str | None = None
    redact_key: Path | None = None
    quiet: bool = False
    verbose: bool = False

    @property
    def talk(self) -> Messenger:
        """Messages to standard error, as verbose as requested."""
        return Messenger(quiet=self.quiet, verbose=self.verbose)

    @property
    def read_arguments(self) -> ReadArguments:
        """The options about reading."""
        from pipelines.cli.arguments.option_parsing import ReadArguments

        return ReadArguments(self.log_zones, self.clusters, self.kafka_versions, self.assumptions, self.redact, self.redact_key)


def _query_options(
    paths: o.MaybePaths = None,
    warehouse: o.WarehouseUri = None,
    log_tz: o.LogZones = None,
    cluster: o.Clusters = None,
    kafka_version: o.KafkaVersions = None,
    assume: o.Assumptions = None,
    group: o.GroupsOption = None,
    since: o.Since = None,
    until: o.Until = None,
    around: o.Around = None,
    tz: o.Zone = None,
    redact: o.Redact = None,
    redact_key: o.RedactKey = None,
    settings: o.SettingsFile = None,
    quiet: o.Quiet = False,
    verbose: o.Verbose = False,
) -> QueryOptions:
    return QueryOptions(
        paths, warehouse, log_tz, cluster, kafka_version, assume, group, since, until, around, tz, settings, redact, redact_key,
        quiet, verbose,
    )  # fmt: skip


_SHARED: dict[str, Callable[..., Any]] = {"query_options": _query_options, "form": o.form, "filters": filters_of}
"""Builders of shared parameters from the options that replace them."""


def question(command: Callable[..., int]) -> Callable[..., int]:
    """Replace `query_options`, `form` and `filters` by their options for Typer."""
    makers = {name: make for name, make in _SHARED.items() if name in inspect.signature(command).parameters}
    options = {name: _parameters(make) for name, make in makers.items()}
    parameters: list[inspect.Parameter] = []
    for parameter in _parameters(command):
        parameters += options.get(parameter.name, [parameter])

    @functools.wraps(command)
    def ask(**given: Any) -> int:
        made = {name: make(**{field.name: given.pop(field.name) for field in options[name]}) for name, make in makers.items()}
        return command(**made, **given)

    # Required options now follow optional ones, which only keyword parameters allow.
    ask.__signature__ = inspect.Signature([parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in parameters])  # type: ignore[attr-defined]
    ask.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters} | {"return": int}
    del ask.__wrapped__
    return ask


def _parameters(function: Callable[..., Any]) -> list[inspect.Parameter]:
    """Parameters with resolved types, which modules keep as strings."""
    types = get_type_hints(function, include_extras=True)
    return [parameter.replace(annotation=types[parameter.name]) for parameter in inspect.signature(function).parameters.values()]

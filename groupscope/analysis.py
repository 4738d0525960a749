"""Analyse log files in this process; results as objects, tables or a page."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from pipelines.schema.tables import CONTRACT

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

    from models.rows import (
        BrokerOutage,
        CoordinatorMove,
        Divergence,
        GroupTransition,
        Incident,
        LeaderMove,
        MemberSession,
        OffsetExpiration,
        PartitionOutage,
        Rebalance,
        RebalanceMember,
    )
    from pipelines.analysis import in_process
    from pipelines.cli.answers.source import Source

Paths = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]
RulesByFile = str | Mapping[str, str]
"""One value for all files, or values by glob; the last match applies."""

TABLES: Mapping[str, str] = {**CONTRACT, "rebalance_members": "rebalance_members", "log_files": "log_files"}
"""Attribute of `Analysis` -> table of the schema."""

Row = TypeVar("Row", covariant=True)


class Rows(Protocol[Row]):
    """Rows in order; large tables are read from disk during iteration."""

    def __len__(self) -> int: ...

    def __iter__(self) -> Iterator[Row]: ...

    def __getitem__(self, index: int, /) -> Row: ...


_SHOWN = ("started_at", "group", "generation_after", "cause", "confidence", "duration_seconds", "offenders", "blockers")
_SHOWN_MAX = 50


def analyze(
    paths: Paths,
    *,
    log_tz: RulesByFile = "UTC",
    cluster: RulesByFile | None = None,
    kafka_version: RulesByFile | None = None,
    assume: Mapping[str, int] | None = None,
    settings: str | os.PathLike[str] | None = None,
) -> Analysis:
    """Analyse log files, folders, globs or archives.

    The arguments are those of `groupscope analyze`: `assume` holds settings by name, as in `{"session_timeout_ms":
    10_000}`. Unreadable content is listed in `rejected` and `log_files`, and raises nothing. Raises
    `pipelines.errors.UsageError` for an invalid argument, and `pipelines.errors.NothingReadable` for a path that does
    not exist.
    """
    from pathlib import Path

    from conf.settings import load_settings
    from pipelines.analysis import in_process
    from pipelines.cli.answers.source import check_paths
    from pipelines.cli.arguments.option_parsing import ReadArguments, analyze_options

    names = [os.fspath(paths)] if isinstance(paths, str | os.PathLike) else [os.fspath(path) for path in paths]
    check_paths(names)
    loaded = load_settings(Path(settings) if settings is not None else None)
    assumptions = [f"{name}={value}" for name, value in (assume or {}).items()]
    given = ReadArguments(_rules(log_tz), _rules(cluster), _rules(kafka_version), assumptions)
    return Analysis(in_process.analyze(names, analyze_options(loaded, given)), ", ".join(Path(name).name or name for name in names))


def _rules(rules: RulesByFile | None) -> list[str]:
    if rules is None or isinstance(rules, str):
        return [rules] if rules else []
    return [f"{glob}={value}" for glob, value in rules.items()]


class Analysis:
    """The result: rows by table, as dataclasses of `models.rows`.

    All times are microseconds since 1970 in UTC.
    """

    def __init__(self, rows: in_process.AnalysisResult, title: str) -> None:
        self._rows = rows
        self._title = title

    @property
    def rebalances(self) -> Rows[Rebalance]:
        """Rebalances, with cause, offenders, blockers and evidence."""
        return self._rows.rebalances

    @property
    def rebalance_members(self) -> Rows[RebalanceMember]:
        """Actions of each member in each rebalance."""
        return self._rows.rebalance_members

    @property
    def timeline(self) -> Rows[GroupTransition]:
        """Changes of groups' states."""
        return self._rows.timeline

    @property
    def members(self) -> Rows[MemberSession]:
        """Sessions of member ids."""
        return self._rows.members

    @property
    def incidents(self) -> Rows[Incident[str]]:
        """Rebalances and outages grouped into incidents, worst first."""
        return self._rows.incidents

    @property
    def outages(self) -> Rows[PartitionOutage]:
        """Periods in which a partition had no leader."""
        return self._rows.outages

    @property
    def leader_moves(self) -> Rows[LeaderMove]:
        """Changes of partitions' leaders."""
        return self._rows.leader_moves

    @property
    def broker_outages(self) -> Rows[BrokerOutage]:
        """Periods in which a broker was down or fenced."""
        return self._rows.broker_outages

    @property
    def coordinator_moves(self) -> Rows[CoordinatorMove]:
        """Moves of groups to another coordinator."""
        return self._rows.coordinator_moves

    @property
    def offsets_at_risk(self) -> Rows[OffsetExpiration]:
        """Groups that lost offsets or will lose them."""
        return self._rows.offsets_at_risk

    @property
    def divergences(self) -> Rows[Divergence]:
        """Observations that the models could not explain."""
        return self._rows.divergences

    @property
    def log_files(self) -> Sequence[Mapping[str, Any]]:
        """Input files with the results of reading."""
        return self._rows.log_files

    @property
    def rejected(self) -> Sequence[Mapping[str, Any]]:
        """Unreadable records, with reason and position."""
        return self._rows.rejected

    @property
    def warnings(self) -> Sequence[str]:
        """Warnings about the input that affect the result."""
        return self._rows.warnings

    def to_dicts(self, name: str) -> list[dict[str, Any]]:
        """Return rows of a table as `analyze --json` prints them.

        `name` is a key of `TABLES`. Raises KeyError.
        """
        from pipelines.schema.tables import json_row

        return [json_row(TABLES[name], row) for row in getattr(self._rows, name)]

    def to_arrow(self, name: str) -> pa.Table:
        """Return rows of a table with the types of its schema.

        `name` is a key of `TABLES`. Raises KeyError.
        """
        import pyarrow as pa

        from pipelines.schema.row_conversion import to_batch
        from pipelines.schema.tables import without_run

        rows = getattr(self._rows, name)
        table = TABLES[name]
        if name in ("log_files", "unknown", "rejected"):
            schema = without_run(table)
            return pa.Table.from_pylist([{column: row.get(column) for column in schema.names} for row in rows], schema)
        return pa.Table.from_batches([to_batch(table, rows)])

    def to_pandas(self, name: str) -> pd.DataFrame:
        """Return rows of a table as a DataFrame.

        `name` is a key of `TABLES`. Raises KeyError.
        """
        from pipelines.extras import require

        require("pandas")
        return self.to_arrow(name).to_pandas()

    def report(self, path: str | os.PathLike[str] | None = None, *, title: str | None = None) -> str:
        """Return the result as one HTML page that needs no network.

        Also writes it to `path` if given.
        """
        from pathlib import Path

        from pipelines.cli.commands.report import page_of
        from pipelines.cli.output.atomic_write import write_text

        page = page_of(self._source(), title or self._title)
        if path is not None:
            write_text(Path(path), page)
        return page

    def _source(self) -> Source:
        from conf.settings import load_settings
        from dashboards.wording.units import Clock
        from pipelines.cli.answers.source import Source

        settings = load_settings(None)
        return Source(self._rows, Clock(settings.display.time_zone), settings, [], [], self._rows)

    def __repr__(self) -> str:
        read = self._rows.totals.get("files", len(self.log_files))
        return f"<groupscope.Analysis of {read} files: {len(self.rebalances)} rebalances, {len(self.outages)} outages>"

    def _repr_html_(self) -> str:
        """The headline and the first rebalances, for notebooks."""
        from html import escape

        from dashboards.wording.escaping import visible

        head = "".join(f"<th>{name}</th>" for name in _SHOWN)
        rows = [
            "".join(f"<td>{escape(visible(_cell(row[name])))}</td>" for name in _SHOWN) for row in self.to_dicts("rebalances")[:_SHOWN_MAX]
        ]
        body = "".join(f"<tr>{row}</tr>" for row in rows)
        return f"<p>{escape(repr(self)[1:-1])}</p><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _cell(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(str(person["client_id"] or person["member_id"] or "?") for person in value)
    return "" if value is None else str(value)

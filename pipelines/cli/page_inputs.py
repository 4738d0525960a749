"""Input of an incident's page, and its fingerprint.

The fingerprint shows whether a page has changed without creating it. A row keeps the id of the run that last wrote it,
and a run writes only rows that differ. So the fingerprint uses the number of rows of each run: one query per table
counts them for all pages, whereas reading the rows would take a second per page.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from pipelines.cli.answers.selection import TIME_COLUMNS, Selection, files_within, those, values_of
from pipelines.schema.tables import CONTRACT, TABLES
from pipelines.versions import fingerprint_of
from pipelines.warehouse.warehouse_reader import WarehouseReader, column_in, instant, quoted_text

MARGIN = int(timedelta(minutes=5).total_seconds() * 1_000_000)
_NEVER, _ALWAYS = -(1 << 62), 1 << 62

SHOWN = (
    "rebalances", "timeline", "client_states", "incidents", "outages", "broker_outages", "coordinator_moves", "offsets_at_risk",
    "allocation_changes", "ownership", "conditions", "divergences",
)  # fmt: skip
"""Contract keys of the rows on a page.

Pages also show files and the members of rebalances.
"""

MADE_OF = ("log_files", "rejected_records", "unknown_messages", "rebalance_members", *(CONTRACT[key] for key in SHOWN))
"""Tables that pages depend on."""

_GROWING = ("bytes_read", "lines", "recognised", "unknown", "rejected")
_FILE = ("path", "kind", "node", "version", "time_zone", "first_at", "last_at", "status", "reason")

_PAGES = """pages(page, cluster, groups, since_at, until_at) as (values {pages}),
named(page, cluster, name, since_at, until_at) as (values {named})"""
_COUNTED = "select page, what, count(*) from ({rows}) group by page, what"


@dataclass(frozen=True, slots=True)
class PageScope:
    """A cluster's groups (all if empty) within an interval."""

    cluster: str
    groups: tuple[str, ...]
    since: int | None
    until: int | None

    def rows_within(self, warehouse: Any) -> Any:
        """The rows of the excerpt."""
        chosen: Any = Selection(warehouse, self.groups, self.since, self.until, self.cluster)
        shown = values_of(chosen.rebalances, "rebalance_id")
        chosen.rebalance_members = those(
            chosen.rebalance_members, column_in("rebalance_id", sorted(shown)), lambda row: row.rebalance_id in shown
        )
        return chosen

    @property
    def bounds(self) -> tuple[int, int]:
        """The interval as numbers."""
        return _NEVER if self.since is None else self.since, _ALWAYS if self.until is None else self.until


def excerpt_of(incident: Any) -> PageScope:
    """Excerpt of an incident: its groups, shortly before to shortly after."""
    since = None if incident.started_at is None else incident.started_at - MARGIN
    until = None if incident.ended_at is None else incident.ended_at + MARGIN
    return PageScope(incident.cluster, tuple(sorted(incident.groups)), since, until)


def fingerprints(warehouse: WarehouseReader, excerpts: Sequence[PageScope]) -> list[str]:
    """Fingerprints of excerpts, which change with the content of the page."""
    if not excerpts:
        return []
    rejected = _rejected(warehouse)
    file_rows = [[*_files(warehouse, excerpt, rejected)] for excerpt in excerpts]
    with_pages, since = _relations(excerpts), min(excerpt.bounds[0] for excerpt in excerpts)
    clusters = column_in("cluster", sorted({excerpt.cluster for excerpt in excerpts}))
    of_rows, of_members = _shown("rebalances", "rebalance_id"), "join rebalance_members m on m.rebalance_id = x.what"
    queries = {key: _shown(key, "run_id") for key in SHOWN}
    queries["unknown"] = _shown("unknown", f"case when {_micros('last_at')} <= until_at then run_id end")
    queries["rebalance_members"] = f"select x.page, m.run_id as what from ({of_rows}) x {of_members}"  # noqa: S608 - declared names
    for key, rows in queries.items():
        tables = ("rebalances", key) if key == "rebalance_members" else (key,)
        wheres = {CONTRACT.get(table, table): clusters + _not_before(table, since) for table in tables}
        for page, page_kind, count in warehouse.ask(wheres, f", {with_pages} {_COUNTED.format(rows=rows)}"):
            file_rows[page].append((key, page_kind, count))
    return [fingerprint_of(sorted(map(repr, [excerpt, *parts]))) for excerpt, parts in zip(excerpts, file_rows, strict=True)]


def _files(warehouse: WarehouseReader, excerpt: PageScope, rejected: Mapping[str, Mapping[str, int]]) -> Iterable[tuple[Any, ...]]:
    """File information on a page.

    For files that continue after the page's interval, growing counts are left out: most files of a running system grow with
    each run.
    """
    known = {row["path"]: row["last_at"] for row in warehouse.inputs["log_files"]}
    for row in files_within(warehouse.inputs["log_files"], excerpt.cluster, excerpt.since, excerpt.until):
        path, bad = row["path"], rejected.get(row["path"], {})
        values = tuple(row[name] for name in _FILE)
        if known[path] is not None and known[path] <= excerpt.bounds[1]:
            yield (*values, *(row[name] for name in _GROWING), tuple(sorted(bad.items())))
        else:
            yield (*values, bool(row["recognised"]), sum(bad.values()))


def _rejected(warehouse: WarehouseReader) -> Mapping[str, Mapping[str, int]]:
    """Number of rejected records by file and run."""
    rejected: defaultdict[str, dict[str, int]] = defaultdict(dict)
    for path, run_id, count in warehouse.ask({"rejected_records": ""}, "select file, run_id, count(*) from rejected_records group by 1, 2"):
        rejected[path][run_id] = count
    return rejected


def _relations(excerpts: Sequence[PageScope]) -> str:
    """Excerpts as SQL relations: one row each, and one per group."""
    pages, named = [], []
    for number, excerpt in enumerate(excerpts):
        since, until = excerpt.bounds
        groups = f"make_array({', '.join(map(quoted_text, excerpt.groups))})" if excerpt.groups else "null"
        pages.append(f"({number}, {quoted_text(excerpt.cluster)}, {groups}, {since}, {until})")
        named += [f"({number}, {quoted_text(excerpt.cluster)}, {quoted_text(group)}, {since}, {until})" for group in excerpt.groups]
    pages.append(f"(-1, '', make_array(''), {_NEVER}, {_NEVER})")  # it gives the columns their types
    return _PAGES.format(pages=", ".join(pages), named=", ".join(named or [f"(-1, '', '', {_NEVER}, {_NEVER})"]))


def _shown(key: str, page_kind: str) -> str:
    """Query for a value of the rows on each page.

    Selects the same rows as `Selection`.
    """
    table, conditions = CONTRACT[key], f"t.cluster = p.cluster and {_in_time(key)}"
    columns = TABLES[table].column_names
    if "groups" in columns:
        conditions += " and (p.groups is null or array_has_any(t.groups, p.groups))"
    elif "group" in columns:
        conditions += ' and (p.groups is null or t."group" is null)'
    rows = f"select page, {page_kind} as what from {table} t, pages p where {conditions}"  # noqa: S608 - declared names
    if "group" in columns:  # joined by equality, because there may be millions
        of_group = f't.cluster = p.cluster and t."group" = p.name and {_in_time(key)}'
        rows += f" union all select page, {page_kind} as what from {table} t, named p where {of_group}"  # noqa: S608 - declared names
    return rows


def _in_time(key: str) -> str:
    """Condition that a row is within its page's interval, as in `Stored.about`."""
    starts, ends = TIME_COLUMNS.get(key, ((), ()))
    if not starts:
        return "true"
    start, end = _micros(*starts, *ends), _micros(*ends)
    return (
        f"(since_at = {_NEVER} and until_at = {_ALWAYS} or {start} is not null and {start} <= until_at "
        f"and ({end} is null or {end} >= since_at))"
    )


def _not_before(key: str, since: int) -> str:
    """Condition that excludes rows from before all pages."""
    ends = TIME_COLUMNS.get(key, ((), ()))[1]
    if not ends or since == _NEVER:
        return ""
    return f" and (coalesce({_names(ends)}, null) is null or coalesce({_names(ends)}, null) >= {instant(since)})"


def _micros(*columns: str) -> str:
    """SQL for the first known column, as microseconds since 1970."""
    return f"cast(coalesce({_names(columns)}, null) as bigint)"


def _names(columns: Iterable[str]) -> str:
    return ", ".join(f'"{column}"' for column in dict.fromkeys(columns))

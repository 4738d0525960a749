"""What the page of an incident is made of, and what tells whether it is as it was, without making the page.

A row keeps the id of the run that last wrote it, and a run writes a row only where it differs. So pages rest on how many rows of
each run they show: one query a table counts these for all pages, where reading the rows of each page would take a second a page.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from pipelines.cli.answers.selection import TIMES, Selected, files_within, those, values_of
from pipelines.schema.tables import CONTRACT, TABLES
from pipelines.versions import fingerprint_of
from pipelines.warehouse.reader import Warehouse, any_of, instant, text

MARGIN = int(timedelta(minutes=5).total_seconds() * 1_000_000)
_NEVER, _ALWAYS = -(1 << 62), 1 << 62

SHOWN = (
    "rebalances", "timeline", "client_states", "incidents", "outages", "broker_outages", "coordinator_moves", "offsets_at_risk",
    "allocation_changes", "ownership", "conditions", "divergences",
)  # fmt: skip
"""Keys of the contract whose rows a page shows, beside what it shows of files and of the members of rebalances."""

MADE_OF = ("log_files", "rejected_records", "unknown_messages", "rebalance_members", *(CONTRACT[key] for key in SHOWN))
"""Tables that a page rests on."""

_GROWING = ("bytes_read", "lines", "recognised", "unknown", "rejected")
_FILE = ("path", "kind", "node", "version", "time_zone", "first_at", "last_at", "status", "reason")

_PAGES = """pages(page, cluster, groups, since_at, until_at) as (values {pages}),
named(page, cluster, name, since_at, until_at) as (values {named})"""
_COUNTED = "select page, what, count(*) from ({rows}) group by page, what"


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A cluster's groups (all where none is named) in a stretch of time."""

    cluster: str
    groups: tuple[str, ...]
    since: int | None
    until: int | None

    def of(self, warehouse: Any) -> Any:
        """The rows."""
        chosen: Any = Selected(warehouse, self.groups, self.since, self.until, self.cluster)
        shown = values_of(chosen.rebalances, "rebalance_id")
        chosen.rebalance_members = those(
            chosen.rebalance_members, any_of("rebalance_id", sorted(shown)), lambda row: row.rebalance_id in shown
        )
        return chosen

    @property
    def bounds(self) -> tuple[int, int]:
        """The stretch of time as numbers."""
        return _NEVER if self.since is None else self.since, _ALWAYS if self.until is None else self.until


def excerpt_of(incident: Any) -> Excerpt:
    """What is shown of an incident: all that concerns its groups, from shortly before it to shortly after it."""
    since = None if incident.started_at is None else incident.started_at - MARGIN
    until = None if incident.ended_at is None else incident.ended_at + MARGIN
    return Excerpt(incident.cluster, tuple(sorted(incident.groups)), since, until)


def fingerprints(warehouse: Warehouse, excerpts: Sequence[Excerpt]) -> list[str]:
    """Of each excerpt a fingerprint that is another one where what a page shows of it is."""
    if not excerpts:
        return []
    rejected = _rejected(warehouse)
    found = [[*_files(warehouse, excerpt, rejected)] for excerpt in excerpts]
    with_pages, since = _relations(excerpts), min(excerpt.bounds[0] for excerpt in excerpts)
    clusters = any_of("cluster", sorted({excerpt.cluster for excerpt in excerpts}))
    of_rows, of_members = _shown("rebalances", "rebalance_id"), "join rebalance_members m on m.rebalance_id = x.what"
    queries = {key: _shown(key, "run_id") for key in SHOWN}
    queries["unknown"] = _shown("unknown", f"case when {_micros('last_at')} <= until_at then run_id end")
    queries["rebalance_members"] = f"select x.page, m.run_id as what from ({of_rows}) x {of_members}"  # noqa: S608 - declared names
    for key, rows in queries.items():
        tables = ("rebalances", key) if key == "rebalance_members" else (key,)
        wheres = {CONTRACT.get(each, each): clusters + _not_before(each, since) for each in tables}
        for page, what, count in warehouse.ask(wheres, f", {with_pages} {_COUNTED.format(rows=rows)}"):
            found[page].append((key, what, count))
    return [fingerprint_of(sorted(map(repr, [excerpt, *parts]))) for excerpt, parts in zip(excerpts, found, strict=True)]


def _files(warehouse: Warehouse, excerpt: Excerpt, rejected: Mapping[str, Mapping[str, int]]) -> Iterable[tuple[Any, ...]]:
    """What is shown of files. How long one has become since the page's time, and what else was found in it, is not told anew:
    most files of a running system grow with each run.
    """
    known = {row["path"]: row["last_at"] for row in warehouse.inputs["log_files"]}
    for row in files_within(warehouse.inputs["log_files"], excerpt.cluster, excerpt.since, excerpt.until):
        path, bad = row["path"], rejected.get(row["path"], {})
        told = tuple(row[name] for name in _FILE)
        if known[path] is not None and known[path] <= excerpt.bounds[1]:
            yield (*told, *(row[name] for name in _GROWING), tuple(sorted(bad.items())))
        else:
            yield (*told, bool(row["recognised"]), sum(bad.values()))


def _rejected(warehouse: Warehouse) -> Mapping[str, Mapping[str, int]]:
    """How many rejected records of each run each file has."""
    found: defaultdict[str, dict[str, int]] = defaultdict(dict)
    for path, run_id, count in warehouse.ask({"rejected_records": ""}, "select file, run_id, count(*) from rejected_records group by 1, 2"):
        found[path][run_id] = count
    return found


def _relations(excerpts: Sequence[Excerpt]) -> str:
    """Excerpts by number as relations of a query: one row for each, and one for each of their groups."""
    pages, named = [], []
    for number, each in enumerate(excerpts):
        since, until = each.bounds
        groups = f"make_array({', '.join(map(text, each.groups))})" if each.groups else "null"
        pages.append(f"({number}, {text(each.cluster)}, {groups}, {since}, {until})")
        named += [f"({number}, {text(each.cluster)}, {text(group)}, {since}, {until})" for group in each.groups]
    pages.append(f"(-1, '', make_array(''), {_NEVER}, {_NEVER})")  # of which the columns have their types
    return _PAGES.format(pages=", ".join(pages), named=", ".join(named or [f"(-1, '', '', {_NEVER}, {_NEVER})"]))


def _shown(key: str, what: str) -> str:
    """The query for something of the rows that each page shows: the same rows that `Selected` chooses."""
    table, met = CONTRACT[key], f"t.cluster = p.cluster and {_in_time(key)}"
    columns = TABLES[table].column_names
    if "groups" in columns:
        met += " and (p.groups is null or array_has_any(t.groups, p.groups))"
    elif "group" in columns:
        met += ' and (p.groups is null or t."group" is null)'
    rows = f"select page, {what} as what from {table} t, pages p where {met}"  # noqa: S608 - declared names
    if "group" in columns:  # joined by equality, since there may be millions
        of_group = f't.cluster = p.cluster and t."group" = p.name and {_in_time(key)}'
        rows += f" union all select page, {what} as what from {table} t, named p where {of_group}"  # noqa: S608 - declared names
    return rows


def _in_time(key: str) -> str:
    """The condition that a row reaches into the time of its page, as `Stored.about` has it."""
    starts, ends = TIMES.get(key, ((), ()))
    if not starts:
        return "true"
    start, end = _micros(*starts, *ends), _micros(*ends)
    return (
        f"(since_at = {_NEVER} and until_at = {_ALWAYS} or {start} is not null and {start} <= until_at "
        f"and ({end} is null or {end} >= since_at))"
    )


def _not_before(key: str, since: int) -> str:
    """Spares a query the rows that no page reaches back to."""
    ends = TIMES.get(key, ((), ()))[1]
    if not ends or since == _NEVER:
        return ""
    return f" and (coalesce({_names(ends)}, null) is null or coalesce({_names(ends)}, null) >= {instant(since)})"


def _micros(*columns: str) -> str:
    """The first of these columns that is known, as microseconds since 1970."""
    return f"cast(coalesce({_names(columns)}, null) as bigint)"


def _names(columns: Iterable[str]) -> str:
    return ", ".join(f'"{column}"' for column in dict.fromkeys(columns))

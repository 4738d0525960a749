"""Selection of rebalances by who, why and how bad, or of chosen ones.

What belongs to no rebalance, such as outages and files, is not filtered.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from conf.causes import causes
from dashboards.view.row_access import column
from pipelines.cli.answers.selection import nearest_of, values_of, with_ids
from pipelines.cli.arguments.filters import Filters
from pipelines.errors import UsageError
from pipelines.schema.allowed_values import INCIDENT_KINDS, SEVERITIES
from pipelines.schema.tables import CONTRACT

_IDS = ("member_id", "instance_id", "client_id")


class NarrowedRows:
    """Rows of an analysis, with some of its rebalances and incidents."""

    is_narrowed = True

    def __init__(self, rows: Any, rebalance_ids: set[str], incident_ids: set[str]) -> None:
        self._rows = rows
        self.rebalances = with_ids(rows.rebalances, "rebalance_id", rebalance_ids)
        self.rebalance_members = with_ids(getattr(rows, "rebalance_members", ()), "rebalance_id", rebalance_ids)
        self.incidents = with_ids(rows.incidents, "incident_id", incident_ids)
        self.outages = rows.outages

    def beyond(self, table: str, name: str, ids: set[str]) -> Iterable[Any]:
        """Rows with these ids, regardless of the filters."""
        further = getattr(self._rows, "beyond", None)
        return further(table, name, ids) if further is not None else with_ids(getattr(self._rows, table), name, ids)

    def __getattr__(self, key: str) -> Any:
        """The rows that filters say nothing about."""
        if key in CONTRACT or key == "inputs":
            return getattr(self._rows, key)
        raise AttributeError(key)


def narrowed(rows: Any, filters: Filters) -> NarrowedRows:
    """Rows with the rebalances that pass the filters.

    Incidents stay if one of their rebalances does, or their own offender matches.
    """
    _check("--cause", filters.causes, {cause for _, cause in causes()} | set(INCIDENT_KINDS))
    _check("--severity", filters.severities, set(SEVERITIES))
    incidents = [row for row in rows.incidents if not filters.severities or column(row, "severity") in filters.severities]
    within = {rebalance_id for row in incidents for rebalance_id in column(row, "rebalance_ids") or ()} if filters.severities else None
    ids = {
        column(row, "rebalance_id")
        for row in rows.rebalances
        if (within is None or column(row, "rebalance_id") in within) and _passes(row, filters)
    }
    kept = {column(row, "incident_id") for row in incidents if not ids.isdisjoint(column(row, "rebalance_ids") or ())}
    kept |= {column(row, "incident_id") for row in incidents if not column(row, "rebalance_ids") and _of_itself(row, filters)}
    return NarrowedRows(rows, ids, kept)


_SEEN_IN = {"members": _IDS, "client_states": _IDS, "rebalances": ("topic",), "allocation_changes": ("client_id", "topic")}


def unseen(whole: Any, filters: Filters) -> Iterator[str]:
    """Names that are asked for and nowhere in the logs, each with a suggestion."""
    wanted = [("member", filters.members, _IDS), ("client", filters.clients, ("client_id",)), ("topic", filters.topics, ("topic",))]
    for noun, globs, names in wanted:
        if not globs:
            continue
        known = {value for table, columns in _SEEN_IN.items() for name in columns if name in names for value in _values(whole, table, name)}
        if noun != "topic":
            known |= {column(person, name) for person in _people(whole.rebalances) for name in names if column(person, name)}
        for glob in globs:
            if not fnmatch.filter(known, glob):
                yield f"no {noun} {glob!r} is in these logs; {nearest_of(glob, known, f'no {noun} at all')}"


def _values(whole: Any, table: str, name: str) -> set[str]:
    return values_of(getattr(whole, table, ()), name)


def _people(rebalances: Iterable[Any]) -> Iterator[Any]:
    for row in rebalances:
        yield from (*(column(row, "offenders") or ()), *(column(row, "blockers") or ()))


def _check(option: str, wanted: Iterable[str], known: set[str]) -> None:
    """Raise UsageError for a word that no row can have."""
    for name in wanted:
        if not fnmatch.filter(known, name.replace(" ", "_")):
            raise UsageError(f"{option} {name!r} is unknown; {nearest_of(name, known)}")


def _passes(row: Any, filters: Filters) -> bool:
    people = [*(column(row, "offenders") or ()), *(column(row, "blockers") or ())]
    return (
        _any_of(filters.causes, (column(row, "cause"), column(row, "root_cause")), spaces="_")
        and _any_of(filters.topics, (column(row, "topic"),))
        and _is_named(people, filters)
    )


def _of_itself(row: Any, filters: Filters) -> bool:
    """Whether an incident without rebalances passes by kind and offender."""
    worst = column(row, "worst_offender")
    causes_met = _any_of(filters.causes, (column(row, "kind"), column(row, "root_cause")), spaces="_")
    return causes_met and not filters.topics and _is_named([worst] if worst is not None else [], filters)


def _is_named(people: Sequence[Any], filters: Filters) -> bool:
    ids = [column(person, name) for person in people for name in _IDS]
    return _any_of(filters.members, ids) and _any_of(filters.clients, [column(person, "client_id") for person in people])


def _any_of(globs: Sequence[str], values: Iterable[str | None], spaces: str = " ") -> bool:
    """Whether no value is required, or any value matches."""
    return not globs or any(fnmatch.fnmatchcase(value, glob.replace(" ", spaces)) for value in values if value for glob in globs)

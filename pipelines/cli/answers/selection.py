"""Selection of rows by group, time and cluster.

Rows are filtered without copies; rows of tables are not even created.
"""

from __future__ import annotations

import difflib
import fnmatch
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar, runtime_checkable

from dashboards.view.row_access import column
from pipelines.cli.arguments.times import Moment
from pipelines.errors import UsageError
from pipelines.schema.tables import CONTRACT
from pipelines.warehouse.warehouse_reader import StoredRows, column_in, quoted_text

# Columns with the first and last time of a row; the first known one of each tuple counts.
TIME_COLUMNS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "rebalances": (("started_at", "joined_at", "ended_at"), ("ended_at",)),
    "timeline": (("changed_at",), ("changed_at",)),
    "members": (("first_seen_at",), ("last_seen_at",)),
    "client_states": (("started_at",), ("ended_at",)),
    "incidents": (("started_at",), ("ended_at",)),
    "outages": (("offline_at",), ("online_at",)),
    "under_replicated_spans": (("started_at",), ("ended_at",)),
    "leader_moves": (("moved_at",), ("moved_at",)),
    "broker_outages": (("down_at",), ("up_at",)),
    "group_states": (("changed_at",), ("changed_at",)),
    "coordinator_moves": (("left_at", "loaded_at"), ("loaded_at", "left_at")),
    "allocation_changes": (("changed_at",), ("changed_at",)),
    "ownership": (("started_at",), ("ended_at",)),
    "conditions": (("started_at",), ("ended_at",)),
    "divergences": (("at",), ("at",)),  # those of time zones concern whole logs
    "unknown": (("first_at",), ("last_at",)),
}
_OF_FILES = ("unknown", "rejected")

R = TypeVar("R")
"""A row: a dataclass of an analysis, or a mapping of a table."""


@dataclass(slots=True)
class FilteredRows(Generic[R]):
    """Filtered rows that can be iterated repeatedly."""

    rows: Iterable[R]
    passes: Callable[[R], bool]

    def __iter__(self) -> Iterator[R]:
        return filter(self.passes, self.rows)


@runtime_checkable
class HasColumns(Protocol):
    """Rows whose single columns can be read, as those of an analysis."""

    def values(self, *names: str) -> Iterable[tuple[Any, ...]]:
        """Values of these columns, row by row."""

    def with_values(self, name: str, wanted: Collection[str]) -> Iterable[Any]:
        """Rows with one of these texts in a column."""


class Selection:
    """Selected rows; attributes are the keys of the JSON contract.

    Information about files other than events covers all files, unless one cluster is selected: then it covers that
    cluster's files within the interval.
    """

    def __init__(self, analysis: Any, groups: Iterable[str], since: int | None, until: int | None, cluster: str | None = None) -> None:
        wanted = frozenset(groups)
        self.is_narrowed = bool(wanted) or since is not None or until is not None
        self.inputs = analysis.inputs
        if cluster is not None:
            self.inputs = {**analysis.inputs, "log_files": files_within(analysis.inputs["log_files"], cluster, since, until)}
        for key in CONTRACT:
            rows: Iterable[Any] = getattr(analysis, key)
            if cluster is not None:
                rows = _of_cluster(rows, cluster)
            if key == "rejected" and cluster is not None:
                rows = _of_paths(rows, {column(row, "path") for row in self.inputs["log_files"]})
            elif (wanted or since is not None or until is not None) and (key not in _OF_FILES or cluster is not None):
                if isinstance(rows, StoredRows):
                    rows = rows.about(wanted, *TIME_COLUMNS.get(key, ((), ())), since, until)
                else:
                    rows = FilteredRows(rows, _test(key, wanted, since, until))
            setattr(self, key, rows)
        # Filtered by the selected rebalances later; from tables no more is read than may be needed.
        self._whole = analysis
        members = getattr(analysis, "rebalance_members", ())
        if isinstance(members, StoredRows):
            members = members.about(wanted, (), (), None, None)
        self.rebalance_members = members if cluster is None else _of_cluster(members, cluster)

    def beyond(self, table: str, name: str, ids: set[str]) -> Iterable[Any]:
        """Rows with these ids, regardless of the selection."""
        return with_ids(getattr(self._whole, table), name, ids) if ids else ()


def files_within(files: Iterable[Mapping[str, Any]], cluster: str, since: int | None, until: int | None) -> list[dict[str, Any]]:
    """Files of a cluster within an interval, with times clipped to it.

    Files without a time are included.
    """
    shown_files = []
    for row in files:
        first, last = row["first_at"], row["last_at"]
        if (row["cluster"] or "") != cluster:
            continue
        if first is not None and last is not None:
            if (since is not None and last < since) or (until is not None and first > until):
                continue
            first, last = first if since is None else max(first, since), last if until is None else min(last, until)
        shown_files.append({**row, "first_at": first, "last_at": last})
    return shown_files


def _of_cluster(rows: Iterable[R], cluster: str) -> Iterable[R]:
    return those(rows, f"cluster = {quoted_text(cluster)}", lambda row: column(row, "cluster") == cluster)


def _of_paths(rows: Iterable[R], paths: set[str]) -> Iterable[R]:
    return those(rows, column_in("file", sorted(paths)), lambda row: column(row, "file") in paths)


def those(rows: Iterable[R], condition: str, passes: Callable[[R], bool]) -> Iterable[R]:
    """Filter rows; tables use the equivalent SQL condition."""
    return rows.where(condition) if isinstance(rows, StoredRows) else FilteredRows(rows, passes)


def with_ids(rows: Iterable[R], name: str, ids: set[str]) -> Iterable[R]:
    """Rows with one of these ids."""
    return those(rows, column_in(name, sorted(ids)) if ids else "false", lambda row: column(row, name) in ids)


def select(analysis: Any, groups: Iterable[str] | None, since: Moment | None, until: Moment | None) -> Any:
    """Apply the requested groups and times.

    Raises UsageError with a suggestion for an unknown group.
    """
    if not groups and since is None and until is None:
        return analysis
    names = _matching_groups(analysis, list(groups)) if groups else []
    last_at = last_record_at(analysis)
    start = since.micros(last_at) if since else None
    end = until.micros(last_at) if until else None
    if start is not None and end is not None and start > end:
        raise UsageError("--since lies behind --until, so nothing can be shown")
    return Selection(analysis, names, start, end)


def last_record_at(analysis: Any) -> int | None:
    """Latest time in a recognised file, None if there is none."""
    times = [column(row, "last_at") for row in analysis.inputs["log_files"] if column(row, "recognised")]
    times.append(latest(analysis.incidents, ("ended_at", "started_at")))
    return max((time for time in times if time is not None), default=None)


def first_record_at(analysis: Any) -> int | None:
    """Earliest time in a recognised file, None if there is none."""
    times = (column(row, "first_at") for row in analysis.inputs["log_files"] if column(row, "recognised"))
    return min((time for time in times if time is not None), default=None)


def known_groups(analysis: Any) -> set[str]:
    """Groups in an analysis or a warehouse."""
    keys = ("rebalances", "timeline", "members", "offsets_at_risk", "allocation_changes", "conditions")
    return {group for key in keys for group in groups_of(getattr(analysis, key))}


def groups_of(rows: Iterable[object]) -> set[str]:
    """Groups in rows."""
    return values_of(rows, "group")


def values_of(rows: Iterable[object], name: str) -> set[str]:
    """Distinct texts in a column."""
    return {value for (value,) in counts_of(rows, name) if value}


def counts_of(rows: Iterable[object], *names: str) -> Counter[tuple[Any, ...]]:
    """Number of rows by their values in these columns."""
    if isinstance(rows, StoredRows):
        chosen = ", ".join(f'"{name}"' for name in names)
        counted = rows.query(f"select {chosen}, count(*) as row_count from chosen group by {chosen}")  # noqa: S608 - declared names
        return Counter({tuple(row[name] for name in names): row["row_count"] for row in counted})
    if isinstance(rows, HasColumns):
        return Counter(rows.values(*names))
    return Counter(tuple(column(row, name) for name in names) for row in rows)


def latest(rows: Iterable[object], times: Sequence[str]) -> int | None:
    """Latest time in rows.

    Each row counts with the first known of the columns `times`.
    """
    if isinstance(rows, StoredRows):
        rows, times = rows.query(f"select max(coalesce({', '.join(times)})) as latest from chosen"), ["latest"]  # noqa: S608 - declared names
    return max((time for row in rows if (time := _known(row, times)) is not None), default=None)


def no_such_group(name: str, known: Iterable[str]) -> UsageError:
    """Error for an unknown group, with a suggestion."""
    return UsageError(f"no group {name!r} here; {nearest_of(name, known, 'no group at all')}")


def nearest_of(name: str, known: Iterable[str], nothing: str = "none") -> str:
    """Suggestion for an unknown name, else the known names."""
    names = sorted(known)
    near = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
    if near:
        return f"did you mean {near[0]!r}?"
    names_text = ", ".join(map(repr, names[:8])) + (f" and {len(names) - 8} more" if len(names) > 8 else "")
    return f"there {'are' if len(names) > 1 else 'is'} {names_text or nothing}"


def _matching_groups(analysis: Any, wanted: Iterable[str]) -> list[str]:
    """Groups of these names, which may be globs."""
    known = known_groups(analysis)
    groups: set[str] = set()
    for name in wanted:
        matching = {name} & known or set(fnmatch.filter(known, name))
        if not matching:
            raise no_such_group(name, known)
        groups |= matching
    return sorted(groups)


def _test(key: str, groups: frozenset[str], since: int | None, until: int | None) -> Callable[[object], bool]:
    starts, ends = TIME_COLUMNS.get(key, ((), ()))

    def passes(row: object) -> bool:
        if groups and not _of_groups(key, row, groups):
            return False
        if not starts or (since is None and until is None):
            return True
        start, end = _known(row, starts), _known(row, ends)
        if start is None and end is None:
            return False
        if key == "divergences" and _is_of_zones(row):
            return True
        # An open row extends to the end of the logs.
        begins_in_time = until is None or (start if start is not None else end or 0) <= until
        return begins_in_time and (since is None or end is None or end >= since)

    return passes


def _is_of_zones(row: Any) -> bool:
    from dashboards.answer.build import doubt_of

    return doubt_of(row).is_of_zones


def _of_groups(key: str, row: object, groups: frozenset[str]) -> bool:
    if key in ("incidents", "outages"):
        return not groups.isdisjoint(column(row, "groups") or ())
    group = column(row, "group")
    return group is None or group in groups


def _known(row: object, names: Iterable[str]) -> int | None:
    return next((value for name in names if (value := column(row, name)) is not None), None)

"""Metrics of the last run and the tables, in Prometheus' text format.

Made for node_exporter's textfile collector.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pipelines.schema.tables import TABLES
from pipelines.storage.object_stores import open_table
from pipelines.storage.uris import warehouse_uri

_SUCCESS = "groupscope_run_last_success_timestamp_seconds"
_ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n"})


@dataclass(frozen=True, slots=True)
class RunMetrics:
    """Facts about a run.

    `ended_at` is seconds since 1970.
    """

    exit_code: int
    ended_at: float
    counts: Mapping[str, int] = field(default_factory=dict)
    timings: Mapping[str, float] = field(default_factory=dict)
    has_succeeded: bool = True


Sample = tuple[Mapping[str, str], float]


def metrics_text(run: RunMetrics, tables: Mapping[str, list[Sample]], last_success: float | None, kept: str = "") -> str:
    """Format all metrics.

    `tables` holds samples from the tables, by name of the metric; `kept` are lines of an earlier file.
    """
    success = run.ended_at if run.has_succeeded else last_success
    families: list[tuple[str, str, list[Sample]]] = [
        ("groupscope_run_last_timestamp_seconds", "When the last run ended.", [({}, run.ended_at)]),
        (_SUCCESS, "When the last run ended that published, or found nothing new.", [] if success is None else [({}, success)]),
        ("groupscope_run_exit_code", "Exit code of the last run.", [({}, run.exit_code)]),
        ("groupscope_run_stage_seconds", "Duration of each stage of the last run.", _by("stage", run.timings)),
        ("groupscope_run_count", "What the last run counted.", _by("what", run.counts)),
        *((name, _MEANINGS[name], samples) for name, samples in sorted(tables.items())),
    ]
    return "".join(_family(*family) for family in families if family[2]) + kept


_MEANINGS = {
    "groupscope_incidents": "Incidents in the tables.",
    "groupscope_incidents_open": "Incidents that have no end yet.",
    "groupscope_rebalance_seconds": "Durations of rebalances that ended, by group.",
    "groupscope_rebalances": "Rebalances in the tables.",
    "groupscope_stopped_seconds": "Time that groups stood still, as incidents tell.",
    "groupscope_partition_outages_open": "Partitions without a leader at the end of the logs.",
}


DURATIONS = "groupscope_rebalance_seconds"
BUCKETS = (0.1, 0.5, 1, 3, 5, 10, 30, 60, 120, 300, 600)
"""Upper bounds in seconds, with the usual defaults of timeouts among them."""


def table_samples(place: str, versions: Mapping[str, int]) -> dict[str, list[Sample]]:
    """Samples from the published tables, by cluster."""

    def counted(table: str, *by: str, value: str = "count(*)", where: str = "true") -> list[Sample]:
        return _counted(f"{warehouse_uri(place)}/{TABLES[table].path}", versions[table], by, value, where)

    by_severity = ("cluster", "severity")
    return {
        "groupscope_incidents": counted("incidents", *by_severity),
        "groupscope_incidents_open": counted("incidents", *by_severity, where="ended_at is null"),
        "groupscope_rebalances": counted("rebalances", "cluster", "cause"),
        DURATIONS: _histogram(f"{warehouse_uri(place)}/{TABLES['rebalances'].path}", versions["rebalances"]),
        "groupscope_stopped_seconds": counted("incidents", "cluster", value="sum(stopped_seconds)"),
        "groupscope_partition_outages_open": counted("partition_outages", "cluster", where="online_at is null"),
    }


def _histogram(uri: str, version: int) -> list[Sample]:
    """Cumulative counts of durations, their sum and count, by cluster and group."""
    by = ("cluster", "group")
    bounds = {f"{bound:g}": f"count(*) filter (where duration_seconds <= {bound})" for bound in BUCKETS} | {"+Inf": "count(*)"}
    values = [*bounds.values(), "sum(duration_seconds)", "count(*)"]
    parts = [("bucket", {"le": le}) for le in bounds] + [("sum", {}), ("count", {})]
    return [
        ({"__name__": f"{DURATIONS}_{part}", **{name: row[name] for name in by}, **label}, row[f"value_{index}"])
        for row in _sums(uri, version, by, values, "duration_seconds is not null")
        for index, (part, label) in enumerate(parts)
    ]


def _counted(uri: str, version: int, by: Sequence[str], value: str, where: str) -> list[Sample]:
    return [({name: row[name] for name in by}, row["value_0"]) for row in _sums(uri, version, by, [value], where)]


def _sums(uri: str, version: int, by: Sequence[str], values: Sequence[str], where: str) -> list[dict[str, Any]]:
    """Sums grouped by some columns, computed by delta-rs."""
    import pyarrow as pa
    from deltalake import QueryBuilder

    columns = ", ".join(f'"{name}"' for name in by)
    wanted = ", ".join(f"{value} as value_{index}" for index, value in enumerate(values))
    query = f"select {columns}, {wanted} from stored where {where} group by {columns} order by {columns}"  # noqa: S608 - names come from this module
    sums = QueryBuilder().register("stored", open_table(uri, version=version)).execute(query)
    rows: list[dict[str, Any]] = pa.RecordBatchReader.from_stream(sums).read_all().to_pylist()
    return rows


def _by(label: str, values: Mapping[str, float]) -> list[Sample]:
    return [({label: name}, value) for name, value in sorted(values.items())]


def _family(name: str, meaning: str, samples: Iterable[Sample]) -> str:
    kind = "histogram" if name == DURATIONS else "gauge"
    lines = ((labels.get("__name__", name), {key: text for key, text in labels.items() if key != "__name__"}, v) for labels, v in samples)
    return f"# HELP {name} {meaning}\n# TYPE {name} {kind}\n" + "".join(f"{metric}{_labels(rest)} {v:.17g}\n" for metric, rest, v in lines)


def _labels(labels: Mapping[str, str]) -> str:
    return "{" + ",".join(f'{name}="{value.translate(_ESCAPES)}"' for name, value in labels.items()) + "}" if labels else ""


def kept_samples(path: Path) -> str:
    """Lines of a file with samples from tables.

    They stay valid after a run that published nothing.
    """
    try:
        lines = path.read_bytes().decode("utf-8").split("\n")[:-1]  # names may contain other line separators
    except (OSError, ValueError):
        return ""
    return "".join(
        f"{line}\n" for line in lines if _named_by(line).removesuffix("_bucket").removesuffix("_sum").removesuffix("_count") in _MEANINGS
    )


def _named_by(line: str) -> str:
    """Name of the metric in a line."""
    words = re.split(r"[ {]", line.removeprefix("# HELP ").removeprefix("# TYPE "), maxsplit=1)
    return words[0]


def last_success(path: Path) -> float | None:
    """Time of the last success in the file, for a failed run to keep."""
    try:
        match = re.search(rf"^{_SUCCESS} (\S+)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    except (OSError, ValueError):
        return None
    return float(match[1]) if match else None

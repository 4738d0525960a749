"""Metrics of the last run and the tables, in Prometheus' text format.

Made for node_exporter's textfile collector.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.registry import Collector

from pipelines.schema.tables import TABLES
from pipelines.storage.object_stores import open_table
from pipelines.storage.uris import warehouse_uri

_SUCCESS = "groupscope_run_last_success_timestamp_seconds"


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


def metrics_text(run: RunMetrics, tables: Iterable[Metric], last_success: float | None, kept: Iterable[Metric] = ()) -> str:
    """Format all metrics.

    `tables` are those of the tables, and `kept` those of an earlier file.
    """
    success = run.ended_at if run.has_succeeded else last_success
    of_run = (
        gauge("groupscope_run_last_timestamp_seconds", "When the last run ended.", [({}, run.ended_at)]),
        gauge(_SUCCESS, "When the last run ended that published, or found nothing new.", [] if success is None else [({}, success)]),
        gauge("groupscope_run_exit_code", "Exit code of the last run.", [({}, run.exit_code)]),
        gauge("groupscope_run_stage_seconds", "Duration of each stage of the last run.", _by("stage", run.timings)),
        gauge("groupscope_run_count", "What the last run counted.", _by("what", run.counts)),
    )
    registry = CollectorRegistry()
    registry.register(_Metrics([metric for metric in (*of_run, *tables, *kept) if metric.samples]))
    return generate_latest(registry).decode()


@dataclass(frozen=True, slots=True, eq=False)
class _Metrics(Collector):
    """The source of a registry's metrics."""

    metrics: Sequence[Metric]

    def collect(self) -> Sequence[Metric]:
        """The metrics."""
        return self.metrics


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


def table_metrics(place: str, versions: Mapping[str, int]) -> list[Metric]:
    """Metrics of the published tables, by cluster."""

    def counted(name: str, table: str, *by: str, value: str = "count(*)", where: str = "true") -> Metric:
        rows = _sums(_uri(place, table), versions[table], by, [value], where)
        return gauge(name, _MEANINGS[name], [({label: row[label] for label in by}, row["value_0"]) for row in rows])

    by_severity = ("cluster", "severity")
    return [
        counted("groupscope_incidents", "incidents", *by_severity),
        counted("groupscope_incidents_open", "incidents", *by_severity, where="ended_at is null"),
        counted("groupscope_partition_outages_open", "partition_outages", "cluster", where="online_at is null"),
        _durations(_uri(place, "rebalances"), versions["rebalances"]),
        counted("groupscope_rebalances", "rebalances", "cluster", "cause"),
        counted("groupscope_stopped_seconds", "incidents", "cluster", value="sum(stopped_seconds)"),
    ]


def _uri(place: str, table: str) -> str:
    return f"{warehouse_uri(place)}/{TABLES[table].path}"


def _durations(uri: str, version: int) -> Metric:
    """Histogram of durations, by cluster and group."""
    by = ("cluster", "group")
    bounds = [f"{bound:g}" for bound in BUCKETS] + ["+Inf"]
    values = [*(f"count(*) filter (where duration_seconds <= {bound})" for bound in BUCKETS), "count(*)", "sum(duration_seconds)"]
    metric = HistogramMetricFamily(DURATIONS, _MEANINGS[DURATIONS], labels=by)
    for row in _sums(uri, version, by, values, "duration_seconds is not null"):
        *counts, total = (row[f"value_{index}"] for index in range(len(values)))
        metric.add_metric([row[name] for name in by], list(zip(bounds, counts, strict=True)), total)
    return metric


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


def _by(label: str, values: Mapping[str, float]) -> list[tuple[Mapping[str, str], float]]:
    return [({label: name}, value) for name, value in sorted(values.items())]


def gauge(name: str, meaning: str, samples: Iterable[tuple[Mapping[str, str], float]]) -> Metric:
    """A metric with samples, which are labels and values."""
    metric = GaugeMetricFamily(name, meaning)
    for labels, value in samples:
        metric.add_sample(name, dict(labels), value)
    return metric


def kept_metrics(path: Path) -> list[Metric]:
    """Metrics of tables in a file; they stay valid if nothing is published."""
    return [metric for metric in _metrics_of(path) if metric.name in _MEANINGS]


def last_success(path: Path) -> float | None:
    """Time of the last success in the file, for a failed run to keep."""
    return next((sample.value for metric in _metrics_of(path) if metric.name == _SUCCESS for sample in metric.samples), None)


def _metrics_of(path: Path) -> list[Metric]:
    """Metrics in whole lines of a file; none if it cannot be read."""
    try:
        lines, _, _ = path.read_bytes().decode().rpartition("\n")
        return list(text_string_to_metric_families(lines))
    except (OSError, ValueError):
        return []

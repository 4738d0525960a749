"""Maintain a warehouse: compact small files, delete expired files and entries.

Holds the warehouse like a run, and publishes its own versions, which have the same rows as before.
"""

from __future__ import annotations

import os
import uuid
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from pipelines.errors import NothingReadable, UsageError, WarehouseBusy
from pipelines.jobs.registry.entries import PUBLISHED, RUNS, PublishedRun, RunEntry
from pipelines.jobs.registry.failures import closed_on_error, disk_named
from pipelines.schema.tables import TABLES, VERSIONED
from pipelines.storage.uris import is_uri, warehouse_uri
from pipelines.versions import product_version

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pipelines.jobs.registry.runs import Runs
    from pipelines.warehouse.warehouse import Warehouse

VACUUM_HOURS_MIN = 168
"""Delta's minimum retention: readers and runs may still need younger files."""

UNNAMED = "a host that is not told"
"""Substitute for this machine's name if hosts are redacted and the key is unknown."""

_NOTHING = PublishedRun(0, {}, "", "", {})


@dataclass(frozen=True, slots=True)
class MaintainOptions:
    """Retention of files and entries.

    `keep_hours`: minimum age of unreferenced files before deletion, also the time for which old versions stay readable.
    `runs_for`: retention of runs' entries, and of alerts for incidents that no longer exist. The last published run is
    never deleted.
    """

    warehouse: str
    keep_hours: int = VACUUM_HOURS_MIN
    runs_for: timedelta = timedelta(days=90)
    spark: Mapping[str, str] = field(default_factory=dict)
    stale_after: timedelta = timedelta(minutes=10)


@dataclass(slots=True)
class MaintenanceResult:
    """Results: files before and after by table, and deleted entries."""

    files: dict[str, tuple[int, int]] = field(default_factory=dict)
    runs_removed: int = 0
    alerts_removed: int = 0


def maintain(options: MaintainOptions) -> MaintenanceResult:
    """Cluster and compact tables, delete old entries, vacuum.

    Raises NothingReadable if no run has been published.
    """
    if options.keep_hours < VACUUM_HOURS_MIN:
        raise UsageError(
            f"--keep-hours {options.keep_hours}: less than {VACUUM_HOURS_MIN} could take files from readers and runs under way"
        )
    from pipelines.jobs.operations.delta_log_cleanup import keep_entries, remove_entries
    from pipelines.jobs.registry.runs import Runs
    from pipelines.spark.session import get_session
    from pipelines.storage import object_stores as stores
    from pipelines.warehouse.delta.commit_log import rows_stayed
    from pipelines.warehouse.warehouse import Warehouse

    if is_uri(options.warehouse):
        stores.use(options.spark, warehouse=options.warehouse)
    _must_exist(options.warehouse)
    spark = get_session(options.spark)
    warehouse = Warehouse(spark, options.warehouse)
    with disk_named(options.warehouse):
        warehouse.open_one(RUNS)
        register = Runs(warehouse, options.stale_after)
        redacted = (register.last_published() or _NOTHING).options.get("redact") or {}
        host = UNNAMED if "hosts" in redacted.get("kinds", ()) else None
        entry = RunEntry(uuid.uuid4().hex, [], {}, product_version(), "", "", host=host)
        register.start(entry)
    before = register.before
    with closed_on_error(register, entry, options.warehouse, partial(_error_text, is_redacted=bool(redacted))):
        if before is None:
            raise NothingReadable(f"{options.warehouse}: no run has been published yet")
        # Its versions contain what the last run published.
        register.takes_over(entry, before)
        warehouse.open(before.table_versions)
        versions_before, versions = warehouse.versions.opened, before.table_versions
        if not all(name in versions and rows_stayed(warehouse.tables, name, versions[name]) for name in VERSIONED):
            raise UsageError(f"{options.warehouse}: the last run did not come to its end; let groupscope run complete it first")
        done = MaintenanceResult()
        with register.alive(entry):
            for name in TABLES:
                done.files[name] = _compact(warehouse, name)
                if redacted:
                    keep_entries(warehouse, name, options.keep_hours)
            oldest = datetime.now(UTC) - options.runs_for
            done.runs_removed = register.expire(oldest)
            done.alerts_removed = _forget_alerts(register, options.warehouse, versions["incidents"], oldest)
            _vacuum(warehouse, options.keep_hours)
        versions = {name: warehouse.tables.latest(name) for name in VERSIONED}
        if not all(rows_stayed(warehouse.tables, name, versions_before[name]) for name in VERSIONED):
            raise WarehouseBusy(f"{options.warehouse}: somebody else has changed rows meanwhile; nothing is published")
    register.finish(entry, PUBLISHED, 0, table_versions=versions, counts={"files": sum(after for _, after in done.files.values())})
    if redacted:
        # Readers may still be about to open the previously published versions.
        for name in TABLES:
            version = before.table_versions.get(name)
            remove_entries(warehouse.tables.path(name), warehouse.tables.latest(name) if version is None else version)
    return done


def _error_text(error: BaseException, *, is_redacted: bool) -> str:
    """Message of an error, without names if the warehouse is redacted.

    The key is unknown here, so all names become the same text.
    """
    if not is_redacted:
        return str(error)
    from parsers.redaction.pseudonyms import PSEUDONYM, REDACTED_KINDS, Redaction

    return PSEUDONYM.sub("...", Redaction(REDACTED_KINDS, os.urandom(32)).text(str(error), {}, strict=True))


def _forget_alerts(register: Runs, place: str, incidents: int, oldest: datetime) -> int:
    """Delete alerts that are no longer needed; return their number."""
    from deltalake.exceptions import DeltaError

    from pipelines.jobs.operations.alerts import superseded

    try:
        names = superseded(place, incidents, oldest)
    except (DeltaError, OSError):
        if not is_uri(place):
            raise
        return 0  # delta-rs has no driver for this store, so no alert was ever sent
    register.forget_sent(names)
    return len(names)


def _compact(warehouse: Warehouse, name: str) -> tuple[int, int]:
    """Cluster and compact a table; return its number of files before and after."""
    from pipelines.warehouse.delta import sql as delta

    delta.cluster(warehouse.spark, warehouse.tables.path(name), TABLES[name].clustering)
    counts = _count_files(warehouse, name)
    return (counts.named, counts.named) if counts is not None and counts.named < 2 else warehouse.writer.optimize(name)


def _vacuum(warehouse: Warehouse, hours: int) -> None:
    """Delete files that no recent version needs.

    VACUUM adds versions to the table, so it runs before publication.
    """
    for name in TABLES:
        counts = _count_files(warehouse, name)
        if counts is None or counts.others:
            warehouse.spark.sql(f"VACUUM delta.`{warehouse.tables.path(name)}` RETAIN {hours} HOURS")


class _FileCounts(NamedTuple):
    """Number of files in a table's latest version, and of all others."""

    named: int
    others: int


def _count_files(warehouse: Warehouse, name: str) -> _FileCounts | None:
    """Count the files of a local table without Spark.

    None for a remote table.
    """
    if is_uri(warehouse.tables.uri):
        return None
    from deltalake import DeltaTable

    folder = Path(warehouse.tables.path(name))
    names = {os.path.basename(path) for path in DeltaTable(str(folder)).file_uris()}
    files = (path for path in folder.rglob("*.parquet") if "_delta_log" not in path.relative_to(folder).parts)
    return _FileCounts(len(names), sum(path.name not in names for path in files))


def _must_exist(place: str) -> None:
    """Raise NothingReadable if there is no register of runs, according to delta-rs.

    Spark would create one.
    """
    from deltalake.exceptions import DeltaError, TableNotFoundError

    from pipelines.storage.object_stores import open_table
    from pipelines.warehouse.opening.damage import mend

    mend(place, RUNS, -1)
    try:
        open_table(f"{warehouse_uri(place)}/{TABLES[RUNS].path}")
    except TableNotFoundError as error:
        raise NothingReadable(f"{place} is no warehouse: it has no table of runs; make one with groupscope run") from error
    except (DeltaError, OSError):
        if not is_uri(place):
            raise

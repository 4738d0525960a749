"""Remove old entries of a Delta log, because their statistics contain names.

VACUUM removes data files only, and Delta removes entries only at checkpoints that it writes by itself. After names
became pseudonyms, maintenance writes a checkpoint and removes the expired entries before it.
"""

from __future__ import annotations

import logging
import re
from typing import TYPE_CHECKING

from pipelines.storage.object_stores import delta_options, open_table
from pipelines.warehouse.delta import sql as delta
from pipelines.warehouse.delta.files import LOG_FOLDER
from pipelines.warehouse.opening.schema_upgrades import KEEP_HOURS

if TYPE_CHECKING:
    from pipelines.warehouse.warehouse import Warehouse

RETENTION = "delta.logRetentionDuration"
_ENTRY = re.compile(r"\.?(?P<version>\d{20})\.(?P<kind>json|crc)(?:\.crc)?")

_log = logging.getLogger(__name__)


def keep_entries(warehouse: Warehouse, name: str, hours: int) -> None:
    """Set how long a table keeps log entries.

    The new property adds a version after the one that removed the names, so that the entry of that one can be removed
    too.
    """
    wanted = f"interval {max(hours, KEEP_HOURS)} hours"  # Delta requires at least the retention of unreferenced files
    properties, _ = delta.properties_of(warehouse.spark, warehouse.tables.path(name)) or ({}, None)
    if properties.get(RETENTION) != wanted:
        delta.set_properties(warehouse.spark, warehouse.tables.path(name), {RETENTION: wanted})


def remove_entries(path: str, version: int) -> None:
    """Remove log entries of versions before this one, if they have expired.

    This version and later ones stay readable.
    """
    from deltalake.exceptions import DeltaError

    try:
        table = open_table(path, version)
        table.create_checkpoint()
        table.cleanup_metadata()
        _remove_sums(path, version)
    except (DeltaError, OSError) as error:  # if delta-rs has no driver for the store, Delta cleans up at some later time
        _log.warning("%s: what its log tells of the past stays, as it can't be removed from here: %s", path, error)


def _remove_sums(path: str, version: int) -> None:
    """Remove checksums of removed versions.

    They contain the same as entries, and delta-rs does not know them.
    """
    from deltalake.fs import DeltaStorageHandler
    from pyarrow.fs import FileSelector, PyFileSystem

    files = PyFileSystem(DeltaStorageHandler(path, delta_options(path)))
    logs = [(info.path, entry) for info in files.get_file_info(FileSelector(LOG_FOLDER)) if (entry := _ENTRY.fullmatch(info.base_name))]
    versions = {entry["version"] for place, entry in logs if place.endswith(".json")}
    for place, entry in logs:
        if int(entry["version"]) < version and entry["version"] not in versions:
            files.delete_file(place)

"""What the log of a Delta table tells of its past, removed: entries hold the least and greatest names of the files that they add.

VACUUM removes data alone, and Delta removes entries at checkpoints that it makes by itself, if it does. Where names have turned to
pseudonyms, upkeep makes the checkpoint, and removes the entries before it that are older than the table keeps them.
"""

from __future__ import annotations

import logging
import re
from typing import TYPE_CHECKING

from pipelines.storage.object_stores import delta_options, open_table
from pipelines.warehouse import delta_sql as delta
from pipelines.warehouse.schema_upgrades import KEEP_HOURS

if TYPE_CHECKING:
    from pipelines.warehouse.warehouse import Warehouse

RETENTION = "delta.logRetentionDuration"
_LOG = "_delta_log"
_ENTRY = re.compile(r"\.?(?P<version>\d{20})\.(?P<kind>json|crc)(?:\.crc)?")

_log = logging.getLogger(__name__)


def keep_entries(warehouse: Warehouse, name: str, hours: int) -> None:
    """Let a table keep entries for so long, whoever cleans up. This makes a version behind that which took the names away, so that
    the entry of that one can go, too.
    """
    wanted = f"interval {max(hours, KEEP_HOURS)} hours"  # Delta takes no less than it keeps files that no version names
    properties, _ = delta.told_of(warehouse.spark, warehouse.path(name)) or ({}, None)
    if properties.get(RETENTION) != wanted:
        delta.set_properties(warehouse.spark, warehouse.path(name), {RETENTION: wanted})


def remove_entries(path: str, version: int) -> None:
    """Remove what the log tells of versions before this one, as far as it is older than the table keeps it. This version and later
    ones can be read as before.
    """
    from deltalake.exceptions import DeltaError

    try:
        table = open_table(path, version)
        table.create_checkpoint()
        table.cleanup_metadata()
        _remove_sums(path, version)
    except (DeltaError, OSError) as error:  # where delta-rs has no driver, Delta itself cleans up some day
        _log.warning("%s: what its log tells of the past stays, as it can't be removed from here: %s", path, error)


def _remove_sums(path: str, version: int) -> None:
    """Remove checksums of versions that are gone: they hold the same as entries, and delta-rs doesn't know them."""
    from deltalake.fs import DeltaStorageHandler
    from pyarrow.fs import FileSelector, PyFileSystem

    files = PyFileSystem(DeltaStorageHandler(path, delta_options(path)))
    found = [(info.path, entry) for info in files.get_file_info(FileSelector(_LOG)) if (entry := _ENTRY.fullmatch(info.base_name))]
    there = {entry["version"] for place, entry in found if place.endswith(".json")}
    for place, entry in found:
        if int(entry["version"]) < version and entry["version"] not in there:
            files.delete_file(place)

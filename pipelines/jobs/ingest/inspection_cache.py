"""Cache of file inspections, in `ops.file_inspections`.

Read before a run inspects its input, written after it is published. Only time depends on it: if the table is
unreadable, every file is inspected, and what could not be written is inspected again.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from parsers.redaction.pseudonyms import Redaction
from parsers.sources.filesystems import local_path
from parsers.sources.inspection import Inspection
from pipelines.schema.tables import TABLES
from pipelines.storage.object_stores import delta_options, open_table
from pipelines.storage.uris import warehouse_uri
from pipelines.versions import catalogue_version, fingerprint_of
from pipelines.warehouse.delta.arrow_files import read_table

INSPECTIONS = "file_inspections"
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class InspectionCache:
    """Inspections by earlier runs, by path.

    `known` are valid for this run, `stored` are all rows.
    """

    known: dict[str, Inspection] = field(default_factory=dict)
    stored: list[dict[str, Any]] = field(default_factory=list)
    has_names: bool = False
    """True if rows contain names that are to be redacted, or outdated pseudonyms."""


def load_inspections(place: str, redaction: Redaction | None) -> InspectionCache:
    """Read the cache of a warehouse."""
    try:
        rows = read_table(open_table(_uri(place))).drop_columns(["run_id"]).to_pylist()
    except Exception as error:  # a warehouse that does not exist, or a store that delta-rs cannot reach
        _log.debug("what was seen in files can't be read: %s", error)
        return InspectionCache()
    same = _same(redaction)
    matching = [row for row in rows if all(row[name] == value for name, value in same.items())]
    known = {row["path"]: Inspection.from_json(row["modified_ns"], row["size_bytes"], json.loads(row["contents_json"])) for row in matching}
    return InspectionCache(known, rows, has_names=any(row["redaction"] != same["redaction"] for row in rows))


def store_inspections(
    place: str,
    before: InspectionCache,
    inspections: Mapping[str, Inspection | None],
    redaction: Redaction | None,
    run_id: str,
    missed: Collection[str] = (),
) -> None:
    """Store inspections, except for `missed` files.

    Inspections of other files that may still exist are kept.
    """
    new_looks = {path: look for path, look in inspections.items() if look is not None and not _has(path, missed)}
    kept = {path: look for path, look in before.known.items() if path not in inspections and _may_be(path)}
    rows = [_row(path, look) | _same(redaction) for path, look in sorted((kept | new_looks).items())]
    if sorted(before.stored, key=lambda row: row["path"]) == rows:
        return
    schema = pa.schema([field.remove_metadata() for field in TABLES[INSPECTIONS].arrow_schema()])
    try:
        _overwrite(_uri(place), pa.Table.from_pylist([row | {"run_id": run_id} for row in rows], schema=schema))
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # panics in Rust are not subclasses of Exception
        _log.info("what was seen in files can't be written down: %s", error)


def _has(path: str, missed: Collection[str]) -> bool:
    return any(name == path or name.startswith(f"{path}/") for name in missed)


def _may_be(path: str) -> bool:
    """Return False if the file is known to be missing.

    Remote stores of other inputs are not asked.
    """
    local = local_path(path)
    return local is None or os.path.lexists(local)


def _uri(place: str) -> str:
    return f"{warehouse_uri(place)}/{TABLES[INSPECTIONS].path}"


def _same(redaction: Redaction | None) -> dict[str, str | None]:
    """Everything but the file that an inspection depends on."""
    return {"catalogue_version": catalogue_version(), "redaction": None if redaction is None else fingerprint_of(redaction.facts)}


def _row(path: str, look: Inspection) -> dict[str, Any]:
    parts = json.dumps(look.to_json(), sort_keys=True)
    return {"path": path, "modified_ns": look.modified, "size_bytes": look.size_bytes, "contents_json": parts}


def _overwrite(uri: str, rows: pa.Table) -> None:
    from deltalake import write_deltalake

    write_deltalake(uri, rows, mode="overwrite", storage_options=delta_options(uri))

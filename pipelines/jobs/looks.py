"""What was seen in files on disk, in `ops.looks`: read before a run looks at its input, written once it is published.

Nothing rests on it but time: where the table can't be read, every file is looked into, and what can't be written is seen again.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from parsers import places
from parsers.looks import Look
from pipelines.arrow_files import table_of
from pipelines.schemas import TABLES
from pipelines.stores import delta_options, open_table
from pipelines.uris import warehouse_uri
from pipelines.versions import catalogue_version

LOOKS = "looks"
_log = logging.getLogger(__name__)


def looks_before(place: str) -> dict[str, Look]:
    """What earlier runs have seen, by path: what these parsers would see, too."""
    try:
        rows = table_of(open_table(_uri(place)), filters=[("catalogue_version", "=", catalogue_version())]).to_pylist()
    except Exception as error:  # a warehouse that was never made, or a store that delta-rs can't reach
        _log.debug("what was seen in files can't be read: %s", error)
        return {}
    return {row["path"]: Look.of(row["modified_ns"], row["size_bytes"], json.loads(row["parts"])) for row in rows}


def write_looks(place: str, before: Mapping[str, Look], found: Mapping[str, Look | None], run_id: str) -> None:
    """Write down what was found, and keep of what was known `before` what is of files elsewhere that are still there."""
    kept = {path: look for path, look in before.items() if path not in found and places.exists(path)}
    after = kept | {path: look for path, look in found.items() if look is not None}
    if _rows(after) == _rows(before):
        return
    schema = pa.schema([each.remove_metadata() for each in TABLES[LOOKS].arrow_schema()])
    rows = [row | {"catalogue_version": catalogue_version(), "run_id": run_id} for row in _rows(after)]
    try:
        _overwrite(_uri(place), pa.Table.from_pylist(rows, schema=schema))
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # what panics in Rust is no Exception
        _log.info("what was seen in files can't be written down: %s", error)


def _uri(place: str) -> str:
    return f"{warehouse_uri(place)}/{TABLES[LOOKS].path}"


def _rows(looks: Mapping[str, Look]) -> list[dict[str, Any]]:
    return [
        {"path": path, "modified_ns": look.modified, "size_bytes": look.size_bytes, "parts": json.dumps(look.told(), sort_keys=True)}
        for path, look in sorted(looks.items())
    ]


def _overwrite(uri: str, rows: pa.Table) -> None:
    from deltalake import write_deltalake

    write_deltalake(uri, rows, mode="overwrite", storage_options=delta_options(uri))

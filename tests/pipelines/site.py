"""Logs in a folder, a warehouse beside them, and runs of the job there."""

from __future__ import annotations

import contextlib
import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from deltalake import DeltaTable

from pipelines.schema.tables import TABLES
from pipelines.warehouse.delta.arrow_files import read_table
from tests.compare_paths import published

if TYPE_CHECKING:
    from pipelines.jobs.run_options import RunOutcome


@dataclass(frozen=True, slots=True)
class Site:
    """A folder with logs and a warehouse.

    Paths in tables are relative to `place`, so equal logs in two places give equal rows.
    """

    place: Path
    empty: ClassVar[Path | None] = None
    """An empty warehouse, copied for each new one.

    Spark needs seconds to create thirty tables.
    """

    @property
    def logs(self) -> Path:
        return self.place / "logs"

    @property
    def warehouse(self) -> Path:
        return self.place / "warehouse"

    def run(self, *inputs: str, **options: Any) -> RunOutcome:
        """Run the job in this process, in the existing session."""
        from pipelines.jobs.run import run
        from pipelines.jobs.run_options import RunOptions

        if Site.empty is not None and not self.warehouse.exists():
            shutil.copytree(Site.empty, self.warehouse)
        with contextlib.chdir(self.place):
            return run(RunOptions(list(inputs) or ["logs"], "warehouse", **options))

    def table(self, name: str, version: int | None = None) -> list[dict[str, Any]]:
        """Rows of a table, read by delta-rs.

        `version` None is the latest one.
        """
        rows: list[dict[str, Any]] = read_table(DeltaTable(str(self.warehouse / TABLES[name].path), version=version)).to_pylist()
        return rows

    def versions(self) -> dict[str, int]:
        """Latest version of each table, published or not."""
        return {name: DeltaTable(str(self.warehouse / table.path)).version() for name, table in TABLES.items()}

    def content(self) -> dict[str, list[str]]:
        """Rows of every published table, without the runs that wrote them."""
        return content(self.warehouse)


def content(warehouse: Path | str, options: dict[str, str] | None = None) -> dict[str, list[str]]:
    """Rows of every published table as text, without the runs that wrote them.

    `options` are those of an object store.
    """
    versions = {name: version for name, version in published(warehouse, options).items() if name != "quality_results"}
    tables = {name: DeltaTable(f"{warehouse}/{TABLES[name].path}", version, storage_options=options) for name, version in versions.items()}
    return {
        name: sorted(json.dumps({**row, "run_id": None}, default=str, sort_keys=True) for row in read_table(table).to_pylist())
        for name, table in tables.items()
    }

"""Migrations of tables from older versions to the current one, forward only.

Added columns need no entry; they are null in old rows. Neither do renamed ones, which `Column.former` names and `schema_upgrades`
renames. Each table stores its version in the property `groupscope.schema_version`, which is raised after all steps, so an
interrupted migration is repeated.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

TABLES_VERSION = 4
VERSION_PROPERTY = "groupscope.schema_version"


@dataclass(frozen=True, slots=True)
class TableMigration:
    """A migration of one table.

    `remake`: empty the table, because its contents can be rebuilt. `fill`: SQL values for columns of older rows.
    `move`: column -> the column that it is to follow.
    """

    remake: bool = False
    fill: tuple[tuple[str, str], ...] = ()
    move: tuple[tuple[str, str], ...] = ()


_STEPS: Mapping[int, Mapping[str, TableMigration]] = {
    # Reading continues at the last position, so states belong to files and clusters, and unknown records are counted
    # per block.
    2: {"state_snapshots": TableMigration(remake=True), "unknown_in_files": TableMigration(fill=(("block_number", "0"),))},
    # delta-rs finds statistics of the first 32 columns only.
    3: {"rebalances": TableMigration(move=(("final_at", "ended_at"),))},
}

RETIRED = ("ops/looks",)
"""Folders of tables that no run writes any more.

`looks` is `file_inspections` since version 4.
"""


def steps_of(table: str, version: int) -> Iterator[TableMigration]:
    """Steps from a version to the current one, in order."""
    for number in range(version + 1, TABLES_VERSION + 1):
        if table in _STEPS.get(number, {}):
            yield _STEPS[number][table]

"""From tables of older versions to those of today, forward only. New columns need no entry here: they are added, and null.

Each table says its version in the property `groupscope.schema_version`, which is raised when all of its steps are done,
so a migration that was interrupted is done again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

TABLES_VERSION = 3
VERSION_PROPERTY = "groupscope.schema_version"


@dataclass(frozen=True, slots=True)
class Step:
    """What is to be done to one table. `remake`: it held nothing that can't be made again. `fill`: column -> SQL value of rows
    that are older than it. `move`: column -> the one that it is to stand behind."""

    remake: bool = False
    fill: tuple[tuple[str, str], ...] = ()
    move: tuple[tuple[str, str], ...] = ()


STEPS: Mapping[int, Mapping[str, Step]] = {
    # Reading goes on where it was left, so states are of files and clusters, and unknown records are counted by stretches.
    2: {"state_snapshots": Step(remake=True), "unknown_in_files": Step(fill=(("stretch", "0"),))},
    # Delta-rs finds statistics of the first 32 columns only.
    3: {"rebalances": Step(move=(("final_at", "ended_at"),))},
}


def steps_of(table: str, version: int) -> Iterator[Step]:
    """What brings a table of this version up to date, in order."""
    for number in range(version + 1, TABLES_VERSION + 1):
        if table in STEPS.get(number, {}):
            yield STEPS[number][table]

"""Options and results of a run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from models.incidents.incidents import Limits
from parsers.reading.reader import ReadOptions
from parsers.records.run_folding import FOLD_BLOCK_BYTES
from pipelines import exit_codes as codes

if TYPE_CHECKING:
    from pipelines.transforms.replay_checkpoints import CheckpointRules
    from pipelines.warehouse.rows.spark_diff import RowChanges


def ignore_stage(_name: str) -> None:
    """Do nothing as a stage of a run begins."""


@dataclass(slots=True)
class RunOptions:
    """Options of a run.

    `assume`, `limits` and `thresholds` are settings by name; `spark` goes to the session unchanged.
    """

    inputs: Sequence[str]
    warehouse: str
    read: ReadOptions = field(default_factory=ReadOptions)
    assume: Mapping[str, int] = field(default_factory=dict)
    limits: Limits = field(default_factory=Limits)
    thresholds: Mapping[str, float] = field(default_factory=dict)
    spark: Mapping[str, str] = field(default_factory=dict)
    rebuild: bool = False
    """Read and replay everything that exists; rows of missing files stay."""
    data_docs: Path | None = None
    """Folder for pages with the gates' results, also if they stop the run."""
    block_bytes: int = FOLD_BLOCK_BYTES
    """A growing file is read on from the last multiple of this."""
    stale_after: timedelta = timedelta(minutes=10)
    """Time without a heartbeat after which a run of another host counts as dead."""
    retention: timedelta | None = None
    """Maximum age of content that no longer exists, None for no limit."""
    snapshots: CheckpointRules | None = None
    """Times of checkpoints of groups, None for the defaults."""
    catalog: str = ""
    """Schema, or catalog and schema, for the tables' names; empty for none."""
    on_stage: Callable[[str], object] = ignore_stage
    """Called with the name of each stage as it begins."""


@dataclass(slots=True)
class RunOutcome:
    """Results of a run."""

    run_id: str
    exit_code: int = codes.GOOD
    changes: dict[str, RowChanges] = field(default_factory=dict)
    table_versions: dict[str, int] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    timings: dict[str, float] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    troubles: list[Exception] = field(default_factory=list)
    """Errors outside the run that did not prevent its publication."""
    was_skipped: bool = False
    """True if nothing was new and Spark was not started."""
    on_stage: Callable[[str], object] = ignore_stage

    @property
    def has_changed(self) -> bool:
        return any(self.changes.values())

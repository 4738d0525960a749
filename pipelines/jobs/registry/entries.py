"""Entries of the register of runs, `ops.runs`, without a JVM."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from pipelines.schema.tables import TABLES

RUNNING, PUBLISHED, UNCHANGED, FAILED = "running", "published", "unchanged", "failed"
RUNS = "runs"


@dataclass(frozen=True, slots=True)
class PublishedRun:
    """The last published run, as needed by the next one."""

    run_number: int
    table_versions: Mapping[str, int]
    catalogue_version: str
    model_version: str
    options: Mapping[str, Any]


@dataclass(slots=True)
class RunEntry:
    """This run's entry.

    `start` writes it, `finish` closes it.
    """

    run_id: str
    inputs: list[str]
    options: Mapping[str, Any]
    product_version: str
    catalogue_version: str
    model_version: str
    run_number: int = 0
    started_at: datetime = field(default_factory=lambda: datetime.now(UTC))
    host: str | None = None
    """Substitute for the name of this machine if it is redacted."""

    def row(self) -> dict[str, Any]:
        """The entry as a row, as known at the start of the run."""
        return dict.fromkeys(TABLES[RUNS].column_names) | {
            "run_id": self.run_id,
            "run_number": self.run_number,
            "started_at": self.started_at,
            "inputs": self.inputs,
            "options": json.dumps(self.options, sort_keys=True, default=str),
            "product_version": self.product_version,
            "catalogue_version": self.catalogue_version,
            "model_version": self.model_version,
        }


def published_from(row: Mapping[str, Any]) -> PublishedRun:
    """Convert a row of `ops.runs` to a published run."""
    return PublishedRun(
        row["run_number"], dict(row["table_versions"] or ()), row["catalogue_version"], row["model_version"], json.loads(row["options"])
    )

"""Entries of the register of runs, `ops.runs`, as they are known without a JVM."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from pipelines.jobs.registry.lease_owner import Owner
from pipelines.schema.tables import TABLES

RUNNING, PUBLISHED, UNCHANGED, FAILED = "running", "published", "unchanged", "failed"
RUNS = "runs"
_at_work: set[str] = set()
"""Runs that this process is working on. What it has left behind, such as an entry that a full disk kept it from closing, is none."""


@dataclass(frozen=True, slots=True)
class Published:
    """The last published run, as the next one needs it."""

    run_number: int
    table_versions: Mapping[str, int]
    catalogue_version: str
    model_version: str
    options: Mapping[str, Any]


@dataclass(slots=True)
class Run:
    """This run's entry. `start` writes it, `finish` closes it."""

    run_id: str
    inputs: list[str]
    options: Mapping[str, Any]
    product_version: str
    catalogue_version: str
    model_version: str
    run_number: int = 0
    started_at: datetime = field(default_factory=lambda: datetime.now(UTC))
    host: str | None = None
    """What stands for the name of this machine, where that is redacted."""

    def row(self) -> dict[str, Any]:
        """As a row of the table, as far as the run knows it when it begins."""
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


def work_begins(run_id: str) -> None:
    """This process works on a run from now on, until `work_ends`."""
    _at_work.add(run_id)


def work_ends(run_id: str) -> None:
    """This process does nothing more for a run, whatever its entry says."""
    _at_work.discard(run_id)


def published_from(row: Mapping[str, Any]) -> Published:
    """The entry of a published run, from its row of `ops.runs`."""
    return Published(
        row["run_number"], dict(row["table_versions"] or ()), row["catalogue_version"], row["model_version"], json.loads(row["options"])
    )


def holds(row: Mapping[str, Any], stale_after: timedelta, here: str | None = None) -> bool:
    """Whether somebody is still working on an entry that is `running`, as far as can be told."""
    owner = Owner.read(row["owner"])
    if owner.is_this(here):
        return row["run_id"] in _at_work
    lives = owner.lives(here)
    return lives if lives is not None else datetime.now(UTC) - row["seen_at"] < stale_after


def held(row: Mapping[str, Any]) -> str:
    """What is said of an entry that holds the warehouse."""
    owner = Owner.read(row["owner"])
    since = row["seen_at"].isoformat(timespec="seconds")
    return (
        f"another run holds the warehouse: {row['run_id']}, process {owner.process} on {owner.host}, last seen {since}; wait for it to end"
    )

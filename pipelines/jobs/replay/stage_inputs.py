"""Inputs of the stages of a replay: changes, facts, and settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from models.incidents.incidents import Limits
from models.kafka.cluster.facts import ClusterFacts
from parsers.redaction.pseudonyms import Redaction
from pipelines.analysis.log_file_rows import LogFileRow
from pipelines.jobs.ingest.ingest import ChangedScope
from pipelines.jobs.registry.resume_states import ResumeState
from pipelines.transforms.replay_checkpoints import CheckpointRules
from pipelines.warehouse.warehouse import Warehouse


@dataclass(frozen=True, slots=True)
class ReplayOptions:
    """Settings that determine verdicts, besides the events.

    `assume` holds settings by name.
    """

    assume: Mapping[str, int] = field(default_factory=dict)
    limits: Limits = field(default_factory=Limits)
    redaction: Redaction | None = None
    snapshots: CheckpointRules = field(default_factory=CheckpointRules)


@dataclass(frozen=True, slots=True)
class StageInputs:
    """What changed, what is known of its clusters, and how it is replayed."""

    warehouse: Warehouse
    touched: ChangedScope
    states: Mapping[str, ResumeState]
    """Inputs of the clusters' stored verdicts."""
    options: ReplayOptions
    files: list[LogFileRow]
    """Files of these clusters."""
    facts: Mapping[str, ClusterFacts]
    whole: set[str]
    """Clusters with all groups to replay."""

    @property
    def nodes(self) -> dict[str, str]:
        """Nodes by the paths of their files."""
        return {row["path"]: row["node"] for row in self.files if row["node"]}

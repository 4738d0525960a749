"""Rebalances of a classic group that its request log shows alone."""

from __future__ import annotations

from pathlib import Path

from pipelines.analysis.in_process import AnalysisResult, analyze

FOLDER = "kafka/1.1.1/request-log/broker-1"


def shown(analysis: AnalysisResult) -> list[tuple[object, ...]]:
    rows = sorted(analysis.rebalances, key=lambda row: (row.group, row.started_at or 0))
    return [
        (
            row.group,
            row.generation_before,
            row.generation_after,
            row.outcome,
            row.cause,
            sorted(who.client_id or "" for who in row.offenders),
        )
        for row in rows
    ]


def test_requests_alone_tell_what_the_coordinator_tells(samples: Path) -> None:
    alone = analyze([str(samples / FOLDER / "kafka-request.log")])
    both = analyze([str(samples / FOLDER)])

    assert alone.rebalances
    assert shown(alone) == shown(both)
    assert all(line.inferred for row in alone.rebalances for line in row.evidence)
    assert all(row.inferred for row in alone.timeline)
    assert not any(row.inferred for row in both.timeline)

"""Members that kafka-python shows out of their group, without a name or an id."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipelines.analysis.in_process import analyze

BEFORE = (
    "2026-05-07 09:40:00,023 INFO kafka.coordinator: Discovered coordinator coordinator-1 for group orders\n"
    "2026-05-07 09:40:00,123 INFO kafka.coordinator: (Re-)joining group orders\n"
    "2026-05-07 09:40:03,323 INFO kafka.coordinator: Successfully joined group orders with generation 5\n"
)
EXPIRED = (
    "2026-05-07 09:44:00,123 WARNING kafka.coordinator: Heartbeat session expired, marking coordinator dead\n"
    "2026-05-07 09:44:00,124 WARNING kafka.coordinator: Marking the coordinator dead (node coordinator-1) for group orders: "
    "Heartbeat session expired.\n"
    "2026-05-07 09:44:00,224 INFO kafka.coordinator: Discovered coordinator coordinator-1 for group orders\n"
)
BACK = (
    "2026-05-07 09:44:00,325 WARNING kafka.coordinator: Heartbeat: local member_id was not recognized; this consumer needs to re-join\n"
    "2026-05-07 09:44:00,327 INFO kafka.coordinator: (Re-)joining group orders\n"
    "2026-05-07 09:44:03,327 INFO kafka.coordinator: Successfully joined group orders with generation 7\n"
)


@pytest.mark.parametrize(("told", "cause", "severity"), [(EXPIRED, "session_timeout", "warning"), ("", "member_restart", "info")])
def test_a_session_without_an_answer_is_no_restart(tmp_path: Path, told: str, cause: str, severity: str) -> None:
    (tmp_path / "app.log").write_text(BEFORE + told + BACK)
    analysis = analyze([str(tmp_path)])

    assert list(analysis.rebalances)[-1].cause == cause
    assert max(incident.severity for incident in analysis.incidents) == severity

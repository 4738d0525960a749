"""`python -m tests.cluster`: the tests that start a cluster of several JVMs, and others that take a minute of Spark each."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

OTHERS = (
    "connect",
    "spark_files",
    "recovery",
    "redacted_job",
    "both_systems",
    "others_commits",
    "schedule",
    "expiry",
    "jobs",
    "snapshots",
    "cluster_snapshots",
    "quality",
)

if __name__ == "__main__":
    os.environ["GROUPSCOPE_CLUSTER"] = "1"
    here = Path(__file__).parent
    raise SystemExit(pytest.main(["-q", "-rs", str(here), *(str(here.parent / "pipelines" / f"test_{other}.py") for other in OTHERS)]))

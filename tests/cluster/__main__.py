"""`python -m tests.cluster`: the tests that start a cluster of several JVMs, and others that take a minute of Spark each."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

OTHERS = (
    "pipelines/test_connect.py",
    "pipelines/test_spark_files.py",
    "pipelines/test_recovery.py",
    "pipelines/test_redacted_job.py",
    "pipelines/test_both_systems.py",
    "pipelines/test_others_commits.py",
    "pipelines/test_schedule.py",
    "pipelines/test_expiry.py",
    "pipelines/test_jobs.py",
    "pipelines/test_maintain.py",
    "pipelines/test_snapshots.py",
    "pipelines/test_cluster_snapshots.py",
    "pipelines/test_quality.py",
    "test_same_rows.py",
)

if __name__ == "__main__":
    os.environ["GROUPSCOPE_CLUSTER"] = "1"
    here = Path(__file__).parent
    raise SystemExit(pytest.main(["-q", "-rs", str(here), *(str(here.parent / other) for other in OTHERS)]))

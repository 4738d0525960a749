"""`python -m tests.cluster`: the tests that start a cluster of several JVMs, and others that take a minute of Spark each."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

OTHERS = ("pipelines/test_connect.py", "pipelines/test_spark_files.py", "pipelines/test_recovery.py", "pipelines/test_redacted_job.py")

if __name__ == "__main__":
    os.environ["GROUPSCOPE_CLUSTER"] = "1"
    here = Path(__file__).parent
    raise SystemExit(pytest.main(["-q", "-rs", str(here), *(str(here.parent / other) for other in OTHERS)]))

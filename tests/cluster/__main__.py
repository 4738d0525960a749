"""`python -m tests.cluster`: the tests that start a cluster of several JVMs, which takes a few minutes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

if __name__ == "__main__":
    os.environ["GROUPSCOPE_CLUSTER"] = "1"
    raise SystemExit(pytest.main(["-q", "-rs", str(Path(__file__).parent)]))

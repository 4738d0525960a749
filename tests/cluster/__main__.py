"""`python -m tests.cluster`: the tests that start a cluster of several JVMs, and others that take a minute of Spark each.

`python -m tests.cluster FILE...` runs those of some files only.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parent.parent
LEFT_OUT = re.compile(r"\bLONG\b|\bexamples\(|GROUPSCOPE_CLUSTER")
OTHERS = sorted(str(path) for path in TESTS.rglob("test_*.py") if LEFT_OUT.search(path.read_text(encoding="utf-8")))
"""Files with tests that CI leaves out, or tries with fewer examples."""

if __name__ == "__main__":
    os.environ["GROUPSCOPE_CLUSTER"] = "1"
    raise SystemExit(pytest.main(["-q", "-rs", *(sys.argv[1:] or [str(TESTS / "cluster"), *OTHERS])]))

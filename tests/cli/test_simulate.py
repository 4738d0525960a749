"""`groupscope simulate`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Cli

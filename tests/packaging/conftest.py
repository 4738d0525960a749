"""The command in this process, and a warehouse without Spark."""

from __future__ import annotations

from tests.pipelines.cli.conftest import cli, sample_warehouse

__all__ = ["cli", "sample_warehouse"]

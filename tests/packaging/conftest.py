"""A warehouse without Spark."""

from __future__ import annotations

from tests.pipelines.cli.conftest import sample_warehouse

__all__ = ["sample_warehouse"]

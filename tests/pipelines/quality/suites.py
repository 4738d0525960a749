"""Tables that have a suite of checks."""

from __future__ import annotations

from importlib import resources

import yaml


def checked_tables() -> list[str]:
    """Names of the tables with a suite, in its order."""
    text = resources.files("pipelines.quality").joinpath("suites.yaml").read_text(encoding="utf-8")
    return list(yaml.safe_load(text)["tables"])

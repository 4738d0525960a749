"""Conditions of the consumer protocol (KIP-848), from `conf/readiness.yaml`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources


@dataclass(frozen=True, slots=True)
class Readiness:
    """Requirements for brokers, clients and assignors."""

    brokers_since: str
    java_clients_since: str
    assignors: frozenset[str]
    other_protocols: Mapping[str, str]
    streams_assignor: str


@cache
def readiness() -> Readiness:
    """The conditions for Kafka groups."""
    import yaml

    questions = yaml.safe_load(resources.files("conf").joinpath("readiness.yaml").read_text(encoding="utf-8"))["kafka"]
    return Readiness(
        questions["brokers_since"],
        questions["java_clients_since"],
        frozenset(questions["assignors"]),
        questions["other_protocols"],
        questions["streams_assignor"],
    )

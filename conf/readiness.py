"""Conditions of the consumer protocol (KIP-848), from `conf/readiness.yaml`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources


@dataclass(frozen=True, slots=True)
class Readiness:
    """What brokers, clients and assignors must be."""

    brokers_since: str
    java_clients_since: str
    assignors: frozenset[str]
    other_protocols: Mapping[str, str]
    streams_assignor: str


@cache
def readiness() -> Readiness:
    """The conditions for Kafka groups."""
    import yaml

    told = yaml.safe_load(resources.files("conf").joinpath("readiness.yaml").read_text(encoding="utf-8"))["kafka"]
    return Readiness(
        told["brokers_since"], told["java_clients_since"], frozenset(told["assignors"]), told["other_protocols"], told["streams_assignor"]
    )

"""Policies of the brokers that recordings come from."""

from __future__ import annotations

from models.kafka.coordinator.runtime.heartbeat_groups import EPOCH_POLICIES, EpochPolicy
from models.kafka.coordinator.runtime.version_policy import parse_version


def epoch_policy(version: str) -> EpochPolicy:
    """Policy of a broker version; versions before 4.1 count as 4.1."""
    parsed = parse_version(version)
    known = [policy for since, policy in EPOCH_POLICIES.items() if parse_version(since) <= parsed]
    return known[-1] if known else EPOCH_POLICIES["4.1"]

"""Scores a proposal: its own cost, and how its lines agree."""

from __future__ import annotations

from models.kafka.conformance.alignment import Alignment
from models.kafka.conformance.scene import Script
from models.kafka.conformance.search_limits import weight


def log_likelihood(script: Script, alignment: Alignment) -> float:
    """The sum of the logarithms."""
    return weight(script.weight) + alignment.missing * weight("line_missing") + len(alignment.differing) * weight("line_differs")

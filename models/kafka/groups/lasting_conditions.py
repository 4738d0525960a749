"""Conditions of a group that last and are incidents without a rebalance.

Refused requests, static members that come back within their session, and what stands in the way of the group all the time. Each
is an incident once it was over for the gap between episodes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from models.incidents.headline_facts import HeadlineFacts
from models.incidents.refusals import Refusals, refusal_incident
from models.incidents.standing_conditions import StandingConditions, condition_incident
from models.incidents.static_restarts import StaticRestarts, return_incident
from models.rows import Incident


@dataclass(slots=True)
class LastingConditions:
    """Follows conditions of one group; gives the incident of each when it is over."""

    cluster: str
    group: str
    refusals: Refusals = field(default_factory=Refusals)
    returns: StaticRestarts = field(default_factory=StaticRestarts)
    standing: StandingConditions = field(default_factory=StandingConditions)

    def over_by(self, until: int, gap_us: int) -> Iterator[tuple[int, Incident[HeadlineFacts]]]:
        """Incidents of conditions that are over, each with its time."""
        for over_at, refused in self.refusals.over_by(until, gap_us) if self.refusals.spells else ():
            yield over_at, refusal_incident(self.cluster, self.group, refused)
        for over_at, condition in self.standing.over_by(until, gap_us) if self.standing.may_end else ():
            yield over_at, condition_incident(self.cluster, self.group, condition)
        over_by = self.returns.over_by(until, gap_us) if self.returns.are_open else None
        incident = return_incident(self.cluster, self.group, over_by[1]) if over_by is not None else None
        if over_by is not None and incident is not None:
            yield over_by[0], incident

    def open_at(self, at: int) -> Iterator[Incident[HeadlineFacts]]:
        """Incidents of standing conditions that logs end in."""
        return (condition_incident(self.cluster, self.group, condition) for condition in self.standing.open_at(at))

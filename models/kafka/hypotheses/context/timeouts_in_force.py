"""Timeouts in force in one rebalance, as lines and assumptions tell them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from models.events import Witness
from models.kafka.cluster.facts import ClusterFacts
from models.kafka.hypotheses.context.generation_members import GenerationMembers
from models.kafka.hypotheses.context.join_phase import LoggedJoinPhase
from models.kafka.observations.actions import MemberAction
from models.kafka.observations.knowledge import GroupKnowledge
from models.kafka.observations.libraries import default_timeouts
from models.kafka.observations.roster import Roster, RosterMember
from models.tolerances import DEFAULT_SESSION_TIMEOUTS_MS, int_tolerance
from models.units import US_PER_MS

LIKE_IT_MAX = 20
"""Number of other members searched for a timeout that the acting member lacks."""


POLL_TIMEOUT_TO_LEAVE_US = int_tolerance("kafka.timeouts.noticed_us")
"""Maximum distance of a client's poll timeout line from its LeaveGroup."""


@dataclass
class TimeoutsInForce:
    """Timeouts of the members, by the best evidence for each."""

    phase: LoggedJoinPhase
    members: GenerationMembers
    known: GroupKnowledge
    roster: Roster
    facts: ClusterFacts
    group: str | None

    @cached_property
    def longest_rebalance_us(self) -> int | None:
        """The longest rebalance timeout of the members, as far as known.

        From lines or assumptions.
        """
        timeouts = [
            member.rebalance_timeout_ms
            for member_id in self.members.before.values()
            if member_id and (member := self.roster.members.get(member_id)) and member.rebalance_timeout_ms
        ]
        if not timeouts and self.phase.window.witness is Witness.CLIENT:  # a consumer's request names its poll interval
            configured = (self.known.settings.get(actor, {}) for actor in self.members.before)
            timeouts = [settings["max_poll_interval_ms"] for settings in configured if "max_poll_interval_ms" in settings]
        longest = max(timeouts, default=self.facts.rebalance_timeout_ms)
        return longest * US_PER_MS if longest else None

    @cached_property
    def longest_session_us(self) -> int:
        """The longest session of the members, else the longest default of their libraries."""
        timeouts_ms = [member.session_timeout_ms for member in self.roster.members.values() if member.session_timeout_ms]
        timeouts_ms += [settings["session_timeout_ms"] for settings in self.known.settings.values() if "session_timeout_ms" in settings]
        if not timeouts_ms and self.facts.session_timeout_ms is None:
            logs = self.roster.logs.values()
            usual = [default_timeouts(log.library, self.facts.versions.get(log.file)) for log in logs]
            timeouts_ms = [defaults.session_ms for defaults in usual if defaults is not None]
        return max(timeouts_ms, default=self.facts.session_timeout_ms or DEFAULT_SESSION_TIMEOUTS_MS[0]) * US_PER_MS

    def session_ms(self, action: MemberAction | None, actor: str | None) -> int | None:
        """Session timeout from coordinator or request, client's configuration, or assumption."""
        capped = self.facts.session_ms_of(self.group)
        if capped is not None:
            return capped
        members = self._nearest_first(action, actor)
        timeout_ms = next((member.session_timeout_ms for member in members if member.session_timeout_ms), None)
        return timeout_ms or self._configured(actor, "session_timeout_ms") or self.facts.session_timeout_ms

    def max_poll_interval_ms(self, action: MemberAction | None, actor: str | None) -> int | None:
        """Maximum poll interval; the Java consumer sends it as rebalance timeout (KIP-62)."""
        members = self._nearest_first(action, actor)
        timeout_ms = next((member.rebalance_timeout_ms for member in members if member.rebalance_timeout_ms), None)
        return timeout_ms or self._configured(actor, "max_poll_interval_ms") or self.facts.rebalance_timeout_ms

    def is_longer_than_membership(self, action: MemberAction, interval_ms: int | None) -> bool:
        """Whether the member joined less than the interval before its late poll.

        The interval of other members' configuration is not in force for it then.
        """
        member = self.roster.members.get(action.member_id or "")
        has_joined = self.known.first_generation.get(action.member_id or "") is not None
        if interval_ms is None or member is None or member.first_seen_at is None or not has_joined:
            return False
        return action.at - member.first_seen_at < interval_ms * US_PER_MS - POLL_TIMEOUT_TO_LEAVE_US

    def own_session_us(self, action: MemberAction) -> int | None:
        """Session timeout of the acting member itself, else the assumed one."""
        member = self.roster.members.get(action.member_id or "")
        timeout_ms = self.known.settings.get(self.phase.actor(action) or "", {}).get("session_timeout_ms")
        known = (member.session_timeout_ms if member else None) or timeout_ms or self.facts.session_timeout_ms
        return known * US_PER_MS if known else None

    def _nearest_first(self, action: MemberAction | None, actor: str | None) -> list[RosterMember]:
        """The member itself, then others of its group.

        Members of a group usually have the same configuration.
        """
        before, after = self.members.before, self.members.after
        ids = [action.member_id if action else None, before.get(actor or "")]
        ids += [*before.values(), *after.values()][:LIKE_IT_MAX]
        return [member for member_id in ids if (member := self.roster.members.get(member_id or ""))]

    def _configured(self, actor: str | None, name: str) -> int | None:
        settings = self.known.settings
        return settings.get(actor or "", {}).get(name) or next((setting[name] for setting in settings.values() if name in setting), None)

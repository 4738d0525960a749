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
from models.kafka.observations.roster import Roster, RosterMember
from models.kafka.observations.session_timeouts import longest_session_ms, session_timeout_ms
from models.tolerances import int_tolerance
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
        """The longest session of the members, as `session_timeouts` has it."""
        members, settings, logs = self.roster.members.values(), self.known.settings.values(), self.roster.logs.values()
        return longest_session_ms(members, settings, logs, self.facts.versions, self.facts.session_timeout_ms) * US_PER_MS

    def session_ms(self, action: MemberAction | None, actor: str | None) -> int | None:
        """Session timeout of the acting member, else of those like it."""
        settings = self.known.settings
        return session_timeout_ms(
            self._nearest_first(action, actor),
            (settings.get(actor or "", {}), *settings.values()),
            capped_ms=self.facts.session_ms_of(self.group),
            assumed_ms=self.facts.session_timeout_ms,
        )

    def max_poll_interval_ms(self, action: MemberAction | None, actor: str | None) -> int | None:
        """Maximum poll interval; the Java consumer sends it as rebalance timeout (KIP-62)."""
        members = self._nearest_first(action, actor)
        timeout_ms = next((member.rebalance_timeout_ms for member in members if member.rebalance_timeout_ms), None)
        return timeout_ms or self._configured_interval_ms(actor) or self.facts.rebalance_timeout_ms

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
        settings = self.known.settings.get(self.phase.actor(action) or "", {})
        known = session_timeout_ms([member] if member else [], [settings], assumed_ms=self.facts.session_timeout_ms)
        return known * US_PER_MS if known else None

    def _nearest_first(self, action: MemberAction | None, actor: str | None) -> list[RosterMember]:
        """The member itself, then others of its group.

        Members of a group usually have the same configuration.
        """
        before, after = self.members.before, self.members.after
        ids = [action.member_id if action else None, before.get(actor or "")]
        ids += [*before.values(), *after.values()][:LIKE_IT_MAX]
        return [member for member_id in ids if (member := self.roster.members.get(member_id or ""))]

    def _configured_interval_ms(self, actor: str | None) -> int | None:
        settings, name = self.known.settings, "max_poll_interval_ms"
        return settings.get(actor or "", {}).get(name) or next((setting[name] for setting in settings.values() if name in setting), None)

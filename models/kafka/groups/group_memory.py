"""What one group's events have told so far, and its checkpoint."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from operator import attrgetter

from models import state_codec as state_text
from models.incidents.incidents import Limits
from models.kafka.cluster.facts import ClusterFacts
from models.kafka.groups.action_timeline import ActionTimeline
from models.kafka.groups.lasting_conditions import LastingConditions
from models.kafka.groups.member_logs import MemberLogs
from models.kafka.groups.rows.episode_rows import EpisodeRows
from models.kafka.groups.rows.model_states import ModelStates
from models.kafka.groups.rows.transition_rows import TransitionRows
from models.kafka.groups.unranked_rebalances import UnrankedRebalances
from models.kafka.observations.actions import MemberAction
from models.kafka.observations.knowledge import GroupKnowledge, end_session
from models.kafka.observations.roster import Roster
from models.kafka.reconstruction.classic_log import ClassicReplay
from models.kafka.reconstruction.epochs.log import ModernReplay
from models.kafka.reconstruction.epochs.progress import EpochProgress
from models.kafka.verdicts.impact import Impact
from models.kafka.verdicts.rebalance_rows import VerdictWriter

_FACTS = "facts"

_CHECKPOINT: Mapping[str, str] = {
    "roster": "roster",
    "knowledge": "knowledge",
    "classic": "rebalances.classic",
    "modern": "rebalances.modern",
    "windows": "rebalances.windows",
    "requests": "rebalances.requests",
    "writer": "writer",
    "chronicle": "chronicle",
    "open": "rows.open",
    "actions": "timeline.actions",
    "authors": "logs.authors",
    "clients": "logs.clients",
    "skews": "timeline.skews",
    "impact": "impact",
    "client_states": "logs.states",
    "states": "states",
    "refusals": "conditions.refusals",
    "returns": "conditions.returns",
    "conditions": "conditions.standing",
    "event_count": "event_count",
    "_skew_of_log": "timeline.skew_of_log",
    "_behind": "timeline.behind",
    "_settled": "rebalances.ranked_count",
    "_over": "rows.over_at",
    "last": "rows.last",
    "_judged_at": "rebalances.due_at",
    "_now": "now",
}
"""Places in the memory by the names in its checkpoint, which stay.

All but the names, the facts and the limits, which it is given, and rows that are final.
"""


@dataclass(slots=True)
class GroupMemory:
    """The parts that own what is known of one group, each its own state."""

    cluster: str
    group: str
    facts: ClusterFacts
    limits: Limits = field(default_factory=Limits)
    roster: Roster = field(default_factory=Roster)
    knowledge: GroupKnowledge = field(default_factory=GroupKnowledge)
    rebalances: UnrankedRebalances = field(init=False)
    timeline: ActionTimeline = field(default_factory=ActionTimeline)
    logs: MemberLogs = field(default_factory=MemberLogs)
    conditions: LastingConditions = field(init=False)
    rows: EpisodeRows = field(default_factory=EpisodeRows)
    impact: Impact = field(default_factory=Impact)
    writer: VerdictWriter = field(init=False)
    chronicle: TransitionRows = field(init=False)
    states: ModelStates | None = None
    """None unless the states of the model are asked for."""
    event_count: int = 0
    """Events that were taken."""
    now: int = 0
    """Time of the last event, in microseconds."""

    def __post_init__(self) -> None:
        self.rebalances = UnrankedRebalances(ClassicReplay(self.roster), ModernReplay(EpochProgress(self.roster)))
        self.conditions = LastingConditions(self.cluster, self.group)
        self.writer = VerdictWriter(self.cluster, self.group, self.facts, self.roster, self.impact)
        self.chronicle = TransitionRows(self.cluster, self.group, self.facts)
        if self.limits.group_states:
            self.states = ModelStates(self.cluster, self.group, self.facts.initial_delay_ms)

    @classmethod
    def resumed(cls, cluster: str, group: str, facts: ClusterFacts, checkpoint: str, limits: Limits | None = None) -> GroupMemory:
        """Restore the memory of a checkpoint, without rows final by then.

        `facts` may tell more by now, but only of what came later; `limits` are those of then. Raises UnreadableState.
        """
        memory = cls(cluster, group, facts, limits or Limits())
        values = state_text.read(checkpoint, {_FACTS: facts})
        try:
            for name, place in _CHECKPOINT.items():
                part, _, attribute = place.rpartition(".")
                setattr(attrgetter(part)(memory) if part else memory, attribute, values[name])
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise state_text.UnreadableState(f"not a checkpoint of a group: {error}") from error
        return memory

    def checkpoint(self) -> str:
        """The text that `resumed` reads."""
        return state_text.write({name: attrgetter(place)(self) for name, place in _CHECKPOINT.items()}, {_FACTS: self.facts})

    @property
    def row_count(self) -> int:
        """Number of rows that are not final: a checkpoint's size."""
        return self.rows.count + len(self.rebalances.classic.changes) + len(self.rebalances.modern.progress.windows)

    def add_actions(self, actions: Iterable[MemberAction]) -> None:
        """Keep what members did."""
        for action in actions:
            self.timeline.add(action)
            end_session(self.knowledge, self.roster, action)

    def current_members(self) -> dict[str, str | None]:
        """Known members of the current classic generation, with their client ids."""
        members = self.knowledge.generations.get(self.rebalances.classic.group.generation or 0, {})
        return {member_id: self.roster.client_of(member_id) for member_id in members.values() if member_id}

    def needed_members(self) -> set[str | None]:
        """Ids of members that an open question is about."""
        named = {member_id for members in self.knowledge.generations.values() for member_id in members.values()}
        return named | {action.member_id for action in self.timeline.actions} | self.rebalances.modern.named()

"""The group stage: the events of one group in, its history out.

Both runners feed a `GroupStage` with the events of one (cluster, group) in order. Time passes with them: what was over
for the allowed lateness when the next one comes is ranked before it is taken, and its rows of members and states are final. Once an
episode of rebalances is over, all of its rows are: they leave the stage, with the time from which on they are (`final_at`), and what is
open stays.

The stage only routes. `GroupMemory` has the parts that own its state, `RankingSchedule` ranks, and `RowRelease` lets rows go.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence

from models.events import Event, Witness, text_field
from models.kafka.groups.group_memory import GroupMemory
from models.kafka.groups.ranking_schedule import RankingSchedule
from models.kafka.groups.row_release import RowRelease
from models.kafka.observations.actions import MemberAction, actions_in
from models.kafka.observations.attribution import attributed_events
from models.kafka.observations.knowledge import learn
from models.kafka.observations.log_rotation import log_before_rotation
from models.kafka.verdicts.history import GroupHistory


class GroupStage:
    """Routes the events of one group; ranks its rebalances in order."""

    __slots__ = ("_attributed", "_ranking", "_release", "memory")

    def __init__(self, memory: GroupMemory) -> None:
        self.memory = memory
        self._release = RowRelease(memory)
        self._ranking = RankingSchedule(memory, self._release)
        self._attributed: deque[Event] = attributed_events(memory.group, memory.facts)
        while memory.event_count and self._attributed and self._attributed[0].order_us <= memory.now:
            self._attributed.popleft()

    def checkpoint(self) -> str:
        """The checkpoint that `GroupMemory.resumed` reads.

        To be taken between events of different times, after `advance_to`.
        """
        return self.memory.checkpoint()

    @property
    def event_count(self) -> int:
        """Number of events that were taken."""
        return self.memory.event_count

    @property
    def row_count(self) -> int:
        """Number of rows that are not final: a checkpoint's size."""
        return self.memory.row_count

    def feed(self, event: Event) -> None:
        """Take the next event of the group."""
        while self._attributed and _comes_first(self._attributed[0], event):
            self._process_one(self._attributed.popleft())
        self._process_one(event)

    def advance_to(self, until: int) -> None:
        """Take cluster facts about the group up to a time (microseconds)."""
        while self._attributed and self._attributed[0].order_us <= until:
            self._process_one(self._attributed.popleft())
        self._ranking.advance(until)

    def _process_one(self, event: Event) -> None:
        memory = self.memory
        event = event.put_after(memory.now)
        self._ranking.advance(event.order_us)
        memory.now = max(memory.now, event.order_us)
        event = memory.logs.authors.name(event, memory.roster)
        if self._begins_anew(event):
            self._ranking.end_life()
        self._take(event)
        self._ranking.enforce_limits()

    def _take(self, event: Event) -> None:
        """Take an event whose author is known."""
        memory = self.memory
        memory.event_count += 1
        self._feed_coordinator(event)
        memory.timeline.feed_clocks(event)
        memory.logs.states.feed(event)
        if memory.states is not None:
            memory.states.feed(event, memory.facts.versions.get(event.place.file))
        self._feed_conditions(event)
        logged = (*actions_in(event), *memory.logs.clients.feed(event, memory.knowledge.shared))
        actions = [memory.timeline.on_coordinators_clock(action) for action in logged]
        memory.add_actions(actions)
        self._feed_windows(event, actions)

    def _feed_coordinator(self, event: Event) -> None:
        """Take what a line shows of the coordinator's state."""
        memory = self.memory
        classic, modern = memory.rebalances.classic, memory.rebalances.modern
        learn(memory.knowledge, memory.roster, event)
        if event.name == "GroupConverted" and text_field(event, "to_type") != "classic":
            modern.converted_from(memory.current_members())
            classic.converted(event)
        if not classic.feed(event):
            modern.feed(event)

    def _feed_conditions(self, event: Event) -> None:
        """Take what a line shows of work that stopped, and of lasting conditions."""
        memory = self.memory
        actor, skew = memory.roster.actor(event.member_id, event.client_id, event.instance_id), memory.timeline.skew_of(event)
        memory.impact.feed(event, actor, skew)
        memory.conditions.refusals.feed(event, event.time_us - skew, actor)
        memory.conditions.returns.feed(event, memory.facts.kept)
        memory.conditions.standing.feed(event)

    def _feed_windows(self, event: Event, actions: Sequence[MemberAction]) -> None:
        """Take what requests and clients show of rebalances."""
        memory = self.memory
        rebalances, timeline = memory.rebalances, memory.timeline
        if event.witness is Witness.CLIENT and timeline.skews.is_of_other_zone(log_before_rotation(event.place.file)):
            return
        rebalances.requests.feed(event, event.time_us - timeline.skew_of(event))
        rebalances.windows.of_epochs = rebalances.modern.epoch is not None and rebalances.requests.epochs.downgrade is None
        rebalances.windows.feed(event, actions, memory.roster)

    def _begins_anew(self, event: Event) -> bool:
        """Whether an event shows that the group was made anew."""
        if event.name == "ClientJoined" and event.generation:
            return self.memory.rebalances.windows.begins_anew(event.generation)
        return event.name == "GroupDied"

    def drain_final(self) -> Iterator[GroupHistory]:
        """Yield final rows once many have gathered."""
        yield from self.memory.rows.drain()

    def close(self) -> GroupHistory:
        """Rank what is open and return all rows not drained.

        What is final unless something else comes has the time from which on it would be, so that rows don't rest on how far logs reach.
        """
        for event in self._attributed:
            self._process_one(event)
        memory = self.memory
        memory.writer.logs_end = max(memory.now, memory.facts.logs_end or 0)
        self._ranking.rank_rest()
        return self._release.rest()


def _comes_first(attributed: Event, event: Event) -> bool:
    """Whether an attributed line is taken first.

    Lines of one file and one time keep their order.
    """
    if attributed.order_us != event.order_us or attributed.place.file != event.place.file:
        return attributed.order_us <= event.order_us
    return attributed.place.byte_offset < event.place.byte_offset

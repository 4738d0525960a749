"""When rebalances are ranked: in order, once their windows have settled."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial

from models.events import Event
from models.kafka.groups import bounds
from models.kafka.groups.group_memory import GroupMemory
from models.kafka.groups.row_release import RowRelease
from models.kafka.hypotheses.context.join_phase import LoggedJoinPhase
from models.kafka.hypotheses.context.rebalance_context import RebalanceContext
from models.kafka.observations.actions import actions_in
from models.kafka.observations.knowledge import learn
from models.kafka.reconstruction.classic_states import RebalanceWindow
from models.kafka.verdicts.history import GroupHistory
from models.units import FOREVER


@dataclass(slots=True)
class RankingSchedule:
    """Ranks a group's rebalances in order as its watermark advances."""

    memory: GroupMemory
    release: RowRelease

    def advance(self, until: int) -> None:
        """Rank rebalances that ended long enough ago, and release final rows."""
        memory = self.memory
        self._take_due(until)
        while memory.rebalances.take_windows(until):
            self._take_due(until)
        rows = memory.rows
        if rows.open.rebalances:
            quiet_at = rows.over_at + max(self.release.gap_us, bounds.ALLOWED_LATENESS_US) + 1
            if quiet_at <= until and memory.rebalances.oldest_started_at is None:
                self.release.release_if_quiet(max(memory.now, quiet_at))

    def rank_rest(self) -> None:
        """Rank all that is open as the logs end."""
        memory = self.memory
        rebalances = memory.rebalances
        self._infer(rebalances.requests.finish(memory.writer.logs_end))
        self.advance(FOREVER)
        rebalances.take_open_windows()
        while rebalances.oldest is not None:
            self.rank_next()
        memory.writer.extend_open(memory.rows.open.rebalances, partial(memory.timeline.joining_until, memory.facts.client_ends))
        while rebalances.modern.progress.waiting is not None:
            self.rank_epoch()

    def end_life(self) -> None:
        """End a life of the group: rank its windows first."""
        rebalances = self.memory.rebalances
        while rebalances.take_windows(FOREVER):
            pass
        rebalances.windows.ended()
        while rebalances.oldest_ended is not None:
            self.rank_next()
        self.memory.knowledge.end_life()
        rebalances.modern.ended()

    def enforce_limits(self) -> None:
        """Rank the oldest rebalances early where too much is held."""
        memory = self.memory
        rebalances, timeline = memory.rebalances, memory.timeline
        while (len(timeline.actions) > bounds.ACTIONS_HELD_MAX or rebalances.are_too_many) and rebalances.oldest_ended is not None:
            self.rank_next()
            self.release.release_if_quiet(memory.now)
        while len(rebalances.modern.progress.windows) > bounds.EPISODE_MAX:
            self.rank_epoch()
            self.release.release_if_quiet(memory.now)
        if len(timeline.actions) > bounds.ACTIONS_MAX:
            timeline.keep_last(bounds.ACTIONS_HELD_MAX)
        states = memory.logs.states
        if (
            states.unwritten_count > max(bounds.STRETCHES_MAX, 2 * states.left)
            and rebalances.oldest_started_at is None
            and not memory.rows.open.rebalances
        ):
            self.release.release_episode(memory.now, before=memory.now - bounds.ALLOWED_LATENESS_US)

    def rank_epoch(self) -> None:
        """Rank the causes of the next epoch of the newer protocols."""
        memory = self.memory
        memory.timeline.set_clocks()
        modern = memory.rebalances.modern
        window = modern.progress.windows[modern.progress.reported]
        memory.writer.add_epoch(modern, memory.knowledge, memory.rows.open)
        memory.rows.note_end()
        if memory.rebalances.oldest is None:
            memory.timeline.forget_before(window.began)
            memory.impact.forget(window.began)

    def rank_next(self) -> None:
        """Rank the causes of the next rebalance that the coordinator's lines show."""
        memory = self.memory
        memory.timeline.set_clocks()
        window, previous, following = memory.rebalances.neighbours()
        memory.knowledge.note_others(window.generation_before)
        phase = LoggedJoinPhase(window, previous, following, memory.timeline.actions, memory.roster)
        memory.writer.add_rebalance(RebalanceContext(phase, memory.roster, memory.facts, memory.knowledge, memory.group), memory.rows.open)
        memory.rows.note_end()
        memory.rebalances.ranked_count += 1
        if window.ended_at is not None:
            self.release.release_details(window.ended_at)
        self._forget(window)

    def _take_due(self, until: int) -> None:
        """Take all that is due by a time, each at its own."""
        memory = self.memory
        rebalances, rows = memory.rebalances, memory.rows
        self._infer(rebalances.requests.until(until))
        if memory.states is not None and (due_at := memory.states.due_at) is not None and due_at <= until:
            rows.final.take(GroupHistory(group_states=memory.states.follow_lines()), final_at=due_at)
        for over_at, incident in memory.conditions.over_by(until, self.release.gap_us):
            rows.final.take(GroupHistory(incidents=[incident]), final_at=over_at)
        while (due := rebalances.next_due()) is not None and due.at <= until:
            if rebalances.take_windows(due.at):
                continue
            rebalances.due_at = max(rebalances.due_at, due.at)  # where clocks went back, one behind another may be due before it
            if due.is_epoch:
                self.rank_epoch()
            else:
                self.rank_next()
            self.release.release_if_quiet(max(memory.now, rebalances.due_at))

    def _forget(self, window: RebalanceWindow) -> None:
        """Drop actions and generations that no later rebalance can ask for."""
        memory = self.memory
        if window.previous_joined_at is not None:
            memory.timeline.forget_until(window.previous_joined_at)
        if window.generation_before is not None:
            memory.knowledge.forget_generations(window.generation_before - 1)
        if window.started_at is not None:
            memory.impact.forget(memory.rebalances.needed_from(window.started_at))

    def _infer(self, steps: Iterable[Event]) -> None:
        """Take the coordinator's steps that requests and clients show."""
        memory = self.memory
        for step in steps:
            learn(memory.knowledge, memory.roster, step)
            if not memory.rebalances.classic.feed(step):
                memory.rebalances.modern.feed(step)
            memory.add_actions(actions_in(step))
            memory.rebalances.windows.feed(step, (), memory.roster)

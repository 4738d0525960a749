"""Release of rows that nothing can change any more."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import takewhile

from models.events import Witness
from models.incidents.headline_facts import HeadlineFacts
from models.incidents.incidents import badness
from models.kafka.cluster.facts import BrokerDeparture
from models.kafka.groups import bounds
from models.kafka.groups.group_memory import GroupMemory
from models.kafka.groups.rows.emptiness import emptiness_incident
from models.kafka.groups.rows.episode_incidents import add_incidents, apart_us, gap_us
from models.kafka.groups.rows.episode_rows import without_final_members
from models.kafka.groups.rows.offset_expiry import End, emptied_last, empty_at_the_end, removal_incidents, retention_in_force
from models.kafka.observations.roster import RosterMember
from models.kafka.outages.outage_incidents import CLOCKS_US, departures_of
from models.kafka.verdicts.history import GroupHistory
from models.rows import KAFKA, Incident, MemberSession


@dataclass(slots=True)
class RowRelease:
    """Releases the rows of episodes that are over, and forgets what they needed."""

    memory: GroupMemory
    gap_us: int = field(init=False)
    """Longest time between rebalances of one episode, in microseconds."""
    _apart_us: int = field(init=False)
    _departures: list[BrokerDeparture] = field(init=False)

    def __post_init__(self) -> None:
        self.gap_us, self._apart_us = gap_us(self.memory.limits), apart_us(self.memory.limits)
        self._departures = departures_of(self.memory.facts)

    def release_if_quiet(self, at: int) -> None:
        """Release the rows of an episode that is over or too long."""
        rows = self.memory.rows
        if not rows.open.rebalances:
            return
        waiting = self.memory.rebalances.oldest_started_at
        quiet_until, needed = (at, max(self.gap_us, bounds.ALLOWED_LATENESS_US)) if waiting is None else (waiting, self._apart_us)
        if quiet_until - rows.over_at > needed or rows.are_too_many:
            self.release_episode(at, before=(at if waiting is None else min(waiting, at)) - bounds.ALLOWED_LATENESS_US)

    def release_episode(self, at: int, before: int) -> None:
        """Close the episode.

        Members and lines from earlier than `before` are dropped unless something still names them.
        """
        memory = self.memory
        over_at = memory.rows.over_at
        rows = memory.rows.take()
        self._take_transitions(rows, over_at)
        self._take_silent_clients(rows, before)
        past = memory.roster.inactive_since(before, memory.needed_members())
        rows.member_sessions.extend(self._sessions(past))
        add_incidents(memory.cluster, memory.group, rows, memory.facts, memory.limits, self._departures)
        memory.rows.final.take(without_final_members(rows), final_at=at)
        memory.rebalances.drop_ranked()
        clients = memory.roster.forget(past)
        memory.writer.forget(past)
        memory.knowledge.forget(past, clients, before)
        memory.rebalances.modern.forget(past)
        memory.timeline.skews.forget(before)

    def release_details(self, over_at: int) -> None:
        """Make rows of members and states of a ranked rebalance final.

        Its own row waits for the end of the episode, which may never come.
        """
        memory = self.memory
        changes = memory.rebalances.classic.changes
        over = list(takewhile(lambda change: change.event.time_us <= over_at, changes[:-1]))  # the last one may be taken back
        final_at = max(memory.now, memory.rebalances.due_at)
        details = GroupHistory(
            rebalance_members=memory.rows.take_members(final_at), group_transitions=list(memory.chronicle.transitions(over))
        )
        memory.rows.final.take(details, final_at=final_at)
        del changes[: len(over)]

    def rest(self) -> GroupHistory:
        """Return all rows not drained, as the logs end."""
        memory = self.memory
        classic, final = memory.rebalances.classic, memory.rows.final
        rows = memory.rows.take()
        last = empty_at_the_end(classic, memory.rebalances.modern)
        rows.group_transitions.extend(memory.chronicle.transitions(classic.changes))
        rows.group_states.extend(memory.states.rest() if memory.states is not None else ())
        rows.member_sessions.extend(self._sessions(memory.roster.members.values()))
        rows.coordinator_moves.extend(memory.chronicle.moves(classic.moves))
        self._expire(rows, [*classic.deaths, *([(last, None)] if last else [])])
        rows.divergences.extend(memory.chronicle.findings(classic.findings))
        rows.divergences.extend(memory.chronicle.clocks(memory.timeline.skews))
        rows.divergences.extend(memory.chronicle.zones(memory.timeline.skews))
        rows.divergences.extend(memory.chronicle.placeholder(rows.rebalances))
        rows.client_states.extend(memory.logs.states.rows(memory.cluster, memory.group, KAFKA, memory.timeline.skew_of_log))
        rows.incidents.extend(memory.conditions.open_at(memory.writer.logs_end))
        rows.incidents.extend(self._emptiness())
        add_incidents(memory.cluster, memory.group, rows, memory.facts, memory.limits, self._departures)
        final.take(without_final_members(rows))
        final.member_sessions.sort(key=lambda row: (row.first_seen_at or 0, row.member_id))
        final.client_states.sort(key=lambda row: (row.client_id, row.started_at or 0))
        final.incidents.sort(key=badness)
        return final

    def _emptiness(self) -> Iterator[Incident[HeadlineFacts]]:
        """The incident of a group that has no members as its logs end."""
        memory = self.memory
        classic, last, until = memory.rebalances.classic, memory.rows.last, memory.writer.logs_end
        ended = emptied_last(classic, memory.rebalances.modern)
        if not last or ended is None or classic.is_unloaded:
            return
        if ended.witness is Witness.CLIENT:
            until = max(memory.now, memory.timeline.end_of_log(memory.facts.client_ends, ended))
        is_inferred = ended.witness is not Witness.COORDINATOR
        incident = emptiness_incident(
            last,
            until,
            self._departures,
            stuck_seconds=memory.limits.stuck_seconds,
            shutdown_seconds=memory.limits.episode_gap_seconds,
            is_inferred=is_inferred,
        )
        if incident is not None:
            yield incident

    def _sessions(self, members: Iterable[RosterMember]) -> Iterable[MemberSession]:
        memory = self.memory
        modern = memory.rebalances.modern
        return memory.writer.sessions(members, memory.knowledge.settings, modern.protocol if modern.epoch is not None else None)

    def _expire(self, rows: GroupHistory, ends: Sequence[End]) -> None:
        """Add expiries of the group's offsets, and their incidents."""
        memory = self.memory
        expired = list(memory.chronicle.expirations(ends, retention_in_force(memory.facts, memory.rebalances.classic.windows)))
        rows.offset_expirations.extend(expired)
        rows.incidents.extend(removal_incidents(ends, expired, memory.facts))

    def _take_transitions(self, rows: GroupHistory, over_at: int) -> None:
        """Move what coordinators' lines show until a time to the rows."""
        memory = self.memory
        classic = memory.rebalances.classic
        rows.group_transitions.extend(memory.chronicle.transitions(classic.changes[:-1]))  # the last one may be taken back
        del classic.changes[:-1]
        moved = list(takewhile(lambda move: move.arrived.time_us <= over_at + CLOCKS_US, classic.moves))  # others may concern what comes
        rows.coordinator_moves.extend(memory.chronicle.moves(moved))
        classic.moves = classic.moves[len(moved) :]
        self._expire(rows, classic.deaths)
        findings = list(takewhile(lambda finding: finding.event.time_us <= over_at, classic.findings))
        rows.divergences.extend(memory.chronicle.findings(findings))
        classic.findings = classic.findings[len(findings) :]
        classic.deaths = []

    def _take_silent_clients(self, rows: GroupHistory, before: int) -> None:
        """Write what clients did; discard those that are silent for long."""
        memory = self.memory
        timeline = memory.timeline
        gone = memory.logs.silent_clients(before, but_of=timeline.logs())
        rows.client_states.extend(memory.logs.states.rows(memory.cluster, memory.group, KAFKA, timeline.skew_of_log, before, gone))
        if not gone:
            return
        logs = memory.logs.forget(gone)
        rows.divergences.extend(memory.chronicle.clocks(timeline.skews, logs))
        timeline.forget_logs(logs)

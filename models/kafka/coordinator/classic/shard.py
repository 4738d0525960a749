"""State shared by the handlers of classic groups."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from models.kafka.coordinator.classic.deferred_responses import ALREADY_ANSWERED
from models.kafka.coordinator.classic.group import Group, Member
from models.kafka.coordinator.protocol.errors import NO_ERROR, Error
from models.kafka.coordinator.protocol.group_states import DEAD, State
from models.kafka.coordinator.protocol.responses import RESPONSES, JoinResponse, Response, SyncResponse, TimedResponse
from models.kafka.coordinator.runtime.choices import Choices, FirstChoice
from models.kafka.coordinator.runtime.offsets_log import STANDS_IN_LOG, Log, StoredGroup, StoredMember, WriteResults, Written
from models.kafka.coordinator.runtime.outcomes import NO_OUTCOME, LoggedChange, Outcome, StateTransition, TimerFired, emptied
from models.kafka.coordinator.runtime.timers import CLASSIC_SESSION, Timers
from models.kafka.coordinator.runtime.version_policy import CoordinatorSettings, Policy


def numbered_ids() -> Callable[[str], str]:
    """Generate member ids with a counter instead of a random UUID (generateMemberId)."""
    numbers = count(1)
    return lambda prefix: f"{prefix}-{next(numbers)}"


def stored(group: Group, assignments: Mapping[str, bytes], since_ms: int | None) -> StoredGroup:
    """Record of a group in its current state (groupMetadataValue)."""
    members = tuple(
        StoredMember(
            member.id,
            member.instance,
            member.client_id,
            member.client_host,
            member.session_ms,
            member.rebalance_ms,
            member.metadata(group.protocol),
            assignments.get(member.id, b""),
        )
        for member in (group.members.values() if group.protocol is not None else ())
    )
    return StoredGroup(group.generation, group.protocol_type, group.protocol, group.leader, members, since_ms)


UNREAD = StoredGroup(0, None, None, None, (), None)
"""Record in a log that nobody reads."""


@dataclass(slots=True)
class Shard:
    """State of one coordinator and the outcome of the current call."""

    policy: Policy
    settings: CoordinatorSettings
    choices: Choices = field(default_factory=FirstChoice)
    make_member_id: Callable[[str], str] = field(default_factory=numbered_ids)
    timers: Timers = field(default_factory=Timers)
    now_ms: int = 0
    groups: dict[str, Group] = field(default_factory=dict)
    log: Log = field(default_factory=Log)
    writes: WriteResults = field(default_factory=WriteResults)
    answers: list[TimedResponse] = field(default_factory=list)
    fired: list[TimerFired] = field(default_factory=list)
    changes: list[StateTransition | LoggedChange] = field(default_factory=list)
    is_log_read: bool = True
    """Whether groups may be loaded from the log again.

    If not, records are written without their members.
    """

    def outcome(self) -> Outcome:
        """Return and clear what has happened since the last call."""
        if not (self.answers or self.fired or self.changes):
            return NO_OUTCOME
        return emptied(self.answers, self.fired, self.changes)

    def answer(self, request_id: int, response: Response) -> None:
        """Answer a request now, unless it has already timed out."""
        if request_id == ALREADY_ANSWERED:
            return
        self.answers.append(TimedResponse(request_id, self.now_ms, response))

    def refuse(self, request_id: int, error: Error) -> None:
        """Answer a request with an error code only; NONE means success."""
        self.answers.append(TimedResponse(request_id, self.now_ms, RESPONSES[error]))

    def report(self, event: str, group: Group, member: Member | None = None, **fields: Any) -> None:
        """Record an event of a group that a broker logs."""
        member_id, instance = (None, None) if member is None else (member.id, member.instance)
        self.changes.append(LoggedChange(event, self.now_ms, group.id, group.generation, member_id, instance, fields))

    def announce(self, event: str, **fields: Any) -> None:
        """Record an event that concerns several groups or none."""
        self.changes.append(LoggedChange(event, self.now_ms, "", 0, fields=fields))

    def note(self, what: str, group_id: str = "", member_id: str | None = None, **fields: Any) -> None:
        """Record an event that a broker logs although no state changes."""
        self.changes.append(LoggedChange("CoordinatorNote", self.now_ms, group_id, 0, member_id, fields={"_note": what, **fields}))

    def move(self, group: Group, after: State) -> None:
        """Change a group's state and record the transition."""
        before = group.move(after, self.now_ms)
        self.changes.append(StateTransition(self.now_ms, group.id, before, after, group.generation))

    def create(self, group_id: str) -> Group:
        """Make an empty group."""
        group = self.groups[group_id] = Group(group_id, self.now_ms)
        return group

    def record(self, group: Group, assignments: Mapping[str, bytes]) -> StoredGroup:
        """Record of a group with the given assignments."""
        if not self.is_log_read:
            return UNREAD
        return stored(group, assignments, group.state_since_ms if self.policy.stores_state_time else None)

    def store(self, group: Group, record: StoredGroup, what: str, then: Written) -> None:
        """Write a group's record, then call `then` with the client's error (storeGroup).

        `what` names the purpose of the write.
        """

        def written(error: Error) -> None:
            returned_error = self.policy.write_errors.group.get(error, error)
            if error in STANDS_IN_LOG:
                self.log.end += 1
                self.log.groups[group.id] = record
            if error is not NO_ERROR:
                self.report("GroupStoreFailed", group, error=error.value, _told=returned_error.value, _what=what)
            then(returned_error)

        self.write(group, written)

    def write(self, group: Group, written: Written) -> None:
        """Write a record of a group; `written` gets the resulting error."""

        def ended(error: Error) -> None:
            if self.policy.is_java and error not in STANDS_IN_LOG:
                self.note("write_failed", group.id, detail=error.value)
            written(error)

        self.writes.append(self.timers, group.id, self.now_ms, ended)

    def remove_group(self, group: Group) -> None:
        """Remove a group (removeGroup).

        Its timers stay queued and find nothing (KIP-211).
        """
        self.move(group, DEAD)
        self.report("GroupDied", group)
        del self.groups[group.id]
        self.log.groups.pop(group.id, None)

    def answer_join(self, group: Group, member: Member, response: JoinResponse) -> None:
        """Answer a member's parked join, if any (maybeInvokeJoinCallback)."""
        if member.join is not None:
            request_id = member.join
            group.park_join(member, None)
            self.answer(request_id, response)

    def answer_sync(self, member: Member, response: SyncResponse) -> bool:
        """Answer a member's parked sync, if any (maybeInvokeSyncCallback).

        Returns True if there was one.
        """
        if member.sync is None:
            return False
        self.answer(member.sync, response)
        member.sync = None
        return True

    def renew(self, group: Group, member: Member, timeout_ms: int | None = None) -> None:
        """Restart a member's session.

        Source: completeAndScheduleNextHeartbeatExpiration, rescheduleClassicGroupMemberHeartbeat.
        """
        if self.policy.excused_have_no_timer and member.is_excused:
            self.timers.cancel(CLASSIC_SESSION, group.id, member.id)
        else:
            wait_ms = member.session_ms if timeout_ms is None else timeout_ms
            self.timers.schedule(CLASSIC_SESSION, group.id, member.id, self.now_ms + wait_ms)

    def end_session(self, group: Group, member_id: str) -> None:
        """Cancel a member's session timer (removeHeartbeatForLeavingMember)."""
        self.timers.cancel(CLASSIC_SESSION, group.id, member_id)

    def remove_member(self, group: Group, member_id: str) -> Member | None:
        """Remove a member and replace it as leader (GroupMetadata.remove)."""
        member = group.pop(member_id)
        if group.leader == member_id:
            group.leader = self.choose_leader(group, group.members) if group.members else None
        return member

    def choose_leader(self, group: Group, candidates: dict[str, Member]) -> str:
        """Return the only candidate, or let `choices` pick the leader."""
        if len(candidates) == 1:
            return next(iter(candidates))
        return self.choices.leader(group.id, group.generation, self.now_ms, candidates.keys())

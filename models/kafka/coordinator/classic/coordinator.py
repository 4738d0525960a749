"""Coordinator of classic groups: handles requests and elapsed time.

Follows GroupCoordinator.scala (until 3.9) and GroupMetadataManager.java with GroupCoordinatorShard.java (since 4.0)
step by step, with a policy for what differs by version. It does no I/O and reads no clock. Choices that depend on the
order of a hash table in Kafka are left to `Choices`.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from models.kafka.coordinator.classic.deferred_responses import defer, defer_parked, defer_timer, key_of, retry
from models.kafka.coordinator.classic.group import Group
from models.kafka.coordinator.classic.join_group import join
from models.kafka.coordinator.classic.leave_group import leave
from models.kafka.coordinator.classic.offset_commit import clean_up, commit, delete, fetch, gone_after_ms, put_offsets
from models.kafka.coordinator.classic.partition_ownership import OWNED, OffsetsLeadership, PartitionRole, load, ownership_error, unload
from models.kafka.coordinator.classic.rebalance import end_join_step, end_sync_wait, expire_session
from models.kafka.coordinator.classic.shard import Shard, numbered_ids
from models.kafka.coordinator.classic.sync_group import heartbeat, session_to_renew, sync
from models.kafka.coordinator.protocol.errors import NO_ERROR, Error, Fault
from models.kafka.coordinator.protocol.requests import Commit, Delete, Fetch, Heartbeat, Join, Leave, Request, Sync
from models.kafka.coordinator.protocol.responses import FetchResponse, JoinResponse, LeaveResponse, Response, SyncResponse
from models.kafka.coordinator.runtime.choices import Choices, FirstChoice
from models.kafka.coordinator.runtime.offsets import TopicPartition
from models.kafka.coordinator.runtime.offsets_log import Log, WriteResults
from models.kafka.coordinator.runtime.outcomes import NO_OUTCOME, Outcome, firings
from models.kafka.coordinator.runtime.timers import Session, Timer, TimerKind, Timers
from models.kafka.coordinator.runtime.version_policy import CoordinatorSettings, Policy, broker_defaults

Handler = Callable[[Shard, Any], None]
HANDLERS: Mapping[type[Request], tuple[Handler, Callable[[Error], Response]]] = {
    Heartbeat: (heartbeat, Response),
    Join: (join, JoinResponse),
    Sync: (sync, SyncResponse),
    Leave: (leave, LeaveResponse),
    Commit: (commit, Response),
    Fetch: (fetch, FetchResponse),
    Delete: (delete, Response),
}
"""Handler of each request type, and the response to a refusal."""

NEED_GROUP_ID = (Join, Sync, Heartbeat, Leave)
"""Requests that need a non-empty group id (isValidGroupId)."""


class Coordinator:
    """A coordinator of one version, with its groups.

    `make_member_id` receives the prefix of a new id; `order` sorts timers with the same deadline. Groups in `log` are
    loaded at `now_ms`, unless `is_loaded` is False; then `load` does it.
    """

    def __init__(
        self,
        policy: Policy,
        settings: CoordinatorSettings | None = None,
        *,
        choices: Choices | None = None,
        make_member_id: Callable[[str], str] | None = None,
        order: Callable[[str], Any] = str,
        log: Log | None = None,
        now_ms: int = 0,
        is_loaded: bool = True,
    ) -> None:
        self.shard = Shard(
            policy,
            settings or broker_defaults(policy),
            choices or FirstChoice(),
            make_member_id or numbered_ids(),
            Timers(order),
            now_ms,
            log=log or Log(),
        )
        self.shard.writes.timeout_ms = self.shard.settings.commit_timeout_ms
        self.ownership = PartitionRole.LOADING
        self._leadership = OffsetsLeadership()
        self.is_held = False
        """Whether timers fire only by `fire`.

        For replays that know neither deadlines nor what renews them.
        """
        self._schedule_clean_up()
        if is_loaded:
            self.load()

    @property
    def now_ms(self) -> int:
        """The virtual time."""
        return self.shard.now_ms

    @property
    def groups(self) -> Mapping[str, Group]:
        """The current groups, for reading only."""
        return self.shard.groups

    @property
    def log(self) -> Log:
        """The records written so far.

        Another coordinator can load the groups from it after this one was unloaded.
        """
        return self.shard.log

    @property
    def timers(self) -> Timers:
        """The pending timers, for reading only."""
        return self.shard.timers

    def next_ms(self) -> int | None:
        """Deadline of the next timer, None if there is none."""
        return self.shard.timers.next_ms()

    def not_before_ms(self) -> int | None:
        """A time before which no timer is due, None without timers."""
        return self.shard.timers.not_before_ms()

    def handle(self, request: Request) -> Outcome:
        """Handle a request now, and fire timers that it makes due."""
        shard = self.shard
        handler, refused = HANDLERS[type(request)]
        if not request.group and isinstance(request, NEED_GROUP_ID):
            shard.answer(request.request_id, refused(Error.INVALID_GROUP_ID))
        elif self.ownership is not OWNED and (unreached := ownership_error(shard, self.ownership, request)) is not None:
            shard.answer(request.request_id, refused(unreached))
        else:
            try:
                handler(shard, request)
            except Fault:
                shard.answer(request.request_id, refused(Error.UNKNOWN_SERVER_ERROR))
            if shard.writes.is_unconfirmed and shard.policy.is_java:
                defer_parked(shard, request) if isinstance(request, Join | Sync) else defer(shard, request, refused)
        self._fire_until(shard.now_ms)
        return shard.outcome()

    def session_to_renew(self, request: Heartbeat) -> Session | None:
        """The session that a heartbeat renews, None if it may do anything else.

        For simulations, which need not send such heartbeats one by one.
        """
        return session_to_renew(self.shard, request) if self.ownership is OWNED else None

    def put_offsets(self, group: str, offsets: Mapping[TopicPartition, int], at_ms: int) -> None:
        """Apply a commit that did nothing else, at the time of its arrival."""
        put_offsets(self.shard, self.shard.groups[group], offsets, at_ms)

    def advance(self, by_ms: int) -> Outcome:
        """Advance the clock and fire each timer at its deadline.

        Timers that are set on the way fire as well if they are due.
        """
        shard = self.shard
        target_ms = shard.now_ms + by_ms
        first_ms = shard.timers.not_before_ms()
        if first_ms is None or first_ms > target_ms:  # the usual case, once for each request
            shard.now_ms = target_ms
            return NO_OUTCOME
        self._fire_until(target_ms)
        shard.now_ms = target_ms
        return shard.outcome()

    def fire(self, kind: TimerKind, group: str, member: str = "", detail: Any = None) -> Outcome:
        """Fire one timer now, regardless of its deadline or existence."""
        self.timers.cancel(kind, group, member)
        self._fire(Timer(kind, group, member, self.shard.now_ms, detail))
        return self.shard.outcome()

    def fork(self, *, choices: Choices, make_member_id: Callable[[str], str]) -> Coordinator:
        """Copy the coordinator to explore another course of events.

        Call it between two requests while no write is pending.
        """
        made = copy.copy(self)
        shard = self.shard
        made.shard = replace(
            shard,
            choices=choices,
            make_member_id=make_member_id,
            timers=shard.timers.fork(),
            groups={name: group.fork() for name, group in shard.groups.items()},
            log=Log(dict(shard.log.groups), dict(shard.log.offsets), shard.log.end),
            writes=WriteResults(shard.writes.error, timeout_ms=shard.writes.timeout_ms),
            answers=[],
            fired=[],
            changes=[],
        )
        return made

    def load(self, epoch: int | None = None) -> Outcome:
        """Load the log's groups (onGroupLoaded, onLoaded).

        Ignored if `epoch` is outdated.
        """
        if self.heeds(epoch, loads=True) and self.ownership is not OWNED:
            self.ownership = OWNED
            load(self.shard)
        return self.shard.outcome()

    def unload(self, epoch: int | None = None) -> Outcome:
        """Unload all groups because another broker leads the partition.

        Ignored if `epoch` is outdated. Source: onGroupUnloaded, onUnloaded.
        """
        if self.heeds(epoch, loads=False):
            unload(self.shard)
            self.ownership = PartitionRole.FOREIGN
        return self.shard.outcome()

    def heeds(self, epoch: int | None, *, loads: bool) -> bool:
        """Whether to obey an order to load or unload, by its epoch.

        An outdated order is logged.
        """
        heeded = self._leadership.heeds(self.shard.policy.epoch_guard, epoch, loads=loads)
        if not heeded:
            current: dict[str, Any] = {} if self._leadership.epoch is None else {"_current": self._leadership.epoch}
            self.shard.note("load_ignored" if loads else "unload_ignored", _epoch=epoch, **current)
        return heeded

    def stop(self) -> None:
        """Shut the service down; requests then get COORDINATOR_NOT_AVAILABLE."""
        self.ownership = PartitionRole.STOPPED

    def fail_writes(self, error: Error) -> None:
        """Let all later writes fail with an error; NONE ends that."""
        self.shard.writes.error = error

    def hold_writes(self) -> None:
        """Leave writes unconfirmed by replicas until `settle_writes`."""
        self.shard.writes.is_held = True

    def settle_writes(self, error: Error = NO_ERROR) -> Outcome:
        """Complete all pending writes with `error` and stop holding writes."""
        self.shard.writes.settle(error)
        self._fire_until(self.shard.now_ms)
        return self.shard.outcome()

    def gone_after_ms(self, group: str) -> int | None:
        """Time at which an idle Empty group will be removed.

        None if it can't be known.
        """
        return gone_after_ms(self.shard, self.shard.groups[group])

    def _fire_until(self, target_ms: int) -> None:
        first_ms = self.shard.timers.not_before_ms()
        if self.is_held or first_ms is None or first_ms > target_ms:
            return
        for timer, fired in firings(self.shard.timers, target_ms):
            self.shard.now_ms = timer.at_ms
            thrown = self._fire(timer)
            self.shard.fired.append(replace(fired, fault=thrown) if thrown else fired)

    def _fire(self, timer: Timer) -> str:
        """Carry out a timer; returns the broker's exception, if any."""
        shard = self.shard
        if timer.kind is TimerKind.CLEANUP:
            clean_up(shard)
            self._schedule_clean_up()
            return ""
        if timer.kind is TimerKind.WRITE:
            shard.writes.time_out(timer.detail)
            return ""
        group = shard.groups.get(timer.group)
        if group is None:
            if timer.kind is TimerKind.CLASSIC_SESSION:
                shard.note("late_heartbeat_timer", timer.group, timer.member)
            return ""
        thrown = ""
        try:
            _DONE_BY[timer.kind](shard, group, timer)
        except Fault as fault:  # A retried operation may run in a state that it does not expect.
            thrown = fault.thrown
            if shard.policy.is_java:
                shard.note("timer_rescheduled", timer.group, _key=key_of(timer), detail=str(fault))
                retry(shard, timer)
        if shard.writes.is_unconfirmed and shard.policy.is_java:
            defer_timer(shard, timer)
        return thrown

    def _schedule_clean_up(self) -> None:
        shard = self.shard
        shard.timers.schedule(TimerKind.CLEANUP, "", "", shard.now_ms + shard.settings.retention_check_interval_ms)


_DONE_BY: Mapping[TimerKind, Callable[[Shard, Group, Timer], None]] = {
    TimerKind.CLASSIC_SESSION: lambda shard, group, timer: expire_session(shard, group, timer.member),
    TimerKind.JOIN: lambda shard, group, timer: end_join_step(shard, group, timer.detail),
    TimerKind.SYNC: lambda shard, group, timer: end_sync_wait(shard, group, timer.detail),
}
"""Actions of the timers of groups."""

"""Coordinator of consumer groups: handles requests, topic changes and elapsed time.

Follows GroupMetadataManager.java and GroupCoordinatorShard.java of 4.0.0 step by step. It does no I/O and reads no
clock; `choose_target` stands for the assignors. It knows classic groups only if they have no members.
`group_coordinator.BothCoordinator` holds the others and converts groups between the protocols.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from models.kafka.coordinator.classic.deferred_responses import defer, defer_timer, key_of, retry
from models.kafka.coordinator.consumer.assignors import ChooseTarget, choose_target
from models.kafka.coordinator.consumer.classic_members import heartbeat as classic_heartbeat
from models.kafka.coordinator.consumer.classic_members import join, leave, sync
from models.kafka.coordinator.consumer.errors import Refusal
from models.kafka.coordinator.consumer.group import ConsumerGroup, SimpleGroup
from models.kafka.coordinator.consumer.heartbeat import heartbeat
from models.kafka.coordinator.consumer.offset_commit import clean_up, commit, delete, fetch
from models.kafka.coordinator.consumer.regex_subscriptions import resolve
from models.kafka.coordinator.consumer.requests import ConsumerHeartbeat
from models.kafka.coordinator.consumer.rollback import begin
from models.kafka.coordinator.consumer.settings import ConsumerGroupSettings
from models.kafka.coordinator.consumer.shard import Shard, numbered_ids
from models.kafka.coordinator.protocol.errors import Error, Fault
from models.kafka.coordinator.protocol.requests import Commit, Delete, Fetch, Heartbeat, Join, Leave, Request, Sync
from models.kafka.coordinator.protocol.responses import FetchResponse, JoinResponse, LeaveResponse, Response, SyncResponse, TimedResponse
from models.kafka.coordinator.runtime.outcomes import Outcome, firings
from models.kafka.coordinator.runtime.timers import Timer, TimerKind, Timers

Handler = Callable[[Shard, Any], None]
HANDLERS: Mapping[type[Request], tuple[Handler, Callable[[Error], Response]]] = {
    ConsumerHeartbeat: (heartbeat, Response),
    Commit: (commit, Response),
    Fetch: (fetch, FetchResponse),
    Delete: (delete, Response),
    Join: (join, JoinResponse),
    Sync: (sync, SyncResponse),
    Heartbeat: (classic_heartbeat, Response),
    Leave: (leave, LeaveResponse),
}
"""Handler of each request type, and the response if it is refused.

The last four come from classic members of consumer groups.
"""

WHY_FENCED: Mapping[TimerKind, str] = {
    TimerKind.SESSION: "the member session expired.",
    TimerKind.REBALANCE: "the member failed to transition from epoch {epoch} within {rebalance_ms}ms.",
    TimerKind.JOIN: "the classic member failed to join within the rebalance timeout.",
    TimerKind.SYNC: "the member failed to sync within timeout.",
}
"""Logged reason for fencing a member, by the timer that fired."""


class Coordinator:
    """A coordinator with its groups.

    `order` sorts members' timers with the same deadline.
    """

    def __init__(
        self,
        settings: ConsumerGroupSettings | None = None,
        *,
        choose_target: ChooseTarget = choose_target,
        make_member_id: Callable[[], str] | None = None,
        order: Callable[[str], Any] = str,
        now_ms: int = 0,
    ) -> None:
        settings = settings or ConsumerGroupSettings()
        self.shard = Shard(settings, choose_target, make_member_id or numbered_ids(), Timers(order), topics=dict(settings.topics))
        self.shard.now_ms = now_ms
        self._schedule_clean_up()

    @property
    def now_ms(self) -> int:
        """The virtual time."""
        return self.shard.now_ms

    @property
    def groups(self) -> Mapping[str, ConsumerGroup | SimpleGroup]:
        """The current groups, for reading only."""
        return self.shard.groups

    @property
    def timers(self) -> Timers:
        """The pending timers, for reading only."""
        return self.shard.timers

    def handle(self, request: Request) -> Outcome:
        """Handle a request, the tasks it queued, and timers due now."""
        shard = self.shard
        handler, refused = HANDLERS[type(request)]
        operation = begin(shard, [request.group])
        try:
            handler(shard, request)
        except Refusal as refusal:
            shard.answer(request.request_id, refused(refusal.error))
        except Fault:
            shard.answer(request.request_id, refused(Error.UNKNOWN_SERVER_ERROR))
        if operation.fails():
            shard.answers[-1] = TimedResponse(request.request_id, shard.now_ms, refused(operation.client_error))
        if shard.writes.is_unconfirmed:
            defer(shard, request, refused)
        self._run_tasks()
        self._fire_until(shard.now_ms)
        return shard.outcome()

    def set_topic(self, topic: str, partitions: int) -> Outcome:
        """Set a topic's partition count; 0 removes the topic.

        Partition counts never fall. Groups that subscribe to the topic look at it with their next heartbeat
        (onNewMetadataImage).
        """
        shard = self.shard
        known = shard.topics.get(topic, 0)
        if partitions == 0:
            shard.topics.pop(topic, None)
        elif partitions > known:
            shard.topics[topic] = partitions
            shard.topics_created += known == 0
        if partitions == 0 or partitions > known:
            for group in shard.groups.values():
                if isinstance(group, ConsumerGroup) and group.subscribes(topic):
                    group.refresh_requested = True
        return shard.outcome()

    def advance(self, by_ms: int) -> Outcome:
        """Advance the clock and fire each timer at its deadline.

        Timers that are set on the way fire as well if they are due.
        """
        target_ms = self.shard.now_ms + by_ms
        self._fire_until(target_ms)
        self.shard.now_ms = target_ms
        return self.shard.outcome()

    def _run_tasks(self) -> None:
        shard = self.shard
        while shard.unresolved:
            group = shard.unresolved.pop()
            operation = begin(shard, [group.id])
            changed = resolve(group, shard.topics, shard.now_ms, shard.topics_created)
            shard.note("topics_scanned", group.id, _count=len(shard.topics), _millis=0, detail=f"[{', '.join(group.regexes)}]")
            if shard.look_at_topics(group) or changed:
                shard.raise_epoch(group)
            operation.fails()

    def _fire_until(self, target_ms: int) -> None:
        first_ms = self.shard.timers.not_before_ms()
        if first_ms is None or first_ms > target_ms:
            return
        for timer, fired in firings(self.shard.timers, target_ms):
            self.shard.now_ms = timer.at_ms
            self._fire(timer)
            self.shard.fired.append(fired)

    def _fire(self, timer: Timer) -> None:
        shard = self.shard
        if timer.kind is TimerKind.CLEANUP:
            operation = begin(shard, list(shard.groups))
            clean_up(shard)
            operation.fails()
            self._schedule_clean_up()
            return
        if timer.kind is TimerKind.WRITE:
            shard.writes.time_out(timer.detail)
            return
        group = shard.groups.get(timer.group)
        member = group.members.get(timer.member) if isinstance(group, ConsumerGroup) else None
        if not isinstance(group, ConsumerGroup) or member is None:
            return  # the timer outlived its group or member
        if timer.kind is TimerKind.REBALANCE and member.epoch != timer.detail:
            return  # the member has revoked since
        why = WHY_FENCED[timer.kind].format(epoch=member.epoch, rebalance_ms=member.rebalance_ms)
        operation = begin(shard, [group.id])
        shard.report("ModernMemberFenced", group, member, why=why)
        shard.remove_members(group, [member])
        if operation.fails():
            shard.note("timer_rescheduled", timer.group, _key=key_of(timer), detail=operation.client_error.value)
            retry(shard, timer)
        if shard.writes.is_unconfirmed:
            defer_timer(shard, timer)

    def _schedule_clean_up(self) -> None:
        shard = self.shard
        shard.timers.schedule(TimerKind.CLEANUP, "", "", shard.now_ms + shard.settings.retention_check_interval_ms)

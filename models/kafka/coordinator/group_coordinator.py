"""Coordinator of classic and consumer groups, with conversion between them (KIP-848).

This is what brokers run since 4.0. A classic group becomes a consumer group when a member of the consumer protocol
joins, and goes back when only classic members are left. Source: 4.0.0, GroupMetadataManager.java
(validateOnlineUpgrade, convertToConsumerGroup, validateOnlineDowngradeWithFencedMembers, convertToClassicGroup),
ConsumerGroup.fromClassicGroup, ClassicGroup.fromConsumerGroup.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from models.kafka.coordinator.classic.coordinator import Coordinator as ClassicCoordinator
from models.kafka.coordinator.classic.group import Group
from models.kafka.coordinator.classic.group import Member as ClassicMember
from models.kafka.coordinator.classic.partition_ownership import ownership_error
from models.kafka.coordinator.classic.rebalance import rebalance
from models.kafka.coordinator.consumer.coordinator import HANDLERS, Coordinator
from models.kafka.coordinator.consumer.errors import Refusal
from models.kafka.coordinator.consumer.group import ConsumerGroup, SimpleGroup
from models.kafka.coordinator.consumer.member import ClassicSide, Member, MemberState
from models.kafka.coordinator.consumer.requests import ConsumerHeartbeat
from models.kafka.coordinator.consumer.settings import ConsumerGroupSettings as ModernSettings
from models.kafka.coordinator.protocol.embedded_consumer import assigned, assignment
from models.kafka.coordinator.protocol.errors import NO_ERROR, Error
from models.kafka.coordinator.protocol.group_states import State
from models.kafka.coordinator.protocol.requests import Heartbeat, Join, Request
from models.kafka.coordinator.protocol.responses import JoinResponse, SyncResponse
from models.kafka.coordinator.protocol.subscription import CONSUMER, topics_of
from models.kafka.coordinator.runtime.choices import Choices
from models.kafka.coordinator.runtime.offsets import TopicPartition
from models.kafka.coordinator.runtime.offsets_log import Log
from models.kafka.coordinator.runtime.outcomes import NO_OUTCOME, LoggedChange, Outcome
from models.kafka.coordinator.runtime.timers import Session, TimerKind
from models.kafka.coordinator.runtime.version_policy import CoordinatorSettings, Policy, broker_defaults

Groups = Mapping[str, Group | ConsumerGroup | SimpleGroup]


@dataclass(slots=True)
class BothLog:
    """Records of both kinds of groups, from which another coordinator can load."""

    classic: Log = field(default_factory=Log)
    consumer: dict[str, ConsumerGroup] = field(default_factory=dict)
    """Filled when a coordinator unloads; empty until then."""


class BothCoordinator:
    """Two coordinators with one clock, and conversion of groups between them.

    Used like either of them.
    """

    def __init__(
        self,
        policy: Policy,
        settings: CoordinatorSettings | None = None,
        modern: ModernSettings | None = None,
        *,
        choices: Choices | None = None,
        make_member_id: Callable[[str], str] | None = None,
        make_modern_id: Callable[[], str] | None = None,
        order: Callable[[str], Any] = str,
        log: BothLog | None = None,
        now_ms: int = 0,
        is_loaded: bool = True,
    ) -> None:
        self.log = log or BothLog()
        options: dict[str, Any] = {"order": order, "now_ms": now_ms}
        self.classic = ClassicCoordinator(
            policy,
            settings or broker_defaults(policy),
            choices=choices,
            make_member_id=make_member_id,
            log=self.log.classic,
            is_loaded=False,
            **options,
        )
        self.modern = Coordinator(modern, make_member_id=make_modern_id, **options)
        self.modern.shard.neighbour = self
        self.modern.shard.writes = self.classic.shard.writes  # both write to the same partition
        if is_loaded:
            self.load()

    @property
    def now_ms(self) -> int:
        """The virtual time."""
        return self.classic.now_ms

    @property
    def groups(self) -> Groups:
        """The current groups, for reading only."""
        return {**self.classic.groups, **self.modern.groups}

    def next_ms(self) -> int | None:
        """Deadline of the next timer, None if there is none."""
        return min((due for coordinator in (self.classic, self.modern) if (due := coordinator.timers.next_ms()) is not None), default=None)

    def not_before_ms(self) -> int | None:
        """A time before which no timer is due, None without timers."""
        classic_ms, modern_ms = self.classic.shard.timers.not_before_ms(), self.modern.shard.timers.not_before_ms()
        if classic_ms is None or modern_ms is None:
            return modern_ms if classic_ms is None else classic_ms
        return min(classic_ms, modern_ms)

    # -- requests, time and orders -----------------------------------------------------------------------------

    def handle(self, request: Request) -> Outcome:
        """Pass a request to the coordinator that has its group."""
        group = self.modern.groups.get(request.group)
        if not isinstance(request, ConsumerHeartbeat) and group is None:
            return self._merged(self.classic.handle(request))
        unreached = self._unreached(request)
        if unreached is not None:
            self.modern.shard.answer(request.request_id, HANDLERS[type(request)][1](unreached))
            return self._merged()
        if isinstance(request, Join) and isinstance(group, ConsumerGroup) and not group.members:
            return self._handed_over(group, request)
        return self._merged(self.modern.handle(request))

    def session_to_renew(self, request: Heartbeat) -> Session | None:
        """The session that a classic heartbeat renews, None if it may do anything else."""
        return None if request.group in self.modern.groups else self.classic.session_to_renew(request)

    def put_offsets(self, group: str, offsets: Mapping[TopicPartition, int], at_ms: int) -> None:
        """Apply a commit to a classic group that did nothing else.

        `at_ms` is the time of its arrival.
        """
        self.classic.put_offsets(group, offsets, at_ms)

    def _unreached(self, request: Request) -> Error | None:
        """Error that a request gets without looking at its group."""
        limits = self.classic.shard.settings
        if isinstance(request, Join) and not limits.min_session_ms <= request.session_ms <= limits.max_session_ms:
            return ownership_error(self.classic.shard, self.classic.ownership, request) or Error.INVALID_SESSION_TIMEOUT
        return ownership_error(self.classic.shard, self.classic.ownership, request)

    def advance(self, by_ms: int) -> Outcome:
        """Advance the clock; timers of both coordinators fire in order."""
        target_ms = self.now_ms + by_ms
        first_ms = self.not_before_ms()
        if first_ms is None or first_ms > target_ms:  # the usual case, once for each request
            self.classic.shard.now_ms = self.modern.shard.now_ms = target_ms
            return NO_OUTCOME
        happened = NO_OUTCOME
        while (due_ms := self.next_ms()) is not None and due_ms <= target_ms:
            happened = _joined(happened, self._advance_to(due_ms))
        return _joined(happened, self._advance_to(target_ms))

    def set_topic(self, topic: str, partitions: int) -> Outcome:
        """Set a topic's partition count; 0 removes the topic."""
        return self._merged(self.modern.set_topic(topic, partitions))

    def fail_writes(self, error: Error) -> None:
        """Let all later writes fail with an error; NONE ends that."""
        self.classic.fail_writes(error)

    def hold_writes(self) -> None:
        """Leave writes unconfirmed by replicas until `settle_writes`."""
        self.classic.hold_writes()

    def settle_writes(self, error: Error = NO_ERROR) -> Outcome:
        """Complete all pending writes with `error` and stop holding writes."""
        return self._merged(self.classic.settle_writes(error))

    def load(self, epoch: int | None = None) -> Outcome:
        """Load the log's groups and restart members' sessions (onLoaded)."""
        if not self.classic.heeds(epoch, loads=True):
            return self._merged()
        for name in self.log.consumer:  # it holds the offsets of the simple group that it took the place of
            self.log.classic.offsets.pop(name, None)
        loaded = self.classic.load()
        shard = self.modern.shard
        for group in self.log.consumer.values():
            shard.groups[group.id] = group
            shard.report("GroupLoaded", group, group_type="consumer", member_count=len(group.members))
            for member in group.members.values():
                shard.renew(group, member)
                if member.state is MemberState.UNREVOKED_PARTITIONS:
                    shard.timers.schedule(TimerKind.REBALANCE, group.id, member.id, shard.now_ms + member.rebalance_ms, member.epoch)
        self.log.consumer.clear()
        return self._merged(loaded)

    def unload(self, epoch: int | None = None) -> Outcome:
        """Unload all groups; consumer groups have no parked requests."""
        if not self.classic.heeds(epoch, loads=False):
            return self._merged()
        shard = self.modern.shard
        self.log.consumer.update((group.id, group) for group in shard.groups.values() if isinstance(group, ConsumerGroup))
        shard.groups.clear()
        shard.timers.clear()
        return self._merged(self.classic.unload())

    def _advance_to(self, at_ms: int) -> Outcome:
        return _summed(self._merged(self.classic.advance(at_ms - self.classic.now_ms), self.modern.advance(at_ms - self.modern.now_ms)))

    def _merged(self, *outcomes: Outcome) -> Outcome:
        """Combine outcomes with what both coordinators did meanwhile."""
        return _joined(*outcomes, self.modern.shard.outcome(), self.classic.shard.outcome())

    def _handed_over(self, emptied: ConsumerGroup, request: Join) -> Outcome:
        """Replace an empty consumer group by a classic one.

        If the write fails, the consumer group stays. A join with a member id only removes the empty group: in memory, because
        that refusal writes no record. Source: classicGroupJoinToClassicGroup, maybeDeleteEmptyConsumerGroup.
        """
        del self.modern.shard.groups[emptied.id]
        outcome = self.classic.handle(request)
        made = self.classic.groups.get(emptied.id)
        if made is None and not request.member:
            self.modern.shard.groups[emptied.id] = emptied
        elif made is not None:
            made.offsets = emptied.offsets
            self.modern.shard.report("GroupConverted", emptied, from_type="empty consumer", to_type="classic")
        return self._merged(outcome)

    # -- conversion between the protocols ----------------------------------------------------------------------

    def upgraded(self, group_id: str) -> ConsumerGroup | None:
        """Convert a classic group to a consumer group, None if missing.

        Members keep their assignments and start at the group's generation. Refuses if Kafka would not convert the group.
        """
        group = self.classic.groups.get(group_id)
        if group is None:
            return None
        made = ConsumerGroup(group_id, offsets=group.offsets)
        if group.state is State.EMPTY:
            return made
        self._check_upgrade(group)
        made.epoch = made.target_epoch = group.generation
        for member in group.members.values():
            upgraded = self._upgraded_member(group, member)
            made.put(upgraded)
            made.targets[member.id] = upgraded.assigned
        made.look_at(self.modern.shard.topics)
        return made

    def _check_upgrade(self, group: Group) -> None:
        modern = self.modern.shard.settings
        why = None
        if not modern.migration.upgrades:
            why = "the online upgrade is disabled."
        elif group.protocol_type != CONSUMER:
            why = "the group does not use the consumer embedded protocol."
        elif len(group.members) > modern.max_size:
            why = "the group size exceeds the consumer group maximum size."
        if why is not None:
            self.classic.shard.report("GroupConversionRefused", group, to_type="consumer", why=why)
            raise Refusal(Error.GROUP_ID_NOT_FOUND)

    def _upgraded_member(self, group: Group, member: ClassicMember) -> Member:
        """Convert a classic member.

        If no protocol was chosen yet, its first one's subscription counts.
        """
        metadata = member.metadata(group.protocol) if group.protocol is not None else member.protocols[0].metadata
        topics = topics_of(metadata)
        if topics is None:
            raise Refusal(Error.GROUP_ID_NOT_FOUND)  # "the embedded consumer protocol is malformed"
        known = self.modern.shard.topics
        return Member(
            member.id,
            member.instance,
            client_id=member.client_id,
            client_host=member.client_host,
            rebalance_ms=member.rebalance_ms,
            topics=topics,
            epoch=group.generation,
            previous_epoch=group.generation,
            assigned=frozenset(partition for partition in assigned(member.assignment) if partition[0] in known),
            classic=ClassicSide(member.session_ms, member.protocols),
        )

    def give_up(self, group_id: str) -> bool:
        """Drop a converted classic group.

        Parked requests get REBALANCE_IN_PROGRESS. Returns True if the group existed.
        """
        shard = self.classic.shard
        group = shard.groups.pop(group_id, None)
        if group is None:
            return False
        for member in tuple(group.members.values()):
            shard.answer_join(group, member, JoinResponse(Error.REBALANCE_IN_PROGRESS, member.id))
            shard.answer_sync(member, SyncResponse(Error.REBALANCE_IN_PROGRESS))
        shard.log.groups.pop(group_id, None)
        return True

    def checkpoint(self, group_id: str) -> Callable[[], None]:
        """Record a classic group's state and return a function that restores it.

        Responses that were sent are not undone.
        """
        shard = self.classic.shard
        group, record, line_count = shard.groups.get(group_id), shard.log.groups.get(group_id), len(shard.changes)

        def take_back() -> None:
            _put(shard.groups, group_id, group)
            _put(shard.log.groups, group_id, record)
            shard.changes[line_count:] = [
                replace(change, is_undone=True) for change in shard.changes[line_count:] if isinstance(change, LoggedChange)
            ]

        return take_back

    def downgrade(self, group: ConsumerGroup, leaving: Collection[Member]) -> bool:
        """Convert to a classic group of the remaining members.

        Only if all of them use the classic protocol; members that leave cause a rebalance. Returns True if converted.
        """
        if not group.is_classic_without(leaving) or not self._may_downgrade(group, leaving):
            return False
        shard = self.classic.shard
        made = shard.groups[group.id] = Group(group.id, shard.now_ms, State.STABLE, group.epoch, offsets=group.offsets)
        for member in (candidate for candidate in group.members.values() if candidate not in leaving and candidate.classic is not None):
            made.add(_downgraded_member(group, member))
        made.protocol = made.vote()[0]
        made.subscribe()
        assignments = {member.id: member.assignment for member in made.members.values()}
        shard.store(made, shard.record(made, assignments), "conversion", lambda _: None)
        for back in made.members.values():
            shard.renew(made, back)
        if leaving:
            rebalance(shard, made, "downgrade_from_consumer")
        shard.report("GroupConverted", made, from_type="consumer", to_type="classic")
        return True

    def _may_downgrade(self, group: ConsumerGroup, leaving: Collection[Member]) -> bool:
        why = None
        if not self.modern.shard.settings.migration.downgrades:
            why = "the online downgrade is disabled."
        elif len(group.members) - len(leaving) > self.classic.shard.settings.max_size:
            why = "its group size is greater than classic group max size."
        if why is not None:
            self.modern.shard.report("GroupConversionRefused", group, to_type="classic", why=why)
        return why is None


def _put(into: dict[str, Any], key: str, value: Any) -> None:
    """Set a key to a value, or delete it for None."""
    if value is None:
        into.pop(key, None)
    else:
        into[key] = value


def _downgraded_member(group: ConsumerGroup, member: Member) -> ClassicMember:
    """Convert a member; its target becomes its assignment."""
    side = member.classic or ClassicSide(0, ())
    timeouts = (side.session_ms, member.rebalance_ms)
    made = ClassicMember(member.id, member.instance, member.client_id, member.client_host, *timeouts, CONSUMER, side.protocols)
    made.assignment = assignment(sorted(group.target(member.id)))
    return made


def _summed(outcome: Outcome) -> Outcome:
    """Merge the clean-up lines of both coordinators into one."""
    cleanups = [change for change in outcome.changes if isinstance(change, LoggedChange) and change.event == "OffsetsExpired"]
    if not cleanups:
        return outcome
    total = replace(cleanups[0], fields={"offsets_count": sum(cleanup.fields["offsets_count"] for cleanup in cleanups)})
    rest = (change for change in outcome.changes if all(change is not cleanup for cleanup in cleanups))
    return outcome._replace(changes=(*rest, total))


def _joined(*outcomes: Outcome) -> Outcome:
    """Concatenate the outcomes of several steps."""
    effects = [outcome for outcome in outcomes if outcome is not NO_OUTCOME]
    if len(effects) <= 1:
        return effects[0] if effects else NO_OUTCOME
    return Outcome(
        tuple(answer for outcome in effects for answer in outcome.answers),
        tuple(fired for outcome in effects for fired in outcome.fired),
        tuple(change for outcome in effects for change in outcome.changes),
    )

"""Effects of each hidden input on the coordinator.

Requests, timers that fire, and what must have been true before the log said so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from models.kafka.conformance.explanation import NAMELESS_ID, Explanation, HiddenInput, is_named
from models.kafka.coordinator.classic.group import Group, Member
from models.kafka.coordinator.classic.partition_ownership import PartitionRole
from models.kafka.coordinator.protocol.errors import NO_ERROR, Error
from models.kafka.coordinator.protocol.group_states import State
from models.kafka.coordinator.protocol.requests import Commit, Delete, Join, Leave, Leaver, Protocol, Sync
from models.kafka.coordinator.protocol.subscription import CONSUMER
from models.kafka.coordinator.runtime.timers import TimerKind

SESSION_MS, REBALANCE_MS = 45_000, 300_000
"""Defaults of session.timeout.ms (3.0 and later) and max.poll.interval.ms.

They decide nothing while timers are held.
"""
STAND_IN_PROTOCOLS = (Protocol("first", b""), Protocol("second", b""))
"""Stand-ins for members' protocols, whose names no line tells.

Two, so that a vote can turn.
"""
HELD_BY = f"{NAMELESS_ID}held"
"""Stands for an id handed out while a script's inputs come."""
SOME = b"\0"
"""Stands for an assignment that is not empty."""

RunInput = Callable[[Explanation, HiddenInput], None]


def apply_input(explanation: Explanation, hidden: HiddenInput) -> None:
    """Let an input happen now."""
    _RUNS[hidden.kind](explanation, hidden)


def _joining(
    explanation: Explanation, member: str, instance: str | None, protocols: tuple[Protocol, ...] = STAND_IN_PROTOCOLS, *, asks: bool = False
) -> None:
    request = Join(
        explanation.number(),
        explanation.group_id,
        member,
        CONSUMER,
        protocols,
        SESSION_MS,
        REBALANCE_MS,
        instance,
        require_known_member_id=asks,
    )
    explanation.take(explanation.coordinator.handle(request))


def _join(explanation: Explanation, hidden: HiddenInput) -> None:
    """Take a newcomer in at once; without an id it stays unnamed."""
    group, instance = explanation.group, hidden.instance
    if group is not None and instance in group.static:
        instance = None  # it would replace the present one
    explanation.guesses.member_id = hidden.members[0] if hidden.members else ""
    _joining(explanation, "", instance)


def _hand_out(explanation: Explanation, hidden: HiddenInput) -> None:
    """A newcomer is given an id."""
    explanation.guesses.member_id = hidden.members[0] if hidden.members else ""
    _joining(explanation, "", None, asks=True)


def _be_pending(explanation: Explanation, hidden: HiddenInput) -> None:
    """Ids have been handed out before; without ids somebody's has."""
    group = _present(explanation)
    group.pending_join.update(hidden.members or (explanation.guesses.new_id(),))


def _join_pending(explanation: Explanation, hidden: HiddenInput) -> None:
    """An id that was handed out joins."""
    group = _present(explanation)
    for member in hidden.members:
        if member not in group.pending_join:
            group.pending_join.discard(_unnamed_pending(group) or "")
            group.pending_join.add(member)
        _joining(explanation, member, None)


def _rejoin(explanation: Explanation, hidden: HiddenInput) -> None:
    """Members join again, with what they sent before or with something else."""
    for member_id in hidden.members:
        group = explanation.group
        member = None if group is None else group.members.get(member_id)
        if member is None:
            return
        protocols = member.protocols
        if hidden.has_changed:
            protocols = tuple(Protocol(protocol.name, protocol.metadata + b"+") for protocol in protocols)
        _joining(explanation, member_id, member.instance, protocols)


def _rejoin_rest(explanation: Explanation, hidden: HiddenInput) -> None:
    """All that are awaited join again, but for those that are named."""
    awaited = (member.id for member in _present(explanation).members.values() if member.join is None)
    _rejoin(explanation, HiddenInput("rejoin", tuple(member for member in awaited if member not in hidden.members)))


def _leave(explanation: Explanation, hidden: HiddenInput) -> None:
    leavers = tuple(Leaver(member) for member in hidden.members)
    explanation.take(explanation.coordinator.handle(Leave(explanation.number(), explanation.group_id, leavers)))


def _expire(explanation: Explanation, hidden: HiddenInput) -> None:
    """End a session, or the time of a pending id.

    A parked join would have stood for heartbeats: it is none then.
    """
    [member_id] = hidden.members
    group = _present(explanation)
    member = group.members.get(member_id)
    if member is not None and member.is_excused:
        group.park_join(member, None)
        member.sync = None
    explanation.take(explanation.coordinator.fire(TimerKind.CLASSIC_SESSION, explanation.group_id, member_id))


def _end_join_phase(explanation: Explanation, hidden: HiddenInput) -> None:  # noqa: ARG001
    _present(explanation).pending_join.discard(HELD_BY)
    explanation.take(explanation.coordinator.fire(TimerKind.JOIN, explanation.group_id))


def _end_sync_wait(explanation: Explanation, hidden: HiddenInput) -> None:
    """The members that are named have not sent SyncGroup, all others have."""
    group = _present(explanation)
    group.pending_sync = set(hidden.members)
    explanation.take(explanation.coordinator.fire(TimerKind.SYNC, explanation.group_id, detail=group.generation))


def _sync(explanation: Explanation, hidden: HiddenInput) -> None:
    """The leader sends an assignment, which leaves out whoever is named."""
    group = _present(explanation)
    assignments = {member: SOME for member in group.members if member not in hidden.members}
    request = Sync(explanation.number(), explanation.group_id, group.leader or "", group.generation, assignments)
    if hidden.has_changed:  # it can't be stored
        explanation.coordinator.fail_writes(Error.NOT_ENOUGH_REPLICAS)
    explanation.take(explanation.coordinator.handle(request))
    explanation.coordinator.fail_writes(NO_ERROR)


def _sync_empty(explanation: Explanation, hidden: HiddenInput) -> None:
    """The leader sends empty assignments to whoever is named."""
    group = _present(explanation)
    assignments = {member: b"" if member in hidden.members else SOME for member in group.members}
    request = Sync(explanation.number(), explanation.group_id, group.leader or "", group.generation, assignments)
    explanation.take(explanation.coordinator.handle(request))


def _replace(explanation: Explanation, hidden: HiddenInput) -> None:
    """Bring a static member back under the second id that is named."""
    group = _present(explanation)
    member = group.members[hidden.members[0]]
    instance = hidden.instance or member.instance or explanation.guesses.new_id()
    _make_static(group, member, instance)
    explanation.guesses.member_id = hidden.members[1] if len(hidden.members) > 1 else ""
    explanation.guesses.changes_protocol = hidden.has_changed
    protocols = member.protocols
    if hidden.has_changed:  # the others would have voted otherwise by now
        protocols = tuple(sorted(STAND_IN_PROTOCOLS, key=lambda protocol: protocol.name == group.protocol))
        for other in group.members.values():
            group.update(other, protocols, None, other.join)
    _joining(explanation, "", instance, protocols)


def _make_static(group: Group, member: Member, instance: str) -> None:
    if member.instance is not None:
        group.static.pop(member.instance, None)
    member.instance = instance
    group.static[instance] = member.id


def _be_static(explanation: Explanation, hidden: HiddenInput) -> None:
    """Members are static ones: they stay although they don't rejoin."""
    group = _present(explanation)
    for member_id in hidden.members:
        member = group.members.get(member_id)
        if member is not None and (member.instance is None or hidden.instance):
            _make_static(group, member, hidden.instance or explanation.guesses.new_id())


def _delete(explanation: Explanation, hidden: HiddenInput) -> None:  # noqa: ARG001
    explanation.take(explanation.coordinator.handle(Delete(explanation.number(), explanation.group_id)))


def _die(explanation: Explanation, hidden: HiddenInput) -> None:  # noqa: ARG001
    """The clean-up removes the group."""
    group = explanation.group
    if group is not None:
        shard = explanation.coordinator.shard
        shard.remove_group(group)
        explanation.take(shard.outcome())


def _vanish(explanation: Explanation, hidden: HiddenInput) -> None:
    """Members are refused for the group's size and thereby removed."""
    shard, group = explanation.coordinator.shard, _present(explanation)
    for member in hidden.members:
        shard.remove_member(group, member)


def _be_member(explanation: Explanation, hidden: HiddenInput) -> None:
    """Make the named one a member.

    It was an unnamed one, a pending one, or one that joined unseen.
    """
    group = _present(explanation)
    for member_id in hidden.members:
        group.pending_join.discard(member_id)
        if member_id in group.members:
            continue
        unnamed = next((member for member in group.members.values() if not is_named(member.id)), None)
        if unnamed is not None:
            _rename(group, unnamed, member_id)
            continue
        made = Member(member_id, hidden.instance, "", "", SESSION_MS, REBALANCE_MS, CONSUMER, STAND_IN_PROTOCOLS)
        if group.state is State.PREPARING_REBALANCE:
            made.join, made.is_new = explanation.number(), True
        group.add(made)


def _be_only(explanation: Explanation, hidden: HiddenInput) -> None:
    """Make exactly these the members.

    Unnamed ones are some of them, others have gone unseen.
    """
    _be_member(explanation, hidden)
    group = _present(explanation)
    _vanish(explanation, HiddenInput("vanish", tuple(member for member in group.members if member not in hidden.members)))


def _be_another(explanation: Explanation, hidden: HiddenInput) -> None:  # noqa: ARG001
    """There is a member more, which no line has named."""
    group = _present(explanation)
    group.add(Member(explanation.guesses.new_id(), None, "", "", SESSION_MS, REBALANCE_MS, CONSUMER, STAND_IN_PROTOCOLS))


def _read_member(explanation: Explanation, hidden: HiddenInput) -> None:
    """A member is read back, before the group is."""
    explanation.loading[hidden.members[0]] = hidden.generation


def _unload(explanation: Explanation, hidden: HiddenInput) -> None:  # noqa: ARG001
    """The coordinator gives the group up; what it has written last stays."""
    explanation.take(explanation.coordinator.unload())


def _load(explanation: Explanation, hidden: HiddenInput) -> None:  # noqa: ARG001
    """Let another coordinator take the group over.

    Where the old one was lost, no line says that it is gone.
    """
    coordinator = explanation.coordinator
    if coordinator.ownership is PartitionRole.OWNED:
        coordinator.unload()
    explanation.take(coordinator.load())
    group = explanation.group
    if group is not None:
        for member in group.members.values():
            group.update(member, STAND_IN_PROTOCOLS, None, member.join)  # what is written of a member holds the chosen one alone


def _adopt_loaded(explanation: Explanation, hidden: HiddenInput) -> None:
    """Adopt what the coordinator read, as its lines show it."""
    group = explanation.group
    state, generation = explanation.state_and_generation
    if group is None or state is not hidden.state or hidden.generation not in (None, generation):
        _adopt(explanation, hidden)
    if hidden.members:
        _be_only(explanation, hidden)


def _rename(group: Group, member: Member, member_id: str) -> None:
    """Call a member by the id that a line tells at last."""
    before = member.id
    group.members = {member_id if member == before else member: known for member, known in group.members.items()}
    member.id = member_id
    if member.instance is not None:
        group.static[member.instance] = member_id
    if group.leader == before:
        group.leader = member_id
    if before in group.pending_sync:
        group.pending_sync.discard(before)
        group.pending_sync.add(member_id)


def _lead(explanation: Explanation, hidden: HiddenInput) -> None:
    """Make the named member the leader."""
    _be_member(explanation, hidden)
    _present(explanation).leader = hidden.members[0]


def _elect(explanation: Explanation, hidden: HiddenInput) -> None:
    """Choose the named member at the next election of a leader."""
    explanation.guesses.leader_id = hidden.members[0]


def _adopt(explanation: Explanation, hidden: HiddenInput) -> None:
    """Put the group into a line's state by an unknown way."""
    shard = explanation.coordinator.shard
    if explanation.coordinator.ownership is not PartitionRole.OWNED:
        explanation.coordinator.load()
    group = explanation.group
    generation = hidden.generation
    if group is None or (generation == 0 and group.generation):
        group = shard.create(explanation.group_id)
    if generation is not None:
        group.generation = generation
    state = hidden.state or group.state
    group.state = state
    if state is State.EMPTY:
        shard.groups[explanation.group_id] = made = Group(explanation.group_id, shard.now_ms, generation=group.generation)
        made.pending_join = group.pending_join
    elif not group.members:
        _be_member(explanation, HiddenInput("be_member", (explanation.guesses.new_id(),)))
        for member in group.members.values():
            group.park_join(member, None)
    if state in (State.STABLE, State.COMPLETING_REBALANCE):
        group.protocol = group.protocol or STAND_IN_PROTOCOLS[0].name
        group.is_initial = False
        for member in group.members.values():
            group.park_join(member, None)
            member.is_new = False


def _join_unseen(explanation: Explanation, hidden: HiddenInput) -> None:  # noqa: ARG001
    """Let somebody join with an unknown id that was handed out."""
    group = _present(explanation)
    member_id = _unnamed_pending(group) or explanation.guesses.new_id()
    group.pending_join.add(member_id)
    _joining(explanation, member_id, None)


def _unnamed_pending(group: Group) -> str | None:
    """A pending member id that no line has named, if any."""
    return next((name for name in sorted(group.pending_join) if not is_named(name) and name != HELD_BY), None)


def _forget_pending(explanation: Explanation, hidden: HiddenInput) -> None:
    _present(explanation).pending_join.difference_update(hidden.members)


def _park_none(explanation: Explanation, hidden: HiddenInput) -> None:
    """These have not rejoined."""
    group = _present(explanation)
    for member_id in hidden.members:
        member = group.members.get(member_id)
        if member is not None:
            group.park_join(member, None)


def _hold_open(explanation: Explanation, hidden: HiddenInput) -> None:  # noqa: ARG001
    """Hold the join phase open until this script's inputs have come."""
    _present(explanation).pending_join.add(HELD_BY)


def _release(explanation: Explanation, hidden: HiddenInput) -> None:  # noqa: ARG001
    """The join phase ends with the next input that may end it."""
    _present(explanation).pending_join.discard(HELD_BY)


def _be_dynamic(explanation: Explanation, hidden: HiddenInput) -> None:
    """These are no static members."""
    group = _present(explanation)
    for member_id in hidden.members:
        member = group.members.get(member_id)
        if member is not None and member.instance is not None:
            group.static.pop(member.instance, None)
            member.instance = None


def _end_if_open(explanation: Explanation, hidden: HiddenInput) -> None:
    """The deadline ends the join phase, if it is not over."""
    group = explanation.group
    if group is not None:
        group.pending_join.discard(HELD_BY)
    if group is not None and group.state is State.PREPARING_REBALANCE:
        _end_join_phase(explanation, hidden)


def _commit(explanation: Explanation, hidden: HiddenInput) -> None:  # noqa: ARG001
    """A simple consumer commits."""
    request = Commit(explanation.number(), explanation.group_id, {("", 0): 0})
    explanation.take(explanation.coordinator.handle(request))


def _present(explanation: Explanation) -> Group:
    """Return the group; create it if it does not exist."""
    group = explanation.group
    return explanation.coordinator.shard.create(explanation.group_id) if group is None else group


_RUNS: Mapping[str, RunInput] = {
    "join": _join,
    "hand_out": _hand_out,
    "join_pending": _join_pending,
    "rejoin": _rejoin,
    "rejoin_rest": _rejoin_rest,
    "leave": _leave,
    "expire": _expire,
    "end_join_phase": _end_join_phase,
    "end_sync_wait": _end_sync_wait,
    "sync": _sync,
    "sync_empty": _sync_empty,
    "hold_open": _hold_open,
    "release": _release,
    "be_dynamic": _be_dynamic,
    "replace": _replace,
    "delete": _delete,
    "die": _die,
    "vanish": _vanish,
    "be_pending": _be_pending,
    "be_member": _be_member,
    "be_only": _be_only,
    "be_another": _be_another,
    "read_member": _read_member,
    "unload": _unload,
    "load": _load,
    "adopt_loaded": _adopt_loaded,
    "be_static": _be_static,
    "join_unseen": _join_unseen,
    "forget_pending": _forget_pending,
    "park_none": _park_none,
    "end_if_open": _end_if_open,
    "commit": _commit,
    "lead": _lead,
    "elect": _elect,
    "adopt": _adopt,
}
"""Runs by kind of input.

Those that begin with `be_`, and `lead`, `elect` and `adopt`, say what was true already.
"""

"""Runs a group's behaviour through the reference coordinator, under given settings."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from models.kafka.coordinator.consumer.group import ConsumerGroup, ConsumerGroupState, SimpleGroup
from models.kafka.coordinator.protocol import group_states
from models.kafka.coordinator.protocol.group_states import State
from models.kafka.coordinator.runtime.outcomes import LoggedChange, StateTransition
from models.kafka.coordinator.runtime.version_policy import policy_for
from models.kafka.simulation.client import ClientPhase
from models.kafka.simulation.scenario import CLASSIC, GroupPlan, Scenario
from models.tolerances import int_tolerance
from models.whatif.behaviour.members import Act, ActKind, Behaviour
from models.whatif.runs.clients import MEMBER_CLASSES, TRAVEL_MS, AnyMember, QuietCluster, SteadyWorld, do_nothing
from models.whatif.runs.courses import FinishedRun, Rest, SharedCourse
from models.whatif.runs.simulated_rebalances import SimulatedRebalance

# Looked up more quickly as names of the module (see `group_states`).
_STOPPED, _STABLE = ClientPhase.STOPPED, ClientPhase.STABLE

POLL_MS = int_tolerance("whatif.run.poll_ms")
"""Usual time between two polls; a poll returns early to rejoin."""
QUIET_MS = int_tolerance("whatif.run.quiet_ms")
"""Time before an action that is always run."""
LONG_MS = int_tolerance("whatif.run.long_ms")
"""A process that is held for longer is not waited for."""
EXPIRY_LATE_MS = int_tolerance("whatif.run.expiry_late_ms")
"""Time after its end at which a session is found to be over.

A session often is a whole number of heartbeats, and then the others' heartbeats come at its end. Some of them most likely
come before it is found to be over, and hear of that one interval later.
"""
LOOK_MS = int_tolerance("whatif.run.look_ms")
"""Time between two looks whether a group is quiet."""
AT_REST = frozenset({group_states.STABLE, group_states.EMPTY, group_states.DEAD, ConsumerGroupState.STABLE, ConsumerGroupState.EMPTY})
SILENCES = frozenset({ActKind.PAUSE, ActKind.KILL, ActKind.CLOSE})
"""Acts after which a member sends nothing.

One with a group.instance.id does not even leave.
"""
PARTITIONS_EACH = 2
"""Partitions for each member: enough for one to give some up to another."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSettings:
    """Complete settings of a run.

    Maps are by member, with the default under an empty name.
    """

    version: str
    protocol: str = CLASSIC
    assignor: str = "range"
    is_static: bool = False
    session_ms: Mapping[str, int]
    max_poll_ms: Mapping[str, int]
    heartbeat_ms: int
    initial_delay_ms: int
    max_size: int = 2**31 - 1
    poll_ms: int = POLL_MS
    """Time between two polls, in whose middle a run takes them."""
    commit_ms: int = 0
    """auto.commit.interval.ms; 0 if members do not commit by themselves."""


EPOCH_TRIGGERS: Mapping[str, str] = {
    "ModernMemberJoined": "new_member",
    "ModernMemberLeft": "leave",
    "ModernMemberFenced": "heartbeat_expiration",
    "ModernSubscriptionChanged": "subscription",
}
"""Kind of a rebalance by the event that raises a group epoch."""


@dataclass(slots=True)
class Recorder:
    """Writes down rebalances from a coordinator's events.

    `shift_ms` turns its clock into that of the logs. `name_of` gives a member's name by its id: ids of
    consumer groups differ from run to run.
    """

    settings: RunSettings
    name_of: Callable[[str], str] = str
    shift_ms: int = 0
    rows: list[SimulatedRebalance] = field(default_factory=list)
    state: State = group_states.EMPTY
    _open: SimulatedRebalance | None = None
    _trigger: tuple[str, str] = ("", "epoch")
    """Member and kind of the last event that raises a group epoch."""

    def watch(self, change: StateTransition | LoggedChange) -> None:
        """Take a transition or event."""
        at_ms = change.at_ms + self.shift_ms
        if isinstance(change, StateTransition):
            self.state = change.after
            if change.after is group_states.STABLE:
                self._close(at_ms, "stable")
        elif change.event == "RebalanceStarted":
            self._close(at_ms, "superseded")
            reason = str(change.fields["reason_id"])
            members = change.fields.get("reason_members") or [change.fields.get("reason_member_id") or ""]
            self._begin(at_ms, str(members[0]), reason, was_empty=change.fields.get("reason_state") == group_states.EMPTY.value)
        elif change.event in {"GenerationStarted", "GroupEmptied"} and self._open is not None:
            self._open.joined_ms = at_ms
            self._open.delay_ms = self._delay_ms(self._open, at_ms)
            if change.event == "GroupEmptied":
                self._close(at_ms, "empty")
        elif change.event in EPOCH_TRIGGERS and not self._trigger[0]:
            self._trigger = self.name_of(change.member or ""), EPOCH_TRIGGERS[change.event]
        elif change.event == "GroupEpochBumped":
            self._close(at_ms, "superseded")
            (member, kind), self._trigger = self._trigger, ("", "epoch")
            self._begin(at_ms, member, kind, was_empty=False)

    def _begin(self, at_ms: int, member: str, kind: str, *, was_empty: bool) -> None:
        goes_on = self.settings.protocol != CLASSIC or "cooperative" in self.settings.assignor
        name = member if self.settings.protocol != CLASSIC else member[:-UUID_LENGTH] or member
        self._open = SimulatedRebalance(at_ms, name, kind, was_empty, goes_on=goes_on)
        self.rows.append(self._open)

    def _close(self, at_ms: int, outcome: str) -> None:
        if self._open is not None:
            self._open.ended_ms, self._open.outcome, self._open = at_ms, outcome, None

    def _delay_ms(self, row: SimulatedRebalance, at_ms: int) -> int:
        """Whole steps of the initial delay (`rebalance_rows._initial_delay`)."""
        step = self.settings.initial_delay_ms
        waited = at_ms - row.start_ms
        return min(waited, max(step, waited // step * step)) if row.was_empty and step > 0 else 0


def acts_of(behaviour: Behaviour, settings: RunSettings) -> list[Act]:
    """What members do in a run, in order of time."""
    lead_ms = settings.poll_ms // 2 + TRAVEL_MS
    acts = [_led(act, lead_ms) for act in behaviour.acts()]
    if settings.commit_ms:
        silences = [act for act in acts if act.kind in SILENCES]
        acts += [Act(act.at_ms - settings.commit_ms, ActKind.COMMIT, act.member, act.lasts_ms) for act in silences]
    acts.sort(key=lambda act: act.at_ms)
    return acts


def _led(act: Act, lead_ms: int) -> Act:
    """An act so much earlier that its member joins in time.

    It has to poll before, and one that was held has to hear that it was missed.
    """
    if act.kind is ActKind.START:
        return Act(act.at_ms - lead_ms, act.kind, act.member)
    if act.kind is ActKind.PAUSE:
        return Act(act.at_ms, act.kind, act.member, max(1, act.lasts_ms - lead_ms - TRAVEL_MS))
    return act


UUID_LENGTH = 37
"""Length of a dash and UUID, the end of each classic member id."""


class Run:
    """One run of a behaviour.

    Stretches in which a group does nothing but heartbeats are left out by whole heartbeat intervals.
    """

    def __init__(self, behaviour: Behaviour, settings: RunSettings) -> None:
        self.behaviour, self.settings = behaviour, settings
        count = max(len(behaviour.members), 1)
        self.plan = GroupPlan(
            name=behaviour.group,
            members=0,
            topics={"topic": PARTITIONS_EACH * count},
            protocol=settings.protocol,
            assignor=settings.assignor,
            heartbeat_ms=settings.heartbeat_ms,
            poll_ms=settings.poll_ms,
        )
        scenario = Scenario(
            groups=(self.plan,), initial_delay_ms=settings.initial_delay_ms, max_size=settings.max_size, closes=False,
            consumer_session_ms=settings.session_ms[""] if settings.protocol != CLASSIC else 45_000,
            consumer_heartbeat_ms=settings.heartbeat_ms if settings.protocol != CLASSIC else 5_000,
        )  # fmt: skip
        self.recorder = Recorder(settings, self._name_of)
        self.world = SteadyWorld(0)
        policy = policy_for(settings.version)
        self.cluster = QuietCluster(self.world, scenario, policy, self.recorder.watch, do_nothing, do_nothing, do_nothing)
        self.clients: dict[str, AnyMember] = {}
        self._look_ms = 0
        """Time of the next look whether something can be left out."""
        self._rests: list[Rest] = []

    def run(self, acts: Sequence[Act], ends_ms: int | None, other: FinishedRun | None = None) -> FinishedRun:
        """The rebalances of the run in order of time, with the moments of rest.

        It goes on after the last action if the logs do, which end at `ends_ms`. Of `other`, a run under the same settings,
        stretches are taken over in which the behaviour is the same.
        """
        if not acts:
            return FinishedRun([], [], [])
        self.recorder.shift_ms = acts[0].at_ms
        shared = SharedCourse(acts, other) if other is not None and other.acts else None
        place = 0
        while place < len(acts):
            act = acts[place]
            self._run_until(act.at_ms, act)
            # The last contact before a silence is part of it, and acts of one time are not parted.
            if act.kind not in SILENCES and (not place or acts[place - 1].at_ms < act.at_ms) and self._is_quiet():
                self._rest(act)
            if shared is not None and self._rests and self._rests[-1].act is act and (known := shared.after(self._rests[-1])):
                place, then_ms, rows = known
                self.recorder.rows += rows
                self._leave_out(then_ms - act.at_ms)
                continue
            self.world.now_ms = max(self.world.now_ms, act.at_ms - self.recorder.shift_ms)
            self._perform(act)
            place += 1
        if ends_ms is not None:
            self._run_until(ends_ms + self._after_ms(), None)
        return FinishedRun(acts, self.recorder.rows, self._rests)

    def _name_of(self, member_id: str) -> str:
        """Name of a member by its id.

        Empty if its process is gone.
        """
        return next((name for name, client in self.clients.items() if client.member == member_id), "")

    def _leave_out(self, spare_ms: int) -> None:
        """Leave out whole heartbeat intervals of a time in which the group is quiet."""
        left_out_ms = spare_ms // self.plan.heartbeat_ms * self.plan.heartbeat_ms
        self.recorder.shift_ms += left_out_ms
        self.world.skipped_ms += left_out_ms

    def _after_ms(self) -> int:
        """Time after the logs until all that are gone are missed."""
        return max(self.settings.session_ms.values()) + self.settings.heartbeat_ms + QUIET_MS

    def _run_until(self, until_ms: int, act: Act | None) -> None:
        """Run what is due before a time, in the logs' clock."""
        recorder, world, cluster = self.recorder, self.world, self.cluster
        is_over = False
        while not is_over:
            if world.now_ms >= self._look_ms and self._may_leave_out(until_ms):
                if act is None:
                    return
                self._rest(act)
                self._leave_out(until_ms - recorder.shift_ms - world.now_ms - QUIET_MS)
            is_over = cluster.run_until(until_ms - recorder.shift_ms, self._look_ms)

    def _may_leave_out(self, until_ms: int) -> bool:
        """Whether the group is quiet for longer than is worth running."""
        now_ms = self.world.now_ms
        if until_ms - self.recorder.shift_ms - now_ms <= QUIET_MS + self.plan.heartbeat_ms:
            return False
        self._look_ms = now_ms + LOOK_MS
        return self._is_quiet()

    def _rest(self, act: Act) -> None:
        """Note a moment of rest, once before each act."""
        if not (self._rests and self._rests[-1].act is act):
            members = frozenset(client.name for client in self.clients.values() if client.runs)
            self._rests.append(Rest(act, members, len(self.recorder.rows)))

    def _is_quiet(self) -> bool:
        """Whether all members that the coordinator knows are stable, and nothing else goes on."""
        if self.cluster.is_awaited():
            return False
        awake = 0
        latest_ms = self.world.now_ms + LONG_MS
        for client in self.clients.values():
            if client.phase is not _STOPPED and client.paused_until_ms <= latest_ms:
                if not client.is_steady():
                    return False
                awake += 1
        group = self.cluster.seat.coordinator.groups.get(self.plan.name)
        if group is None:
            return not awake
        if isinstance(group, SimpleGroup) or group.state not in AT_REST:
            return False
        return len(group.members) == awake and (isinstance(group, ConsumerGroup) or not (group.pending_join or group.pending_sync))

    # -- actions -----------------------------------------------------------------------------------------------

    def _perform(self, act: Act) -> None:
        if act.kind is ActKind.NUDGE:
            self._nudge()
            return
        client = self.clients.get(act.member)
        if act.kind is ActKind.START:
            if client is None:
                client = self.clients[act.member] = self._client(act.member)
            elif client.runs:
                client.kill()
            client.start()
        elif client is not None and client.runs:
            self._perform_of(client, act)

    def _perform_of(self, client: AnyMember, act: Act) -> None:
        """Let a running client do what an act says."""
        match act.kind:
            case ActKind.CONTACT:
                client.contact()
            case ActKind.COMMIT:
                client.commit_soon(self.settings.commit_ms)
                self._look_ms = max(self._look_ms, self.world.now_ms + self.settings.commit_ms)
            case ActKind.CLOSE:
                client.close()
            case ActKind.KILL:
                client.kill()
            case ActKind.PAUSE:
                client.pause(act.lasts_ms)
            case _:
                client.poll_slowly(act.lasts_ms)

    def _client(self, name: str) -> AnyMember:
        settings, member = self.settings, self.behaviour.members[name]
        plan = replace(
            self.plan,
            session_ms=(settings.session_ms.get(name) or settings.session_ms[""]) + EXPIRY_LATE_MS,
            max_poll_ms=settings.max_poll_ms.get(name) or settings.max_poll_ms[""],
        )
        instance = member.instance or (name if settings.is_static else None)
        return MEMBER_CLASSES[settings.protocol](self.world, self.cluster, plan, name, instance)

    def _nudge(self) -> None:
        """Let the leader join again."""
        group = self.cluster.seat.coordinator.groups.get(self.plan.name)
        leader = getattr(group, "leader", None)
        for client in self.clients.values():
            if client.runs and client.member == leader and client.phase is _STABLE:
                client.nudge()

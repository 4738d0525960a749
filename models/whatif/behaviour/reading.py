"""Reads a group's behaviour from its finished rows.

Where the rows do not tell, the most usual is taken, and `Behaviour.assumed` says so.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from models.incidents.static_membership import is_of_consumers
from models.kafka.observations.libraries import default_timeouts
from models.kafka.simulation.scenario import COOPERATIVE, MODERN
from models.rows import ClientState, MemberSession, Rebalance, RebalanceMember
from models.tolerances import DEFAULT_SESSION_MS, USUAL_SESSION_TIMEOUTS_MS, int_tolerance
from models.units import US_PER_MS
from models.whatif.behaviour.contacts import COMMIT_MS, next_ms
from models.whatif.behaviour.heartbeats import HEARTBEAT_DELAY_MS
from models.whatif.behaviour.members import Behaviour, Life, MemberBehaviour, Nudge, ProcessStretch, StretchKind
from models.whatif.behaviour.tenures import NAMELESS_MEMBER, Roll, Tenure
from models.whatif.configuration import DEFAULT_HEARTBEAT_MS, DEFAULT_MAX_POLL_MS, MODERN_HEARTBEAT_MS

OUTSIDE = frozenset(
    {"unknown", "metadata_change", "subscription_change", "assignor_change", "coordinator_failover", "assignment_store_failed"}
)
"""Causes outside the members' lives."""
LOSSES = frozenset({"member_leave", "member_restart", "session_timeout", "rebalance_timeout"})
"""Causes with which a group loses a member."""
CONTACT_MS = int_tolerance("whatif.reading.contact_ms")
"""Maximum distance of a last contact from the join phase that it was."""
START_MS = int_tolerance("whatif.reading.start_ms")
"""Shortest time between one process and the next one's join."""
WARM_UP_MS = int_tolerance("whatif.reading.warm_up_ms")
"""Time before the logs in which members that were already there come together."""


@dataclass(slots=True)
class SupportingRows:
    """Rows of one group, beside its rebalances."""

    parts: Mapping[str, Sequence[RebalanceMember]] = field(default_factory=dict)
    sessions: Sequence[MemberSession] = ()
    states: Sequence[ClientState] = ()
    heartbeat_ms: int = DEFAULT_HEARTBEAT_MS


def behaviour_of(rows: Sequence[Rebalance], witnesses: SupportingRows, ends_ms: int, *, restarts: bool = True) -> Behaviour:
    """Behaviour of one group's members; `rows` are in order of time.

    `restarts` is whether a member that was silent and came back under another id is taken for a new process, if nothing
    tells.
    """
    begins_ms = rows[0].began // US_PER_MS
    last = rows[-1]
    made = Behaviour(last.group, begins_ms, ends_ms, last.protocol, _assignor(rows), last.protocol_type)
    roll = Roll(witnesses.parts, witnesses.sessions)
    lost_at: int | None = None
    for row in rows:
        roll.add(row)
        if row.cause in LOSSES:
            lost_at = row.ended_at
        elif row.cause == "scheduled_rebalance":
            made.nudges.append(Nudge(row.began // US_PER_MS, None, None if lost_at is None else (row.began - lost_at) // US_PER_MS))
        if row.cause in OUTSIDE:
            made.nudges.append(Nudge(row.began // US_PER_MS, next((person.client_id for person in row.offenders), None)))
    roll.bound()
    settings = _settings(rows, witnesses, _session_ms(roll, made))
    _tell_library_default(made, settings)
    made.heartbeat_ms = MODERN_HEARTBEAT_MS if made.protocol == MODERN else witnesses.heartbeat_ms
    # Commits prolong no session of the consumer protocol (OffsetMetadataManager.commitOffset).
    made.commit_ms = COMMIT_MS if is_of_consumers(made.protocol_type) and made.protocol != MODERN else None
    reader = Reader(made, rows, settings, _starts(witnesses.states), restarts=restarts)
    for actor, tenures in roll.by_actor():
        made.members[actor] = reader.member(actor, tenures)
    _fill(made, rows[0])
    if any(row.measurements_ms.get("session_timeout_ms") for row in rows):
        made.assumed.pop("session", None)
    return made


@dataclass(slots=True)
class Reader:
    """Turns tenures of one actor into processes."""

    made: Behaviour
    rows: Sequence[Rebalance]
    settings: Mapping[str, dict[str, int]]
    starts: Mapping[str, tuple[list[int], list[int]]]
    """New processes and returns of old ones in each client's own log."""
    restarts: bool
    joined_ms: list[int] = field(init=False)

    def __post_init__(self) -> None:
        self.joined_ms = sorted(row.joined_at // US_PER_MS for row in self.rows if row.joined_at is not None)

    def _joined_before(self, at_ms: int) -> int | None:
        """End of the last join phase before a time."""
        index = bisect_left(self.joined_ms, at_ms)
        return self.joined_ms[index - 1] if index else None

    def member(self, actor: str, tenures: Sequence[Tenure]) -> MemberBehaviour:
        """One member with its processes."""
        first = tenures[0]
        timeouts = self.settings.get(actor) or self.settings.get(first.actor) or {}
        made = MemberBehaviour(actor, first.instance, timeouts.get("session_timeout_ms"), timeouts.get("max_poll_interval_ms"))
        life: Life | None = None
        for index, tenure in enumerate(tenures):
            after = tenures[index + 1] if index + 1 < len(tenures) else None
            if life is None:
                life = Life(self._before_ms() if tenure.came_ms is None else tenure.came_ms)
                made.lives.append(life)
            for from_ms, until_ms in tenure.late:
                if until_ms is not None and until_ms - from_ms <= self.made.heartbeat_ms + HEARTBEAT_DELAY_MS:
                    continue  # it was at work, and heard with its next heartbeat
                held_until_ms = until_ms or (after.came_ms if after else None)
                life.stretches.append(ProcessStretch(StretchKind.BUSY if until_ms else StretchKind.PAUSE, from_ms - 1, held_until_ms))
            life = self._go_on(made, life, tenure, after)
        return made

    def _before_ms(self) -> int:
        """Start of a member that was there before any line names it."""
        return self.made.begins_ms if self.rows[0].members_before == 0 else self.made.begins_ms - WARM_UP_MS

    def _go_on(self, member: MemberBehaviour, life: Life, tenure: Tenure, after: Tenure | None) -> Life | None:
        """Add what ends a tenure to its process; None if the process ends."""
        gone_ms, back_ms = tenure.gone_ms, after.came_ms if after is not None else None
        if gone_ms is None and back_ms is None:
            return life
        if gone_ms is None or tenure.how is None:
            return _end(life, (back_ms or self.made.ends_ms) - 1, is_orderly=False)
        if tenure.how == "leave":
            # A leave may arrive right after the join of the next process, which began when this one was over.
            return _end(life, gone_ms if back_ms is None else min(gone_ms, back_ms - START_MS), is_orderly=True)
        if tenure.how == "replaced":
            absent_ms = round(tenure.row.measurements_ms.get("absent_ms") or 0) if tenure.row else 0
            return _end(life, gone_ms - max(absent_ms, 1), is_orderly=True)
        if tenure.how == "poll":
            life.stretches.append(self._late_poll(member, life, tenure, back_ms))
            return life
        if tenure.how == "evicted" and tenure.row is not None and self._was_heard(member, tenure.row, gone_ms):
            life.stretches.append(ProcessStretch(StretchKind.BUSY, tenure.row.began // US_PER_MS - self.made.heartbeat_ms // 4, back_ms))
            return life
        since_ms, heard_ms = self._silent_since(member, tenure, gone_ms, back_ms)
        if not self._is_same(tenure, after):
            life.heard_ms = heard_ms if heard_ms is not None and heard_ms > life.start_ms else None
            return _end(life, since_ms, is_orderly=False)
        life.stretches.append(ProcessStretch(StretchKind.PAUSE, since_ms, back_ms, heard_ms))
        return life

    def _was_heard(self, member: MemberBehaviour, row: Rebalance, gone_ms: int) -> bool:
        """Whether a member that a join phase waited for sent heartbeats.

        It was at work then; else its session would have ended the wait before the rebalance timeout did.
        """
        session_ms = member.session_ms or DEFAULT_SESSION_MS
        return self.made.protocol != MODERN and gone_ms - row.began // US_PER_MS > session_ms + self.made.heartbeat_ms

    def _late_poll(self, member: MemberBehaviour, life: Life, tenure: Tenure, back_ms: int | None) -> ProcessStretch:
        """Stretch between the last poll before a member left and its next one.

        It polled when it joined: if it left sooner than max.poll.interval.ms after that, the interval is shorter.
        """
        gone_ms = tenure.gone_ms or 0
        interval_ms = member.max_poll_ms or DEFAULT_MAX_POLL_MS
        joined_ms = max(self._joined_before(gone_ms) or 0, life.start_ms)
        if gone_ms - interval_ms < joined_ms:
            member.max_poll_ms = interval_ms = max(1, gone_ms - joined_ms - CONTACT_MS)
            self.made.assumed["poll"] = f"max.poll.interval.ms is taken to be {interval_ms / 1000:g} s: no line tells it"
        polled_ms = tenure.row.measurements_ms.get("polled_after_ms") if tenure.row else None
        since_ms = gone_ms - interval_ms
        return ProcessStretch(StretchKind.BUSY, since_ms, since_ms + round(polled_ms) if polled_ms is not None else back_ms)

    def _silent_since(self, member: MemberBehaviour, tenure: Tenure, gone_ms: int, back_ms: int | None) -> tuple[int, int | None]:
        """Begin of a missed member's silence, and its last contact.

        It began midway to the next contact or to the return. The contact is None if that was the end of a join phase.
        """
        if tenure.how == "unsynced":
            return self._joined_before(gone_ms - CONTACT_MS) or gone_ms, None
        if tenure.how == "evicted":
            return (tenure.row.began // US_PER_MS if tenure.row else gone_ms) - self.made.heartbeat_ms // 4, None
        session_ms = member.session_ms or DEFAULT_SESSION_MS
        contact_ms = gone_ms - session_ms
        joined_ms = self._joined_before(contact_ms + CONTACT_MS)
        if contact_ms - (joined_ms or 0) <= CONTACT_MS:
            return contact_ms, None
        latest_ms = next_ms(joined_ms or 0, contact_ms, self.made.heartbeat_ms, self.made.commit_ms)
        if self.made.commit_ms is not None:
            self.made.assumed["commits"] = (
                f"members are taken to commit every {self.made.commit_ms / 1000:g} s, which prolongs a session as a heartbeat does:"
                " no line tells it"
            )
        if back_ms is not None and back_ms > contact_ms:
            latest_ms = min(latest_ms, back_ms)
        return contact_ms + min((latest_ms - contact_ms) // 2, session_ms // 4), contact_ms

    def _is_same(self, tenure: Tenure, after: Tenure | None) -> bool:
        """Whether the process that came back is the one that was silent."""
        if after is None or after.came_ms is None or tenure.gone_ms is None:
            return False
        if after.came_ms < tenure.gone_ms and tenure.how == "expiry":
            return False
        if tenure.how in {"evicted", "unsynced"} or (tenure.row is not None and tenure.row.root_cause == "client_pause"):
            return True
        if self.made.protocol == MODERN and after.member_id == tenure.member_id:
            return True  # each process makes an id of its own
        started, returned = self.starts.get(after.client_id or "", ((), ()))
        from_ms = tenure.gone_ms - (DEFAULT_SESSION_MS if tenure.how == "expiry" else 0)
        if _is_any(started, from_ms, after.came_ms):
            return False
        if _is_any(returned, from_ms, after.came_ms):
            return True
        why = "shows neither" if after.client_id in self.starts else "is not among them"
        self.made.assumed["process"] = (
            f"whether {tenure.actor} came back as the same process or was started anew cannot be known from these logs because its own"
            f" log {why}"
        )
        return not self.restarts


def _end(life: Life, at_ms: int, *, is_orderly: bool) -> Life | None:
    """End a process: None goes on."""
    life.end_ms, life.is_orderly = max(at_ms, life.start_ms + 1), is_orderly
    return None


def _is_any(times: Sequence[int], from_ms: int, until_ms: int) -> bool:
    """Whether one of some sorted times lies between two, both included."""
    return bisect_left(times, from_ms) < bisect_right(times, until_ms)


def _starts(states: Iterable[ClientState]) -> dict[str, tuple[list[int], list[int]]]:
    """New processes and returns of old ones in each client's own log.

    A state that begins where the one before ended belongs to the same process.
    """
    by_client: defaultdict[str, list[ClientState]] = defaultdict(list)
    for state in states:
        if state.started_at is not None:
            by_client[state.client_id].append(state)
    starts: dict[str, tuple[list[int], list[int]]] = {}
    for client, client_states in by_client.items():
        client_states.sort(key=lambda state: state.started_at or 0)
        started, returned = starts[client] = ([], [])
        ended: int | None = None
        for state in client_states:
            if state.state == "UNJOINED":
                (returned if ended is not None and state.started_at == ended else started).append((state.started_at or 0) // US_PER_MS)
            ended = state.ended_at
    return starts


def _assignor(rows: Sequence[Rebalance]) -> str | None:
    """Assignor of a group; only a cooperative one has second rebalances."""
    if any(row.cause == "cooperative_followup" for row in rows):
        return COOPERATIVE
    return next((row.assignor for row in reversed(rows) if row.assignor), None)


def _session_ms(roll: Roll, made: Behaviour) -> int:
    """session.timeout.ms where no line tells it: a usual one that explains each expiry."""
    longest_ms = min(
        (
            tenure.gone_ms - tenure.came_ms
            for tenure in roll.tenures.values()
            if tenure.how == "expiry" and tenure.gone_ms is not None and tenure.came_ms is not None
        ),
        default=DEFAULT_SESSION_MS,
    )
    session_ms = max((usual_ms for usual_ms in USUAL_SESSION_TIMEOUTS_MS if usual_ms <= longest_ms), default=USUAL_SESSION_TIMEOUTS_MS[0])
    name = "group.consumer.session.timeout.ms" if made.protocol == MODERN else "session.timeout.ms"
    made.assumed["session"] = f"{name} is taken to be {session_ms / 1000:g} s, a usual one: no line tells it"
    return session_ms


def _tell_library_default(made: Behaviour, settings: Mapping[str, dict[str, int]]) -> None:
    """Say so where the session timeout is the default of a library."""
    taken = {timeouts["session_timeout_ms"] for timeouts in settings.values() if "session_timeout_ms" in timeouts}
    if "session" in made.assumed and len(taken) == 1 and f" {min(taken) / 1000:g} s," not in made.assumed["session"]:
        made.assumed["session"] = f"session.timeout.ms is taken to be {min(taken) / 1000:g} s, the default of its library: no line tells it"


def _settings(rows: Sequence[Rebalance], witnesses: SupportingRows, session_ms: int) -> dict[str, dict[str, int]]:
    """Timeouts of each actor, those of the group where its own are unknown.

    Where nothing tells those, the defaults of each actor's library. Sessions of the consumer protocol are the brokers' to set.
    """
    is_modern = rows[0].protocol == MODERN
    timeouts: dict[str, dict[str, int]] = {}
    by_library: dict[str, dict[str, int]] = {}
    for session in witnesses.sessions:
        actor = session.instance_id or session.client_id or session.member_id or "?"
        default = default_timeouts(session.library, session.client_version)
        if default is not None and default.session_ms <= session_ms and not is_modern:
            by_library[actor] = {"session_timeout_ms": default.session_ms, "max_poll_interval_ms": default.rebalance_ms}
        session_values = {"session_timeout_ms": session.session_timeout_ms, "max_poll_interval_ms": session.rebalance_timeout_ms}
        timeouts.setdefault(actor, {}).update({name: value for name, value in session_values.items() if value})
    usual: dict[str, int] = {}
    for row in rows:
        for name in ("session_timeout_ms", "max_poll_interval_ms"):
            value = row.measurements_ms.get(name)
            if name == "max_poll_interval_ms" and value is None:
                value = row.measurements_ms.get("rebalance_timeout_ms")
            if value:
                usual[name] = int(value)
        for person in row.offenders:
            actor = person.instance_id or person.client_id or person.member_id or "?"
            actor_timeouts = timeouts.setdefault(actor, {})
            measured = {name: row.measurements_ms.get(name) for name in ("session_timeout_ms", "max_poll_interval_ms")}
            actor_timeouts |= {name: int(value) for name, value in measured.items() if value}
    actors = {part.instance_id or part.client_id or part.member_id or "?" for parts in witnesses.parts.values() for part in parts}
    assumed = {"session_timeout_ms": session_ms}
    return {actor: {**assumed, **by_library.get(actor, {}), **usual, **timeouts.get(actor, {})} for actor in actors | set(timeouts)}


def _fill(made: Behaviour, first: Rebalance) -> None:
    """Add the members without names that were there at the first rebalance."""
    at_ms = made.begins_ms - WARM_UP_MS // 2
    before = sum(1 for member in made.members.values() if member.lives[0].start_ms < at_ms)
    start_ms = made.begins_ms - WARM_UP_MS
    missing = (first.members_before or 0) - before
    if not first.members_before and first.members_after:
        over_ms = (first.joined_at or first.began) // US_PER_MS
        missing = first.members_after - sum(1 for member in made.members.values() if member.lives[0].start_ms <= over_ms)
        start_ms = made.begins_ms
    if not any(name != NAMELESS_MEMBER for name in made.members) and missing <= 0:
        missing = 1  # somebody else was there, or there would have been no rebalance but the first
    for number in range(missing):
        made.members[f"?{number + 1}"] = MemberBehaviour(f"?{number + 1}", lives=[Life(start_ms)])
    if missing > 0:
        made.assumed["names"] = "members without a name in these logs are taken to have stayed throughout"

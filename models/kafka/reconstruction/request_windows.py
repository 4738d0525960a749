"""Rebalances of a classic group, by its requests alone.

Every request stands in kafka-request.log once it is answered, so that the coordinator's steps follow: the join phase ended when
its JoinGroups were answered, it began with the first request or expiry that the coordinator answers with one, and the assignment
was there when the leader's SyncGroup came. Each step is worded as the coordinator's line of it, with the request that shows it
as its place, and `Witness.REQUEST`. If the coordinator's own lines show a step, none is added.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from models.events import Event, Witness, int_field, names_field, text_field
from models.evidence import line_of
from models.kafka.coordinator.protocol.group_states import State
from models.kafka.observations.actions import (
    MEMBER_ID_REQUIRED,
    SYNC_ERRORS,
    answered_at,
    handled_at,
    has_waited,
    is_taken_unanswered,
)
from models.kafka.observations.line_delays import STAMP_US
from models.kafka.reconstruction.answering_brokers import (
    FINE,
    NOT_COORDINATOR,
    REBALANCE_IN_PROGRESS,
    answering_broker,
    assigns,
    gives,
    waited_to_deadline,
)
from models.kafka.reconstruction.epochs.member_signs import HEARTBEATS, EpochSign
from models.kafka.reconstruction.epochs.unlogged_epochs import DOWNGRADE, UnloggedEpochs
from models.kafka.reconstruction.implied_lines import implied_expiry, implied_line
from models.kafka.reconstruction.request_members import ASSUMED_SESSION_US, Membership, RequestSign
from models.tolerances import int_tolerance
from models.units import FOREVER

HOLD_US = int_tolerance("kafka.request_windows.hold_us")
"""How long a request waits before it is read.

By then the other answers of its generation are logged, and the coordinator's line.
"""

HELD_MAX = 10_000
"""Requests that wait at once; beyond it the oldest are read."""

ANSWER_US = int_tolerance("kafka.request_windows.answer_us")
"""Longest time from a heartbeat to the logged time of its answer.

A run of heartbeats has the latter for its last one, from which the session is counted. Heartbeats of a group are often in step, so
another member may hear of an expiry before that.
"""

_READ = frozenset(
    {
        "JoinGroupCompleted",
        "SyncGroupCompleted",
        "HeartbeatCompleted",
        "LeaveGroupCompleted",
        "OffsetCommitCompleted",
        "RequestReceived",
        "ClientCoordinatorLost",
        *HEARTBEATS,
    }
)


@dataclass(slots=True)
class RequestWindows:
    """Follows the requests of one group.

    Times are microseconds on the broker's clock.
    """

    generation: int | None = None
    members: Membership = field(default_factory=Membership)
    leader: str | None = None
    joined_at: int | None = None
    """Start of the generation, or its first request in the log."""
    begins_midway: bool = True
    """No line shows how the generation began."""
    is_synced: bool = False
    calm_at: int | None = None
    """The last heartbeat that was answered without a rebalance."""
    noticed: RequestSign | None = None
    """The first answer that notified a member of a rebalance."""
    unanswered: dict[str, RequestSign] = field(default_factory=dict)
    """JoinGroups that came (TRACE) and are not answered yet, by client."""
    covered_at: int | None = None
    """The coordinator's own last line of the group."""
    is_modern: bool = False
    """The group has epochs: its members send heartbeats of a newer protocol."""
    downgraded: EpochSign | None = None
    """The leave that made it a classic one, until its next generation."""
    pending_events: deque[Event] = field(default_factory=deque)
    epochs: UnloggedEpochs = field(default_factory=UnloggedEpochs)
    """The same for groups of the consumer protocol."""
    broker: str | None = None
    """The one that answers as coordinator."""
    answered: RequestSign | None = None
    """Its last answer."""
    unheard: dict[str, RequestSign] = field(default_factory=dict)
    """JoinGroups of new members that were taken without an answer, by member id."""
    stored: int | None = None
    """The last stored generation, from which another coordinator goes on."""
    is_phase_told: bool = False
    """The coordinator's own last line began a join phase."""
    may_be_stored: bool = False
    """Another coordinator took over before an assignment was answered."""

    def feed(self, event: Event, at: int) -> None:
        """Take the group's next event, at its time on the coordinator's clock."""
        self.epochs.feed(event, at)
        if event.witness is Witness.COORDINATOR:
            self._cover(event)
        elif event.name in _READ:
            self.pending_events.append(event if event.witness is Witness.REQUEST else replace(event, at_us=at))

    def until(self, at: int) -> Iterator[Event]:
        """The coordinator's steps that are known by a time, in order."""
        while self.pending_events and (self.pending_events[0].order_us + HOLD_US < at or len(self.pending_events) > HELD_MAX):
            yield from self._read(self.pending_events.popleft())
        yield from self.epochs.until(at)

    def finish(self, logs_end: int) -> Iterator[Event]:
        """Steps at the end of the logs: expired sessions, an open rebalance."""
        yield from self.until(FOREVER)
        yield from self.epochs.finish()
        if self.covered_at is not None or self.is_modern or self.generation is None:
            return
        self.members.begin_anew_if_lost(logs_end)
        if self.is_synced and self.members.has_ended(logs_end):  # before that, silent members may wait for their assignment
            yield from self._emptied(logs_end)
        elif self.waiting_since is not None:
            yield from self._started(self._first([*self.members.gone.values(), *self.unanswered.values(), *self.unheard.values()]))

    @property
    def waiting_since(self) -> int | None:
        """When a rebalance began that no step was worded of yet."""
        unread = self.epochs.waiting_since
        if self.covered_at is not None:
            return unread
        noticed = [self.noticed] if self.noticed else []
        signs = [*self.members.gone.values(), *self.unanswered.values(), *self.unheard.values(), *noticed]
        return min([sign.at for sign in signs] + ([unread] if unread is not None else []), default=None)

    def _cover(self, event: Event) -> None:
        """The coordinator tells itself where the group is."""
        self.covered_at = max(self.covered_at or 0, event.time_us)
        self.noticed = None
        self.members.gone = {}
        self.is_phase_told = event.name == "RebalanceStarted" or (self.is_phase_told and event.name not in _AT_GENERATION)
        if event.generation is not None and event.generation != self.generation and event.name in _AT_GENERATION:
            self._stand_at(event.generation, event.time_us)

    def _is_covered(self, at: int) -> bool:
        return self.covered_at is not None and at <= self.covered_at + HOLD_US

    def _stand_at(self, generation: int, at: int) -> None:
        """Go on from a generation whose beginning no request shows."""
        self.generation, self.joined_at, self.calm_at = generation, at, None
        self.begins_midway, self.is_synced, self.noticed, self.leader = True, True, None, None
        self.members.peers, self.members.gone, self.members.is_complete = {}, {}, False

    def _read(self, event: Event) -> Iterator[Event]:
        if event.name in HEARTBEATS:
            self.is_modern = self.is_modern or int_field(event, "error_code") in FINE
        elif event.name == "JoinGroupCompleted":
            yield from self._joined(event)
        elif self.is_modern:
            return
        elif event.witness is Witness.CLIENT:
            self.members.lose(event.client_id, event.time_us)
        elif event.name == "RequestReceived":
            self._received(event)
        else:
            yield from self._moved(event)
            yield from self._completed(event)

    def _completed(self, event: Event) -> Iterator[Event]:
        """Read an answer other than a JoinGroup's."""
        if event.name == "SyncGroupCompleted":
            yield from self._synced(event)
        elif event.name == "LeaveGroupCompleted":
            yield from self._left(event)
        elif event.name == "HeartbeatCompleted":
            self._heartbeat(event)
        else:
            self._committed(event)

    def _received(self, event: Event) -> None:
        """TRACE: a JoinGroup came, and may never be answered."""
        if text_field(event, "api") == "JOIN_GROUP" and event.client_id and not self._is_covered(event.time_us):
            self.unanswered[event.client_id] = RequestSign(event.time_us, event)

    def _joined(self, event: Event) -> Iterator[Event]:
        yield from self._moved(event)
        code, generation = int_field(event, "error_code"), int_field(event, "response_generation")
        self.unanswered.pop(event.client_id or "", None)
        if code == MEMBER_ID_REQUIRED:
            self.members.hand_out(event, answered_at(event))
        elif code == NOT_COORDINATOR and has_waited(event):
            yield from self._lost(event)
        elif code not in FINE and has_waited(event):
            self.members.keep(event.instance_id, event, answered_at(event))
            if event.member_id:
                self._waited_in_vain(event, event.member_id)
        if code not in FINE or generation is None or not event.member_id:
            return
        self.is_modern = text_field(event, "leader_id") is None  # a consumer group has none, nor have its classic members
        if self.is_modern:
            return
        self._take_back(generation)
        is_again = generation == self.generation and self.may_be_stored and not self.is_synced
        if (is_again or generation == self.stored != self.generation) and event.member_id in self.members.peers:
            yield from self._load(event, generation)
        if generation == self.generation:
            self._readmitted(event)
        else:
            yield from self._phase_over(event, generation)

    def _waited_in_vain(self, event: Event, member: str) -> None:
        """Note that a join phase was under way: a sender that went meanwhile.

        Its JoinGroup waited for the end of the phase, and was refused instead.
        """
        sign = RequestSign(handled_at(event), line_of(event))
        if member not in self.members.peers:
            self.unheard.setdefault(member, sign)
        elif not is_taken_unanswered(event):
            self._notice(sign)

    def _take_back(self, generation: int) -> None:
        """Go on from the last epoch of a downgraded group."""
        sign = self.epochs.downgrade
        if sign is not None and sign.at > (self.joined_at or 0) and generation > (self.generation or 0):
            self._stand_at(generation - 1, sign.at)
            self.downgraded = sign

    def _load(self, event: Event, generation: int) -> Iterator[Event]:
        """Go on from the stored generation, which old members are given again."""
        self.generation, self.leader, self.is_synced, at = generation, text_field(event, "leader_id"), True, handled_at(event)
        yield from () if self._is_covered(at) else (implied_line("GroupLoaded", event, at, generation=generation),)

    def _readmitted(self, event: Event) -> None:
        """Add a member that was given the generation in force."""
        at = answered_at(event)
        self.members.admit(event.member_id or "", event, at)
        listed = names_field(event, "members")
        if listed and self.begins_midway:
            self.members.start(listed, [event], at, is_complete=True)
            self.leader, self.begins_midway = text_field(event, "leader_id"), False

    def _phase_over(self, event: Event, generation: int) -> Iterator[Event]:
        """End the join phase at the first answer of a new generation."""
        answers = [event, *(answer for answer in self.pending_events if gives(answer, generation))]
        joined_at = min(map(answered_at, answers))
        listed = next((names for answer in answers if (names := names_field(answer, "members"))), None)
        roster = listed or [answer.member_id for answer in answers if answer.member_id]
        if not self._is_covered(joined_at):
            arrivals = [RequestSign(handled_at(answer), answer) for answer in answers]
            if self.generation is not None and generation != self.generation + 1:
                yield from self._emptied_unseen(min(sign.at for sign in arrivals))
            yield from self._phase_steps(arrivals, roster, generation, joined_at)
            by = next((answer for answer in answers if names_field(answer, "members")), event)
            fields = {"roster": list(roster), **({"member_count": len(roster)} if listed else {})}
            yield implied_line("GenerationStarted", by, joined_at, generation=generation, fields=fields)
        self.generation, self.joined_at, self.leader = generation, joined_at, text_field(event, "leader_id")
        self.begins_midway = self.is_synced = self.may_be_stored = False
        self.calm_at = self.noticed = None
        self.unheard = {}
        self.members.start(roster, answers, joined_at, is_complete=listed is not None)

    def _phase_steps(self, arrivals: Sequence[RequestSign], roster: list[str], generation: int, joined_at: int) -> Iterator[Event]:
        """Steps before a generation: expiries, the start, removals."""
        follows = generation - 1 == self.generation
        if not follows:
            self.members.empty()
            self.joined_at = self.calm_at = self.noticed = None
        stayed = set(roster)
        dropped = waited_to_deadline(arrivals, joined_at)
        ended = self._expired(joined_at, STAMP_US)  # a phase ends as the last one awaited expires
        expired = self.members.without_replaced(ended, arrivals)
        silent = [(member, sign) for member, sign in expired if member not in stayed and not (dropped and sign.doubt_us)]
        yield from (implied_expiry(member, sign) for member, sign in silent)
        unused = [(member, sign) for member, sign in self.members.unused(joined_at) if member not in stayed]
        for member, sign in unused:
            del self.members.handed_out[member]
            yield implied_line("PendingMemberExpired", sign.event, sign.at, member_id=member)
        known = self.members.without_returns(arrivals) if follows and self.is_synced else arrivals
        first = self._first([*known, *self.members.gone.values(), *self.unheard.values(), *(sign for _, sign in silent)])
        yield from self._started(first, generation - 1)
        removed = self.members.missing({*stayed, *self.members.gone, *(member for member, _ in silent)}, arrivals) if follows else []
        if removed:
            event = self.members.peers[removed[0]].heard
            yield implied_line("MembersNotRejoined", event, joined_at, fields={"members": removed})

    def _expired(self, by: int, stamp_us: int = 0) -> Iterator[tuple[str, RequestSign]]:
        """Sessions that ran out by a time.

        While heartbeats are answered without a rebalance, none has: a member whose session would long be over was heard by a
        coordinator without a log, and may expire at any time after.
        """
        since, noticed = self._since, self.noticed.at if self.noticed is not None else FOREVER
        latest = by if any(sign.at < noticed for sign in self.members.gone.values()) else min(noticed, by)
        for member, sign in self.members.silent(by + stamp_us):
            if sign.at + ANSWER_US < since < latest:
                yield member, RequestSign(latest, sign.event, latest - since)
                continue
            at = min(max(noticed if 0 < sign.at - noticed <= ANSWER_US else sign.at, since), by)
            yield member, RequestSign(at, sign.event, min(sign.doubt_us, at - since))

    @property
    def _since(self) -> int:
        """Nothing began before this time."""
        return max((at for at in (self.joined_at, self.calm_at) if at is not None), default=-FOREVER)

    def _first(self, signs: list[RequestSign]) -> RequestSign:
        """The request that began the rebalance, or first shows it."""
        if self.downgraded is not None:
            return RequestSign(self.downgraded.at, self.downgraded.event)
        first = min([*signs, *filter(None, [self.noticed])], key=lambda sign: sign.at)
        return RequestSign(max(first.at, self._since), first.event)

    def _started(self, first: RequestSign, generation: int | None = None) -> Iterator[Event]:
        fields: dict[str, object] = {}
        if self.members.peers:
            state = State.STABLE if self.is_synced else State.COMPLETING_REBALANCE
            fields = {"roster": list(self.members.peers), "reason_state": state.value}
        if self.downgraded is not None:
            fields["reason_id"], self.downgraded = DOWNGRADE, None
        before = self.generation if generation is None else generation
        yield implied_line("RebalanceStarted", first.event, first.at, generation=before, fields=fields)

    def _synced(self, event: Event) -> Iterator[Event]:
        code, at = int_field(event, "error_code"), answered_at(event)
        if not self._is_current(event):
            return
        if code not in FINE:
            if code in SYNC_ERRORS and code != NOT_COORDINATOR:
                self._notice(RequestSign(at, event))
                if has_waited(event):  # its session begins anew (GroupCoordinator.propagateAssignment)
                    self.members.hear(event, at)
            return
        self.members.hear(event, at)
        self.stored = self.generation
        if self.is_synced and not self.begins_midway:
            return
        was_synced, self.is_synced = self.is_synced, True
        if was_synced or self._is_covered(at):
            return
        leads = (answer for answer in (event, *self.pending_events) if assigns(answer, self.generation))
        by = next(leads, None)
        at = max(handled_at(by) if by is not None else at, self.joined_at or 0)
        leader = by.member_id if by is not None else self.leader
        count = {"member_count": len(self.members.peers)} if self.members.is_complete else {}
        yield implied_line("AssignmentReceived", by or event, at, generation=self.generation, member_id=leader, fields=count)

    def _heartbeat(self, event: Event) -> None:
        code = int_field(event, "error_code")
        if is_taken_unanswered(event) and event.generation == self.generation:
            self.members.hear(event, handled_at(event))
        if code not in (*FINE, REBALANCE_IN_PROGRESS) or not self._is_current(event):
            return
        last = int_field(event, "last_at_us")
        at = last if last is not None else handled_at(event)
        self.members.hear(event, at)
        if code in FINE:
            self.calm_at = max(self.calm_at or 0, at)
        elif self.is_synced:  # brokers before 2.2 also answer so while the assignment is awaited
            self._notice(RequestSign(handled_at(event), event))

    def _committed(self, event: Event) -> None:
        last = int_field(event, "last_at_us")
        is_taken = int_field(event, "error_code") in FINE or is_taken_unanswered(event)
        if is_taken and event.generation is not None and event.generation == self.generation:
            self.members.hear(event, last if last is not None else handled_at(event))

    def _notice(self, sign: RequestSign) -> None:
        if (self.noticed is None or sign.at < self.noticed.at) and not self._is_covered(sign.at):
            self.noticed = sign

    def _is_current(self, event: Event) -> bool:
        """Whether a request is of the generation in force.

        One of a later generation shows that this one began unseen.
        """
        generation = event.generation
        if generation is None or not event.member_id:
            return False
        if self.generation is None or generation > self.generation:
            if int_field(event, "error_code") not in (*FINE, REBALANCE_IN_PROGRESS):
                return False
            self._stand_at(generation, handled_at(event))
        return generation == self.generation

    def _left(self, event: Event) -> Iterator[Event]:
        if int_field(event, "error_code") not in FINE and not is_taken_unanswered(event):
            return
        sign = RequestSign(handled_at(event), event)
        leavers = names_field(event, "members") or [event.member_id or ""]
        is_rebalancing = bool(self.members.gone or self.unheard) or self.noticed is not None
        named = [(who, self.members.leave(who, sign)) for who in leavers if who]
        left = [(who, member) for who, member in named if member is not None]
        if self._is_covered(sign.at) or self.is_phase_told:
            for _, member in left:
                self.members.gone.pop(member, None)
            return
        for who, member in left:
            if who != member:  # an administrator names static members by their instance (KIP-345)
                yield implied_line("MemberLeft", event, sign.at, member_id=member, instance_id=who)
        is_over = bool(left) and self._knows_all(sign.at) and self.members.has_ended(sign.at, is_sure=True, is_rebalancing=is_rebalancing)
        if is_over and not self._goes_on():
            yield from self._emptied(sign.at)

    def _knows_all(self, at: int) -> bool:
        """Whether all members are known.

        Of a log that begins midway they are once each must have been heard.
        """
        if self.begins_midway and self.joined_at is not None and at - self.joined_at >= (self.members.session_us or ASSUMED_SESSION_US):
            self.members.is_complete = True
        return self.members.is_complete

    def _goes_on(self) -> bool:
        """Whether somebody joined meanwhile and is in the next generation."""
        return any(gives(answer, (self.generation or 0) + 1) for answer in self.pending_events)

    def _emptied_unseen(self, by: int) -> Iterator[Event]:
        """Empty the group before a generation that skips one, or begins anew."""
        if self._knows_all(by) and self.members.has_ended(by):
            yield from self._emptied(by)

    def _emptied(self, by: int) -> Iterator[Event]:
        """The last member went."""
        silent = [(member, sign.halfway()) for member, sign in self._expired(by)]
        yield from (implied_expiry(member, sign) for member, sign in silent)
        signs = [*self.members.gone.values(), *(sign for _, sign in silent)]
        last = max(signs, key=lambda sign: sign.at)
        yield from self._started(self._first([*signs, *self.unheard.values()]))
        self.unheard = {member: sign for member, sign in self.unheard.items() if sign.at > last.at}
        generation = (self.generation or 0) + 1
        yield implied_line("GroupEmptied", last.event, max(last.at, self._since), generation=generation)
        self.generation, self.joined_at, self.leader = generation, last.at, None
        self.calm_at = self.noticed = self.stored = None
        self.is_synced = self.begins_midway = False
        self.members.empty()

    def _lost(self, event: Event) -> Iterator[Event]:
        """End a join phase whose coordinator gave the group up."""
        at = answered_at(event)
        if self._is_covered(at) or self.generation is None:
            return
        joins = (answer for answer in (event, *self.pending_events) if answer.name == "JoinGroupCompleted")
        parked = (answer for answer in joins if int_field(answer, "error_code") == NOT_COORDINATOR)
        arrivals = [RequestSign(handled_at(answer), answer) for answer in parked if has_waited(answer)]
        if max(sign.at for sign in arrivals) < self._since:
            return  # told once for all of them
        yield from self._given_up([*arrivals, *self.members.gone.values()], RequestSign(at, event))

    def _given_up(self, signs: list[RequestSign], over: RequestSign) -> Iterator[Event]:
        """End a rebalance with its coordinator.

        The next one has the members of the last generation.
        """
        yield from self._started(self._first(signs))
        yield implied_line("GroupUnloaded", over.event, over.at)
        self._taken_over(over.at, over.at)

    def _taken_over(self, earliest: int, latest: int) -> None:
        """Go on at the coordinator that took over between two times."""
        self.may_be_stored = not self.is_synced
        self.joined_at, self.calm_at, self.noticed, self.unheard = earliest, None, None, {}
        self.members.begin_anew(earliest, latest)

    def _moved(self, event: Event) -> Iterator[Event]:
        """Go on at another broker, which coordinates the group since members lost the former."""
        broker, former = answering_broker(event), self.answered
        if broker is None:
            return
        lost_at = self.members.begin_anew_if_lost(handled_at(event))
        moved = former is not None and self.broker not in (None, broker)
        if moved and former is not None and handled_at(event) < former.at:
            return  # one clock of the two is off
        self.broker, self.answered = broker, RequestSign(answered_at(event), line_of(event))
        if not moved or former is None or self.generation is None:
            return
        earliest, signs = max(former.at, min(lost_at, handled_at(event))), [*self.members.gone.values(), *self.unheard.values()]
        if (signs or self.noticed is not None) and not self._is_covered(former.at):
            yield from self._given_up(signs, RequestSign(earliest, former.event))
        self._taken_over(earliest, handled_at(event))


_AT_GENERATION = frozenset({"RebalanceStarted", "GenerationStarted", "AssignmentReceived", "GroupEmptied", "GroupLoaded"})
"""Lines of the coordinator that tell where a group is."""

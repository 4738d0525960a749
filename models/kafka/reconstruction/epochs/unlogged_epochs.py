"""Epochs that no coordinator tells, by members' logs or requests.

Each join shows the epoch that it raised, each leave raises one, and an epoch that somebody reached without either was raised unseen: by
the end of a session, a change of topics or subscriptions, or a member without a log. Each step is worded as the coordinator's line of it,
with the sign that shows it as its place. What a coordinator tells itself is left to its lines: signs wait for these first.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from models.events import Event, Witness, names_field
from models.kafka.observations.reconciliation import CLASSIC_MEMBER_REJOINED, MEMBER_STABLE
from models.kafka.reconstruction.epochs.member_signs import (
    ROUND_TRIP_US,
    SHARE_HEARTBEAT,
    EpochPeer,
    EpochSign,
    EpochTurn,
    SignKind,
    group_type_of,
    signs_in,
    step_by,
)
from models.kafka.reconstruction.epochs.member_steps import UNREVOKED
from models.kafka.reconstruction.epochs.partition_owners import PartitionOwners
from models.tolerances import int_tolerance
from models.units import FOREVER

WAIT_US = int_tolerance("kafka.unlogged_epochs.hold_us")
"""How long a sign waits for the coordinator's lines and others' signs."""

SIGNS_HELD_MAX = 10_000
"""Signs that wait at once; beyond it the oldest are read."""

PEERS_MAX = 10_000
"""Members that are remembered; beyond it the oldest go."""

FOLLOWS_US = int_tolerance("kafka.unlogged_epochs.follows_us")
"""Longest time from an epoch to an assignment for which others gave up."""

ALIVE_US = int_tolerance("kafka.unlogged_epochs.alive_us")
"""A member that was heard this recently was not silent."""

ALIVE_BEATS = int_tolerance("kafka.unlogged_epochs.alive_beats")
"""The same in its own heartbeats."""

UNHEARD, NOTICED, STUCK = "its session ended unseen", "its session had ended when it was heard again", "failed to transition from epoch"
"""Why a member was removed, as signs show it; read by `lines`."""

DOWNGRADE = "downgrade_from_consumer"
"""Why the coordinator rebalances a downgraded group (its `reason_id`)."""

SHOWN_BY = "shown_by"
"""Field of an epoch that was raised unseen: what shows it."""

REQUESTS, TOPICS_EXIST, NEW_PARTITIONS, TAKEN, GIVEN, NOTHING = "requests", "topics exist", "new partitions", "taken", "given", "nothing"
"""What may show it: requests, or what became of partitions."""

_TELLING = frozenset({SignKind.LEFT, SignKind.FENCED, SignKind.JOINED, SignKind.REACHED})
"""Signs that tell whether a member was still there."""

_INSIDE, _OUTSIDE = frozenset({SignKind.JOINED, SignKind.REACHED}), frozenset({SignKind.LEFT, SignKind.FENCED})
"""Signs of a member in the group, and of one outside."""

_COORDINATOR_LINES = frozenset(
    {"GroupEpochBumped", "TargetComputed", "ModernMemberJoined", "ModernMemberLeft", "ModernMemberFenced", "ModernMemberMoved"}
)


@dataclass(slots=True)
class UnloggedEpochs:
    """Words the steps of one group that its coordinator doesn't tell."""

    epoch: int | None = None
    epoch_at: int = 0
    """When the last known epoch was raised."""
    told_from: int | None = None
    """The coordinator's first line, from which on it tells everything."""
    peers: dict[str, EpochPeer] = field(default_factory=dict)
    members: dict[str, str | None] = field(default_factory=dict)
    """Members by the signs that were read, with their member ids."""
    gone_at: dict[str, int] = field(default_factory=dict)
    """Epochs by which members were gone; earlier ones come late."""
    absent: dict[str, None] = field(default_factory=dict)
    """Members whose sessions will end unless they come back.

    Static ones that left for a time, and those whose clients are others by now.
    """
    fenced: dict[str, EpochSign] = field(default_factory=dict)
    """Members that heard of their removal, which no known epoch explains."""
    owners: PartitionOwners = field(default_factory=PartitionOwners)
    turn: EpochTurn | None = None
    """The first new assignment since that no known epoch explains."""
    signs: deque[EpochSign] = field(default_factory=deque)
    consumers: dict[str, None] = field(default_factory=dict)
    """Members of the consumer protocol; without any the group is classic."""
    downgrade: EpochSign | None = None
    """The last consumer's leave, which makes the group a classic one."""

    def feed(self, event: Event, at: int) -> None:
        """Take the group's next event, at its time on the coordinator's clock."""
        if event.witness is Witness.COORDINATOR:
            if event.name in _COORDINATOR_LINES:
                self._follow_coordinator(event)
            return
        signs = signs_in(event, at, self.peers)
        if signs:
            self.signs.extend(self._of_epochs(signs))
        while len(self.peers) > PEERS_MAX:
            del self.peers[next(iter(self.peers))]

    def _of_epochs(self, signs: list[EpochSign]) -> Iterator[EpochSign]:
        """Signs that are of a group with epochs.

        The first consumer that joins makes it one; classic members are taken over (GroupMetadataManager.convertToConsumerGroup).
        """
        for sign in signs:
            if sign.is_classic:
                if self.consumers:
                    yield sign
                elif sign.kind in _OUTSIDE:
                    self.peers.pop(sign.peer, None)
                continue
            if sign.kind in _INSIDE and not self.consumers:
                yield from self._stayed(sign)
            if sign.kind in _INSIDE:
                self.consumers[sign.peer], self.downgrade = None, None
                while len(self.consumers) > PEERS_MAX:
                    del self.consumers[next(iter(self.consumers))]
            elif sign.kind in _OUTSIDE and self.consumers:
                self.consumers.pop(sign.peer, None)
                if self.told_from is None and not self.consumers and any(peer.is_classic and peer.epoch for peer in self.peers.values()):
                    self.downgrade = sign  # else the coordinator tells it, and which consumers have no log
            yield sign

    def _stayed(self, by: EpochSign) -> Iterator[EpochSign]:
        """Classic members of the group, as a consumer joins it."""
        for key, peer in self.peers.items():
            if peer.is_classic and peer.epoch:
                yield EpochSign(SignKind.STAYED, by.at, by.event, key, peer.member_id, peer.epoch, is_classic=True)

    def until(self, at: int) -> Iterator[Event]:
        """The coordinator's steps that are known by a time, in order."""
        while self.signs and (self.signs[0].at + WAIT_US < at or len(self.signs) > SIGNS_HELD_MAX):
            yield from self._read(self.signs.popleft())

    def finish(self) -> Iterator[Event]:
        """Steps at the logs' end: an epoch that nobody named any more."""
        yield from self.until(FOREVER)
        turn, removals = self.turn, [sign for sign in self.fenced.values() if sign.at >= self.epoch_at]
        if self.epoch is None or self.told_from is not None:
            return
        if turn is not None and (turn.robbed or turn.shown == GIVEN):
            yield from self._unlogged_until(self.epoch + 1, turn.sign, turn)
        elif removals:
            yield from self._unlogged_until(self.epoch + 1, removals[0], self._turn(removals[0]))

    @property
    def waiting_since(self) -> int | None:
        """The time of the first sign that was not read."""
        return self.signs[0].at if self.signs and not self._is_logged(self.signs[0].at) else None

    def _follow_coordinator(self, event: Event) -> None:
        """The coordinator tells itself where the group is."""
        if self.told_from is None:
            self.told_from = event.time_us
        if event.generation is not None:
            self.epoch, self.epoch_at, self.turn = event.generation, event.time_us, None

    def _is_logged(self, at: int) -> bool:
        return self.told_from is not None and at >= self.told_from - ROUND_TRIP_US

    # -- signs -----------------------------------------------------------------------------------------------

    def _read(self, sign: EpochSign) -> Iterator[Event]:
        if sign.kind is SignKind.STAYED:
            self._stays(sign)
        elif self._is_logged(sign.at) and not self._is_beyond(sign):
            self._note(sign)
        elif sign.kind is SignKind.JOINED:
            yield from self._joined(sign)
        elif sign.kind is SignKind.LEFT:
            yield from self._left(sign)
        elif sign.kind is SignKind.SUBSCRIBED:
            yield from self._subscribed(sign)
        elif sign.kind is SignKind.REACHED:
            yield from self._reached(sign)
        elif sign.kind is SignKind.TURNED:
            if self.turn is None and (sign.at - self.epoch_at > FOLLOWS_US or self._gives_anew(sign)):
                self.turn = self._turn(sign)
        else:
            self._note(sign)

    def _is_beyond(self, sign: EpochSign) -> bool:
        """Whether a join shows that the coordinator's lines have ended."""
        if sign.kind is not SignKind.JOINED or self.epoch is None or (sign.epoch or 0) <= self.epoch:
            return False
        self.told_from = None
        return True

    def _note(self, sign: EpochSign) -> None:
        """Keep who is a member and has which partitions."""
        if sign.kind is SignKind.JOINED or (sign.kind is SignKind.REACHED and (sign.epoch or 0) > self.gone_at.get(sign.peer, -1)):
            self._comes(sign)
        elif sign.kind is SignKind.LEFT:
            self._goes(sign.peer)
        elif sign.kind is SignKind.AWAY and sign.peer in self.members:
            self.absent[sign.peer] = None
        elif sign.kind is SignKind.FENCED and sign.peer in self.members:
            self.fenced[sign.peer] = sign
        elif sign.kind is SignKind.TOOK:
            self.owners.take(sign.peer, names_field(sign.event, "partitions"))
        elif sign.kind is SignKind.GAVE:
            self.owners.give(names_field(sign.event, "partitions"))

    def _stays(self, sign: EpochSign) -> None:
        """A classic member is in the group, whose generation is its epoch."""
        self.members[sign.peer] = sign.member_id
        if not self._is_logged(sign.at) and (sign.epoch or 0) > (self.epoch or 0):
            self.epoch, self.epoch_at, self.turn = sign.epoch, sign.at, None

    def _comes(self, sign: EpochSign) -> None:
        """Add a member.

        What its client was before, by another id, stays until its session ends.
        """
        former = self.members.get(sign.peer)
        if None not in (former, sign.member_id) and former != sign.member_id and sign.event.instance_id is None:
            ghost = f"{sign.peer} {former}"
            self.members[ghost], self.peers[ghost] = former, EpochPeer(former, sign.event.client_id, sign.event.instance_id)
            self.absent[ghost] = None
            self.owners.rename(sign.peer, ghost)
        if (place := self._place_of(sign)) is not None and place != sign.peer:
            self._goes(place)
        self.members[sign.peer] = sign.member_id
        self.gone_at.pop(sign.peer, None)
        if sign.kind is SignKind.JOINED:
            self.absent.pop(sign.peer, None)
        for by_peer in (self.members, self.gone_at):
            while len(by_peer) > PEERS_MAX:
                del by_peer[next(iter(by_peer))]

    def _goes(self, peer: str) -> None:
        self.members.pop(peer, None)
        self.absent.pop(peer, None)
        self.fenced.pop(peer, None)
        self.gone_at[peer] = self.epoch or 0
        self.owners.leave(peer)

    def _joined(self, sign: EpochSign) -> Iterator[Event]:
        """A member joined, which raised the epoch that it was given."""
        epoch = sign.epoch or 0
        is_one_life = epoch > 1 or sign.at - self.epoch_at <= WAIT_US
        if self.epoch is not None and epoch <= self.epoch and is_one_life and self.members.keys() - {sign.peer}:
            if self._takes_its_place(sign) or self._is_member(sign):
                self._note(sign)  # who takes its place again, or is still a member, raises no epoch
                return
            epoch = self.epoch + 1  # the answer names that of the last assignment: the next one is delayed (assignment.interval.ms)
        yield from self._raised_before(epoch, sign)
        at = max(sign.at, self.epoch_at)
        yield step_by("ModernMemberJoined", sign, at, member=sign.member_id, client=sign.event.client_id, instance=sign.event.instance_id)
        yield self._raised(sign, at, epoch, member=sign.member_id)
        yield from self._steps(sign)
        self._note(sign)

    def _takes_its_place(self, sign: EpochSign) -> bool:
        """Whether a static member is back.

        A new one raises an epoch, which others reach without another reason.
        """
        if sign.event.instance_id is None or self._place_of(sign) is not None:
            return sign.event.instance_id is not None
        raised = (other for other in self.signs if other.kind in {SignKind.SUBSCRIBED, *_OUTSIDE} or (other.epoch or 0) > (self.epoch or 0))
        return next((other.kind for other in raised), SignKind.LEFT) is not SignKind.REACHED

    def _place_of(self, sign: EpochSign) -> str | None:
        """The member whose instance id one that joins has."""
        instance, places = sign.event.instance_id, [sign.peer] if sign.peer in self.members else [*self.members]
        return next((peer for peer in places if instance and peer in self.peers and self.peers[peer].instance_id == instance), None)

    def _is_member(self, sign: EpochSign) -> bool:
        """Whether one that joins was a member all the time."""
        is_known = sign.epoch == self.epoch and self.members.get(sign.peer, "") == sign.member_id
        return is_known and sign.peer not in self.fenced

    def _raised_before(self, epoch: int, by: EpochSign) -> Iterator[Event]:
        """Epochs between the last known one and that of a sign."""
        while (earlier := self._first_join(epoch, by)) is not None:
            self.signs.remove(earlier)
            yield from self._joined(earlier)
        if self.epoch is not None and epoch > self.epoch + 1:
            yield from self._unseen(epoch - 1, by)

    def _first_join(self, before: int, by: EpochSign) -> EpochSign | None:
        """The unread join with the lowest unknown epoch, before a sign of it."""
        in_time = (join for join in self.signs if join.kind is SignKind.JOINED and join.at - by.at <= ROUND_TRIP_US)
        joins = [join for join in in_time if (self.epoch or 0) < (join.epoch or 0) < before]
        return min(joins, key=lambda join: join.epoch or 0, default=None)

    def _left(self, sign: EpochSign) -> Iterator[Event]:
        known = self.members.get(sign.peer)
        back = self._return_of(sign)
        if back is not None and back.epoch == self.epoch and known == back.member_id:
            return  # its coordinator was away: it is still a member as it joins again
        if self.epoch is None or sign.peer not in self.members or not self._counts(sign):
            self._note(sign)
            return
        yield from self._joined_before(sign)
        if sign is self.downgrade:
            self._goes(sign.peer)  # no epoch follows, but a rebalance of the classic group (GroupMetadataManager.convertToClassicGroup)
            if sign.event.witness is Witness.CLIENT:
                fields = {"reason_id": DOWNGRADE, "reason_state": "Stable"}
                yield step_by("RebalanceStarted", sign, max(sign.at, self.epoch_at), generation=self.epoch, fields=fields)
            return
        at = max(sign.at, self.epoch_at)
        member = sign.member_id or known
        yield step_by("ModernMemberLeft", sign, at, member=member, client=sign.event.client_id, instance=sign.event.instance_id)
        self._goes(sign.peer)
        yield self._raised(sign, at, (self.epoch or 0) + 1)

    def _counts(self, sign: EpochSign) -> bool:
        """Whether a leave raised an epoch.

        That of a member that was out, or not heard, didn't: the number of a later join shows it.
        """
        later = (
            join for join in self.signs if join.kind is SignKind.JOINED and (join.peer == sign.peer or join.at - sign.at > ROUND_TRIP_US)
        )
        joined = next(later, None)
        return joined is None or self.epoch is None or (joined.epoch or 0) not in (self.epoch, self.epoch + 1)

    def _joined_before(self, sign: EpochSign) -> Iterator[Event]:
        """Joins that raised the epoch before a leave, and are logged later."""
        joins = [join for join in self.signs if join.kind is SignKind.JOINED and join.at - sign.at <= ROUND_TRIP_US]
        for join in [join for join in joins if join.peer != sign.peer]:
            if self.epoch is not None and join.epoch == self.epoch + 1:
                self.signs.remove(join)
                yield from self._joined(join)

    def _subscribed(self, sign: EpochSign) -> Iterator[Event]:
        epoch = sign.epoch or 0
        if self.epoch is not None and epoch > self.epoch:
            yield from self._raised_before(epoch, sign)
            yield step_by("ModernSubscriptionChanged", sign, sign.at, member=sign.member_id, client=sign.event.client_id)
            yield self._raised(sign, sign.at, epoch)
        self._note(sign)

    def _reached(self, sign: EpochSign) -> Iterator[Event]:
        """Somebody has an epoch that nothing else shows."""
        epoch = sign.epoch or 0
        if self.epoch is None:
            self.epoch, self.epoch_at = epoch, sign.at
        elif epoch > self.epoch:
            yield from self._raised_before(epoch + 1, sign)
            if epoch > self.epoch:
                yield from self._unseen(epoch, sign)
        yield from self._steps(sign)
        self._note(sign)

    def _steps(self, sign: EpochSign) -> Iterator[Event]:
        """A member's steps to an epoch, by its requests or joins.

        One that was answered with the epoch before, although the next was there, had partitions to give up.
        """
        if sign.epoch is None or sign.epoch != self.epoch:
            return
        if sign.event.witness is Witness.CLIENT and sign.is_classic:
            yield step_by(CLASSIC_MEMBER_REJOINED, sign, max(sign.at, self.epoch_at), member=sign.member_id, client=sign.event.client_id)
        if sign.event.witness is not Witness.REQUEST:
            return
        if sign.heard_before is not None and sign.heard_before > self.epoch_at and group_type_of(sign.event) != SHARE_HEARTBEAT:
            step = {"member_epoch": sign.epoch - 1, "state": UNREVOKED}
            yield step_by("ModernMemberMoved", sign, self.epoch_at, member=sign.member_id, client=sign.event.client_id, fields=step)
        step = {"member_epoch": sign.epoch, "state": MEMBER_STABLE}
        yield step_by("ModernMemberMoved", sign, sign.at, member=sign.member_id, client=sign.event.client_id, fields=step)

    def _gives_anew(self, sign: EpochSign) -> bool:
        """Whether a member that had the whole epoch must give partitions up.

        That is for another one.
        """
        if sign.epoch != self.epoch:
            return False
        kinds = (other.kind for other in self.signs if other.peer == sign.peer and other.kind is not SignKind.TOOK)
        return next(kinds, None) is SignKind.GAVE

    # -- epochs that were raised unseen --------------------------------------------------------------------

    def _unseen(self, epoch: int, by: EpochSign) -> Iterator[Event]:
        """Epochs up to one that neither a join nor a leave raised."""
        turn = self.turn
        if turn is not None and self.epoch is not None and epoch > self.epoch + 1:  # it was for the first of them
            yield from self._unlogged_until(self.epoch + 1, by, turn)
            turn = None
        yield from self._unlogged_until(epoch, by, turn or self._turn(by))

    def _unlogged_until(self, epoch: int, by: EpochSign, turn: EpochTurn) -> Iterator[Event]:
        """Epochs up to one, by the same evidence."""
        sign = turn.sign
        at = max(min([sign.at, by.at, *(fence.at for fence in self.fenced.values())]), self.epoch_at)
        for peer, why in self._removed(at, epoch, by, turn):
            if self.epoch is None or self.epoch >= epoch:
                break
            known, member = self.peers.get(peer, EpochPeer()), self.members.get(peer)
            fields = {"why": why}
            yield step_by("ModernMemberFenced", sign, at, member=member, client=known.client_id, instance=known.instance_id, fields=fields)
            self._goes(peer)
            yield self._raised(sign, at, self.epoch + 1)
        if self.epoch is not None and self.epoch < epoch:
            yield self._raised(sign, at, epoch, {SHOWN_BY: turn.shown})

    def _removed(self, at: int, epoch: int, by: EpochSign, turn: EpochTurn) -> list[tuple[str, str]]:
        """Members that were removed by a time, with why, the surest first."""
        reasons = {peer: UNHEARD for peer in turn.robbed if peer in self.members}
        if turn.shown in {GIVEN, NEW_PARTITIONS, TOPICS_EXIST}:
            return list(reasons.items())
        nexts: dict[str, EpochSign] = {}
        for sign in (by, *self.signs):
            if sign.kind in _TELLING and sign.peer in self.members and (sign.kind is not SignKind.REACHED or (sign.epoch or 0) >= epoch):
                nexts.setdefault(sign.peer, sign)
        out = {peer: sign for peer, sign in nexts.items() if sign.kind in {SignKind.FENCED, SignKind.JOINED} or self._was_paused(sign)}
        evidence = {peer: (self._why(sign), sign.epoch or 0) for peer, sign in {**out, **self.fenced}.items()}
        # Who is stuck in an epoch is so by the one after it.
        noticed = {peer: why for peer, (why, stuck_in) in evidence.items() if not why.startswith(STUCK) or epoch > stuck_in + 1}
        asking = {peer: self.peers[peer] for peer in self.members if peer in self.peers and self.peers[peer].by_requests}
        is_heard = any(known.heard_at >= at for known in asking.values())
        silent = [peer for peer, known in asking.items() if is_heard and known.is_silent(at)]
        absent = [peer for peer in (*self.absent, *silent) if peer in self.members and peer not in nexts]
        reasons = {**reasons, **{peer: UNHEARD for peer in absent if peer not in reasons}}
        return list({**reasons, **{peer: why for peer, why in noticed.items() if peer not in reasons}}.items())

    def _was_paused(self, sign: EpochSign) -> bool:
        """Whether a member that left for polling too late was out before.

        It joins at once, as its process stood still, or its join shows that the leave raised no epoch.
        """
        back = self._return_of(sign) if sign.kind is SignKind.LEFT else None
        if back is None:
            return False
        before = (other.epoch or 0 for other in self.signs if other.kind in _INSIDE and other.at <= sign.at)
        return back.at - sign.at <= ROUND_TRIP_US or (back.epoch or 0) <= max(before, default=0) + 1

    def _return_of(self, leave: EpochSign) -> EpochSign | None:
        """The next join of a member that left."""
        joins = (join for join in self.signs if join.kind is SignKind.JOINED and join.peer == leave.peer and join.at >= leave.at)
        return next(joins, None)

    def _why(self, sign: EpochSign) -> str:
        """Why a member was removed that hears of it.

        Members of share groups have nothing to give up that others wait for.
        """
        interval = self.peers.get(sign.peer, EpochPeer()).interval_us
        alive_us = ALIVE_US if interval is None else min(ALIVE_US, ALIVE_BEATS * interval)
        was_alive = sign.heard_before is not None and sign.at - sign.heard_before <= alive_us
        is_told = sign.kind is SignKind.FENCED and sign.epoch is not None and group_type_of(sign.event) != SHARE_HEARTBEAT
        if not is_told or not (was_alive or sign.event.witness is Witness.CLIENT):
            return NOTICED
        return f"{STUCK} {sign.epoch} within its rebalance timeout"

    def _turn(self, sign: EpochSign) -> EpochTurn:
        """What follows a sign of an epoch that was raised unseen.

        Partitions that a join moves tell nothing of the epochs before it.
        """
        again = (other.at for other in self.signs if other.kind is SignKind.TURNED and other.peer == sign.peer and other.at > sign.at)
        until = sign.at if sign.kind is SignKind.JOINED else min(sign.at + FOLLOWS_US, next(again, FOREVER))
        taken, given, robbed = set[str](), set[str](), dict[str, None]()
        for other in self.signs:
            partitions = names_field(other.event, "partitions") if sign.at <= other.at <= until else ()
            if other.kind is SignKind.GAVE:
                given.update(partitions)
            elif other.kind is SignKind.TOOK:
                owners = {name: self.owners.owner(name) for name in partitions}
                robbed.update((owner, None) for name, owner in owners.items() if name not in given and owner not in {None, other.peer})
                taken.update(name for name, owner in owners.items() if owner is None)
        return EpochTurn(sign, TOPICS_EXIST if sign.gets_topics else self._shown(taken, given), list(robbed))

    def _shown(self, taken: set[str], given: set[str]) -> str:
        """What members' partitions tell of an epoch that was raised unseen."""
        if any(peer in self.peers and self.peers[peer].by_requests for peer in self.members):
            return REQUESTS
        if taken and all(map(self.owners.is_new, taken)):
            return NEW_PARTITIONS
        return TAKEN if taken else GIVEN if given else NOTHING

    def _raised(
        self, sign: EpochSign, at: int, epoch: int, fields: Mapping[str, object] | None = None, *, member: str | None = None
    ) -> Event:
        self.epoch, self.epoch_at, self.turn = epoch, at, None
        return step_by("GroupEpochBumped", sign, at, generation=epoch, member=member, fields=fields)

"""What members' logs and requests show of a group's epochs (KIP-848).

A line of a client that changes its state, and each heartbeat to such a group in a request log, is a sign: of a join with the epoch that it
raised, of a leave, of a removal that its member hears of, or of an epoch that the group has reached. While a group migrates, the lines
and requests of its classic members are signs as well, and their generations are epochs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from models.events import Event, Witness, int_field, names_field, text_field
from models.kafka.observations.actions import TOLD_OUT, answered_at, handled_at
from models.kafka.observations.log_rotation import log_before_rotation
from models.kafka.reconstruction.implied_lines import implied_line
from models.tolerances import int_tolerance
from models.units import FOREVER

ROUND_TRIP_US = int_tolerance("kafka.member_signs.round_trip_us")
"""How long after it was handled a client logs its join: assumed."""

SILENT_US = int_tolerance("kafka.member_signs.silent_us")
"""Silence of a member whose session may have ended."""

SILENCES_MAX = 8
"""Silences of a member that are remembered: signs are read a minute later."""

UNKNOWN_MEMBER_ID, FENCED_MEMBER_EPOCH = 25, 110
"""Error codes (protocol/Errors.java)."""

_FINE = (0, None)


class SignKind(StrEnum):
    """What a sign shows."""

    JOINED = "joined"
    LEFT = "left"
    AWAY = "away"  # a static member left, and means to come back
    FENCED = "fenced"  # the member hears that it was removed
    REACHED = "reached"  # somebody has been given this epoch
    TURNED = "turned"  # a member is given another assignment
    SUBSCRIBED = "subscribed"
    TOOK = "took"  # partitions
    GAVE = "gave"
    STAYED = "stayed"  # a classic member is in the group that a consumer joins (migration)


@dataclass(frozen=True, slots=True)
class EpochSign:
    """One sign, on the coordinator's clock. Microseconds."""

    kind: SignKind
    at: int
    event: Event
    peer: str
    """Who shows it: a member id, or a client by its log."""
    member_id: str | None
    epoch: int | None = None
    heard_before: int | None = None
    """The last request of its member before this one."""
    gets_topics: bool = False
    """The first answer to its member without missing topics of the topology."""
    is_classic: bool = False
    """Its member speaks the classic protocol."""


@dataclass(slots=True)
class EpochPeer:
    """A member as its signs show it."""

    member_id: str | None = None
    client_id: str | None = None
    instance_id: str | None = None
    epoch: int = 0
    asked_at: int | None = None
    """When it asked to join; None once it was answered."""
    heard_at: int = 0
    silences: list[tuple[int, int]] = field(default_factory=list)
    """The last silences after which it was heard again: start and end."""
    interval_us: int | None = None
    """Time between its heartbeats, where a run of them shows it."""
    is_stuck: bool = False
    """It is taking an assignment over."""
    topics: tuple[str, ...] = ()
    topology_state: str | None = None
    gets_topics: bool = False
    by_requests: bool = False
    is_classic: bool = False
    """It speaks the classic protocol.

    Its epoch is a generation, 0 while it is no member.
    """
    is_behind: bool = False
    """The coordinator has another epoch for it, and still counts it."""

    def hear(self, begin: int, end: int) -> None:
        """Note that it was heard from one time to another."""
        if self.heard_at and begin - self.heard_at >= SILENT_US:
            self.silences = [*self.silences[1 - SILENCES_MAX :], (self.heard_at, begin)]
        self.heard_at = max(self.heard_at, end)

    def is_silent(self, at: int) -> bool:
        """Whether it had long been silent at a time, which may be past."""
        return any(since + SILENT_US <= at < until for since, until in [*self.silences, (self.heard_at, FOREVER)])


@dataclass(frozen=True, slots=True)
class EpochTurn:
    """What follows a sign of an epoch that was raised unseen."""

    sign: EpochSign
    shown: str
    robbed: list[str]
    """Members that others took partitions of, which they had not given up."""


HEARTBEATS = {
    "ConsumerGroupHeartbeatCompleted": "consumer",
    "ShareGroupHeartbeatCompleted": "share",
    "StreamsGroupHeartbeatCompleted": "streams",
}
"""Heartbeats to groups with epochs, with the type of their group."""

SHARE_HEARTBEAT = HEARTBEATS["ShareGroupHeartbeatCompleted"]

EPOCH_READY = "ready"
"""State of a topology whose topics all exist."""

_LEAVES = {-1: SignKind.LEFT, -2: SignKind.AWAY}
"""Epochs by which a member says that it leaves (ConsumerGroupHeartbeatRequest)."""

_OUTSIDE = frozenset({"UNSUBSCRIBED", "JOINING", "STALE", "FENCED", "FATAL", "UNJOINED"})
"""States in which a client is no member (MemberState)."""


def signs_in(event: Event, at: int, peers: dict[str, EpochPeer]) -> list[EpochSign]:
    """Signs of one event, at a time on the coordinator's clock.

    What is known of its member is kept in `peers`.
    """
    if event.witness is Witness.REQUEST:
        return _of_request(event, peers) if event.name in _REQUESTS else []
    if event.name not in _READ:
        return []
    key = f"{log_before_rotation(event.place.file)} {event.client_id}"
    if event.name == "ClientMemberState":
        return _of_state(event, at, key, peers.setdefault(key, EpochPeer()))
    if event.name == "ClientEpochSent":
        return _of_epoch_sent(event, at, key, peers.setdefault(key, EpochPeer()))
    if event.name == "ClientJoined":
        return _of_join(event, at, key, peers.setdefault(key, EpochPeer(is_classic=True)), event.generation)
    if text_field(event, "error") == _BEHIND:
        peers.setdefault(key, EpochPeer()).is_behind = True
        return []
    peer = peers.get(key)
    if peer is None:
        return []
    if event.name in _PARTITIONS:
        return [EpochSign(_PARTITIONS[event.name], at, event, key, peer.member_id)] if names_field(event, "partitions") else []
    return _of_classic_end(event, at, key, peer) if peer.is_classic else []


_BEHIND = "FENCED_MEMBER_EPOCH"
"""Error of a member whose epoch is not the coordinator's (GroupMetadataManager.throwIfConsumerGroupMemberEpochIsInvalid).

One that was removed is unknown.
"""

_PARTITIONS = {"ClientAssigned": SignKind.TOOK, "ClientRevoked": SignKind.GAVE}
_CLASSIC_ENDS = {
    "ClientLeaveSent": SignKind.LEFT,
    "ClientHeartbeatFailed": SignKind.FENCED,
    "ClientGenerationReset": SignKind.FENCED,
    "LeaveGroupCompleted": SignKind.LEFT,
    "HeartbeatCompleted": SignKind.FENCED,
}
_READ = frozenset({"ClientMemberState", "ClientEpochSent", "ClientJoined", "ClientLeaveSent", *TOLD_OUT, *_PARTITIONS})
_REQUESTS = frozenset({*HEARTBEATS, "JoinGroupCompleted", "LeaveGroupCompleted", "HeartbeatCompleted"})


# -- classic members, whose group migrates ---------------------------------------------------------------


def _of_join(event: Event, at: int, key: str, peer: EpochPeer, epoch: int | None) -> list[EpochSign]:
    """A classic member joined, or goes on into another epoch."""
    if not epoch or epoch < 0:
        return []
    is_new, grown = peer.epoch == 0 or not peer.is_classic, epoch > peer.epoch
    peer.is_classic, peer.epoch, peer.is_stuck, peer.asked_at = True, epoch, False, None
    peer.member_id, peer.client_id, peer.instance_id = event.member_id or peer.member_id, event.client_id, event.instance_id
    peer.hear(at, at)
    kind = SignKind.JOINED if is_new else SignKind.REACHED
    return [EpochSign(kind, at, event, key, peer.member_id, epoch, is_classic=True)] if is_new or grown else []


def _of_classic_end(event: Event, at: int, key: str, peer: EpochPeer) -> list[EpochSign]:
    """A classic member left, or hears that it was removed."""
    was_in, peer.epoch = peer.epoch > 0, 0
    return [EpochSign(_CLASSIC_ENDS[event.name], at, event, key, peer.member_id, is_classic=True)] if was_in else []


def _of_request(event: Event, peers: dict[str, EpochPeer]) -> list[EpochSign]:
    """Signs of a request and its answer."""
    code, key = int_field(event, "error_code"), event.member_id or ""
    if event.name in HEARTBEATS:
        return _of_heartbeat(event, peers) if key else []
    if event.name == "JoinGroupCompleted" and code in _FINE and key:
        peer = peers.setdefault(key, EpochPeer(key, by_requests=True, is_classic=True))
        return _of_join(event, handled_at(event), key, peer, int_field(event, "response_generation"))
    if event.name == "LeaveGroupCompleted" and code in _FINE:
        leavers = [(member_id, peers[member_id]) for member_id in names_field(event, "members") or [key] if member_id in peers]
        return [sign for member_id, peer in leavers for sign in _of_classic_end(event, handled_at(event), member_id, peer)]
    if event.name == "HeartbeatCompleted" and key in peers:
        last = int_field(event, "last_at_us")
        peers[key].hear(answered_at(event), last if last is not None else answered_at(event))
        return _of_classic_end(event, handled_at(event), key, peers[key]) if code == UNKNOWN_MEMBER_ID else []
    return []


# -- members of the consumer protocol --------------------------------------------------------------------


def _speak_consumer(peer: EpochPeer) -> None:
    """Note that a member speaks the consumer protocol.

    A classic one of the same client was another member.
    """
    if peer.is_classic:
        peer.is_classic, peer.epoch = False, 0


def _of_state(event: Event, at: int, key: str, peer: EpochPeer) -> list[EpochSign]:
    """Signs of a client's change of state (AbstractMembershipManager.transitionTo)."""
    before, state, epoch = text_field(event, "from_state"), text_field(event, "to_state"), int_field(event, "member_epoch") or 0
    peer.member_id, peer.client_id, peer.instance_id = event.member_id or peer.member_id, event.client_id, event.instance_id
    _speak_consumer(peer)
    peer.heard_at = max(peer.heard_at, at)
    was_stuck, peer.is_stuck = peer.is_stuck, state == "RECONCILING"

    def sign(kind: SignKind, when: int = at) -> EpochSign:
        return EpochSign(kind, when, event, key, peer.member_id, epoch)

    if state == "JOINING":
        peer.asked_at = at
        return []
    if before == "JOINING" and epoch > 0 and state not in _OUTSIDE:
        asked_at, peer.asked_at, peer.epoch = peer.asked_at, None, epoch
        if peer.is_behind:
            peer.is_behind = False
            return [sign(SignKind.REACHED)]
        return [sign(SignKind.JOINED, max(at - ROUND_TRIP_US, asked_at if asked_at is not None else at))]
    if state == "FENCED":
        is_unknown = peer.epoch == 0 and epoch > 0 and before != "JOINING"  # its log begins with its removal
        peer.epoch = epoch if is_unknown else peer.epoch
        reached = [sign(SignKind.REACHED)] if is_unknown else []
        if peer.is_behind:
            return [*reached, EpochSign(SignKind.REACHED, at, event, key, peer.member_id, epoch + 1)]
        return [*reached, EpochSign(SignKind.FENCED, at, event, key, peer.member_id, peer.epoch if was_stuck else None)]
    if state in {"LEAVING", "UNSUBSCRIBED", "STALE"} and before != "LEAVING":
        return [sign(_LEAVES[epoch])] if epoch in _LEAVES else []
    peer.epoch = max(peer.epoch, epoch)
    signs = [sign(SignKind.REACHED)] if epoch > 0 else []
    return [*signs, sign(SignKind.TURNED)] if state == "RECONCILING" and before == "STABLE" else signs


def _of_epoch_sent(event: Event, at: int, key: str, peer: EpochPeer) -> list[EpochSign]:
    """Signs of the epochs that a client sends (librdkafka at debug=cgrp).

    Each was given to it by the answer before.
    """
    epoch = int_field(event, "member_epoch")
    peer.member_id, peer.client_id, peer.instance_id = event.member_id or peer.member_id, event.client_id, event.instance_id
    _speak_consumer(peer)
    peer.heard_at, before = max(peer.heard_at, at), peer.epoch
    if epoch is None:
        return []
    if epoch in _LEAVES:
        return [EpochSign(_LEAVES[epoch], at, event, key, peer.member_id)]
    if epoch == 0:
        peer.asked_at, peer.epoch = at, 0
        return []
    asked_at, peer.asked_at, peer.epoch = peer.asked_at, None, epoch
    if asked_at is not None:
        return [EpochSign(SignKind.JOINED, asked_at, event, key, peer.member_id, epoch)]
    return [EpochSign(SignKind.REACHED, at, event, key, peer.member_id, epoch)] if epoch > before else []


def _of_heartbeat(event: Event, peers: dict[str, EpochPeer]) -> list[EpochSign]:
    """Signs of a heartbeat and its answer."""
    key, code, sent = event.member_id or "", int_field(event, "error_code"), int_field(event, "member_epoch")
    answer, last = int_field(event, "response_epoch") or 0, int_field(event, "last_at_us")
    if code in (UNKNOWN_MEMBER_ID, FENCED_MEMBER_EPOCH):
        former = peers.get(key, EpochPeer())
        return [EpochSign(SignKind.FENCED, handled_at(event), event, key, key, former.epoch or None, former.heard_at or None)]
    if code not in _FINE or sent is None:
        return []
    if sent in _LEAVES:
        return [EpochSign(_LEAVES[sent], handled_at(event), event, key, key)]
    peer = peers.setdefault(key, EpochPeer(key, by_requests=True))
    _speak_consumer(peer)
    peer.client_id, peer.instance_id = event.client_id, event.instance_id or peer.instance_id
    before = peer.heard_at or None
    peer.hear(answered_at(event), last if last is not None else answered_at(event))
    count = int_field(event, "count") or 1
    if last is not None and count > 1:
        peer.interval_us = (last - answered_at(event)) // (count - 1)
    topics = tuple(sorted(names_field(event, "topics")))
    changed = bool(topics) and bool(peer.topics) and topics != peer.topics
    peer.topics = topics or peer.topics
    state = text_field(event, "topology_state")
    gets_topics = peer.gets_topics or (state == EPOCH_READY and peer.topology_state not in (None, EPOCH_READY))
    grown = answer > peer.epoch
    peer.topology_state, peer.gets_topics = state or peer.topology_state, gets_topics and not grown
    peer.epoch = max(answer, 0)
    kind = SignKind.JOINED if sent == 0 else SignKind.SUBSCRIBED if changed else SignKind.REACHED
    sign = EpochSign(kind, handled_at(event), event, key, key, answer, before, gets_topics=gets_topics)
    return [sign] if grown or kind is not SignKind.REACHED else []


_TYPES = (("ShareMembershipManager", SHARE_HEARTBEAT), ("[ShareConsumer ", SHARE_HEARTBEAT), ("StreamsMembershipManager", "streams"))
"""Types of groups by what their members' lines contain."""


def group_type_of(event: Event) -> str:
    """The type of a group, by its line's manager or its request."""
    return HEARTBEATS.get(event.name) or next((kind for name, kind in _TYPES if name in event.text), "consumer")


def step_by(
    name: str,
    sign: EpochSign,
    at: int,
    *,
    generation: int | None = None,
    member: str | None = None,
    client: str | None = None,
    instance: str | None = None,
    fields: Mapping[str, object] | None = None,
) -> Event:
    """Word a coordinator's step, at the place of the sign that shows it."""
    return implied_line(
        name,
        sign.event,
        at,
        generation=generation,
        member_id=member,
        client_id=client,
        instance_id=instance,
        fields={**(fields or {}), "group_type": group_type_of(sign.event)},
    )

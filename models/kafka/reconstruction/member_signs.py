"""What members' logs and requests show of a group's epochs (KIP-848).

A line of a client that changes its state, and each ConsumerGroupHeartbeat of a request log, is a sign: of a join with the epoch that it
raised, of a leave, of a removal that its member hears of, or of an epoch that the group has reached.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from models.events import Event, Witness, int_field, names_field, text_field
from models.kafka.observations.actions import answered_at, handled_at
from models.kafka.observations.client_ids import log_of
from models.tolerances import whole

ROUND_TRIP_US = whole("kafka.member_signs.round_trip_us")
"""How long after it was handled a client logs its join: assumed."""

UNKNOWN_MEMBER_ID, FENCED_MEMBER_EPOCH = 25, 110
"""Error codes (protocol/Errors.java)."""

FINE = (0, None)


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
    is_stuck: bool = False
    """It is taking an assignment over."""
    topics: tuple[str, ...] = ()
    by_requests: bool = False


_LEAVES = {-1: SignKind.LEFT, -2: SignKind.AWAY}
"""Epochs by which a member says that it leaves (ConsumerGroupHeartbeatRequest)."""

_OUTSIDE = frozenset({"UNSUBSCRIBED", "JOINING", "STALE", "FENCED", "FATAL", "UNJOINED"})
"""States in which a client is no member (MemberState)."""


def signs_in(event: Event, at: int, peers: dict[str, EpochPeer]) -> list[EpochSign]:
    """Signs of one event, at a time on the coordinator's clock.

    What is known of its member is kept in `peers`.
    """
    if event.witness is Witness.REQUEST:
        return _of_heartbeat(event, peers) if event.name == "ConsumerGroupHeartbeatCompleted" and event.member_id else []
    if event.name not in _READ:
        return []
    key = f"{log_of(event.place.file)} {event.client_id}"
    if event.name == "ClientMemberState":
        return _of_state(event, at, key, peers.setdefault(key, EpochPeer()))
    peer = peers.get(key)
    if event.name == "ClientEpochSent":
        return _of_epoch_sent(event, at, key, peers.setdefault(key, EpochPeer()))
    if peer is None:
        return []
    return [EpochSign(_PARTITIONS[event.name], at, event, key, peer.member_id)] if names_field(event, "partitions") else []


_PARTITIONS = {"ClientAssigned": SignKind.TOOK, "ClientRevoked": SignKind.GAVE}
_READ = frozenset({"ClientMemberState", "ClientEpochSent", *_PARTITIONS})


def _of_state(event: Event, at: int, key: str, peer: EpochPeer) -> list[EpochSign]:
    """Signs of a client's change of state (AbstractMembershipManager.transitionTo)."""
    before, state, epoch = text_field(event, "from_state"), text_field(event, "to_state"), int_field(event, "member_epoch") or 0
    peer.member_id, peer.client_id, peer.instance_id = event.member_id or peer.member_id, event.client_id, event.instance_id
    peer.heard_at = max(peer.heard_at, at)
    was_stuck, peer.is_stuck = peer.is_stuck, state == "RECONCILING"

    def sign(kind: SignKind, when: int = at) -> EpochSign:
        return EpochSign(kind, when, event, key, peer.member_id, epoch)

    if state == "JOINING":
        peer.asked_at = at
        return []
    if before == "JOINING" and epoch > 0 and state not in _OUTSIDE:
        asked, peer.asked_at, peer.epoch = peer.asked_at, None, epoch
        return [sign(SignKind.JOINED, max(at - ROUND_TRIP_US, asked if asked is not None else at))]
    if state == "FENCED":
        return [EpochSign(SignKind.FENCED, at, event, key, peer.member_id, peer.epoch if was_stuck else None)]
    if state in {"LEAVING", "UNSUBSCRIBED", "STALE"} and before != "LEAVING":
        return [sign(_LEAVES[epoch])] if epoch in _LEAVES else []
    peer.epoch = max(peer.epoch, epoch)
    found = [sign(SignKind.REACHED)] if epoch > 0 else []
    return [*found, sign(SignKind.TURNED)] if state == "RECONCILING" and before == "STABLE" else found


def _of_epoch_sent(event: Event, at: int, key: str, peer: EpochPeer) -> list[EpochSign]:
    """Signs of the epochs that a client sends (librdkafka at debug=cgrp).

    Each was given to it by the answer before.
    """
    epoch = int_field(event, "member_epoch")
    peer.member_id, peer.client_id, peer.instance_id = event.member_id or peer.member_id, event.client_id, event.instance_id
    peer.heard_at, before = max(peer.heard_at, at), peer.epoch
    if epoch is None:
        return []
    if epoch in _LEAVES:
        return [EpochSign(_LEAVES[epoch], at, event, key, peer.member_id)]
    if epoch == 0:
        peer.asked_at, peer.epoch = at, 0
        return []
    asked, peer.asked_at, peer.epoch = peer.asked_at, None, epoch
    if asked is not None:
        return [EpochSign(SignKind.JOINED, asked, event, key, peer.member_id, epoch)]
    return [EpochSign(SignKind.REACHED, at, event, key, peer.member_id, epoch)] if epoch > before else []


def _of_heartbeat(event: Event, peers: dict[str, EpochPeer]) -> list[EpochSign]:
    """Signs of a ConsumerGroupHeartbeat and its answer."""
    key, code, sent = event.member_id or "", int_field(event, "error_code"), int_field(event, "member_epoch")
    answer, last = int_field(event, "response_epoch") or 0, int_field(event, "last_at_us")
    if code in (UNKNOWN_MEMBER_ID, FENCED_MEMBER_EPOCH):
        return [EpochSign(SignKind.FENCED, handled_at(event), event, key, key, peers[key].epoch if key in peers else None)]
    if code not in FINE or sent is None:
        return []
    if sent in _LEAVES:
        return [EpochSign(_LEAVES[sent], handled_at(event), event, key, key)]
    peer = peers.setdefault(key, EpochPeer(key, by_requests=True))
    peer.client_id, peer.instance_id = event.client_id, event.instance_id or peer.instance_id
    before, peer.heard_at = peer.heard_at or None, max(peer.heard_at, last if last is not None else answered_at(event))
    topics = tuple(sorted(names_field(event, "topics")))
    changed = bool(topics) and bool(peer.topics) and topics != peer.topics
    peer.topics = topics or peer.topics
    grown = answer > peer.epoch
    peer.epoch = max(answer, 0)
    kind = SignKind.JOINED if sent == 0 else SignKind.SUBSCRIBED if changed else SignKind.REACHED
    return [EpochSign(kind, handled_at(event), event, key, key, answer, before)] if grown or kind is not SignKind.REACHED else []

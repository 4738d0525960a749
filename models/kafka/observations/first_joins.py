"""Whether a client's "(Re-)joining group" line is a first join or a rejoin.

The INFO lines do not say so. A client without a member id asks for one: it never joined, left, was fenced, polled too
late, or was just created. Any other rejoins under its id (AbstractCoordinator, `generation` and `memberId`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from models.events import Event, names_field, text_field
from models.kafka.observations.actions import ActionKind, MemberAction, says_rebalancing
from models.kafka.observations.log_rotation import log_before_rotation

_FORGETS = frozenset({"ClientConfigured", "ClientLeaveSent", "ClientPollTimedOut", "ClientFenced", "ClientClosed", "ClientUnsubscribed"})

UNKNOWN_MEMBER_TEXTS = frozenset({"UNKNOWN_MEMBER_ID", "The coordinator is not aware of this member."})
"""The error's name, for wordings that describe it, and the text in others (Errors.java)."""

_OF_MEMBERS = frozenset(
    {"ClientHeartbeatRebalancing", "ClientHeartbeatSent", "ClientConfigDrifted", "ClientWorkAssigned", "ClientWorkChanged"}
)
"""Events that only members have.

Connect compares its configuration with that of its assignment, and tells of changes from then on.
"""

_LEAVING = "consumer pro-actively leaving"
"""Why a client that leaves gives up its id.

So does a static one, which sends no request (AbstractCoordinator.maybeLeaveGroup).
"""

_OF_OUTSIDERS = (
    "rebalance failed due to",
    "encountered ",
    "need to re-join with the given member-id",
    _LEAVING,
    "rejoining after we previously errored",
)
"""Beginnings of reasons to rejoin that a client without an id may have, too.

From AbstractCoordinator.java, and franz-go's consumer_group.go.
"""


@dataclass(slots=True)
class Clients:
    """Member ids of a group's clients, by log and client id."""

    _ids: dict[tuple[str, str], str | None] = field(default_factory=dict)
    _starting: dict[tuple[str, str], bool] = field(default_factory=dict)
    """Clients that subscribed, and whether they have looked for their coordinator since.

    A running client knows its coordinator, and revokes first.
    """
    _topics: dict[tuple[str, str], frozenset[str]] = field(default_factory=dict)
    """Topics of their latest subscription."""
    _idle: set[tuple[str, str]] = field(default_factory=set)
    """Members whose latest assignment was empty."""

    def feed(self, event: Event, shared: set[str]) -> list[MemberAction]:
        """Process one event; return a "(Re-)joining group" as its action.

        Clients that share an id within one log return nothing, because their lines cannot be separated. A client that
        no line names joins, anew or again.
        """
        if event.name == "ClientJoining" and event.client_id is None and event.member_id is None:
            return [MemberAction(ActionKind.NAMELESS_JOIN, event.time_us, None, None, event.instance_id, None, None, event)]
        if event.client_id is None or event.client_id in shared or not event.name.startswith("Client"):
            return []
        key = (log_before_rotation(event.place.file), event.client_id)
        if event.name == "ClientAssigned":
            (self._idle.discard if names_field(event, "partitions") else self._idle.add)(key)
        if event.name == "ClientJoined":
            self._ids[key] = event.member_id or self._ids.get(key) or ""
        elif _shows_member(event):
            self._ids.setdefault(key, "")  # a member, though the line of its join is not here
        elif event.name in _FORGETS or _forgets_id(event):
            self._ids[key] = None
        elif _gives_up_nothing(event):
            if key not in self._idle:
                self._ids[key] = None
        elif event.name == "ClientSubscribed":
            self._subscribed(key, frozenset(names_field(event, "topics")))
        elif event.name == "ClientCoordinatorFound" and key in self._starting:
            self._starting[key] = True
        elif event.name == "ClientRevoked":
            self._starting.pop(key, None)
            self._ids.setdefault(key, "")  # it owned what it gives up
        elif event.name == "ClientJoining":
            if self._starting.pop(key, False):
                self._ids[key] = None  # none until the coordinator assigns one, because the first request may remain unanswered
            member_id = self._ids.get(key)
            kind = ActionKind.JOIN if member_id is None else ActionKind.REJOIN
            return [MemberAction(kind, event.time_us, member_id or None, event.client_id, event.instance_id, None, None, event)]
        return []

    def _subscribed(self, key: tuple[str, str], topics: frozenset[str]) -> None:
        """Note a subscription, which is the first of a process as a rule.

        A member that asks for other topics than before runs on: a process that replaces another one unseen is started with the same.
        """
        before = self._topics.get(key)
        self._topics[key] = topics
        if self._ids.get(key) is None or before is None or before == topics:
            self._starting[key] = False

    def forget(self, clients: Iterable[tuple[str, str]]) -> None:
        """Discard clients, given by log and client id, that have been silent for long."""
        for key in clients:
            self._ids.pop(key, None)
            self._starting.pop(key, None)
            self._topics.pop(key, None)
            self._idle.discard(key)


def _shows_member(event: Event) -> bool:
    """Return True for an event that only members have."""
    why = (text_field(event, "why") or "") if event.name == "ClientRejoinRequested" else ""
    is_wish = bool(why) and (says_rebalancing(why) or not why.startswith(_OF_OUTSIDERS))
    return is_wish or event.name in _OF_MEMBERS or (event.name == "ClientAssigned" and event.generation is None)


def _gives_up_nothing(event: Event) -> bool:
    """Return True for an empty list of revoked partitions.

    Clients before 2.4 print it, for a first join and for a member that has no partitions.
    """
    return event.name == "ClientRevoked" and "partitions" in event.fields and not names_field(event, "partitions")


def _forgets_id(event: Event) -> bool:
    """Return True for a client unknown to the coordinator."""
    if event.name in {"ClientJoinFailed", "ClientSyncFailed"}:
        error = text_field(event, "error") or ""
        return any(words in error for words in UNKNOWN_MEMBER_TEXTS)
    if event.name == "ClientRejoinRequested":
        return (text_field(event, "why") or "").startswith(_LEAVING)
    if event.name in {"ClientGenerationReset", "ClientHeartbeatFailed"}:
        description = f"{event.fields.get('why', '')}{event.fields.get('error', '')}{event.text}"
        return any(words in description for words in ("UNKNOWN_MEMBER", "member id", _LEAVING))
    return False

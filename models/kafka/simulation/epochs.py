"""Record of consumer groups' epochs: causes, and when all members had arrived."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from models.kafka.coordinator.consumer.group import ConsumerGroup, ConsumerGroupState
from models.kafka.coordinator.consumer.member import MemberState
from models.kafka.coordinator.runtime.outcomes import LoggedChange

_LEFT, _EXPIRED, _JOINED = "left", "expired", "joined"
NOTICEABLE_MS = 1_500
"""Members that revoke later than this delay the others.

Counted beyond their usual heartbeat and poll delays.
"""
WHY_FENCED = (
    ("session", "session_timeout"),
    ("to transition", "rebalance_timeout"),
    ("to join", "rebalance_timeout"),
    ("to sync", "sync_timeout"),
)


@dataclass(slots=True)
class Epoch:
    """An epoch that not all members have reached.

    `acts` lists client, kind and cause of the actions that raised it.
    """

    group: str
    number: int
    start_ms: int
    was_empty: bool
    acts: list[tuple[str, str, str]]
    migrates: bool
    revoking: set[str] = field(default_factory=set)
    revoked: dict[str, int] = field(default_factory=dict)
    """Time at which each revoking client had finished."""

    def clients(self, *kinds: str) -> list[str]:
        """Clients with an action of one of these kinds."""
        return list(dict.fromkeys(client for client, kind, _ in self.acts if kind in kinds))


@dataclass(slots=True)
class Epochs:
    """Follows events of consumer groups and passes finished rows to `write`.

    `client_of` gives the client of an event, `act_of` the cause known to that client.
    """

    client_of: Callable[[LoggedChange], str]
    act_of: Callable[[str], str | None]
    usual_ms: Callable[[str], int]
    """Usual delay by a client's heartbeats and polls, in milliseconds."""
    write: Callable[[dict[str, Any]], None]
    open: dict[str, Epoch] = field(default_factory=dict)
    pending: dict[str, list[tuple[str, str, str]]] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)
    migrating: set[str] = field(default_factory=set)

    def watch(self, change: LoggedChange) -> None:
        """Take an event of MODERN_DEEDS."""
        _HANDLERS[change.event](self, change)

    def settled(self, group: ConsumerGroup, now_ms: int) -> None:
        """Close the epoch if the group is stable or empty."""
        epoch = self.open.get(group.id)
        self.sizes[group.id] = len(group.members)
        if epoch is None:
            return
        if group.state is ConsumerGroupState.EMPTY:
            self._close(group.id, now_ms, "empty")
        elif group.state is ConsumerGroupState.STABLE:
            self._close(group.id, now_ms, "stable")

    def close(self, group: str, outcome: str) -> None:
        """Close an epoch whose group was converted or lost its coordinator."""
        self._close(group, None, outcome)
        self.pending.pop(group, None)

    # -- events ------------------------------------------------------------------------------------------------

    def _joined(self, change: LoggedChange) -> None:
        if not change.fields.get("rejoined") and not change.fields.get("again"):
            self._note_action(change, _JOINED, "member_join")

    def _left(self, change: LoggedChange) -> None:
        if not change.fields.get("temporarily"):
            polled_late = self.act_of(self.client_of(change)) == "poll_timeout"
            self._note_action(change, _LEFT, "poll_timeout" if polled_late else "member_leave_graceful")

    def _fenced(self, change: LoggedChange) -> None:
        why = str(change.fields["why"])
        self._note_action(change, _EXPIRED, next(cause for part, cause in WHY_FENCED if part in why))

    def _subscribed(self, change: LoggedChange) -> None:
        if self.act_of(self.client_of(change)) == "subscription_change":
            self._note_action(change, "subscribed", "subscription_change")

    def _metadata(self, change: LoggedChange) -> None:
        self.pending.setdefault(change.group, []).append(("", "metadata", "metadata_change"))

    def _note_action(self, change: LoggedChange, kind: str, cause: str) -> None:
        self.pending.setdefault(change.group, []).append((self.client_of(change), kind, cause))

    def _bumped(self, change: LoggedChange) -> None:
        self._close(change.group, None, "interrupted")
        acts = self.pending.pop(change.group, [])
        acts.sort(key=lambda act: act[1] == "metadata")  # subscriptions come first because changed metadata follows from them
        was_empty = self.sizes.get(change.group, 0) == 0
        self.open[change.group] = Epoch(change.group, change.generation, change.at_ms, was_empty, acts, change.group in self.migrating)
        self.migrating.discard(change.group)

    def _moved(self, change: LoggedChange) -> None:
        epoch, client = self.open.get(change.group), self.client_of(change)
        if epoch is None:
            return
        if change.fields["state"] == MemberState.UNREVOKED_PARTITIONS:
            epoch.revoking.add(client)
        elif client in epoch.revoking:
            epoch.revoking.discard(client)
            epoch.revoked[client] = change.at_ms

    def _converted(self, change: LoggedChange) -> None:
        if change.fields["to_type"] == "consumer":
            self.migrating.add(change.group)
            self.sizes[change.group] = int(change.fields.get("members", 0))

    # -- rows --------------------------------------------------------------------------------------------------

    def _close(self, group: str, end_ms: int | None, outcome: str) -> None:
        epoch = self.open.pop(group, None)
        if epoch is not None:
            self.write(self._written(epoch, end_ms, outcome))

    def _written(self, epoch: Epoch, end_ms: int | None, outcome: str) -> dict[str, Any]:
        cause = epoch.acts[0][2] if epoch.acts else "unknown"
        trigger = "new_group" if cause == "member_join" and epoch.was_empty else cause
        clients = [client for client, _, why in epoch.acts if why == cause and client]
        return {
            "group": epoch.group,
            "protocol_type": "consumer (KIP-848)",
            "generation_before": epoch.number - 1,
            "generation_after": epoch.number,
            "start_ms": epoch.start_ms,
            "start_lo_ms": epoch.start_ms,
            "start_hi_ms": epoch.start_ms,
            "join_complete_ms": None,
            "end_ms": end_ms,
            "outcome": outcome,
            "cause": "group_empty" if outcome == "empty" else trigger,
            "trigger": trigger,
            "trigger_client": clients[0] if clients else "",
            "contributing_causes": ["protocol_migration"] if epoch.migrates else [],
            "offending_clients": list(dict.fromkeys(clients)),
            "delayed_by": self._late(epoch) if outcome == "stable" else [],
            "evicted": [[client, why] for client, kind, why in epoch.acts if kind == _EXPIRED and why == "rebalance_timeout"],
            "joined_clients": epoch.clients(_JOINED),
            "left_clients": epoch.clients(_LEFT, _EXPIRED),
        }

    def _late(self, epoch: Epoch) -> list[str]:
        """The last member to revoke, if it was late."""
        last = max(epoch.revoked, key=lambda client: epoch.revoked[client], default=None)
        if last is None or epoch.revoked[last] - epoch.start_ms - self.usual_ms(last) < NOTICEABLE_MS:
            return []
        return [last]


_HANDLERS: Mapping[str, Callable[[Epochs, LoggedChange], None]] = {
    "ModernMemberJoined": Epochs._joined,
    "ModernMemberLeft": Epochs._left,
    "ModernMemberFenced": Epochs._fenced,
    "ModernSubscriptionChanged": Epochs._subscribed,
    "SubscriptionMetadataChanged": Epochs._metadata,
    "GroupEpochBumped": Epochs._bumped,
    "ModernMemberMoved": Epochs._moved,
    "GroupConverted": Epochs._converted,
}
MODERN_DEEDS = frozenset(_HANDLERS)

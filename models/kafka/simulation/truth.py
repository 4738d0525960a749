"""True history of simulated groups: state transitions and rebalances with their causes.

Causes follow from the faults and from the clients' own intent (`Client.act`), never from logs. Names are those of the
labelled corpora.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from models.kafka.coordinator.classic.group import Group
from models.kafka.coordinator.consumer.group import ConsumerGroup
from models.kafka.coordinator.consumer.requests import ConsumerHeartbeat
from models.kafka.coordinator.protocol.group_states import State
from models.kafka.coordinator.protocol.requests import Join, Request
from models.kafka.coordinator.runtime.outcomes import LoggedChange, StateTransition
from models.kafka.simulation.client import Client
from models.kafka.simulation.cluster import GroupCoordinatorSeat
from models.kafka.simulation.epochs import MODERN_DEEDS, Epochs

UUID_LENGTH = 37
"""Length of a dash and UUID, the end of each member id."""
NOTICEABLE_MS = 1_500
"""Minimum delay of others that makes a member a blocker.

Counted beyond its usual heartbeat and poll delays.
"""

_LEFT, _EXPIRED, _EVICTED, _JOINED = "left", "expired", "evicted", "joined"
ACTS = {"MemberLeft": _LEFT, "MemberFailed": _EXPIRED, "MemberAdded": _JOINED, "PendingMemberJoined": _JOINED}
GOODBYES = frozenset({"member_leave_graceful", "poll_timeout", "session_timeout"})


@dataclass(slots=True)
class Row:
    """A rebalance in progress.

    `acts` lists client, action and member in order.
    """

    group: str
    generation_before: int
    start_ms: int
    cause: str
    trigger: str
    acts: list[tuple[str, str, str]] = field(default_factory=list)
    rejoined: dict[str, int] = field(default_factory=dict)
    generation_after: int | None = None
    join_complete_ms: int | None = None
    assigned_ms: int | None = None
    """Time at which the leader's assignment arrived; it counts once it is written."""
    end_ms: int | None = None
    outcome: str = "interrupted"
    state_before: str = ""

    def clients(self, *kinds: str) -> list[str]:
        """Clients with an action of one of these kinds."""
        return list(dict.fromkeys(client for client, kind, _ in self.acts if kind in kinds))


@dataclass(slots=True)
class Truth:
    """Receives all events; `taken` returns finished entries."""

    consumers: Mapping[str, Client]
    """Clients by client id and by instance id."""
    open: dict[str, Row] = field(default_factory=dict)
    before: dict[str, list[tuple[str, str, str]]] = field(default_factory=dict)
    """Actions that precede the rebalance they cause."""
    rows: list[dict[str, Any]] = field(default_factory=list)
    steps: list[dict[str, Any]] = field(default_factory=list)
    names: dict[str, str] = field(default_factory=dict)
    """Client ids of current members whose member ids don't contain them."""
    epochs: Epochs = field(init=False)

    def __post_init__(self) -> None:
        self.epochs = Epochs(self.client_behind, self._act_of, self._usual_ms, self._write)

    def taken(self) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        """Rebalances and transitions finished since the last call."""
        taken = self.rows, self.steps
        self.rows, self.steps = [], []
        return taken

    def client_of(self, member_id: str) -> str:
        """Client id of a member.

        Member ids begin with the client's or the instance's id.
        """
        if member_id in self.names:
            return self.names[member_id]
        owner = member_id[:-UUID_LENGTH]
        return self.consumers[owner].name if owner in self.consumers else owner

    def client_behind(self, change: LoggedChange) -> str:
        """Client id of the member in an event."""
        by_instance = self.consumers.get(change.instance or "")
        return by_instance.name if by_instance is not None else self.client_of(change.member or "")

    # -- events ------------------------------------------------------------------------------------------------

    def watch(self, change: StateTransition | LoggedChange) -> None:
        """Take a transition or event of a coordinator."""
        if isinstance(change, StateTransition):
            self._step(change)
        elif change.event in MODERN_DEEDS:
            self._watch_modern(change)
        elif change.event in ACTS:
            self._note_action(change, self.client_of(change.member or ""), ACTS[change.event], change.member or "")
        elif change.event == "MembersNotRejoined":
            for member in change.fields["members"]:
                self._note_action(change, self.client_of(member), _EVICTED, member)
        elif change.event == "RebalanceStarted":
            self._start(change)
        elif change.event in ("GenerationStarted", "GroupEmptied"):
            row = self.open[change.group]
            row.generation_after = change.generation
            row.join_complete_ms = change.at_ms
        elif change.event == "AssignmentReceived":
            self.open[change.group].assigned_ms = change.at_ms

    def arrived(self, seat: GroupCoordinatorSeat, request: Request, now_ms: int) -> None:
        """Record a request's arrival.

        The member that rejoins last delays the others.
        """
        if isinstance(request, ConsumerHeartbeat | Join) and request.member and not request.member.startswith(f"{request.client_id}-"):
            self.names[request.member] = request.client_id
        row = self.open.get(request.group)
        group = seat.coordinator.groups.get(request.group)
        if row is None or not isinstance(group, Group) or not isinstance(request, Join) or group.state is not State.PREPARING_REBALANCE:
            return
        if request.member in group.members:
            row.rejoined[self.client_of(request.member)] = now_ms

    def settled(self, seat: GroupCoordinatorSeat, now_ms: int) -> None:
        """Close the epoch of a consumer group if it is over."""
        group = seat.coordinator.groups.get(seat.group)
        if isinstance(group, ConsumerGroup):
            self.epochs.settled(group, now_ms)

    def lost(self, group: str) -> None:
        """Close a group's rebalance because its coordinator is lost.

        Epochs are kept.
        """
        self._close(group, "coordinator_lost")

    def finish(self) -> None:
        """Close all rebalances in progress as open."""
        for group in list(self.open):
            self._close(group, "open")
        for group in list(self.epochs.open):
            self.epochs.close(group, "open")

    def _watch_modern(self, change: LoggedChange) -> None:
        self.epochs.watch(change)
        if change.event == "GroupConverted" and change.fields["to_type"] == "classic":
            self.epochs.close(change.group, "interrupted")
        elif change.event == "GroupConverted":
            self._close(change.group, "interrupted")
        elif change.event in ("ModernMemberLeft", "ModernMemberFenced") and not change.fields.get("temporarily"):
            self.names.pop(change.member or "", None)

    def _act_of(self, client: str) -> str | None:
        return self.consumers[client].act

    def _usual_ms(self, client: str) -> int:
        consumer = self.consumers[client]
        return 2 * consumer.cluster.scenario.consumer_heartbeat_ms + consumer.plan.poll_ms

    def _write(self, row: dict[str, Any]) -> None:
        self.rows.append(row)

    # -- rows --------------------------------------------------------------------------------------------------

    def _step(self, change: StateTransition) -> None:
        self.steps.append(
            {
                "group": change.group,
                "ms": change.at_ms,
                "from": change.before.value,
                "to": change.after.value,
                "generation": change.generation,
            }
        )
        if change.after is State.STABLE:
            self.open[change.group].end_ms = change.at_ms
            self._close(change.group, "stable")
        elif change.after is State.PREPARING_REBALANCE:
            self._close(change.group, "interrupted")
        elif change.after is State.EMPTY and change.group in self.open:
            self.open[change.group].end_ms = change.at_ms
            self.open[change.group].outcome = "empty"

    def _note_action(self, change: LoggedChange, client: str, kind: str, member: str) -> None:
        row = self.open.get(change.group)
        over_ms = None if row is None else row.join_complete_ms
        # Later actions belong to the next rebalance, and so does who joins in the millisecond in which the phase is over.
        if row is not None and (over_ms is None or (over_ms == change.at_ms and kind != _JOINED)):
            row.acts.append((client, kind, member))
        else:
            self.before.setdefault(change.group, []).append((client, kind, member))

    def _start(self, change: LoggedChange) -> None:
        self._close(change.group, "interrupted")
        members = change.fields.get("reason_members") or [change.fields.get("reason_member_id") or ""]
        gone = self.epochs.pending.pop(change.group, [])
        cause = self._cause(change, self.consumers.get(self.client_of(members[0])))
        row = Row(change.group, change.generation, change.at_ms, cause, self.client_of(members[0]), self.before.pop(change.group, []))
        row.acts += [(client, _LEFT, "") for client, _, _ in gone]  # their departure made the group classic again
        row.trigger = row.trigger or next((client for client, _, _ in gone), "")
        row.state_before = str(change.fields.get("reason_state"))
        for member in members:
            kind = _TRIGGERS.get(str(change.fields["reason_id"]))
            if kind and (self.client_of(member), kind, member) not in row.acts:
                row.acts.append((self.client_of(member), kind, member))
        self.open[change.group] = row

    def _cause(self, change: LoggedChange, consumer: Client | None) -> str:
        reason, act = change.fields["reason_id"], consumer.act if consumer else None
        if reason == "new_member":
            return "new_group" if change.fields.get("reason_state") == State.EMPTY.value else "member_join"
        if reason == "leave":
            return "poll_timeout" if act == "poll_timeout" else "member_leave_graceful"
        if reason in ("leader_rejoin", "update_metadata"):
            return act if act in ("metadata_change", "subscription_change", "cooperative_followup") else "unknown"
        return _CAUSES.get(str(reason), "unknown")

    def _close(self, group: str, outcome: str) -> None:
        row = self.open.pop(group, None)
        self.before.pop(group, None)
        if row is None:
            return
        if row.outcome == "interrupted":
            row.outcome = outcome
        self.rows.append(self._written(row))

    def _written(self, row: Row) -> dict[str, Any]:
        cause, offenders = self._settled(row)
        blockers = row.clients(_EVICTED) or self._late(row)
        return {
            "group": row.group,
            "protocol_type": "classic",
            "generation_before": row.generation_before,
            "generation_after": row.generation_after,
            "start_ms": row.start_ms,
            "start_lo_ms": row.start_ms,
            "start_hi_ms": row.start_ms,
            "join_complete_ms": row.join_complete_ms,
            "assigned_ms": row.assigned_ms,
            "end_ms": row.end_ms,
            "outcome": row.outcome,
            "cause": cause,
            "trigger": row.cause,
            "trigger_client": row.trigger,
            "offending_clients": offenders,
            "delayed_by": blockers,
            "evicted": [[client, "rebalance_timeout_eviction"] for client in row.clients(_EVICTED)],
            "joined_clients": row.clients(_JOINED),
            "left_clients": row.clients(_LEFT, _EXPIRED),
        }

    def _settled(self, row: Row) -> tuple[str, list[str]]:
        """Final cause and offenders of a closed rebalance."""
        gone = row.clients(_LEFT, _EXPIRED, _EVICTED)
        if row.outcome == "empty" and row.cause != "new_group":
            return "group_empty", gone or [row.trigger]
        if row.cause in {"member_join", *GOODBYES}:
            returned = self._returned(row)
            if row.trigger in returned and row.cause != "poll_timeout":
                return "member_restart", [row.trigger]
        if row.cause in ("new_group", "member_join"):
            return row.cause, row.clients(_JOINED) or [row.trigger]
        if row.cause in GOODBYES:
            kind = _EXPIRED if row.cause == "session_timeout" else _LEFT
            clients = [client for client in row.clients(kind) if kind == _EXPIRED or self._left_as(client) == row.cause]
            return row.cause, list(dict.fromkeys([row.trigger, *clients]))
        return row.cause, [] if row.cause in _NOBODYS else [row.trigger]

    def _left_as(self, client: str) -> str:
        consumer = self.consumers.get(client)
        return "poll_timeout" if consumer is not None and consumer.act == "poll_timeout" else "member_leave_graceful"

    @staticmethod
    def _returned(row: Row) -> set[str]:
        """Clients with one member that left and another that joined."""
        arrived = {(client, member) for client, kind, member in row.acts if kind == _JOINED}
        departed = {client for client, kind, member in row.acts if kind in (_LEFT, _EXPIRED) and (client, member) not in arrived}
        return departed & {client for client, _ in arrived}

    def _late(self, row: Row) -> list[str]:
        if not row.rejoined or row.join_complete_ms is None:
            return []
        last = max(row.rejoined, key=lambda client: row.rejoined[client])
        plan = self.consumers[last].plan
        waited_ms = row.rejoined[last] - row.start_ms - plan.heartbeat_ms - plan.poll_ms
        return [last] if waited_ms >= NOTICEABLE_MS and row.join_complete_ms == row.rejoined[last] else []


_TRIGGERS: Mapping[str, str] = {"new_member": _JOINED, "leave": _LEFT, "heartbeat_expiration": _EXPIRED}
_CAUSES: Mapping[str, str] = {
    "heartbeat_expiration": "session_timeout",
    "static_update": "static_member_replaced",
    "static_protocol_change": "assignor_change",
    "sync_store_error": "assignment_store_failed",
    "pending_sync_expiration": "sync_timeout",
    "over_capacity_on_load": "coordinator_failover",
    "downgrade_from_consumer": "protocol_migration",
}
_NOBODYS = frozenset({"assignment_store_failed", "coordinator_failover", "metadata_change"})

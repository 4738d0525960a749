"""Follows the states of a heartbeat-based group by its coordinator's lines.

Lines tell the epochs, the members and, at INFO for share and streams groups, each member's step. What they leave open is
marked as inferred or unknown: members that were there before the first line, and steps that are logged at DEBUG only.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import cast

from models.events import Event, text_field
from models.evidence import evidence
from models.kafka.conformance.group_view import CERTAIN, INFERRED, UNKNOWN, Fact, MemberView, View
from models.kafka.coordinator.protocol.group_states import State
from models.rows import KAFKA, GroupState, GroupStateMember

FIRST_EPOCHS = (1, 2)
"""Epochs to which the first member may raise a new group.

1, and 2 since 4.2 (streams) or 4.3.
"""


@dataclass(slots=True)
class MemberEpoch:
    """A member by the lines so far; `state` is None before its first step."""

    instance_id: str | None = None
    epoch: int | None = None
    state: str | None = None

    def has_reached(self, epoch: int | None) -> bool:
        """Whether it has all that it is to have."""
        return self.state is not None and self.state.upper() == "STABLE" and self.epoch == epoch


@dataclass(slots=True)
class EpochStates:
    """Epochs and members of one group."""

    group_type: str = "consumer"
    epoch: int | None = None
    target_epoch: int | None = None
    members: dict[str, MemberEpoch] = field(default_factory=dict)
    all_known: bool = False
    """Whether nobody was there before the first line."""
    topology_state: str | None = None
    asking: Event | None = None
    """A join that was not accepted yet."""
    tells_steps: bool = False
    """Whether members' steps are logged."""

    def feed(self, event: Event) -> bool:
        """Take a line; True if it concerns the state."""
        handler = getattr(self, f"_{_HANDLERS[event.name]}", None) if event.name in _HANDLERS else None
        if handler is None:
            return False
        self.group_type = text_field(event, "group_type") or self.group_type
        handler(event)
        return True

    def _joined(self, event: Event) -> None:
        """Take a member in; a streams group may still refuse it.

        If so, no line about its epoch follows.
        """
        if self.group_type == "streams" and event.member_id:
            self.asking = event
        else:
            self._admit(event)

    def _admit(self, event: Event | None) -> None:
        if event is None:
            return
        self.asking = None
        old = self.members.pop(text_field(event, "old_member_id") or "", None)
        if event.member_id:
            known = self.members.setdefault(event.member_id, MemberEpoch())
            known.instance_id = event.instance_id or (old.instance_id if old else known.instance_id)

    def _gone(self, event: Event) -> None:
        member = self.members.get(event.member_id or "")
        if event.fields.get("temporarily"):
            if member is not None:
                member.epoch, member.state = -2, "STABLE"
            return
        self.members.pop(event.member_id or "", None)
        self.epoch = None if self.epoch is None else self.epoch + 1

    def _asker(self, event: Event) -> Event | None:
        """The join that a line about an epoch proves to have been accepted."""
        return self.asking if self.asking is not None and self.asking.member_id == event.member_id else None

    def _raised(self, event: Event) -> None:
        self._admit(self._asker(event))
        if event.generation in FIRST_EPOCHS and self.epoch is None and len(self.members) == 1:
            self.all_known, self.target_epoch = True, self.target_epoch or 0
        self.epoch = event.generation

    def _targeted(self, event: Event) -> None:
        self.target_epoch = event.generation
        self.epoch = max(self.epoch or 0, event.generation or 0)

    def _moved(self, event: Event) -> None:
        self._admit(self._asker(event))
        epoch = event.fields.get("member_epoch")
        if event.member_id and isinstance(epoch, int):
            member = self.members.setdefault(event.member_id, MemberEpoch())
            member.epoch, member.state, self.tells_steps = epoch, text_field(event, "state"), True

    def _checked(self, event: Event) -> None:
        self.topology_state = text_field(event, "topology_state")

    # -- what follows from it --------------------------------------------------------------------------------

    @property
    def state(self) -> tuple[str | None, str]:
        """The group's state, and how sure it is."""
        if not self.members:
            return ("Empty", CERTAIN) if self.all_known else (None, UNKNOWN)
        if self.group_type == "share":
            return "Stable", CERTAIN
        if self.group_type == "streams" and self.topology_state is None:
            return None, UNKNOWN
        if self.group_type == "streams" and self.topology_state != "ready":
            return "NotReady", CERTAIN
        if self.epoch is None or self.target_epoch is None:
            return None, UNKNOWN
        if self.epoch > self.target_epoch:
            return "Assigning", CERTAIN
        if not self.tells_steps:
            return None, UNKNOWN
        if any(not member.has_reached(self.target_epoch) for member in self.members.values()):
            return "Reconciling", CERTAIN if self.all_known else INFERRED
        return "Stable", CERTAIN if self.all_known else INFERRED

    def view(self) -> View:
        """The group as `groupscope state` shows it."""
        state, certainty = self.state
        known = CERTAIN if self.all_known else UNKNOWN
        members = [(name, member, self._arrival(member)) for name, member in sorted(self.members.items())]
        static: dict[str, str | None] = {
            member.instance_id: name for name, member in self.members.items() if member.instance_id is not None
        }
        return View(
            state=cast("Fact[State]", Fact(state, certainty)),
            generation=Fact(self.epoch, UNKNOWN if self.epoch is None else CERTAIN),
            leader=Fact(None, CERTAIN),
            member_count=Fact(len(self.members) if self.all_known else None, known),
            members=tuple(
                MemberView(name, member.instance_id, CERTAIN, arrival, Fact(None, UNKNOWN), _negated(arrival))
                for name, member, arrival in members
            ),
            pending=Fact((), CERTAIN),
            static=Fact(static, known),
            protocol=Fact(self.group_type, CERTAIN),
            votes=Fact(None, UNKNOWN),
            timers=(),
            rivals=0,
        )

    def _arrival(self, member: MemberEpoch) -> Fact[bool]:
        """Whether a member has all of its target.

        This stands for a classic member's rejoining.
        """
        if not self.tells_steps or self.target_epoch is None:
            return Fact(None, UNKNOWN)
        return Fact(member.has_reached(self.target_epoch), CERTAIN)

    def row(self, cluster: str, group: str, line: Event) -> GroupState:
        """The state after a line, as a row of `group_states`."""
        state, certainty = self.state
        known = CERTAIN if self.all_known else UNKNOWN
        return GroupState(
            cluster=cluster,
            system=KAFKA,
            group_state_id="",
            group=group,
            changed_at=line.time_us,
            state=state,
            state_certainty=certainty,
            generation=self.epoch,
            generation_certainty=UNKNOWN if self.epoch is None else CERTAIN,
            leader=None,
            leader_certainty=UNKNOWN,
            member_count=len(self.members) if self.all_known else None,
            member_count_certainty=known,
            members=[self._member(name, member) for name, member in sorted(self.members.items())],
            pending_members=[],
            pending_certainty=CERTAIN,
            timers=[],
            missing_lines=0,
            unexplained_lines=0,
            evidence=evidence([line]),
        )

    def _member(self, name: str, member: MemberEpoch) -> GroupStateMember:
        arrived = self._arrival(member)
        awaited = _negated(arrived)
        return GroupStateMember(
            name, member.instance_id, CERTAIN, arrived.value, arrived.certainty, None, UNKNOWN, awaited.value, awaited.certainty
        )


def _negated(fact: Fact[bool]) -> Fact[bool]:
    return Fact(None if fact.value is None else not fact.value, fact.certainty)


_HANDLERS = {
    "ModernMemberJoined": "joined",
    "ModernMemberLeft": "gone",
    "ModernMemberFenced": "gone",
    "GroupEpochBumped": "raised",
    "TargetComputed": "targeted",
    "ModernMemberMoved": "moved",
    "StreamsTopologyChecked": "checked",
}
EPOCH_EVENTS = frozenset(_HANDLERS)

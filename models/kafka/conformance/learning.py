"""Learn from lines what is certain about an explanation's state."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from models.events import Event, int_field, text_field
from models.kafka.conformance.explanation import Certainty, Explanation, is_named
from models.kafka.coordinator.protocol.group_states import State
from models.kafka.coordinator.runtime.version_policy import SizeLimit

Learn = Callable[[Explanation, Event], None]
NAMED_BY_REASON = frozenset(
    {"new_member", "update_metadata", "leader_rejoin", "member_joining", "static_member_update", "static_member_protocol_change"}
)
"""Reasons that name the member whose JoinGroup began the phase."""
TELLING_REASONS = NAMED_BY_REASON | {"leave", "heartbeat_expiration", "pending_sync_expiration", "sync_store_error"}
"""Reasons that leave nobody else who can have joined by then.

Without one (until 2.0) the newcomer is not known.
"""


def learn_certain(explanation: Explanation, event: Event) -> None:
    """Take over what a line that has been accounted for makes certain."""
    explanation.certainty.none_rejoined = explanation.certainty.none_synced = False
    if event.name == "RebalanceStarted" and event.node is not None:
        explanation.node = event.node
    known = LEARNED.get(event.name)
    if known is not None:
        known(explanation, event)


def may_lose_members(explanation: Explanation) -> bool:
    """Whether members may have gone without a line in this phase.

    Refused for the group's size, or in old versions.
    """
    certainty, sight = explanation.certainty, explanation.sight
    if not sight.shows_departures:
        return True
    group = explanation.group
    if not certainty.is_size_doubted or sight.policy.size_limit is SizeLimit.NONE or group is None:
        return False
    if len(group.members) + certainty.removed < certainty.largest:
        return False  # the limit is not below the greatest size seen, and it was not reached
    return any(member not in certainty.waiting for member in group.members)


def _began(explanation: Explanation, event: Event) -> None:
    certainty, group = explanation.certainty, explanation.group
    certainty.is_state_sure = certainty.is_generation_sure = True
    certainty.removed = 0
    certainty.waiting.clear()
    certainty.synced.clear()
    certainty.none_rejoined = text_field(event, "reason_id") in TELLING_REASONS
    member = text_field(event, "reason_member_id")
    if member and text_field(event, "reason_id") in NAMED_BY_REASON:
        certainty.waiting.add(member)
    if group is not None and group.is_initial:
        certainty.is_roster_sure = certainty.is_count_sure = bool(member)
        certainty.is_leader_sure, certainty.was_leader_chosen = bool(member), False  # the first one of a memberless group leads


def _came(explanation: Explanation, event: Event) -> None:
    group = explanation.group
    if group is not None and group.state is State.PREPARING_REBALANCE and event.member_id:
        certainty = explanation.certainty
        certainty.waiting.add(event.member_id)
        if len(group.members) == 1:  # the first one leads, unless others are there unseen
            certainty.is_leader_sure, certainty.was_leader_chosen = _is_complete(explanation), False


def _went(explanation: Explanation, event: Event) -> None:
    certainty = explanation.certainty
    certainty.waiting.discard(event.member_id or "")
    certainty.removed += 1
    _leadership(explanation)


def _leadership(explanation: Explanation) -> None:
    """A new leader is certain only where there was nothing to choose."""
    if explanation.guesses.guessed_leader:
        explanation.guesses.guessed_leader = False
        explanation.certainty.is_leader_sure = False
        explanation.certainty.was_leader_chosen = True
    elif explanation.group is not None and len(explanation.group.members) <= 1 and not _is_complete(explanation):
        explanation.certainty.is_leader_sure = False


def _is_complete(explanation: Explanation) -> bool:
    """Whether nobody else can be a member now."""
    group = explanation.group
    in_phase = group is not None and group.state is State.PREPARING_REBALANCE
    return explanation.certainty.is_roster_sure and not (in_phase and not explanation.sight.shows_joins)


def _generation_started(explanation: Explanation, event: Event) -> None:
    certainty, group, sight = explanation.certainty, explanation.group, explanation.sight
    if group is None:
        return
    count, names = int_field(event, "member_count"), [member for member in group.members if is_named(member)]
    certainty.is_state_sure = certainty.is_generation_sure = True
    certainty.is_count_sure = count is not None or (certainty.is_roster_sure and sight.shows_joins and not may_lose_members(explanation))
    all_proven = len(names) == count and certainty.waiting.issuperset(names)
    one_sided = certainty.is_roster_sure and len(names) == count and (sight.shows_joins or not may_lose_members(explanation))
    certainty.is_roster_sure = all_proven or one_sided or (certainty.is_roster_sure and certainty.is_count_sure and count is None)
    if event.fields.get("roster"):
        certainty.is_roster_sure = certainty.is_count_sure = True
    certainty.largest = max(certainty.largest, count or 0)
    certainty.waiting.clear()
    certainty.none_synced = True
    certainty.synced.clear()
    if explanation.guesses.guessed_leader or (group.leader and not is_named(group.leader)):
        certainty.was_leader_chosen = certainty.was_leader_chosen or explanation.guesses.guessed_leader
        explanation.guesses.guessed_leader = certainty.is_leader_sure = False


def _assigned(explanation: Explanation, event: Event) -> None:
    certainty = explanation.certainty
    certainty.is_state_sure = certainty.is_generation_sure = True
    count = int_field(event, "member_count")
    certainty.is_count_sure = certainty.is_count_sure or count is not None
    if event.member_id:
        certainty.is_leader_sure, certainty.was_leader_chosen = True, False
        certainty.synced.add(event.member_id)
    elif explanation.group is not None and explanation.group.leader and certainty.is_leader_sure and certainty.is_roster_sure:
        certainty.synced.add(explanation.group.leader)


def _emptied(explanation: Explanation, event: Event) -> None:  # noqa: ARG001
    certainty = explanation.certainty
    certainty.is_state_sure = certainty.is_generation_sure = certainty.is_roster_sure = certainty.is_count_sure = (
        certainty.is_leader_sure
    ) = True
    certainty.was_leader_chosen = False
    certainty.waiting.clear()


def _state_told(explanation: Explanation, event: Event) -> None:
    certainty = explanation.certainty
    if text_field(event, "state") is not None:
        certainty.is_state_sure = True
        if explanation.state_and_generation[0] is State.EMPTY:
            certainty.is_roster_sure = certainty.is_count_sure = certainty.is_leader_sure = True
    _came(explanation, event)


def _replaced(explanation: Explanation, event: Event) -> None:
    certainty = explanation.certainty
    old = text_field(event, "old_member_id") or ""
    certainty.is_state_sure = certainty.is_state_sure or text_field(event, "state") is not None
    group = explanation.group
    waits = group is not None and group.state is State.PREPARING_REBALANCE
    certainty.waiting.discard(old)
    if waits and event.member_id:
        certainty.waiting.add(event.member_id)


def _gone(explanation: Explanation, event: Event) -> None:  # noqa: ARG001
    explanation.certainty = Certainty(is_state_sure=True, is_generation_sure=True, is_size_doubted=explanation.certainty.is_size_doubted)


def _created(explanation: Explanation, event: Event) -> None:  # noqa: ARG001
    certainty = explanation.certainty
    certainty.is_state_sure = certainty.is_generation_sure = certainty.is_roster_sure = certainty.is_count_sure = (
        certainty.is_leader_sure
    ) = True


def _cleaned_up(explanation: Explanation, event: Event) -> None:
    """Whether the group is among what was removed, no line says."""
    certainty, state = explanation.certainty, explanation.state_and_generation[0]
    if state in (State.EMPTY, None) and not explanation.sight.shows("GroupDied") and (int_field(event, "offsets_count") or 0):
        certainty.is_state_sure = certainty.is_generation_sure = False


def _loaded(explanation: Explanation, event: Event) -> None:
    """Take members as certain where they were read back by name.

    What was under way before is gone.
    """
    certainty, known = explanation.certainty, explanation.certainty.is_roster_sure
    count, group = int_field(event, "member_count"), explanation.group
    names = 0 if group is None else sum(map(is_named, group.members))
    certainty.is_state_sure = True
    certainty.is_generation_sure = event.generation is not None
    certainty.is_count_sure = count is not None
    certainty.is_roster_sure = known and count == names
    certainty.waiting.clear()
    certainty.synced.clear()
    explanation.node = event.node or explanation.node
    explanation.loading.clear()


def _unloaded(explanation: Explanation, event: Event) -> None:
    """Give the group up: lines of another broker tell its future."""
    if explanation.node in (None, event.node) or event.node is None:
        explanation.certainty = Certainty(is_size_doubted=explanation.certainty.is_size_doubted, largest=explanation.certainty.largest)


def _led(explanation: Explanation, event: Event) -> None:
    if explanation.group is not None and explanation.group.leader == text_field(event, "new_leader"):
        explanation.certainty.is_leader_sure, explanation.certainty.was_leader_chosen = True, False
        explanation.guesses.guessed_leader = False


LEARNED: Mapping[str, Learn] = {
    "RebalanceStarted": _began,
    "MemberAdded": _state_told,
    "PendingMemberJoined": _state_told,
    "MemberIdHandedOut": _state_told,
    "StaticMemberReplaced": _replaced,
    "MemberLeft": _went,
    "MemberFailed": _went,
    "MembersNotRejoined": _went,
    "SyncMissing": _went,
    "GenerationStarted": _generation_started,
    "AssignmentReceived": _assigned,
    "GroupEmptied": _emptied,
    "GroupDied": _gone,
    "GroupsDeleted": _gone,
    "SimpleGroupCreated": _created,
    "OffsetsExpired": _cleaned_up,
    "LeaderReplaced": _led,
    "GroupLoaded": _loaded,
    "GroupUnloaded": _unloaded,
}
"""By the event of a line."""

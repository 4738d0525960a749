"""Generations as members' logs show them, and the rebalances cut from these."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from models.events import BEFORE_ANY_TIME_US
from models.kafka.observations.actions import (
    GOING,
    JOIN_REQUESTS,
    ActionKind,
    MemberAction,
    ends_ownership,
    is_going,
    is_rebalance_notice,
    is_refused_sync,
    says_old_generation,
    says_unknown_member,
)
from models.kafka.observations.coordinator_contacts import CoordinatorContacts
from models.kafka.observations.libraries import known_library, library_of
from models.kafka.observations.line_delays import HEARD_US
from models.kafka.reconstruction.classic_states import leaves_room, next_generation
from models.units import FOREVER

DatedActions = list[tuple[MemberAction, str | None]]
"""Actions that may begin a rebalance, with their actors, by time."""

_LEAVING = frozenset({ActionKind.LEAVE, ActionKind.POLL_TIMEOUT})

JOIN_PHASE_ENDS = frozenset({"GenerationStarted", "AssignmentReceived", "GroupEmptied"})
"""Coordinators' lines that end a join phase, or the sync phase behind it."""

OF_STRANGERS = frozenset(
    {"ClientNote", "ClientLeaveAnswered", "ClientHeartbeatSent", "ClientJoinFailed", "ClientJoining", "ClientJoinSent"}
)
"""Events of a member that may have joined though no line says so."""

MEMBER_STATES = frozenset({"JOINING", "STABLE", "RECONCILING", "ACKNOWLEDGING"})
"""States of a member by the consumer protocol (MemberState).

In all others it is outside the group.
"""

SHOWINGS = GOING | {ActionKind.REBALANCE_NOTICED, ActionKind.COMMIT_REFUSED, ActionKind.REVOKE, ActionKind.LOST}
"""Actions that show a rebalance without a generation.

A wish to join may have been refused. Of refused commits, those that say that the group went on; of revocations, those of any partition.
"""


@dataclass(slots=True)
class ClientSight:
    """One generation as members' logs show it.

    `joined` and `synced` are the first answers to JoinGroup and SyncGroup.
    """

    generation: int | None  # None where no member names it
    joined: MemberAction
    last_at: int
    synced: MemberAction | None = None
    members: dict[str, str | None] = field(default_factory=dict)
    """Member ids that joined, by actor."""
    member_count: int | None = None
    """Number of members in the leader's assignment."""
    left: dict[str, int] = field(default_factory=dict)
    """Times at which some of them left since."""
    is_announced: bool = False
    """True if a coordinator logged it."""
    of_epoch: bool = False
    """The group is one of the consumer protocol, and this an epoch."""
    has_nameless: bool = False
    """Somebody joined whose line tells no id."""
    has_follower: bool = False
    """A member was assigned partitions that another assigned.

    Its log would tell if it had made the assignment, or it names another leader.
    """
    resumed_at: int | None = None
    """Last request that was answered with this generation again.

    A rebalance begun before it was lost.
    """
    was_begun_by_others: bool = False
    """Its only known member heard of a rebalance that it had not begun."""
    is_only_heard: bool = False
    """A heartbeat names it, and no line shows its beginning."""
    was_begun_by_strangers: bool = False
    """The same, and no other log shows who had."""

    def hear(self, action: MemberAction, since: list[MemberAction], *, has_known_beginning: bool) -> None:
        """Note if its only known member heard of a rebalance of others.

        It had done nothing else since it joined.
        """
        is_notice = is_rebalance_notice(action) or is_refused_sync(action)
        if action.at > self.joined.at and is_notice and all(other.at <= self.joined.at or is_rebalance_notice(other) for other in since):
            self.was_begun_by_others = True
            self.was_begun_by_strangers |= not has_known_beginning

    @property
    def has_others(self) -> bool:
        """Whether it has members without logs."""
        return self.has_follower or self.was_begun_by_strangers or (self.member_count or 0) > len(self.members)

    @property
    def last_members(self) -> list[str]:
        """Members that have not left, or those that left last."""
        last_at = max(self.left.values(), default=None)
        return [actor for actor in self.members if actor not in self.left] or [actor for actor, at in self.left.items() if at == last_at]

    @property
    def is_whole(self) -> bool:
        """Whether all its members are known, as far as lines tell."""
        is_counted = not self.has_follower if self.member_count is None else self.member_count <= len(self.members)
        return not (self.has_nameless or self.was_begun_by_strangers) and is_counted and bool(self.members)

    def has_nobody_in(self, later: ClientSight) -> bool:
        """Whether all its members are known, and none is in a later generation."""
        return self.is_whole and all(later.members.get(actor) != member_id for actor, member_id in self.members.items())

    @property
    def gone_at(self) -> int | None:
        """Time at which the last member left; None if one may have stayed."""
        return max(self.left.values()) if self.is_whole and len(self.left) == len(self.members) else None


@dataclass(frozen=True, slots=True)
class ClientWindow:
    """One rebalance by members' logs, from what began it to its end."""

    generation_before: int | None
    from_empty: bool
    outcome: str
    started: MemberAction | None
    joined: MemberAction | None = None
    ended: MemberAction | None = None
    member_count: int | None = None
    skipped_from: int | None = None
    """The last generation that was seen before, where some between were not."""
    is_announced: bool = False
    """True if a coordinator logged the generation, if not its beginning."""

    @property
    def generation(self) -> int | None:
        """The generation that it leads to."""
        return next_generation(self.generation_before)

    @property
    def began(self) -> int:
        """Its start, or its first known time."""
        return next((action.at for action in (self.started, self.joined, self.ended) if action is not None), 0)


def dated_actions(openings: Mapping[str | None, list[MemberAction]], kinds: Collection[ActionKind], after: int, until: int) -> DatedActions:
    """Actions of these kinds, of all actors, within a time."""
    pairs = ((action, actor) for actor, actions in openings.items() for action in actions if after < action.at <= until)
    return sorted((pair for pair in pairs if pair[0].kind in kinds), key=lambda pair: pair[0].at)


def has_begun_since(openings: Iterable[MemberAction], after: int, until: int) -> bool:
    """Whether a client did what may begin a rebalance, within a time."""
    return any(after < action.at <= until for action in openings)


def shows_beginning(action: MemberAction, *, of_epochs: bool) -> bool:
    """Whether an action shows that a rebalance had begun.

    Of epochs, a member may give up only what moves.
    """
    is_out = ends_ownership(action) and not of_epochs
    return is_out or is_rebalance_notice(action) or is_refused_sync(action) or says_unknown_member(action)


def shows_later_generation(action: MemberAction, newest: ClientSight | None) -> bool:
    """Whether a heartbeat of the newest known generation is refused as old.

    Right behind a join it may be one that was sent before it.
    """
    if newest is None or not says_old_generation(action):
        return says_old_generation(action)
    return action.generation in {None, newest.generation} and action.at - newest.last_at > HEARD_US


def without_unanswered(candidates: DatedActions, sight: ClientSight) -> DatedActions:
    """Leave out first requests to join that reached nobody.

    Whoever sent one got no answer and did nothing more, and nobody heard of a rebalance within a heartbeat interval.
    """
    acts = Counter(actor for _, actor in candidates)
    first = 0
    for following in range(1, len(candidates)):
        action, actor = candidates[first]
        is_alone = actor is not None and actor not in sight.members and acts[actor] == 1 and action.kind in JOIN_REQUESTS
        if not is_alone or candidates[following][0].at - action.at <= HEARD_US:
            break
        first = following
    return candidates[first:]


def count_unheard(candidates: DatedActions, contacts: CoordinatorContacts, last: ClientSight, sight: ClientSight | None = None) -> int:
    """Count the first actions that began nothing at the right coordinator.

    That is the one that made the generation. One that is given up loses what it had heard: its successor knows the last generation
    only. Without `sight` the group went empty.
    """
    joined_at = sight.joined.at if sight is not None else last.gone_at or FOREVER
    answering = contacts.common_node(sight.members if sight is not None else last.last_members, joined_at)
    for index, (action, actor) in enumerate(candidates):
        node = contacts.node(actor, action.at)
        is_elsewhere = None not in {node, answering} and node != answering
        if not is_elsewhere and not _is_unheard(candidates[index:], contacts, last, sight):
            return index
    return len(candidates)


def _is_unheard(candidates: DatedActions, contacts: CoordinatorContacts, last: ClientSight, sight: ClientSight | None) -> bool:
    """Whether a leave shows no effect, and something else begins a rebalance later."""
    action, actor = candidates[0]
    others = [pair for pair in candidates[1:] if pair[1] != actor or pair[0].kind not in _LEAVING]
    if action.kind not in _LEAVING or actor not in last.members or not others:
        return False
    if others[0][0].kind not in JOIN_REQUESTS | {ActionKind.LEAVE}:
        return False
    if last.gone_at == last.left.get(actor) and len(last.members) == 1:
        return sight is not None and not leaves_room(last.generation, sight.generation)  # or the group would have gone empty
    others = [pair for pair in others if pair[1] != actor]
    lost_at = contacts.first_loss(action.at, action.at + HEARD_US, actor)
    if lost_at is not None and all(other.at > lost_at for other, _ in others if is_rebalance_notice(other)):
        return True
    return _has_nobody_heard(action, last.members, others)


def _has_nobody_heard(leave: MemberAction, members: Collection[str | None], others: DatedActions) -> bool:
    """Whether members that tell of rebalances heard of none within a heartbeat interval.

    Each was in the group beyond it: it left or heard of one later.
    """
    firsts: dict[str | None, MemberAction] = {}
    for other, whose in others:
        firsts.setdefault(whose, other)
    would_tell = (
        (other.kind is ActionKind.LEAVE or is_rebalance_notice(other)) and _tells_of_rebalances(other)
        for whose, other in firsts.items()
        if whose in members
    )
    return any(would_tell) and all(other.at - leave.at > HEARD_US for other in firsts.values())


def _tells_of_rebalances(action: MemberAction) -> bool:
    return known_library(library_of(action.event.message.rpartition(".")[0])).logs_rebalances


def unanswered_requests(candidates: DatedActions, contacts: CoordinatorContacts, sight: ClientSight) -> DatedActions:
    """Requests to join that no answer followed, nor a leave.

    Their clients are not in the generation, or asked once more as other processes.
    """
    gone_at = {actor: action.at for action, actor in candidates if is_going(action)}
    requests = ((action, actor) for action, actor in candidates if actor is not None and action.kind in JOIN_REQUESTS)
    lasting = ((action, actor) for action, actor in requests if action.at > gone_at.get(actor, -FOREVER))
    return [
        (action, actor) for action, actor in lasting if actor not in sight.members or contacts.has_ended(action, actor, sight.joined.at)
    ]


def unseen_window(candidates: DatedActions, generation: int, *, from_empty: bool) -> ClientWindow:
    """The rebalance that made a generation which no log shows."""
    over = last_awaited(candidates)
    return ClientWindow(generation, from_empty, "superseded" if over is None else "stable", candidates[0][0], over, over)


def begun_after_unseen(candidates: DatedActions, unanswered: DatedActions) -> list[MemberAction]:
    """Requests to join behind a generation that no log shows."""
    over_at = {actor: action.at for action, actor in candidates if is_going(action)}
    for action, actor in unanswered:
        over_at[actor] = max(action.at, over_at.get(actor, action.at))
    requests = (pair for pair in candidates[1:] if pair[0].kind in JOIN_REQUESTS)
    return [action for action, actor in requests if action.at > over_at.get(actor, -FOREVER)]


def went_on(last: ClientSight, candidates: DatedActions) -> bool:
    """Whether others made a generation after one or more had gone."""
    if last.has_follower or (last.was_begun_by_others and last_awaited(candidates) is not None):
        return True
    return last.has_others and bool(candidates) and says_unknown_member(candidates[0][0])


def removal_before(sight: ClientSight, heard: DatedActions) -> MemberAction | None:
    """The first line of a member that was out, and came back.

    The log begins with it. A generation was made without it, unless none lies between its two.
    """
    is_nameless = sight.has_nameless or len(sight.members) == 1
    removals = (action for action, actor in heard if actor in sight.members or (actor is None and is_nameless))
    removal = next((action for action in removals if says_unknown_member(action)), None)
    if removal is None or sight.generation is None:
        return removal
    return removal if removal.generation is not None and leaves_room(removal.generation, sight.generation) else None


def last_awaited(candidates: DatedActions) -> MemberAction | None:
    """The end of a member that heard of a rebalance without rejoining.

    The join phase waited for it until it left, or was put out and heard that next.
    """
    heard_by: set[str | None] = set()
    left: MemberAction | None = None
    for action, actor in candidates:
        if is_rebalance_notice(action) or is_refused_sync(action):
            heard_by.add(actor)
        elif is_going(action) and actor in heard_by:
            left = action
    return left


def settled_at(waiting: list[ClientSight], hold_us: int) -> int:
    """When the first generation's window is final.

    One whose lines have no times waits for all others: a coordinator's lines may tell it.
    """
    timed = (sight.last_at for sight in waiting if sight.joined.at >= BEFORE_ANY_TIME_US)
    return next(timed, FOREVER - hold_us - 1) + hold_us + 1


def unjoined_windows(candidates: DatedActions, generation: int | None, apart_us: int, *, precede_epochs: bool) -> Iterator[ClientWindow]:
    """Rebalances that are shown, without any member's join.

    Where epochs follow, who comes back does so by one of these.
    """
    last_at: int | None = None
    gone: set[str | None] = set()
    asked_last = {actor: action.at for action, actor in candidates if action.kind in JOIN_REQUESTS}
    for action, actor in candidates:
        is_unanswered = (
            actor is not None and action.kind in JOIN_REQUESTS and asked_last[actor] - action.at > apart_us
        )  # and no refusal is logged
        is_return = action.kind in JOIN_REQUESTS and (actor in gone or is_unanswered)
        if (is_return and precede_epochs) or not (action.kind in SHOWINGS or is_rebalance_notice(action) or is_return):
            continue
        if ends_ownership(action) and actor in gone:
            continue  # it only gives up what it had
        gone = gone | {actor} if action.kind in GOING else gone - {actor}
        if last_at is None or action.at - last_at > apart_us:
            outcome = "superseded" if precede_epochs else "open"
            yield ClientWindow(generation if last_at is None else None, False, outcome, action)
        last_at = action.at


def is_of_generation(action: MemberAction, actor: str | None, sight: ClientSight) -> bool:
    """Whether an assignment is of a generation that its member did not join.

    Its line names it, or is of a nameless member: those of kafka-python name the generation as it joins, and not again.
    """
    if action.generation is not None:
        return action.generation == sight.generation
    return actor is None and sight.has_nameless

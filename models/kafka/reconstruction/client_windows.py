"""Cut rebalances from members' own logs, by generation.

A client says which generation it joined; a generation that nobody had named before is a rebalance. It began with the first action after
the join phase before that can begin one (GroupCoordinator, ClassicGroup: a JoinGroup, a LeaveGroup), or that shows that it had begun (a
heartbeat that is refused so). A group whose members have all left went empty, by a generation of its own. What a coordinator announced
itself is left to its lines: a window waits for these first.

Some libraries name no generation (kafkajs, ruby-kafka; Spring's containers). Their members' joins and assignments are of
the generation that others name at that time; where nobody names one, they are of one that is unknown.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import dropwhile

from models.events import BEFORE_ANY_TIME_US, Event, Witness, int_field, text_field
from models.kafka.observations.actions import (
    GOING,
    JOIN_REQUESTS,
    ActionKind,
    MemberAction,
    follows_in_log,
    has_only_given_id,
    is_going,
    is_rebalance_notice,
    stays_till_expiry,
    would_tell_of_leading,
)
from models.kafka.observations.coordinator_contacts import CoordinatorContacts
from models.kafka.observations.knowledge import assigned_members
from models.kafka.observations.line_delays import CLOCK_TOLERANCE_US
from models.kafka.observations.roster import Roster
from models.kafka.reconstruction.classic_states import leaves_room, next_generation
from models.kafka.reconstruction.client_generations import (
    JOIN_PHASE_ENDS,
    MEMBER_STATES,
    OF_STRANGERS,
    SHOWINGS,
    ClientSight,
    ClientWindow,
    DatedActions,
    begun_after_unseen,
    count_unheard,
    dated_actions,
    has_begun_since,
    is_of_generation,
    last_awaited,
    removal_before,
    settled_at,
    shows_beginning,
    shows_later_generation,
    unanswered_requests,
    unjoined_windows,
    unseen_window,
    went_on,
    without_unanswered,
)
from models.tolerances import int_tolerance
from models.units import FOREVER

CLIENT_WINDOW_HOLD_US = int_tolerance("kafka.client_windows.hold_us")
"""Time that a window waits for lines of coordinators and slow members.

The coordinator's clock may be behind theirs.
"""

OPENINGS_MAX = 1_000
"""Openings held of one client; the first of an endless number."""

CLIENTS_MAX = 10_000
"""Clients whose openings are held. Beyond it the first ones go."""

NEAR_US = int_tolerance("kafka.client_windows.near_us")
"""A coordinator's and a member's lines this near are of one generation."""

ANSWERED_TOGETHER_US = int_tolerance("kafka.client_windows.together_us")
"""Most time between lines of members that joined one generation.

All are answered at once (GroupCoordinator.onCompleteJoin); what follows is each client's own pace: assumed.
"""

ANNOUNCED_MAX = 1_000
"""Generations held that a coordinator announced."""

_OPENINGS = JOIN_REQUESTS | {ActionKind.LEAVE, ActionKind.REBALANCE_NOTICED, ActionKind.POLL_TIMEOUT}
_BEGINNINGS = _OPENINGS | {ActionKind.WANTS_REJOIN, ActionKind.SYNC_FAILED}

_AMID = frozenset({"ClientHeartbeatSent", "ClientWorkAssigned"})
"""Events of a member, with its generation, that may stand long after its join."""


@dataclass(slots=True)
class ClientWindows:
    """Cuts one group's history by the generations that its members name."""

    _last: ClientSight | None = None
    """The latest generation that has a window; those after it wait."""
    _waiting: list[ClientSight] = field(default_factory=list)
    _openings: dict[str | None, list[MemberAction]] = field(default_factory=dict)
    """Actions that may begin a rebalance, by who did them."""
    _announced: dict[int | None, int] = field(default_factory=dict)
    """Generations that a coordinator announced, and when."""
    _cut_off: set[str | None] = field(default_factory=set)
    """Clients without a coordinator: what they send reaches nobody."""
    _in_touch: set[str | None] = field(default_factory=set)
    """Clients that found their coordinator, and did not lose it."""
    _consumers: set[str | None] = field(default_factory=set)
    """Clients that are members by the consumer protocol."""
    _unjoined: dict[str, int] = field(default_factory=dict)
    """Member ids that lines name without a join, with the time."""
    _is_told: bool = False
    """True if a coordinator logged the group."""
    _was_empty: bool = False
    """All of the last generation have left, and that has a window."""
    of_epochs: bool = False
    """A coordinator says that the group is one of the consumer protocol now."""
    _epochs_from: int | None = None
    """When a member's first state of the consumer protocol was logged."""
    _is_before_epochs: bool = False
    """Members acted before that."""
    _contacts: CoordinatorContacts = field(default_factory=CoordinatorContacts)
    _given_up: dict[str | None, MemberAction] = field(default_factory=dict)
    """Requests to join whose clients lost the coordinator since."""

    def begins_anew(self, generation: int) -> bool:
        """Whether a member that joins this generation joins a new life of the group.

        Only if no coordinator logged the old life.
        """
        newest = self._newest
        if newest is None or newest.generation is None or newest.is_announced or self._is_announced(newest.generation, newest.joined.at):
            return False
        if newest.gone_at is not None:
            return generation <= newest.generation
        return generation < newest.generation and self._sight_of(generation) is None

    def ended(self) -> None:
        """The group's life is over, or was."""
        self._last, self._was_empty = None, False
        self._waiting.clear()
        self._unjoined.clear()
        self._announced.clear()

    def feed(self, event: Event, actions: Iterable[MemberAction], roster: Roster) -> None:
        """Take an event and its actions, on the coordinator's clock."""
        if event.name in JOIN_PHASE_ENDS:
            self._is_told = True
            self._announced.pop(event.generation, None)
            self._announced[event.generation] = event.time_us
            while event.time_us - self._announced[next(iter(self._announced))] > 2 * NEAR_US or len(self._announced) > ANNOUNCED_MAX:
                del self._announced[next(iter(self._announced))]
        if event.witness is not Witness.CLIENT:
            return
        if event.member_id is not None and event.name in OF_STRANGERS and not self._is_member(event, roster):
            self._unjoined[event.member_id] = event.time_us
            if len(self._unjoined) > CLIENTS_MAX:
                del self._unjoined[next(iter(self._unjoined))]
        if event.name == "ClientMemberState":
            self._follow_state(event, roster)
        if event.name in _AMID:
            self._heard_in(event, roster)
        generation = event.generation if event.name == "ClientAssignmentMade" else None
        if generation is not None and (sight := self._sight_of(generation)) is not None:
            sight.member_count = len(assigned_members(event)) or sight.member_count
        for action in actions:
            actor = roster.actor(action.member_id, action.client_id, action.instance_id)
            if stays_till_expiry(action):
                continue
            if action.kind is ActionKind.JOINED and (action.generation or 0) > 0:
                self._joined(action, actor)
            elif action.kind in {ActionKind.JOINED, ActionKind.SYNCED, ActionKind.ASSIGNED}:
                self._synced(action, actor)
            elif action.kind is ActionKind.LOST_COORDINATOR:
                if (request := self._refused(actor)) is not None and len(self._given_up) < CLIENTS_MAX:
                    self._given_up[actor] = request
                self._in_touch.discard(actor)
                self._cut_off.add(actor)
                self._contacts.end(action, actor)
            elif action.kind is ActionKind.START:
                self._in_touch.add(actor)
                self._cut_off.discard(actor)
                self._contacts.begin(action, actor)
            elif action.kind is ActionKind.JOIN_FAILED:
                self._refused(actor)
                self._given_up.pop(actor, None)
                if has_only_given_id(action):  # it joins again at once, which not every library logs
                    self._open(replace(action, kind=ActionKind.JOIN), actor)
            elif action.kind in _OPENINGS or shows_beginning(action, of_epochs=self._has_epochs):
                self._open(action, actor)
            elif shows_later_generation(action, self._newest):
                self._open(replace(action, kind=ActionKind.REBALANCE_NOTICED), actor)

    def _heard_in(self, event: Event, roster: Roster) -> None:
        """Take the generation that a member is in as the log begins.

        Who else is in it is not known.
        """
        if self._newest is not None or self._is_told or self._has_epochs or not event.generation or event.generation < 1:
            return
        heard = MemberAction(
            ActionKind.STEP, event.time_us, event.member_id, event.client_id, event.instance_id, None, event.generation, event
        )
        actor = roster.actor(event.member_id, event.client_id, event.instance_id)
        members = {} if actor is None else {actor: event.member_id}
        self._last = ClientSight(event.generation, heard, event.time_us, members=members, has_nameless=True, is_only_heard=True)

    @property
    def _has_epochs(self) -> bool:
        """Whether what classic members call generations are epochs."""
        return self.of_epochs or bool(self._consumers)

    def _is_member(self, event: Event, roster: Roster) -> bool:
        """Whether a client joined last by this id, as others did."""
        members = self._newest.members if self._newest is not None else {}
        actor = roster.actor(event.member_id, event.client_id, event.instance_id)
        return len(members) > 1 and members.get(actor or "") == event.member_id  # one alone may be awaited by others without logs

    @property
    def _newest(self) -> ClientSight | None:
        return self._waiting[-1] if self._waiting else self._last

    def _follow_state(self, event: Event, roster: Roster) -> None:
        """Keep who speaks the consumer protocol, and its generations are epochs (KIP-848)."""
        if self._epochs_from is None:
            self._epochs_from, self._is_before_epochs = event.time_us, bool(self._openings)
        if event.client_id not in self._consumers and text_field(event, "from_state") in MEMBER_STATES:
            # Its state tells what it did before.
            self._openings.pop(roster.actor(event.member_id, event.client_id, event.instance_id), None)
        if text_field(event, "to_state") in MEMBER_STATES:
            self._consumers.add(event.client_id)
        else:
            self._consumers.discard(event.client_id)

    def _joined(self, action: MemberAction, actor: str | None) -> None:
        if (request := self._given_up.pop(actor, None)) is not None:
            self._openings.setdefault(actor, []).append(request)  # it was answered after all
        generation = action.generation or 0
        sight = self._sight_of(generation) or self._named_at_last(action)
        if sight is None:
            sight = ClientSight(generation, action, action.at, of_epoch=self._has_epochs)
            self._waiting.append(sight)
        elif action.at > sight.joined.at and actor in self._openings:
            # It was answered with the generation that is in force: what it asked for since began nothing.
            requested_at = [opening.at for opening in self._openings[actor] if opening.kind in JOIN_REQUESTS and opening.at <= action.at]
            if requested_at and actor is not None and action.member_id is not None and sight.members.get(actor) == action.member_id:
                sight.resumed_at = max(requested_at)
            self._openings[actor] = [opening for opening in self._openings[actor] if not sight.joined.at < opening.at <= action.at]
        self._take_in(sight, action, actor)

    def _take_in(self, sight: ClientSight, action: MemberAction, actor: str | None) -> None:
        if actor is None:
            sight.has_nameless = True
        else:
            sight.members[actor] = action.member_id or sight.members.get(actor)
            sight.member_count = int_field(action.event, "member_count") or sight.member_count  # a leader's answer lists all
            self._unjoined.pop(action.member_id or "", None)
            sight.left.pop(actor, None)
        leader_id = text_field(action.event, "leader_id")
        sight.has_follower = sight.has_follower or bool(leader_id and action.member_id and leader_id != action.member_id)
        sight.last_at = max(sight.last_at, action.at)

    def _named_at_last(self, action: MemberAction) -> ClientSight | None:
        """The generation that others joined just now, as this member names it."""
        sight = self._waiting[-1] if self._waiting else None
        if sight is None or sight.generation is not None or action.at - sight.last_at > ANSWERED_TOGETHER_US:
            return None
        sight.generation = action.generation
        return sight

    def _sight_of(self, generation: int) -> ClientSight | None:
        """The generation in the group's present life."""
        return next((sight for sight in (*self._waiting[::-1], self._last) if sight is not None and sight.generation == generation), None)

    def _synced(self, action: MemberAction, actor: str | None) -> None:
        """Take an assignment, or a join without a generation."""
        newest = self._newest
        is_of_newest = newest is not None and (actor in newest.members or is_of_generation(action, actor, newest))
        if newest is None or not is_of_newest or (action.generation is not None and action.generation != newest.generation):
            if actor is not None and action.generation is None:
                self._joined_unnamed(action, actor)
            elif actor is not None and newest is None and action.generation is not None and action.generation > 0:
                self._joined(action, actor)  # the log begins between its join and its assignment
                self._waiting[-1].synced = action
            return
        if newest.generation is None and has_begun_since(self._openings.get(actor, ()), newest.last_at, action.at):
            self._joined_unnamed(action, actor)
            return
        if actor is not None and actor not in newest.members:
            self._take_in(newest, action, actor)  # the line of its join is missing
        newest.synced = newest.synced or action
        newest.has_follower = newest.has_follower or would_tell_of_leading(action)
        newest.last_at = max(newest.last_at, action.at)

    def _joined_unnamed(self, action: MemberAction, actor: str | None) -> None:
        """Take a join or an assignment without a generation."""
        if self._has_epochs:
            return
        newest = self._newest
        near = newest is not None and action.at - newest.last_at <= ANSWERED_TOGETHER_US
        again = newest is not None and actor in newest.members and has_begun_since(self._openings.get(actor, ()), newest.last_at, action.at)
        if newest is None or not near or again:
            if newest is not None and newest.generation is not None and action.at - newest.joined.at <= NEAR_US:
                return  # a member that names generations tells of this time
            newest = ClientSight(None, action, action.at)
            self._waiting.append(newest)
        self._take_in(newest, action, actor)
        newest.synced = newest.synced or action

    def _open(self, action: MemberAction, actor: str | None) -> None:
        newest = self._newest
        self._given_up.pop(actor, None)
        if newest is not None and action.at == newest.joined.at and follows_in_log(action, newest.joined):
            action = replace(action, at=action.at + 1)  # its log has whole seconds
        if action.kind in GOING and actor is not None and newest is not None:
            if actor not in newest.members or (self._reaches_nobody(actor, newest) and not shows_beginning(action, of_epochs=True)):
                return  # the group went on without it, or does not hear of it; a coordinator that refuses it did
            if action.at > newest.joined.at:
                newest.left.setdefault(actor, action.at)
        elif action.kind in GOING and actor in self._cut_off and not shows_beginning(action, of_epochs=True):
            return
        openings = self._openings.setdefault(actor, [])
        if newest is not None and newest.members.keys() == {actor}:
            newest.hear(action, openings, has_known_beginning=self._has_come_after(newest.joined.at))
        if len(openings) < OPENINGS_MAX:
            openings.append(action)
        if len(self._openings) > CLIENTS_MAX:
            del self._openings[next(iter(self._openings))]

    def _refused(self, actor: str | None) -> MemberAction | None:
        """Forget a client's requests since it last joined; return the last.

        It was refused and began nothing, or was lost with the coordinator.
        """
        sights = (sight for sight in (self._last, *self._waiting) if sight is not None and actor in sight.members)
        joined_at = max((sight.joined.at for sight in sights), default=-FOREVER)
        openings = self._openings.pop(actor, [])
        if kept := [action for action in openings if action.at <= joined_at or action.kind not in JOIN_REQUESTS]:
            self._openings[actor] = kept
        return next((action for action in reversed(openings) if action.at > joined_at and action.kind in JOIN_REQUESTS), None)

    def _reaches_nobody(self, actor: str, newest: ClientSight) -> bool:
        """Whether a member, or all that tell, lost the coordinator."""
        members = newest.members.keys()
        return actor in self._cut_off or bool(self._cut_off & members and not self._in_touch & members)

    @property
    def due_at(self) -> int | None:
        """Time at which the next window is final; None if at the logs' end."""
        if self._waiting:
            return settled_at(self._waiting, CLIENT_WINDOW_HOLD_US)
        if self._last is None and self._epochs_from is not None and self._is_before_epochs:
            return self._epochs_from + CLIENT_WINDOW_HOLD_US + 1
        if self._last is None or self._was_empty:
            return None
        gone_at = self._last.gone_at
        is_empty = gone_at is not None and not self._has_come_after(gone_at) and not self._has_strangers(self._last)
        return gone_at + CLIENT_WINDOW_HOLD_US + 1 if gone_at is not None and is_empty else None

    def next_windows(self) -> Iterator[ClientWindow]:
        """The windows that are due, in order."""
        last = self._last
        if not self._waiting:
            yield from self._emptied(last) if last is not None else self._never_joined(last)
            return
        sight = self._waiting.pop(0)
        if last is not None and leaves_room(last.generation, sight.generation):
            yield from self._emptied(last)
        yield from self._window(sight)
        sight.is_announced = self._is_announced(sight.generation, sight.joined.at)
        self._last, self._was_empty = sight, False
        self._keep_openings(sight.joined.at)

    def open_window(self) -> Iterator[ClientWindow]:
        """The rebalance that was under way as the logs ended."""
        last = self._last
        if last is None or last.is_only_heard:
            yield from self._never_joined(last)
            return
        if last.of_epoch or last.is_announced:
            return
        gone_at = last.gone_at
        if gone_at is not None and not self._has_come_after(last.joined.at, gone_at):
            yield from self._emptied(last)
        candidates = self._candidates(last.joined.at, FOREVER, ActionKind.FENCED)
        heard = candidates[count_unheard(candidates, self._contacts, last) :]
        begun = (action for action, _ in heard if action.kind in JOIN_REQUESTS or not self._was_empty)
        if (started := next(begun, None)) is None:
            return
        over = last_awaited(candidates) if last.was_begun_by_others else None
        known = next_generation(last.generation) if self._was_empty else last.generation
        yield ClientWindow(known, self._was_empty, "open" if over is None else "stable", started, over, over)

    def _never_joined(self, last: ClientSight | None) -> Iterator[ClientWindow]:
        """Rebalances that are shown, without any member's join."""
        self._is_before_epochs = False
        if self.of_epochs or self._is_told:
            return
        until = FOREVER if self._epochs_from is None else self._epochs_from
        shown = self._candidates(-FOREVER, until, *SHOWINGS)
        yield from unjoined_windows(
            shown, last.generation if last is not None else None, CLIENT_WINDOW_HOLD_US, precede_epochs=until < FOREVER
        )
        if until < FOREVER:
            self._keep_openings(until)

    def _window(self, sight: ClientSight) -> Iterator[ClientWindow]:
        if sight.of_epoch or (sight.generation is None and any(abs(at - sight.joined.at) <= NEAR_US for at in self._announced.values())):
            return
        last = self._last
        known = None if last is None or last.generation is None else last.generation + self._was_empty
        before = sight.generation - 1 if sight.generation is not None else None
        announced = self._is_announced(sight.generation, sight.joined.at)
        began = last.joined.at if last is not None else -FOREVER
        gone = self._candidates(began, sight.joined.at, *GOING)
        shown = GOING if last is not None and went_on(last, gone) else ()
        candidates = without_unanswered(self._candidates(began, sight.joined.at, *shown), sight)
        if last is not None:
            candidates = yield from self._reached(last, sight, candidates, is_announced=announced)
        removals = self._candidates(began, sight.joined.at, ActionKind.FENCED) if last is None and not announced else []
        if (removal := removal_before(sight, removals)) is not None:
            yield ClientWindow(removal.generation, False, "superseded", removal)
            later = [pair for pair in candidates if pair[0].at > removal.at]
            candidates = later or [(replace(removal, kind=ActionKind.JOIN), None)]  # it joins again at once
        begun = [action for action, _ in candidates]
        unanswered = unanswered_requests(candidates, self._contacts, sight)
        has_gone = any(map(is_going, begun if shown else begun[:1])) or unanswered[:1] == candidates[:1] != []
        was_empty = self._was_empty
        if not announced and has_gone and known is not None and before is not None and known < before:
            window = unseen_window(candidates, known, from_empty=was_empty)  # it began a generation that no log shows
            was_empty = not unanswered and last is not None and known + 1 == before and last.has_nobody_in(sight)
            yield replace(window, outcome="empty", member_count=0) if was_empty else window
            begun = begun_after_unseen(candidates, unanswered)
        started = next(iter(begun), None)
        yield ClientWindow(
            before,
            sight.generation == 1 or (was_empty and (before in {known, None} or not self._was_empty)),
            "stable" if sight.synced is not None else "superseded" if self._waiting else "open",
            started if announced else started or sight.joined,
            sight.joined,
            sight.synced,
            sight.member_count,
            known if known is not None and before is not None and known != before else None,
            announced,
        )

    def _reached(
        self, last: ClientSight, sight: ClientSight, candidates: DatedActions, *, is_announced: bool
    ) -> Generator[ClientWindow, None, DatedActions]:
        """Leave out what was lost with another coordinator, a window if any heard."""
        lost_at = last.resumed_at - CLOCK_TOLERANCE_US if last.resumed_at is not None else -FOREVER
        lost = [action for action, _ in candidates if action.at < lost_at]
        later = [pair for pair in candidates if pair[0].at >= lost_at]
        count = count_unheard(later, self._contacts, last, sight)
        in_vain = later[:count]
        if not lost and any(is_rebalance_notice(action) for action, _ in in_vain):
            lost = [in_vain[0][0]]
        if lost and not is_announced:
            yield ClientWindow(last.generation, False, "coordinator_lost", lost[0])
        return later[count:]

    def _emptied(self, last: ClientSight | None) -> Iterator[ClientWindow]:
        gone_at = last.gone_at if last is not None and not self._was_empty else None
        if last is None or gone_at is None or self._has_strangers(last):
            return
        self._was_empty = True
        leaves = self._candidates(last.joined.at, gone_at, *GOING)
        leaves = leaves[count_unheard(leaves, self._contacts, last) :]
        if leaves and not last.of_epoch and not last.is_announced and not self._is_announced(next_generation(last.generation), gone_at):
            yield ClientWindow(last.generation, False, "empty", leaves[0][0], leaves[-1][0], leaves[-1][0], 0)
        gone = [action for action, _ in leaves if is_going(action)]
        are_removed = all(action.kind is ActionKind.FENCED for action in gone)  # at once, whenever each hears of it
        self._keep_openings(gone[0].at - 1 if gone and are_removed else gone_at)
        # The line of a late poll stands before that of its leave, and who has left leaves no more.
        self._openings = {actor: list(dropwhile(is_going, actions)) for actor, actions in self._openings.items()}

    def _has_strangers(self, last: ClientSight) -> bool:
        """Whether the group may have members whose joins no line shows."""
        return any(last.joined.at - at <= NEAR_US for at in self._unjoined.values())

    def _is_announced(self, generation: int | None, at: int) -> bool:
        """Whether a coordinator logged this generation in the group's present life."""
        announced_at = self._announced.get(generation) if generation is not None else None
        return announced_at is not None and (at < BEFORE_ANY_TIME_US or abs(announced_at - at) <= NEAR_US)

    def _candidates(self, after: int, until: int, *more_kinds: ActionKind) -> DatedActions:
        """Actions that may begin a rebalance, and those of more kinds."""
        return dated_actions(self._openings, {*_BEGINNINGS, *more_kinds}, after, until)

    def _keep_openings(self, after: int) -> None:
        self._contacts.forget(after)
        kept = ((actor, [action for action in actions if action.at > after]) for actor, actions in self._openings.items())
        self._openings = {actor: actions for actor, actions in kept if actions}
        self._given_up = {actor: request for actor, request in self._given_up.items() if request.at > after}

    def _has_come_after(self, at: int, until: int = FOREVER) -> bool:
        return any(action.kind in JOIN_REQUESTS and at < action.at <= until for actions in self._openings.values() for action in actions)

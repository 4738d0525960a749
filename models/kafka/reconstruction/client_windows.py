"""Cut rebalances from members' own logs, by generation.

A client says which generation it joined; a generation that nobody had named before is a rebalance. It began with the first deed after
the join phase before that can begin one (GroupCoordinator, ClassicGroup: a JoinGroup, a LeaveGroup), or that shows that it had begun (a
heartbeat that is refused so). A group whose members have all left went empty, by a generation of its own. What a coordinator announced
itself is left to its lines: a window waits for these first.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from models.events import Event, Witness
from models.kafka.observations.actions import Act, Deed, assigned_members, is_told, says_put_out, text_field
from models.kafka.observations.roster import Roster
from models.units import FOREVER

HOLD_US = 60_000_000
"""How long a window waits for lines of coordinators and slow members.

The coordinator's clock may be behind theirs.
"""

OPENINGS_MAX = 1_000
"""Openings held of one client; of one that asks endlessly, the first ones."""

CLIENTS_MAX = 10_000
"""Clients whose openings are held. Beyond it the first ones go."""

NEAR_US = 300_000_000
"""A coordinator's line and a member's this near are of one generation.

The number comes again in another life of the group.
"""

ANNOUNCED_MAX = 1_000
"""Generations held that a coordinator announced."""

_OPENINGS = frozenset({Deed.JOIN, Deed.REJOIN, Deed.LEAVE, Deed.TOLD})

_BEGINNINGS = _OPENINGS | {Deed.WANTS_REJOIN}

_GOING = frozenset({Deed.LEAVE, Deed.FENCED})
"""Deeds by which a member is known to be out of its generation."""

MEMBER_STATES = frozenset({"JOINING", "STABLE", "RECONCILING", "ACKNOWLEDGING"})
"""States of a member by the consumer protocol (MemberState).

In all others it is outside the group.
"""

_ANNOUNCEMENTS = frozenset({"GenerationStarted", "AssignmentReceived", "GroupEmptied"})


@dataclass(slots=True)
class Sight:
    """One generation as members' logs show it.

    `joined` and `synced` are the first answers to JoinGroup and SyncGroup.
    """

    generation: int
    joined: Act
    last_at: int
    synced: Act | None = None
    members: dict[str, str | None] = field(default_factory=dict)
    """Who joined, by actor, with the member id."""
    member_count: int | None = None
    """How many its leader gave an assignment to."""
    left: dict[str, int] = field(default_factory=dict)
    """Which of them left since, and when."""
    announced: bool = False
    """A coordinator told of it."""
    of_epoch: bool = False
    """The group is one of the consumer protocol, and this an epoch."""

    @property
    def gone_at(self) -> int | None:
        """When the last member left; None where one stays, or may."""
        is_whole = self.member_count is None or self.member_count <= len(self.members)
        return max(self.left.values()) if is_whole and self.members and len(self.left) == len(self.members) else None


@dataclass(frozen=True, slots=True)
class Window:
    """One rebalance by members' logs, from what began it to its end."""

    generation_before: int
    from_empty: bool
    outcome: str
    started: Act | None
    joined: Act | None = None
    ended: Act | None = None
    member_count: int | None = None
    skipped_from: int | None = None
    """The last generation that was seen before, where some between were not."""
    announced: bool = False
    """A coordinator tells of the generation, if not of how it began."""

    @property
    def began(self) -> int:
        """When it began, or the first time that is known of it."""
        return next((act.at for act in (self.started, self.joined, self.ended) if act is not None), 0)


@dataclass(slots=True)
class ClientWindows:
    """Cuts one group's history by the generations that its members name."""

    _last: Sight | None = None
    """The latest generation that has a window; those after it wait."""
    _waiting: list[Sight] = field(default_factory=list)
    _openings: dict[str | None, list[Act]] = field(default_factory=dict)
    """Deeds that may begin a rebalance, by who did them."""
    _announced: dict[int, int] = field(default_factory=dict)
    """Generations that a coordinator announced, and when."""
    _cut_off: set[str | None] = field(default_factory=set)
    """Clients that lost their coordinator and found none since.

    What they send reaches nobody.
    """
    _consumers: set[str | None] = field(default_factory=set)
    """Clients that are members by the consumer protocol."""
    _empty: bool = False
    """All of the last generation have left, and that has a window."""

    # -- what is seen ----------------------------------------------------------------------------------------

    def begins_anew(self, event: Event) -> bool:
        """Whether a member joins a new life of the group.

        Only where no coordinator told of the old life.
        """
        newest = self._newest
        if (
            event.name != "ClientJoined"
            or not event.generation
            or newest is None
            or (newest.announced or self._is_announced(newest.generation, newest.joined.at))
        ):
            return False
        if newest.gone_at is not None:
            return event.generation <= newest.generation
        return event.generation < newest.generation and self._sight_of(event.generation) is None

    def ended(self) -> None:
        """The group's life is over, or was."""
        self._last, self._empty = None, False
        self._waiting.clear()
        self._announced.clear()

    def feed(self, event: Event, acts: Iterable[Act], roster: Roster) -> None:
        """Take an event and its deeds, on the coordinator's clock."""
        if event.name in _ANNOUNCEMENTS and event.generation is not None:
            self._announced.pop(event.generation, None)
            self._announced[event.generation] = event.time_us
            while event.time_us - self._announced[next(iter(self._announced))] > 2 * NEAR_US or len(self._announced) > ANNOUNCED_MAX:
                del self._announced[next(iter(self._announced))]
        if event.witness is not Witness.CLIENT:
            return
        if event.name == "ClientMemberState":
            self._follow_state(event)
        if event.name == "ClientAssignmentMade" and event.generation is not None:
            self._assigned(event.generation, len(assigned_members(event)))
        for act in acts:
            actor = roster.actor(act.member_id, act.client_id, act.instance_id)
            if act.deed is Deed.JOINED and actor is not None and (act.generation or 0) > 0:
                self._joined(act, actor)
            elif act.deed in {Deed.SYNCED, Deed.ASSIGNED} and actor is not None:
                self._synced(act, actor)
            elif act.deed is Deed.LOST_COORDINATOR:
                self._cut_off.add(actor)
            elif act.deed is Deed.START:
                self._cut_off.discard(actor)
            elif act.deed is Deed.JOIN_FAILED:
                self._openings.pop(actor, None)  # what was refused began nothing
            elif act.deed in _OPENINGS or is_told(act) or says_put_out(act):
                self._open(act, actor)

    @property
    def _newest(self) -> Sight | None:
        return self._waiting[-1] if self._waiting else self._last

    def _follow_state(self, event: Event) -> None:
        """Keep who speaks the consumer protocol.

        While somebody does, generations of classic members are epochs (KIP-848, migration).
        """
        if text_field(event, "to_state") in MEMBER_STATES:
            self._consumers.add(event.client_id)
        else:
            self._consumers.discard(event.client_id)

    def _joined(self, act: Act, actor: str) -> None:
        generation = act.generation or 0
        sight = self._sight_of(generation)
        if sight is None:
            sight = Sight(generation, act, act.at, of_epoch=bool(self._consumers))
            self._waiting.append(sight)
        elif act.at > sight.joined.at and actor in self._openings:
            # It was answered with the generation that is in force: what it asked for since began nothing.
            self._openings[actor] = [each for each in self._openings[actor] if not sight.joined.at < each.at <= act.at]
        sight.members[actor] = act.member_id or sight.members.get(actor)
        sight.left.pop(actor, None)
        sight.last_at = max(sight.last_at, act.at)

    def _sight_of(self, generation: int) -> Sight | None:
        """The generation in the group's present life."""
        held = [*self._waiting[::-1], *([self._last] if self._last is not None else [])]
        return next((sight for sight in held if sight.generation == generation), None)

    def _synced(self, act: Act, actor: str) -> None:
        newest = self._newest
        if newest is None or actor not in newest.members or (act.generation is not None and act.generation != newest.generation):
            return
        newest.synced = newest.synced or act
        newest.last_at = max(newest.last_at, act.at)

    def _assigned(self, generation: int, count: int) -> None:
        sight = self._sight_of(generation)
        if sight is not None and count:
            sight.member_count = count

    def _open(self, act: Act, actor: str | None) -> None:
        newest = self._newest
        if act.deed in _GOING and actor is not None and newest is not None:
            if actor not in newest.members or actor in self._cut_off:
                return  # the group went on without it, or does not hear of it
            if act.at > newest.joined.at:
                newest.left.setdefault(actor, act.at)
        held = self._openings.setdefault(actor, [])
        if len(held) < OPENINGS_MAX:
            held.append(act)
        if len(self._openings) > CLIENTS_MAX:
            del self._openings[next(iter(self._openings))]

    # -- windows -------------------------------------------------------------------------------------------

    @property
    def due_at(self) -> int | None:
        """When the next window may be told; None where the logs' end decides."""
        if self._waiting:
            return self._waiting[0].last_at + HOLD_US + 1
        if self._last is None or self._empty:
            return None
        gone_at = self._last.gone_at
        return gone_at + HOLD_US + 1 if gone_at is not None and not self._came_after(gone_at) else None

    def next_windows(self) -> Iterator[Window]:
        """The windows that are due, in order."""
        last = self._last
        if not self._waiting:
            yield from self._emptied(last)
            return
        sight = self._waiting.pop(0)
        if last is not None and sight.generation > last.generation + 1:
            yield from self._emptied(last)
        yield from self._window(sight)
        sight.announced = self._is_announced(sight.generation, sight.joined.at)
        self._last, self._empty = sight, False
        self._keep_openings(sight.joined.at)

    def still_open(self) -> Iterator[Window]:
        """The rebalance that was under way as the logs ended."""
        last = self._last
        if last is None or self._empty or last.of_epoch or last.announced:
            return
        started = next((act for act, _ in self._candidates(last.joined.at, FOREVER)), None)
        if started is not None:
            yield Window(last.generation, False, "open", started)

    def _window(self, sight: Sight) -> Iterator[Window]:
        if sight.of_epoch:
            return
        last = self._last
        known = None if last is None else last.generation + self._empty
        before = sight.generation - 1
        announced = self._is_announced(sight.generation, sight.joined.at)
        began = last.joined.at if last is not None else -FOREVER
        started = next((act for act, _ in self._candidates(began, sight.joined.at)), None)
        yield Window(
            before,
            sight.generation == 1 or (self._empty and known == before),
            "stable" if sight.synced is not None else "superseded" if self._waiting else "open",
            started if announced else started or sight.joined,
            sight.joined,
            sight.synced,
            sight.member_count,
            known if known is not None and known != before else None,
            announced,
        )

    def _emptied(self, last: Sight | None) -> Iterator[Window]:
        gone_at = last.gone_at if last is not None and not self._empty else None
        if last is None or gone_at is None:
            return
        self._empty = True
        leaves = self._candidates(last.joined.at, gone_at, *_GOING)
        if leaves and not last.of_epoch and not last.announced and not self._is_announced(last.generation + 1, gone_at):
            yield Window(last.generation, False, "empty", leaves[0][0], leaves[-1][0], leaves[-1][0], 0)
        self._keep_openings(gone_at)

    def _is_announced(self, generation: int, at: int) -> bool:
        """Whether a coordinator told of this generation of the group's present life."""
        told = self._announced.get(generation)
        return told is not None and abs(told - at) <= NEAR_US

    def _candidates(self, after: int, until: int, *more: Deed) -> list[tuple[Act, str | None]]:
        """Deeds that may begin a rebalance, and those of more kinds."""
        kinds = {*_BEGINNINGS, *more}
        deeds = ((act, actor) for actor, acts in self._openings.items() for act in acts if after < act.at <= until)
        found = [(act, actor) for act, actor in deeds if act.deed in kinds]
        return sorted(found, key=lambda each: each[0].at)

    def _keep_openings(self, after: int) -> None:
        kept = {actor: [act for act in acts if act.at > after] for actor, acts in self._openings.items()}
        self._openings = {actor: acts for actor, acts in kept.items() if acts}

    def _came_after(self, at: int) -> bool:
        return any(act.deed in {Deed.JOIN, Deed.REJOIN} and act.at > at for acts in self._openings.values() for act in acts)

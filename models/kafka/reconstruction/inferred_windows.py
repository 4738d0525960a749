"""Put rebalances that only members' logs show among the coordinator's windows."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import replace
from types import MappingProxyType

from models.events import Event, Witness
from models.kafka.coordinator.protocol.group_states import VALID_PREVIOUS, State
from models.kafka.observations.actions import ActionKind, MemberAction
from models.kafka.reconstruction.classic_log import ClassicReplay
from models.kafka.reconstruction.classic_states import ObservedTransition, RebalanceWindow, UnexpectedLine
from models.kafka.reconstruction.client_generations import ClientWindow
from models.tolerances import int_tolerance
from models.units import FOREVER

WORKED_ON_US = int_tolerance("kafka.inferred_windows.worked_on_us")
"""Minimum time after a join that shows its SyncGroup answered.

SyncGroup is answered at once where the leader is well.
"""

_LATER = frozenset({ActionKind.REVOKE, ActionKind.REBALANCE_NOTICED, ActionKind.POLL_TIMEOUT, ActionKind.JOIN})
"""Actions of a client that had joined since, or had left."""

_ENDS = {"stable": State.STABLE, "empty": State.EMPTY}


def adopt(replay: ClassicReplay, client_window: ClientWindow, ranked: int) -> None:
    """Put a window of members' logs behind the first `ranked` windows."""
    if client_window.is_announced:
        _begin(replay, client_window, ranked)
        return
    at = bisect_right(replay.windows, client_window.began, lo=min(ranked, len(replay.windows)), key=lambda window: window.began)
    before = replay.windows[at - 1] if at else None
    is_last = at == len(replay.windows)
    if not is_last and client_window.outcome == "open":
        return  # the coordinator's later lines show that it ended, and what became of it
    window = (
        before if is_last and before is not None and _is_the_same(before, client_window) else _inserted(replay, client_window, at, before)
    )
    steps = list(_inferred_steps(window, client_window))
    window.inferred_steps += len(steps)
    if is_last:
        _follow(replay, window, steps, client_window.generation if window.joined is not None else client_window.generation_before)
    else:
        _insert(replay.changes, steps)
        replay.windows[at + 1].previous_joined_at, replay.windows[at + 1].previous_ended_at = window.open_until, window.ended_at
    if client_window.skipped_from is not None and window.joined is not None:
        expected, seen = f"generation {client_window.skipped_from + 1}", f"generation {client_window.generation}"
        replay.findings.append(UnexpectedLine(expected, seen, window.joined))


def _insert(changes: list[ObservedTransition], steps: list[ObservedTransition]) -> None:
    """Insert steps together, so that the chain of states holds."""
    if not steps:
        return
    at = bisect_right(changes, steps[0].event.time_us, key=lambda change: change.event.time_us)
    while 0 < at < len(changes) and changes[at - 1].event is changes[at].event:
        at += 1
    if at < len(changes) and changes[at].before is not steps[-1].after:
        follows = steps[-1].after in VALID_PREVIOUS[changes[at].after]
        changes[at] = replace(changes[at], before=steps[-1].after if follows else None)
    changes[at:at] = steps


def _begin(replay: ClassicReplay, client_window: ClientWindow, ranked: int) -> None:
    """Tell how a rebalance began whose end alone the coordinator's lines show."""
    unseen = (
        window for window in replay.windows[ranked:] if window.started is None and window.generation_after == client_window.generation
    )
    window = next(unseen, None)
    if window is not None and client_window.started is not None and client_window.started.at < window.began:
        window.started = _inferred("RebalanceStarted", client_window.started, client_window.generation_before)
        window.state_before = State.EMPTY if client_window.from_empty else window.state_before
        window.witness = Witness.CLIENT


def _is_the_same(window: RebalanceWindow, client_window: ClientWindow) -> bool:
    """Whether the coordinator's lines end within this very rebalance."""
    known = client_window.generation_before
    return window.outcome == "open" and known is not None and window.generation_before == known


def _inserted(replay: ClassicReplay, client_window: ClientWindow, at: int, before: RebalanceWindow | None) -> RebalanceWindow:
    """Insert a window in its place; an earlier open one ended unseen."""
    started = (
        _inferred("RebalanceStarted", client_window.started, client_window.generation_before) if client_window.started is not None else None
    )
    if at == len(replay.windows) and before is not None and before.outcome == "open" and started is not None:
        _end_before(replay, before, client_window, started)
    window = RebalanceWindow(
        replay.next_ordinal(client_window.generation_before),
        client_window.generation_before,
        _state_before(replay, client_window, before),
        started=started,
    )
    window.witness = Witness.CLIENT
    window.load_before = replay.load_before(client_window.began)
    window.members_before = 0 if window.state_before is State.EMPTY else None
    if before is not None:
        window.previous_joined_at, window.previous_ended_at = before.open_until, before.ended_at
    replay.windows.insert(at, window)
    return window


def _end_before(replay: ClassicReplay, before: RebalanceWindow, client_window: ClientWindow, started: Event) -> None:
    """End an open window whose members' logs tell no SyncGroup.

    Its member worked on for long: what it waited for came right after its join, which not every log has. Only a refused SyncGroup
    shows that it waited.
    """
    joined, first = before.joined, client_window.started
    worked_on = joined is not None and started.time_us - joined.time_us > WORKED_ON_US
    if (
        before.witness is Witness.CLIENT
        and joined is not None
        and worked_on
        and first is not None
        and first.kind is not ActionKind.SYNC_FAILED
    ):
        before.outcome, before.ended, before.ended_at = "stable", replace(joined, name="AssignmentReceived"), joined.time_us
        if replay.changes and replay.changes[-1].after is State.COMPLETING_REBALANCE:
            before.inferred_steps += 1
            step = ObservedTransition(
                State.COMPLETING_REBALANCE, State.STABLE, True, before.ended, before.generation_after, before.members_after, None
            )
            replay.changes.append(step)
    elif before.witness is Witness.CLIENT and joined is None and first is not None and first.kind in _LATER:
        before.outcome = "stable"  # when it ended is not told
    else:
        before.outcome, before.ended, before.ended_at = "superseded", started, started.time_us


def _state_before(replay: ClassicReplay, client_window: ClientWindow, before: RebalanceWindow | None) -> State | None:
    """State as the window began; Empty in a new life."""
    last_seen = before.began if before is not None else -FOREVER
    has_died = any(last_seen <= death.time_us <= client_window.began for _, death in replay.deaths)
    is_dead = replay.group.state is State.DEAD and before is (replay.windows[-1] if replay.windows else None)
    if client_window.from_empty or has_died or is_dead:
        return State.EMPTY
    known = client_window.generation_before
    follows = before is not None and (known is not None or before.is_inferred) and before.generation_after == known
    if not follows or before is None or (before.outcome not in _ENDS and before.joined is None):
        return None
    return _ENDS.get(before.outcome, State.COMPLETING_REBALANCE)


def _inferred_steps(window: RebalanceWindow, client_window: ClientWindow) -> Iterator[ObservedTransition]:
    """Fill in what only the window shows; the steps that follow."""
    state, generation, count = window.state_before, client_window.generation, client_window.member_count
    if window.witness is Witness.CLIENT and window.started is not None:
        yield ObservedTransition(state, State.PREPARING_REBALANCE, True, window.started, window.generation_before, None, None)
    state = State.PREPARING_REBALANCE
    if client_window.joined is not None and window.joined is None:
        name = "GroupEmptied" if client_window.outcome == "empty" else "GenerationStarted"
        window.joined = _inferred(name, client_window.joined, generation)
        window.generation_after = generation if client_window.outcome != "empty" else None  # no line names that of an empty group
        window.members_after = count if window.members_after is None else window.members_after
        if client_window.outcome != "empty":
            yield ObservedTransition(state, State.COMPLETING_REBALANCE, True, window.joined, generation, count, None)
    if window.joined is not None and client_window.outcome != "empty":
        state = State.COMPLETING_REBALANCE
    window.outcome = client_window.outcome
    if client_window.ended is not None:
        window.ended = _inferred(
            "AssignmentReceived" if client_window.outcome == "stable" else "GroupEmptied", client_window.ended, generation
        )
        window.ended_at = window.ended.time_us
        yield ObservedTransition(state, _ENDS[client_window.outcome], True, window.ended, generation, count, None)


def _follow(replay: ClassicReplay, window: RebalanceWindow, steps: list[ObservedTransition], generation: int | None) -> None:
    """Continue the group's states from the window's end.

    A load of the group may have changed its state since the window before; the chain of states goes on from there.
    """
    if steps and replay.changes and steps[0].before not in (None, State.EMPTY, replay.changes[-1].after):
        reached = replay.changes[-1].after
        steps[0] = replace(steps[0], before=reached if reached in VALID_PREVIOUS[steps[0].after] else None)
    replay.changes.extend(steps)
    if steps:
        replay.group.state = steps[-1].after
    replay.group.generation = generation if generation is not None else replay.group.generation
    replay.group.member_count = window.members_after
    replay.note_phases(window)


def _inferred(name: str, action: MemberAction, generation: int | None) -> Event:
    """The coordinator's announcement as a member's line implies it.

    It has the line's place, and its time on the coordinator's clock.
    """
    is_told = action.event.at_us is not None
    return replace(
        action.event,
        name=name,
        at_us=action.at if is_told else None,
        order_us=action.event.order_us if is_told else max(action.at, 0),
        node=None,
        generation=generation,
        member_id=None,
        client_id=None,
        instance_id=None,
        fields=MappingProxyType({}),
    )

"""Put rebalances that no coordinator's line shows among the others."""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Iterator
from dataclasses import replace
from types import MappingProxyType

from models.events import Event, Witness
from models.kafka.coordinator.protocol.group_states import State
from models.kafka.observations.actions import Act
from models.kafka.reconstruction.classic_log import ClassicReplay, Draft, Finding, StateChange
from models.kafka.reconstruction.client_windows import Window

_ENDS = {"stable": State.STABLE, "empty": State.EMPTY}
_OUTCOME_STATES = {**_ENDS, "open": State.PREPARING_REBALANCE}


def adopt(replay: ClassicReplay, window: Window, judged: int) -> None:
    """Put a window of members' logs behind the first `judged` drafts."""
    if window.announced:
        _begin(replay, window, judged)
        return
    at = bisect_right(replay.drafts, window.began, lo=min(judged, len(replay.drafts)), key=lambda draft: draft.began)
    before = replay.drafts[at - 1] if at else None
    is_last = at == len(replay.drafts)
    draft = before if is_last and before is not None and _is_the_same(before, window) else _inserted(replay, window, at, before)
    steps = list(_told(draft, window))
    draft.inferred_steps += len(steps)
    if is_last:
        _follow(replay, draft, steps)
    else:
        for change in steps:
            insort(replay.changes, change, key=lambda each: each.event.time_us)
        replay.drafts[at + 1].previous_joined_at, replay.drafts[at + 1].previous_ended_at = draft.open_until, draft.ended_at
    if window.skipped_from is not None and draft.joined is not None:
        expected, seen = f"generation {window.skipped_from + 1}", f"generation {window.generation_before + 1}"
        replay.findings.append(Finding(expected, seen, draft.joined))


def _begin(replay: ClassicReplay, window: Window, judged: int) -> None:
    """Tell how a rebalance began whose end alone the coordinator's lines show."""
    unseen = (each for each in replay.drafts[judged:] if each.started is None and each.generation_after == window.generation_before + 1)
    draft = next(unseen, None)
    if draft is not None and window.started is not None and window.started.at < draft.began:
        draft.started = _inferred("RebalanceStarted", window.started, window.generation_before)
        draft.state_before = State.EMPTY if window.from_empty else draft.state_before
        draft.witness = Witness.CLIENT


def _is_the_same(draft: Draft, window: Window) -> bool:
    """Whether the coordinator's lines end within this very rebalance."""
    return draft.outcome == "open" and draft.generation_before == window.generation_before


def _inserted(replay: ClassicReplay, window: Window, at: int, before: Draft | None) -> Draft:
    """A new draft in its place; an open one before it ended unseen."""
    started = _inferred("RebalanceStarted", window.started, window.generation_before) if window.started is not None else None
    if at == len(replay.drafts) and before is not None and before.outcome == "open" and started is not None:
        before.outcome, before.ended, before.ended_at = "superseded", started, started.time_us
    draft = Draft(replay.next_ordinal(window.generation_before), window.generation_before, _state_before(window, before), started=started)
    draft.witness = Witness.CLIENT
    draft.load_before = replay.load_before(window.began)
    draft.members_before = 0 if draft.state_before is State.EMPTY else None
    if before is not None:
        draft.previous_joined_at, draft.previous_ended_at = before.open_until, before.ended_at
    replay.drafts.insert(at, draft)
    return draft


def _state_before(window: Window, before: Draft | None) -> State | None:
    if window.from_empty:
        return State.EMPTY
    follows = before is not None and before.generation_after == window.generation_before
    return _ENDS.get(before.outcome, State.COMPLETING_REBALANCE) if follows and before is not None else None


def _told(draft: Draft, window: Window) -> Iterator[StateChange]:
    """Fill in what only the window shows; the steps that follow."""
    state, generation, count = draft.state_before, window.generation_before + 1, window.member_count
    if draft.witness is Witness.CLIENT and draft.started is not None:
        yield StateChange(state, State.PREPARING_REBALANCE, True, draft.started, draft.generation_before, None, None)
    state = State.PREPARING_REBALANCE
    if window.joined is not None and draft.joined is None:
        name = "GroupEmptied" if window.outcome == "empty" else "GenerationStarted"
        draft.joined = _inferred(name, window.joined, generation)
        draft.generation_after = generation
        draft.members_after = count if draft.members_after is None else draft.members_after
        if window.outcome != "empty":
            yield StateChange(state, State.COMPLETING_REBALANCE, True, draft.joined, generation, count, None)
    if draft.joined is not None and window.outcome != "empty":
        state = State.COMPLETING_REBALANCE
    draft.outcome = window.outcome
    if window.ended is not None:
        draft.ended = _inferred("AssignmentReceived" if window.outcome == "stable" else "GroupEmptied", window.ended, generation)
        draft.ended_at = draft.ended.time_us
        yield StateChange(state, _ENDS[window.outcome], True, draft.ended, generation, count, None)


def _follow(replay: ClassicReplay, draft: Draft, steps: list[StateChange]) -> None:
    """The group goes on from here."""
    replay.changes.extend(steps)
    if steps:
        replay.group.state = steps[-1].after
    replay.group.generation = draft.generation_after if draft.generation_after is not None else draft.generation_before
    replay.group.member_count = draft.members_after
    replay.note_phases(draft)


def _inferred(name: str, act: Act, generation: int) -> Event:
    """The coordinator's announcement as a member's line implies it.

    It has the line's place, and its time on the coordinator's clock.
    """
    return replace(
        act.event,
        name=name,
        at_us=act.at,
        node=None,
        generation=generation,
        member_id=None,
        client_id=None,
        instance_id=None,
        fields=MappingProxyType({}),
    )

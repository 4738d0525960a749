"""Timeouts in force, as lines tell them and as intervals show them."""

from __future__ import annotations

from models.events import when
from models.kafka.coordinator.protocol.group_states import State
from models.kafka.hypotheses.priors import (
    CONNECT_DELAY_US,
    DEFAULT_SESSION_TIMEOUTS_MS,
    ECHO_SLACK_US,
    PHASE_OVERRUN_US,
    PHASE_UNDERRUN_US,
    POLL_SLACK_US,
    STORE_SLACK_US,
    STORE_TIMEOUT_US,
    USUAL_REBALANCE_TIMEOUTS_MS,
    WHOLE_SECONDS_MIN_US,
)
from models.kafka.hypotheses.window import Case
from models.kafka.observations.actions import Act, Deed
from models.units import US_PER_MS, US_PER_SECOND

TIMEOUT_TOLERANCE_US = 250_000

LAST_MOMENT_US = 150_000
"""The join phase ends with the deed of the last member that was missing."""


def rebalance_timeout_us(case: Case) -> int | None:
    """The longest rebalance timeout among the members, as far as lines or assumptions tell it."""
    timeouts = [
        member.rebalance_timeout_ms
        for member_id in case.members_before.values()
        if member_id and (member := case.roster.members.get(member_id)) and member.rebalance_timeout_ms
    ]
    longest = max(timeouts, default=case.facts.rebalance_timeout_ms)
    return longest * US_PER_MS if longest else None


def session_timeout_us(case: Case) -> int:
    """The longest session of the group's members that lines tell; without any, the default of its time."""
    told = [member.session_timeout_ms for member in case.roster.members.values() if member.session_timeout_ms]
    told += [settings["session_timeout_ms"] for settings in case.known.settings.values() if "session_timeout_ms" in settings]
    return max(told, default=case.facts.session_timeout_ms or DEFAULT_SESSION_TIMEOUTS_MS[0]) * US_PER_MS


def follows_load(case: Case) -> bool:
    """Whether this is the first rebalance after a load, within a session.

    Members that live are back by then.
    """
    loaded_at, before = when(case.draft.load_before), case.draft.previous_ended_at
    if loaded_at is None or (before is not None and before > loaded_at):
        return False
    return 0 <= case.start - loaded_at <= session_timeout_us(case)


def phase_deadline_us(case: Case) -> int | None:
    """The rebalance timeout that the join phase ran into; None where something else may have ended it.

    From Empty a phase ends by the initial delay, which the Scala coordinator waits for once at generations above 0.
    """
    draft = case.draft
    if draft.started_at is None or draft.joined_at is None or case.was_empty or draft.outcome == "empty":
        return None
    lasted = draft.joined_at - draft.started_at
    if _ended_otherwise(case, draft.joined_at):
        return None
    told = rebalance_timeout_us(case)
    if told is not None:
        return told if abs(lasted - told) <= TIMEOUT_TOLERANCE_US else None
    delay = case.facts.initial_delay_ms * US_PER_MS
    if draft.state_before is None and _is_just(lasted, delay):
        return None
    usual = next((each * US_PER_MS for each in USUAL_REBALANCE_TIMEOUTS_MS if _is_just(lasted, each * US_PER_MS)), None)
    return usual if usual is not None else _revealed(case, lasted)


def _is_just(lasted: int, timeout: int) -> bool:
    return -PHASE_UNDERRUN_US <= lasted - timeout <= PHASE_OVERRUN_US


def _revealed(case: Case, lasted: int) -> int | None:
    """A timeout that nobody would guess, where whoever writes head counts (2.8 and later) would list those that it removed."""
    whole = (lasted + PHASE_UNDERRUN_US) // US_PER_SECOND * US_PER_SECOND
    evictions_listed = case.draft.members_after is not None
    return whole if lasted >= WHOLE_SECONDS_MIN_US and _is_just(lasted, whole) and not evictions_listed else None


def _ended_otherwise(case: Case, end: int) -> bool:
    """Whether the last one that was missing came, or went, as the phase ended; or all old members are known to have come."""
    if case.by_actor(Deed.EVICT):
        return False
    went = [*case.gone.values(), *case.deeds(Deed.ID_EXPIRED)]
    came = (act for act in case.deeds(Deed.REJOIN, Deed.JOIN, start=case.start, end=end) if not case.is_new(act))
    if any(abs(end - act.at) <= LAST_MOMENT_US for act in (*went, *came)):
        return True
    before = case.members_before
    return bool(before) and case.draft.state_before is not State.EMPTY and all(actor in case.members_after for actor in before)


def evicted_unlogged(case: Case) -> list[Act]:
    """Expiries by which 1.1 names the members that it removed as the join phase ended: their heartbeat timers go on.

    Who is in the new generation has a timer that began anew with it, and can't expire within one session.
    """
    end = case.draft.joined_at
    if end is None or phase_deadline_us(case) is None:
        return []
    within = session_timeout_us(case) - ECHO_SLACK_US
    return [act for act in case.acts if act.deed is Deed.EXPIRE and end < act.at < end + within]


def is_echo(case: Case, expiry: Act) -> bool:
    """Whether an expiry is of a member that the join phase before had removed."""
    previous = case.previous
    if previous is None or previous.joined_at is None or previous.started_at is None or previous.state_before is State.EMPTY:
        return False
    if not 0 < expiry.at - previous.joined_at < session_timeout_us(case) - ECHO_SLACK_US:
        return False
    told = rebalance_timeout_us(case)
    lasted = previous.joined_at - previous.started_at
    if told is not None:
        return abs(lasted - told) <= TIMEOUT_TOLERANCE_US
    return any(_is_just(lasted, each * US_PER_MS) for each in USUAL_REBALANCE_TIMEOUTS_MS) or (
        lasted >= WHOLE_SECONDS_MIN_US and lasted % US_PER_SECOND <= PHASE_OVERRUN_US and previous.members_after is None
    )


def poll_rhythm(case: Case) -> int:
    """How many rebalances of the group, this one among them, began one poll interval after an assignment; 0 if this one did not."""
    lag = _since_assignment(case)
    if lag is None:
        return 0
    told = rebalance_timeout_us(case)
    intervals = [told] if told is not None else [each * US_PER_MS for each in USUAL_REBALANCE_TIMEOUTS_MS]
    interval = next((each for each in intervals if 0 <= lag - each <= POLL_SLACK_US), None)
    return _alike(case, interval, POLL_SLACK_US) if interval is not None else 0


def store_rhythm(case: Case) -> int:
    """The same for the time after which a write of the assignment is given up."""
    lag = _since_assignment(case)
    return _alike(case, STORE_TIMEOUT_US, STORE_SLACK_US) if lag is not None and 0 <= lag - STORE_TIMEOUT_US <= STORE_SLACK_US else 0


def ends_planned_delay(case: Case) -> bool:
    """Whether Connect's delay after a departure ends with this rebalance."""
    lag = _since_assignment(case)
    return lag is not None and 0 <= lag - CONNECT_DELAY_US <= POLL_SLACK_US


def _since_assignment(case: Case) -> int | None:
    previous = case.previous
    ended_at = previous.ended_at if previous is not None and previous.outcome == "stable" else None
    return None if ended_at is None else case.start - ended_at


def _alike(case: Case, span: int, slack: int) -> int:
    return max(1, sum(0 <= lag - span <= slack for lag in case.known.lags))

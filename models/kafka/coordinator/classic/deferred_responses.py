"""What the Java coordinator keeps back while replicas don't confirm what it has written (4.0.0, CoordinatorRuntime.java).

Its state is what it wants to be at once; only the answers wait, those of operations that wrote nothing among them, until the high
watermark has passed all that was written before. After offsets.commit.timeout.ms their senders are told that there is no
coordinator, nothing is taken back, and what a timer has done it does once more (append, OperationTimeout, EventBasedCoordinatorTimer).
JoinGroup and SyncGroup are answered by the group and not by the operation: only who is still parked is told so.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from models.kafka.coordinator.classic.group import Group
from models.kafka.coordinator.protocol.errors import Error
from models.kafka.coordinator.protocol.requests import Fetch, Heartbeat, Join, Request, Sync
from models.kafka.coordinator.protocol.responses import Answer, JoinResponse, Response, SyncResponse
from models.kafka.coordinator.runtime.offsets_log import JAVA_ERRORS, Writes
from models.kafka.coordinator.runtime.timers import Timer, TimerKind, Timers

RETRY_MS = 500
"""How long after a failed operation of a timer the next try comes."""

UNHEARD = -1
"""In place of a parked request whose sender has been told already that its time is over."""


class Deferring(Protocol):
    """What is needed of a coordinator's shard, of whichever protocol."""

    answers: list[Answer]
    writes: Writes
    timers: Timers
    now_ms: int

    def answer(self, request_id: int, response: Response) -> None:
        """Answer a request now."""

    def note(self, what: str, group_id: str = "", member_id: str | None = None, **fields: Any) -> None:
        """Note something that changes nothing, and that a broker announces all the same."""


class Parking(Deferring, Protocol):
    """The same of one with classic groups."""

    groups: dict[str, Group]


def await_replicas(shard: Deferring, request: Request, refused: Callable[[Error], Response], response: Callable[[], Response]) -> None:
    """Answer a request once replicas have what was written so far, or that they don't."""

    def ended(error: Error) -> None:
        told = JAVA_ERRORS.offsets.get(error, error)
        shard.answer(request.request_id, response() if error is Error.NONE else refused(told))

    shard.writes.wait(shard.timers, request.group, shard.now_ms, ended)


def defer(shard: Deferring, request: Request, refused: Callable[[Error], Response]) -> None:
    """Keep back the answer that an operation has just given, if it is one that waits: refusals don't, nor what only reads."""
    if isinstance(request, Fetch) and not request.require_stable:
        return
    kept = (Error.NONE, Error.REBALANCE_IN_PROGRESS) if isinstance(request, Heartbeat) else (Error.NONE,)
    for answer in [each for each in shard.answers if each.request_id == request.request_id and each.response.error in kept]:
        shard.answers.remove(answer)
        await_replicas(shard, request, refused, lambda response=answer.response: response)  # type: ignore[misc]


def defer_parked(shard: Parking, request: Join | Sync) -> None:
    """Tell who is still parked when its time is over; the group goes on as if it were there (GroupCoordinatorService.joinGroup)."""

    def ended(error: Error) -> None:
        group = shard.groups.get(request.group)
        for member in () if group is None or error is not Error.REQUEST_TIMED_OUT else group.members.values():
            told = JAVA_ERRORS.offsets[error]
            if member.join == request.request_id:
                member.join = UNHEARD
                shard.answer(request.request_id, JoinResponse(told))
            elif member.sync == request.request_id:
                member.sync = UNHEARD
                shard.answer(request.request_id, SyncResponse(told))

    shard.writes.wait(shard.timers, request.group, shard.now_ms, ended)


def retry(shard: Deferring, timer: Timer) -> None:
    """Let a timer whose operation failed fire again soon, in place of one that was set since (EventBasedCoordinatorTimer.schedule)."""
    shard.timers.schedule(timer.kind, timer.group, timer.member, shard.now_ms + RETRY_MS, timer.detail)


def key_of(timer: Timer) -> str:
    """What the coordinator in Java calls a timer (classicGroupHeartbeatKey, consumerGroupSessionTimeoutKey and the like)."""
    return "-".join(part for part in (_KEYS.get(timer.kind, timer.kind.value), timer.group, timer.member) if part)


_KEYS = {TimerKind.SESSION: "session-timeout", TimerKind.REBALANCE: "rebalance-timeout"}


def defer_timer(shard: Deferring, timer: Timer) -> None:
    """Let a timer that has fired fire again if replicas don't confirm in time what it waited for."""

    def ended(error: Error) -> None:
        if error is Error.REQUEST_TIMED_OUT:
            shard.note("timer_rescheduled", timer.group, _key=key_of(timer), detail=error.value)
            retry(shard, timer)

    shard.writes.wait(shard.timers, timer.group, shard.now_ms, ended)

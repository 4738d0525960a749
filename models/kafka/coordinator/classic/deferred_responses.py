"""Responses deferred by the Java coordinator until replicas confirm its writes.

Source: 4.0.0, CoordinatorRuntime.java (append, OperationTimeout, EventBasedCoordinatorTimer). The state changes at
once. Only responses wait until the high watermark has passed all earlier writes, including responses of operations that
wrote nothing. After offsets.commit.timeout.ms the senders get COORDINATOR_NOT_AVAILABLE, nothing is undone, and a
timer's operation is repeated. The group itself answers JoinGroup and SyncGroup, so for these only members that are
still parked get the error.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from models.kafka.coordinator.classic.group import Group
from models.kafka.coordinator.protocol.errors import NO_ERROR, Error
from models.kafka.coordinator.protocol.requests import Fetch, Heartbeat, Join, Request, Sync
from models.kafka.coordinator.protocol.responses import JoinResponse, Response, SyncResponse, TimedResponse
from models.kafka.coordinator.runtime.offsets_log import JAVA_ERRORS, WriteResults
from models.kafka.coordinator.runtime.timers import Timer, TimerKind, Timers

_RETRY_MS = 500
"""Delay before a failed timer operation is retried."""

ALREADY_ANSWERED = -1
"""Marks a parked request as already answered with a timeout."""


class DeferringShard(Protocol):
    """The part of a coordinator's shard used here, for either protocol."""

    answers: list[TimedResponse]
    writes: WriteResults
    timers: Timers
    now_ms: int

    def answer(self, request_id: int, response: Response) -> None:
        """Answer a request now."""

    def note(self, what: str, group_id: str = "", member_id: str | None = None, **fields: Any) -> None:
        """Record an event that a broker logs although no state changes."""


class ClassicShard(DeferringShard, Protocol):
    """A shard with classic groups."""

    groups: dict[str, Group]


def await_replicas(shard: DeferringShard, request: Request, refused: Callable[[Error], Response], response: Callable[[], Response]) -> None:
    """Answer a request once earlier writes are confirmed or have failed."""

    def ended(error: Error) -> None:
        shard.answer(request.request_id, response() if error is NO_ERROR else refused(JAVA_ERRORS.offsets.get(error, error)))

    shard.writes.wait(shard.timers, request.group, shard.now_ms, ended)


def defer(shard: DeferringShard, request: Request, refused: Callable[[Error], Response]) -> None:
    """Defer the response just given to a request.

    Refusals and reads of unconfirmed state are not deferred.
    """
    if isinstance(request, Fetch) and not request.require_stable:
        return
    kept = (NO_ERROR, Error.REBALANCE_IN_PROGRESS) if isinstance(request, Heartbeat) else (NO_ERROR,)
    for answer in [answer for answer in shard.answers if answer.request_id == request.request_id and answer.response.error in kept]:
        shard.answers.remove(answer)
        await_replicas(shard, request, refused, lambda response=answer.response: response)  # type: ignore[misc]


def defer_parked(shard: ClassicShard, request: Join | Sync) -> None:
    """Send a timeout to a member that is still parked.

    The group goes on as if the member were still there (GroupCoordinatorService.joinGroup).
    """

    def ended(error: Error) -> None:
        group = shard.groups.get(request.group)
        for member in () if group is None or error is not Error.REQUEST_TIMED_OUT else group.members.values():
            error_of_response = JAVA_ERRORS.offsets[error]
            if member.join == request.request_id:
                member.join = ALREADY_ANSWERED
                shard.answer(request.request_id, JoinResponse(error_of_response))
            elif member.sync == request.request_id:
                member.sync = ALREADY_ANSWERED
                shard.answer(request.request_id, SyncResponse(error_of_response))

    shard.writes.wait(shard.timers, request.group, shard.now_ms, ended)


def retry(shard: DeferringShard, timer: Timer) -> None:
    """Schedule a failed timer again after RETRY_MS.

    Replaces one that was set in the meantime (EventBasedCoordinatorTimer.schedule).
    """
    shard.timers.schedule(timer.kind, timer.group, timer.member, shard.now_ms + _RETRY_MS, timer.detail)


def key_of(timer: Timer) -> str:
    """Name of a timer in the Java coordinator.

    Source: classicGroupHeartbeatKey, consumerGroupSessionTimeoutKey and others.
    """
    return "-".join(part for part in (_KEYS.get(timer.kind, timer.kind.value), timer.group, timer.member) if part)


_KEYS = {TimerKind.SESSION: "session-timeout", TimerKind.REBALANCE: "rebalance-timeout"}


def defer_timer(shard: DeferringShard, timer: Timer) -> None:
    """Fire a timer again if replicas don't confirm its writes in time."""

    def ended(error: Error) -> None:
        if error is Error.REQUEST_TIMED_OUT:
            shard.note("timer_rescheduled", timer.group, _key=key_of(timer), detail=error.value)
            retry(shard, timer)

    shard.writes.wait(shard.timers, timer.group, shard.now_ms, ended)

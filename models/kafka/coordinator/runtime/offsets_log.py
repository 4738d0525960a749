"""Records in __consumer_offsets, how writes fail, and what can be loaded.

By default a write succeeds at once; `WriteResults` changes that. A write that replicas don't confirm times out after
offsets.commit.timeout.ms, but stays in the log. Two tables, for groups and for offsets, give the error sent to clients.
Source: GroupMetadataManager.scala (storeGroup, storeOffsets), GroupMetadataManager.java
(appendGroupMetadataErrorToResponseError), CoordinatorOperationExceptionHelper.java (handleOperationException).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from models.kafka.coordinator.protocol.errors import NO_ERROR, Error
from models.kafka.coordinator.runtime.offsets import Offsets
from models.kafka.coordinator.runtime.timers import TimerKind, Timers


@dataclass(slots=True)
class StoredMember:
    """A member in a group's record.

    Only the subscription for the chosen protocol is stored.
    """

    id: str
    instance: str | None
    client_id: str
    client_host: str
    session_ms: int
    rebalance_ms: int
    subscription: bytes
    assignment: bytes


@dataclass(slots=True)
class StoredGroup:
    """Value of a group's record (GroupMetadataValue).

    `since_ms` is None if the version doesn't write it.
    """

    generation: int
    protocol_type: str | None
    protocol: str | None
    leader: str | None
    members: tuple[StoredMember, ...]
    since_ms: int | None


@dataclass(slots=True)
class Log:
    """Compacted contents of the partition, from which a coordinator can load."""

    groups: dict[str, StoredGroup] = field(default_factory=dict)
    offsets: dict[str, Offsets] = field(default_factory=dict)
    """Filled when a coordinator unloads; empty until then."""
    end: int = 0
    """Number of writes so far."""


Written = Callable[[Error], None]
"""Called with the log's own error when a write has ended."""


@dataclass(slots=True)
class WriteResults:
    """Results of writes.

    Writes end with `error` at once. While `is_held`, they end when replicas confirm or the timeout has passed.
    """

    error: Error = NO_ERROR
    is_held: bool = False
    timeout_ms: int = 5_000
    """offsets.commit.timeout.ms"""
    is_unconfirmed: bool = False
    """Whether a write is not confirmed by replicas yet."""
    times_out: bool = False
    """Whether the current operation handles a write timeout."""
    _waiting: dict[int, tuple[Timers, str, Written]] = field(default_factory=dict)
    _late: list[Callable[[], None]] = field(default_factory=list)
    _count: int = 0

    @property
    def succeed_at_once(self) -> bool:
        """Whether replicas confirm each write as soon as it is made."""
        return not self.is_held and self.error is NO_ERROR

    def append(self, timers: Timers, group_id: str, now_ms: int, written: Written) -> None:
        """Write; `written` gets the resulting error."""
        if self.is_held:
            self.is_unconfirmed = True
            self.wait(timers, group_id, now_ms, written)
        else:
            written(self.error)

    def wait(self, timers: Timers, group_id: str, now_ms: int, written: Written) -> None:
        """Wait until replicas confirm earlier writes (DelayedProduce, DeferredEventQueue)."""
        self._count += 1
        self._waiting[self._count] = timers, group_id, written
        timers.schedule(TimerKind.WRITE, group_id, _name(self._count), now_ms + self.timeout_ms, self._count)

    def later(self, confirmed: Callable[[], None]) -> None:
        """Call a function as soon as replicas confirm, even after the timeout."""
        self._late.append(confirmed)

    def time_out(self, number: int) -> None:
        """Time out a write (DelayedProduce.onExpiration, CoordinatorRuntime.OperationTimeout)."""
        self.times_out = True
        self._waiting.pop(number)[-1](Error.REQUEST_TIMED_OUT)
        self.times_out = False

    def settle(self, error: Error) -> None:
        """End all pending writes in order and stop holding writes."""
        self.is_held = self.is_unconfirmed = False
        late, waiting = self._late[:], tuple(self._waiting.items())
        self._late.clear()
        self._waiting.clear()
        for confirmed in late if error is NO_ERROR else ():
            confirmed()
        for number, (timers, group_id, written) in waiting:
            timers.cancel(TimerKind.WRITE, group_id, _name(number))
            written(error)


def _name(number: int) -> str:
    """Name of a write's timer; sorts earlier writes first."""
    return f"{number:012}"


STANDS_IN_LOG = frozenset({NO_ERROR, Error.REQUEST_TIMED_OUT})
"""Results of writes that are in the leader's log.

Replicas too slow for the sender have the write later.
"""

_NOT_AVAILABLE = {Error.UNKNOWN_TOPIC_OR_PARTITION, Error.NOT_ENOUGH_REPLICAS, Error.NOT_ENOUGH_REPLICAS_AFTER_APPEND}
_MOVED = {Error.NOT_LEADER_OR_FOLLOWER, Error.KAFKA_STORAGE_ERROR}
_TOO_LARGE = {Error.MESSAGE_TOO_LARGE, Error.RECORD_LIST_TOO_LARGE, Error.INVALID_FETCH_SIZE}


def _response_errors(timed_out: Error, too_large: Error) -> Mapping[Error, Error]:
    return {
        **dict.fromkeys(_NOT_AVAILABLE, Error.COORDINATOR_NOT_AVAILABLE),
        **dict.fromkeys(_MOVED, Error.NOT_COORDINATOR),
        **dict.fromkeys(_TOO_LARGE, too_large),
        Error.REQUEST_TIMED_OUT: timed_out,
    }


@dataclass(frozen=True, slots=True)
class WriteErrors:
    """Error codes sent to clients by write error; others are passed on."""

    group: Mapping[Error, Error]
    offsets: Mapping[Error, Error]


SCALA_ERRORS = WriteErrors(
    _response_errors(Error.REBALANCE_IN_PROGRESS, Error.UNKNOWN_SERVER_ERROR),
    _response_errors(Error.REQUEST_TIMED_OUT, Error.INVALID_COMMIT_OFFSET_SIZE),
)
JAVA_ERRORS = WriteErrors(
    _response_errors(Error.COORDINATOR_NOT_AVAILABLE, Error.UNKNOWN_SERVER_ERROR),
    _response_errors(Error.COORDINATOR_NOT_AVAILABLE, Error.UNKNOWN_SERVER_ERROR),
)

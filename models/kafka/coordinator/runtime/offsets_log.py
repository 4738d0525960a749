"""What a coordinator writes to its partition of __consumer_offsets, how writes fail, and what can be read back.

A write ends at once and well unless the coordinator is told otherwise (`Writes`). Where replicas don't confirm it, it waits for them,
and is given up after offsets.commit.timeout.ms: by then it stands in the log all the same. What clients are told of a failure is a
matter of tables, one for groups and one for offsets (GroupMetadataManager.scala, storeGroup and storeOffsets; GroupMetadataManager.java,
appendGroupMetadataErrorToResponseError; CoordinatorOperationExceptionHelper.java, handleOperationException).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from models.kafka.coordinator.protocol.errors import Error
from models.kafka.coordinator.runtime.offsets import Offsets
from models.kafka.coordinator.runtime.timers import TimerKind, Timers


@dataclass(frozen=True, slots=True)
class StoredMember:
    """A member in the value of a group's record; of its protocols only the subscription for the chosen one is kept."""

    id: str
    instance: str | None
    client_id: str
    client_host: str
    session_ms: int
    rebalance_ms: int
    subscription: bytes
    assignment: bytes


@dataclass(frozen=True, slots=True)
class StoredGroup:
    """The value of a group's record (GroupMetadataValue). `since_ms` is None where the version doesn't write it."""

    generation: int
    protocol_type: str | None
    protocol: str | None
    leader: str | None
    members: tuple[StoredMember, ...]
    since_ms: int | None


@dataclass(slots=True)
class Log:
    """What the partition holds, as compaction would leave it. Another coordinator can be made from it."""

    groups: dict[str, StoredGroup] = field(default_factory=dict)
    offsets: dict[str, Offsets] = field(default_factory=dict)
    """Filled when a coordinator gives its groups up: until then they hold the same."""
    end: int = 0
    """How many writes there were."""


Written = Callable[[Error], None]
"""Told the log's own error once a write has ended."""


@dataclass(slots=True)
class Writes:
    """How writes end: with `error` at once, or, while replicas confirm none (`held`), when they do or when their time is over."""

    error: Error = Error.NONE
    held: bool = False
    timeout_ms: int = 5_000
    """offsets.commit.timeout.ms"""
    unconfirmed: bool = False
    """Whether anything was written that replicas have not confirmed yet."""
    times_out: bool = False
    """Whether what is done now follows from a write whose time is over."""
    _waiting: dict[int, tuple[Timers, str, Written]] = field(default_factory=dict)
    _late: list[Callable[[], None]] = field(default_factory=list)
    _count: int = 0

    def append(self, timers: Timers, group_id: str, now_ms: int, written: Written) -> None:
        """Write, and say how it went."""
        if self.held:
            self.unconfirmed = True
            self.wait(timers, group_id, now_ms, written)
        else:
            written(self.error)

    def wait(self, timers: Timers, group_id: str, now_ms: int, written: Written) -> None:
        """Wait for replicas to confirm what was written so far (DelayedProduce, DeferredEventQueue)."""
        self._count += 1
        self._waiting[self._count] = timers, group_id, written
        timers.schedule(TimerKind.WRITE, group_id, _name(self._count), now_ms + self.timeout_ms, self._count)

    def later(self, confirmed: Callable[[], None]) -> None:
        """Do something as soon as replicas confirm, however late."""
        self._late.append(confirmed)

    def time_out(self, number: int) -> None:
        """Give up waiting (DelayedProduce.onExpiration, CoordinatorRuntime.OperationTimeout)."""
        self.times_out = True
        self._waiting.pop(number)[-1](Error.REQUEST_TIMED_OUT)
        self.times_out = False

    def settle(self, error: Error) -> None:
        """End all writes that wait, in their order, and wait no more."""
        self.held = self.unconfirmed = False
        late, waiting = self._late[:], tuple(self._waiting.items())
        self._late.clear()
        self._waiting.clear()
        for confirmed in late if error is Error.NONE else ():
            confirmed()
        for number, (timers, group_id, written) in waiting:
            timers.cancel(TimerKind.WRITE, group_id, _name(number))
            written(error)


def _name(number: int) -> str:
    """A write as timers call it: of those that end at one moment the earlier comes first."""
    return f"{number:012}"


STANDS_IN_LOG = frozenset({Error.NONE, Error.REQUEST_TIMED_OUT})
"""How a write has ended that the leader's log holds: replicas that were too slow for its sender have it later."""

_NOT_AVAILABLE = {Error.UNKNOWN_TOPIC_OR_PARTITION, Error.NOT_ENOUGH_REPLICAS, Error.NOT_ENOUGH_REPLICAS_AFTER_APPEND}
_MOVED = {Error.NOT_LEADER_OR_FOLLOWER, Error.KAFKA_STORAGE_ERROR}
_TOO_LARGE = {Error.MESSAGE_TOO_LARGE, Error.RECORD_LIST_TOO_LARGE, Error.INVALID_FETCH_SIZE}


def _told(timed_out: Error, too_large: Error) -> Mapping[Error, Error]:
    return {
        **dict.fromkeys(_NOT_AVAILABLE, Error.COORDINATOR_NOT_AVAILABLE),
        **dict.fromkeys(_MOVED, Error.NOT_COORDINATOR),
        **dict.fromkeys(_TOO_LARGE, too_large),
        Error.REQUEST_TIMED_OUT: timed_out,
    }


@dataclass(frozen=True, slots=True)
class WriteErrors:
    """What clients are told of each way in which a write fails; errors that are not named are passed on."""

    group: Mapping[Error, Error]
    offsets: Mapping[Error, Error]


SCALA_ERRORS = WriteErrors(
    _told(Error.REBALANCE_IN_PROGRESS, Error.UNKNOWN_SERVER_ERROR),
    _told(Error.REQUEST_TIMED_OUT, Error.INVALID_COMMIT_OFFSET_SIZE),
)
JAVA_ERRORS = WriteErrors(
    _told(Error.COORDINATOR_NOT_AVAILABLE, Error.UNKNOWN_SERVER_ERROR),
    _told(Error.COORDINATOR_NOT_AVAILABLE, Error.UNKNOWN_SERVER_ERROR),
)

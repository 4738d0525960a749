"""What a coordinator writes to its partition of __consumer_offsets, how writes fail, and what can be read back.

A write ends at once and well unless the coordinator is told otherwise (`Writes`). What clients are told of a failure is a matter
of tables, one for groups and one for offsets (GroupMetadataManager.scala, storeGroup and storeOffsets; GroupMetadataManager.java,
appendGroupMetadataErrorToResponseError; CoordinatorOperationExceptionHelper.java, handleOperationException).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from models.kafka.coordinator.errors import Error
from models.kafka.coordinator.offsets import Offsets


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
    """How writes end: with `error` at once, or whenever `settle` is called if they are held."""

    error: Error = Error.NONE
    held: bool = False
    _waiting: deque[Written] = field(default_factory=deque)

    def append(self, written: Written) -> None:
        """Write, and say how it went."""
        if self.held:
            self._waiting.append(written)
        else:
            written(self.error)

    def settle(self, error: Error) -> None:
        """End all writes that wait, in their order. What they lead to may wait again."""
        for _ in range(len(self._waiting)):
            self._waiting.popleft()(error)


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

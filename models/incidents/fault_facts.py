"""Facts about standing faults of RocketMQ groups; `pipelines.headlines` puts them into words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class DifferingClients:
    """Clients of one group that differ in a setting.

    `setting` is `strategy` or `subscription`; `clients_by_value` has the value of fewest clients first.
    """

    setting: str
    clients_by_value: tuple[tuple[str, tuple[str, ...]], ...]


@dataclass(frozen=True, slots=True)
class RemovedTopics:
    """Topics that heartbeats of a group's clients remove from its subscription in turn."""

    topics: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ReplacedFilters:
    """Filter expressions of a topic that heartbeats of a group's clients replace in turn."""

    topic: str
    expressions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SharedClientIds:
    """Client ids of several processes each."""

    client_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class IdleClients:
    """Clients without queues in a group with more clients than queues."""

    client_count: int
    queue_count: int
    client_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SkewedShares:
    """Clients with the surplus of several topics, by number of queues.

    `queues_min` is the smallest share of another client.
    """

    queue_counts: tuple[tuple[str, int], ...]
    queue_count: int
    topic_count: int
    queues_min: int


@dataclass(frozen=True, slots=True)
class MessageTrouble:
    """Trouble with popped messages: of a client, or of a topic at a broker.

    `kind` is the kind of the fault; `client_id` is empty if a broker's lines show it.
    """

    kind: str
    client_id: str
    topic: str | None
    line_count: int
    lite_topic: str | None = None
    is_quota_used: bool = False


@dataclass(frozen=True, slots=True)
class ClientFault:
    """A fault that lines of a group's clients, or of a broker, tell of.

    `kind` is the kind of the fault; without `client_ids` a broker tells of it.
    """

    kind: str
    client_ids: tuple[str, ...]
    topics: tuple[str, ...]
    line_count: int


@dataclass(frozen=True, slots=True)
class MasterAbsence:
    """A broker set's change of master; `master` is the new one, if any.

    `seconds` without a master are counted to the end of the logs if it is open. `lock_seconds` passed until the new one's first lock.
    """

    broker: str
    seconds: int
    is_open: bool
    master: str | None
    lock_seconds: int | None = None


@dataclass(frozen=True, slots=True)
class LostBrokers:
    """Brokers that a name server has no more, by name or address.

    `seconds` passed until they were back.
    """

    names: tuple[str, ...]
    seconds: int | None


@dataclass(frozen=True, slots=True)
class UnattributedTrouble:
    """A trouble of clients whose group no line names."""

    client: str | None
    trouble: str
    count: int
    is_reported: bool = False
    """True if the program around the client reports it, and no client itself."""
    log_count: int = 1


FaultFacts: TypeAlias = (
    DifferingClients
    | RemovedTopics
    | ReplacedFilters
    | SharedClientIds
    | IdleClients
    | SkewedShares
    | MessageTrouble
    | ClientFault
    | MasterAbsence
    | LostBrokers
)
"""What a standing fault is about."""

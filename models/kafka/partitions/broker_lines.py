"""Processes brokers' lines about their own start, stop and state."""

from __future__ import annotations

from models.events import Event
from models.kafka.partitions.event_fields import named_nodes, word_field
from models.kafka.partitions.partition_state import PartitionState
from models.tolerances import int_tolerance

LISTENS_WITHIN_US = int_tolerance("kafka.broker_lines.listens_within_us")
"""Maximum time from a broker getting its leaderships to its open port."""

_NO_DEPARTURE = frozenset({"BrokerStarting", "BrokerConfigured", "LogDirFailed"})
"""Lines after which a start does not imply a departure.

Several lines announce a start, and a broker lives on when a directory fails.
"""


def process_configuration(state: PartitionState, event: Event) -> None:
    """Note the default for unclean elections."""
    if event.fields.get("unclean_election") is not None:
        state.unclean_default = bool(event.fields["unclean_election"])


def process_start(state: PartitionState, event: Event) -> None:
    """Record a broker's start.

    If it was active and left unnoticed, its last own line marks the departure.
    """
    node = state.node_of_line(event)
    if node is None:
        return
    state.regain_replicas(node, event)
    last, at = state.last_own.get(node), event.time_us
    stopping = state.brokers.stopping_line(node)
    if stopping is not None:
        record_stop(state, node, stopping)
    elif (
        last is not None
        and last.name not in _NO_DEPARTURE
        and not state.brokers.is_down(node)
        and not state.suspicions.is_reported(node, at)
    ):
        state.record_departure(node, last, is_suspected=True)
    state.brokers.starting(node, at, event)


def process_end_of_start(state: PartitionState, event: Event) -> None:
    """Record that a broker has started."""
    node = state.node_of_line(event)
    if node is not None:
        state.confirm_return(node, event)
        state.brokers.alive(node)


def process_announcement(state: PartitionState, event: Event) -> None:
    """Record the return of each broker that announces itself."""
    for node in named_nodes(event):
        state.confirm_return(node, event)


def process_broker_state(state: PartitionState, event: Event) -> None:
    """Record a return when a broker says that it runs."""
    node = state.node_of_line(event)
    if node is not None and word_field(event, "state") == "RUNNING":
        state.confirm_return(node, event)


def process_stop(state: PartitionState, event: Event) -> None:
    """Record that a broker stops or has stopped."""
    node = state.node_of_line(event)
    if node is None:
        return
    if event.fields.get("halted"):
        record_halt(state, node, event)
        return
    if event.name == "BrokerStopped":
        record_stop(state, node, state.brokers.stopping_line(node) or event)
    state.brokers.stopping(node, event.time_us, event)


def record_halt(state: PartitionState, node: str, event: Event) -> None:
    """Record a broker that halts because its last log directory failed."""
    state.brokers.sign(node, "log_dir", event)
    if not state.suspicions.is_reported(node, event.time_us):
        state.record_departure(node, event, is_suspected=True)


def record_stop(state: PartitionState, node: str, event: Event) -> None:
    """Record from its own lines that a broker leads nothing now."""
    if not state.suspicions.is_reported(node, event.time_us):
        state.record_departure(node, event, is_controlled=state.brokers.goes_in_order(node), is_suspected=True)


def process_refused_connection(state: PartitionState, event: Event) -> None:
    """Suspect a broker whose connections are refused."""
    node = word_field(event, "broker")
    if node is None or state.brokers.is_down(node):
        return
    at = event.time_us
    if state.brokers.last_return(node, at - LISTENS_WITHIN_US, at) is not None:
        return
    first = state.suspicions.refused(node, event, at, is_watched=not state.controllers.has_lost_quorum(at))
    if first is not None:
        state.record_departure(node, first, is_suspected=True)


def process_shutdown_attempt(state: PartitionState, event: Event) -> None:
    """Record the phases of a controlled shutdown."""
    node = state.node_of_line(event)
    if node is None:
        return
    if word_field(event, "phase") == "failed":
        state.brokers.stays_leader(node, event)
        return
    state.brokers.sign(node, "leaving", event)
    if word_field(event, "phase") in {"asked", "succeeded"}:  # KRaft: asked, ZooKeeper: succeeded; from here on it leads nothing
        record_stop(state, node, event)


def process_session_expiry(state: PartitionState, event: Event) -> None:
    """Note that a broker lost its ZooKeeper session."""
    node = state.node_of_line(event)
    if node is not None:
        state.brokers.sign(node, "session", event)

"""Headlines about Kafka groups without rebalances.

Pauses, refusals, faults, returns and removals.
"""

from __future__ import annotations

from dashboards.wording.durations import duration
from models.incidents.headline_facts import (
    ApartFacts,
    DiskFacts,
    LastDeliveryFacts,
    LoadFacts,
    MoveFacts,
    PauseFacts,
    RefusalFacts,
    RemovalFacts,
    RestorationFacts,
    SharePartitionFacts,
    StaticReturnFacts,
    StaticTakeoverFacts,
    TopologyFacts,
)
from pipelines.headlines.phrases import counted, first_names, often

GROUPS_NAMED_MAX = 5
INSTANCES_NAMED_MAX = 3

REFUSAL_WORDS = {
    "group_full": "the group has as many members as group.max.size allows",
    "inconsistent_protocol": "it offers no assignor or protocol type that the other members offer",
    "not_authorized": "it may not read as this group",
    "session_timeout_refused": "its session timeout is outside of the broker's bounds",
    "static_member_fenced": "another consumer has its group.instance.id",
}
"""Why a consumer is refused, by the kind of refusal."""

TROUBLE_WORDS = {
    "assignor_failed": "the assignor failed{by}{times}, so that no member was assigned anything",
    "client_failed": "{who} stopped on an error of its own{times}",
    "shutdown_requested": "{who} had all instances of the application stop, after an error",
    "not_authenticated": "{who} and the brokers did not accept each other, by TLS or SASL{times}",
}
"""What stopped a consumer or its group, by kind of trouble."""

KEPT_WORDS = {
    "name not resolved": "as names of brokers were not resolved (DNS)",
    "no connection": "as no broker could be connected to",
}
"""What keeps clients from their coordinator."""

TOPOLOGY_WORDS = {
    "internal_topics_missing": "internal topics are missing",
    "source_topics_missing": "source topics are missing",
    "partitions_differ": "a topic has another number of partitions than its topology needs",
}
"""Trouble of a topology, by its state."""

SHARE_PARTITION_WORDS = {
    "not_initialised": "nobody gets records of {partition}, as its stored state could not be read",
    "not_stored": "what members acknowledged of {partition} could not be stored, so that records may come again",
    "not_released": "records of {partition} stayed with a member although its acquisition lock had run out",
    "not_dead_lettered": "archived records of {partition} could not be written to the dead letter topic, so that no copy of them is kept",
    "refused": "acknowledgements of records of {partition} were refused, mostly as their acquisition lock had run out",
    "lock_expired": "records of {partition} were acknowledged after their acquisition lock had run out, and are delivered again",
}
"""Trouble with the records of a share partition."""


def pause(facts: PauseFacts) -> str:
    """Groups that stood still, and members whose sessions ended."""
    who = "a coordinator" if facts.broker is None else f"broker {facts.broker}"
    names = first_names(facts.groups, GROUPS_NAMED_MAX)
    members = f"{facts.member_count} members of {len(facts.groups)} groups ({names}) missed their session timeout"
    together = duration(facts.expiry_seconds)
    return f"{who} most likely stood still, or nothing reached it: {members} within {together}"


def move(facts: MoveFacts) -> str:
    """Brokers that had and have a group, and the time without one."""
    places = f"{_broker(facts.from_node)} to {_broker(facts.to_node)}"
    gap = f" and was away for {duration(facts.gap_seconds)}" if facts.gap_seconds is not None else ""
    return f"{facts.group}: its coordinator moved from {places}{gap}; no rebalance followed"


def slow_load(facts: LoadFacts) -> str:
    """Broker that loaded, and what, and for how long."""
    count = len(facts.partitions)
    what = f"__consumer_offsets-{facts.partitions[0]}" if count == 1 else f"each of {count} partitions of __consumer_offsets"
    lasted = f"{'up to ' if count > 1 else ''}{duration(facts.seconds)}"
    who = "a broker" if facts.broker is None else _broker(facts.broker)
    return f"{who} took {lasted} to load {what}; no group there could join or commit until then"


def full_disk(facts: DiskFacts) -> str:
    """Broker whose disk was full."""
    who = "a broker" if facts.broker is None else _broker(facts.broker)
    named = f" ({', '.join(facts.folders)})" if facts.folders else ""
    return f"the disk of {who} was full{named}; its log directory fails, and the broker gives up the replicas there"


def apart(facts: ApartFacts) -> str:
    """Clients without coordinator, and for how long."""
    clients = counted(facts.client_count, "client")
    lasted = f"{'at least ' if facts.is_open else ''}{duration(facts.seconds)}"
    why = f", {KEPT_WORDS[facts.why]}" if facts.why in KEPT_WORDS else ""
    return f"{facts.group}: {clients} found no coordinator for {lasted}{why}, and could not join or commit meanwhile"


def restoration(facts: RestorationFacts) -> str:
    """Threads that restored state, and for how long."""
    threads = counted(facts.thread_count, "thread")
    lasted = f"{'at least ' if facts.is_open else ''}{duration(facts.seconds)}"
    return f"{facts.group}: {threads} restored state for {lasted} after the start, and processed nothing of what they had been assigned"


def _broker(node: str | None) -> str:
    return "another broker" if node is None else f"broker {node}"


def refusal(facts: RefusalFacts) -> str:
    """Refused member, count and reason."""
    who = "a consumer that no line names" if facts.name is None else facts.name
    if facts.kind in TROUBLE_WORDS:
        times, by = f" {facts.count} times" if facts.count > 1 else "", "" if facts.name is None else f" in {facts.name}"
        return f"{facts.group}: {TROUBLE_WORDS[facts.kind].format(who=who, times=times, by=by)}"
    return f"{facts.group}: {who} {often('was refused', facts.count)}; {REFUSAL_WORDS[facts.kind]}"


def unready_topology(facts: TopologyFacts) -> str:
    """Reason why a streams group gets no tasks."""
    detail = "not named" if facts.detail is None else facts.detail
    return f"{facts.group}: nobody gets tasks; {TOPOLOGY_WORDS[facts.state]} ({detail})"


def last_delivery(facts: LastDeliveryFacts) -> str:
    """Records that no member of a share group could process."""
    others = f" and {facts.other_count} other records" if facts.other_count else ""
    records = f"offset {facts.offset} of {facts.partition}{others}"
    return f"{facts.group}: {records} failed on every delivery attempt but the last, after which a record is archived"


def troubled_share_partition(facts: SharePartitionFacts) -> str:
    """Trouble with the records of a share partition."""
    times = f" ({facts.count} times)" if facts.count > 1 else ""
    return f"{facts.group}: {SHARE_PARTITION_WORDS[facts.why].format(partition=facts.partition)}{times}"


def static_return(facts: StaticReturnFacts) -> str:
    """Static members whose restart nobody noticed."""
    names = first_names(facts.instance_ids, INSTANCES_NAMED_MAX)
    times = f" {facts.count} times" if facts.count > len(facts.instance_ids) else ""
    return f"{facts.group}: static members {names} came back in time{times} and took their places; no rebalance followed"


def static_takeover(facts: StaticTakeoverFacts) -> str:
    """Two consumers with one instance id."""
    taken = f"the place of {facts.instance_id} was taken over {facts.count} times, without a rebalance"
    return f"{facts.group}: {taken}; its process starts again and again, or two consumers have this group.instance.id"


def removal(facts: RemovalFacts) -> str:
    """End of a group, and whether its offsets were deleted."""
    how = "was deleted on request" if facts.on_request else "was removed"
    after = f", {duration(facts.empty_seconds)} after its last member went" if facts.empty_seconds is not None else ""
    doubt = "" if facts.had_offsets else ", if it had any"
    return f"{facts.group} {how}{after}; its committed offsets are lost{doubt}"

"""Names under which classes stand in stored states, wherever their modules are.

A class that moves or is renamed keeps its name here, so that states of older versions can be read.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module

STORED: Mapping[str, str] = {
    "Absence": "models.kafka.partitions_brokers:Absence",
    "Act": "models.kafka.acts:Act",
    "Bounds": "models.kafka.skew:Bounds",
    "BrokerClocks": "models.kafka.partitions_clocks:BrokerClocks",
    "BrokerOutage": "models.rows:BrokerOutage",
    "Brokers": "models.kafka.partitions_brokers:Brokers",
    "Cause": "models.causes:Cause",
    "Change": "models.kafka.modern:Change",
    "Chronicle": "models.kafka.chronicle:Chronicle",
    "ClassicReplay": "models.kafka.classic:ClassicReplay",
    "ClientState": "models.rows:ClientState",
    "ClientStates": "models.kafka.client_states:ClientStates",
    "Clients": "models.kafka.clients:Clients",
    "Conformance": "models.rows:Conformance",
    "Controllers": "models.kafka.partitions_controllers:Controllers",
    "CoordinatorMove": "models.rows:CoordinatorMove",
    "Deed": "models.kafka.acts:Deed",
    "Divergence": "models.rows:Divergence",
    "Draft": "models.kafka.classic:Draft",
    "EpochDraft": "models.kafka.modern:EpochDraft",
    "Event": "models.events:Event",
    "Evidence": "models.rows:Evidence",
    "Facts": "models.kafka.partitions_clocks:Facts",
    "Finding": "models.kafka.classic:Finding",
    "Following": "models.kafka.outages_readers:Following",
    "Going": "models.cluster:Going",
    "Group": "models.kafka.group:Group",
    "GroupHistory": "models.kafka.history:GroupHistory",
    "GroupKnowledge": "models.kafka.learning:GroupKnowledge",
    "GroupTransition": "models.rows:GroupTransition",
    "HistoryWriter": "models.kafka.verdicts:HistoryWriter",
    "Impact": "models.kafka.impact:Impact",
    "Incident": "models.rows:Incident",
    "IsrChange": "models.kafka.partitions:IsrChange",
    "_Lane": "models.kafka.client_states:_Lane",
    "Layout": "models.kafka.outages_whatif:Layout",
    "LeaderMove": "models.rows:LeaderMove",
    "Leadership": "models.kafka.partitions:Leadership",
    "LeadershipMove": "models.kafka.partitions_takeovers:Move",
    "Limits": "models.incidents:Limits",
    "Load": "models.cluster:Load",
    "Member": "models.kafka.members:Member",
    "MemberSession": "models.rows:MemberSession",
    "ModernReplay": "models.kafka.modern:ModernReplay",
    "Move": "models.kafka.classic:Move",
    "NodeChange": "models.cluster:NodeChange",
    "OffsetExpiration": "models.rows:OffsetExpiration",
    "PartitionHistory": "models.kafka.partitions:PartitionHistory",
    "PartitionOutage": "models.rows:PartitionOutage",
    "Partitions": "models.kafka.partitions:Partitions",
    "Person": "models.rows:Person",
    "Place": "models.events:Place",
    "Placement": "models.kafka.outages_whatif:Placement",
    "Readers": "models.kafka.outages_readers:Readers",
    "Rebalance": "models.rows:Rebalance",
    "RebalanceMember": "models.rows:RebalanceMember",
    "Reconciliations": "models.kafka.reconciling:Reconciliations",
    "Refused": "models.kafka.impact:Refused",
    "Reign": "models.kafka.partitions_controllers:Reign",
    "Roster": "models.kafka.members:Roster",
    "Shortage": "models.kafka.partitions_shortages:Shortage",
    "Skew": "models.kafka.partitions_clocks:Skew",
    "Skews": "models.kafka.skew:Skews",
    "Span": "models.kafka.reconciling:Span",
    "State": "models.kafka.coordinator.group_states:State",
    "StateChange": "models.kafka.classic:StateChange",
    "Stop": "models.kafka.impact:Stop",
    "_Stretch": "models.kafka.client_states:_Stretch",
    "Suspicions": "models.kafka.partitions_suspicions:Suspicions",
    "Takeovers": "models.kafka.partitions_takeovers:Takeovers",
    "Told": "models.kafka.partitions:Told",
    "TopicChange": "models.cluster:TopicChange",
    "UnderReplicatedSpan": "models.rows:UnderReplicatedSpan",
    "Witness": "models.events:Witness",
}
"""Where the class of each name is: module and class."""

_NAMED_OTHERWISE: Mapping[str, str] = {"partitions_takeovers/Move": "LeadershipMove"}
"""Names of classes that shared their own with another class while states still held modules, by last part of the module and class."""


@cache
def class_of(name: str) -> type:
    """The class of a name. Raises KeyError for a name that no version wrote."""
    module, _, path = STORED[_stable(name)].partition(":")
    found = getattr(import_module(module), path)
    assert isinstance(found, type)  # noqa: S101 - a table of ours, which tests hold to this
    return found


@cache
def name_of(kind: type) -> str:
    """The name of a class. Raises KeyError for one that is not to be stored."""
    return _NAMES[f"{kind.__module__}:{kind.__qualname__}"]


def _stable(name: str) -> str:
    """States held `module:class` until names were made stable; what they held was unique but for one."""
    module, colon, path = name.rpartition(":")
    return _NAMED_OTHERWISE.get(f"{module.rpartition('.')[2]}/{path}", path) if colon else name


_NAMES: Mapping[str, str] = {place: name for name, place in STORED.items()}

"""Stable names of classes in checkpoints, independent of their modules.

A class that moves or is renamed keeps its name here, so that checkpoints of older versions can be read.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module

STORED: Mapping[str, str] = {
    "Absence": "models.kafka.partitions.brokers:BrokerAbsence",
    "Act": "models.kafka.observations.actions:MemberAction",
    "Author": "models.kafka.observations.log_authors:LogAuthor",
    "Bounds": "models.kafka.observations.client_clocks:ClientClockBounds",
    "BrokerClocks": "models.kafka.partitions.broker_clocks:BrokerClocks",
    "BrokerOutage": "models.rows:BrokerOutage",
    "Brokers": "models.kafka.partitions.brokers:Brokers",
    "Cause": "models.causes:Cause",
    "Change": "models.kafka.reconstruction.epochs.windows:EpochChange",
    "Certainty": "models.kafka.conformance.explanation:Certainty",
    "Chronicle": "models.kafka.groups.rows.transition_rows:TransitionRows",
    "ClassicReplay": "models.kafka.reconstruction.classic_log:ClassicReplay",
    "ClientState": "models.rows:ClientState",
    "ClientStates": "models.kafka.observations.client_states:ClientStates",
    "ClientLog": "models.kafka.observations.roster:ClientLog",
    "ClientSight": "models.kafka.reconstruction.client_generations:ClientSight",
    "ClientWindows": "models.kafka.reconstruction.client_windows:ClientWindows",
    "Clients": "models.kafka.observations.first_joins:Clients",
    "Conformance": "models.rows:Conformance",
    "Controllers": "models.kafka.partitions.controllers:Controllers",
    "CoordinatorContacts": "models.kafka.observations.coordinator_contacts:CoordinatorContacts",
    "CoordinatorMove": "models.rows:CoordinatorMove",
    "DamagedLog": "models.kafka.cluster.facts:DamagedLog",
    "Deed": "models.kafka.observations.actions:ActionKind",
    "DirectoryFailure": "models.kafka.partitions.brokers:DirectoryFailure",
    "Divergence": "models.rows:Divergence",
    "Draft": "models.kafka.reconstruction.classic_states:RebalanceWindow",
    "MemberSteps": "models.kafka.reconstruction.epochs.member_steps:MemberSteps",
    "EpochStates": "models.kafka.groups.rows.epoch_states:EpochStates",
    "MemberEpoch": "models.kafka.groups.rows.epoch_states:MemberEpoch",
    "EpochDraft": "models.kafka.reconstruction.epochs.windows:EpochWindow",
    "EpochPeer": "models.kafka.reconstruction.epochs.member_signs:EpochPeer",
    "EpochProgress": "models.kafka.reconstruction.epochs.progress:EpochProgress",
    "EpochSign": "models.kafka.reconstruction.epochs.member_signs:EpochSign",
    "EpochTurn": "models.kafka.reconstruction.epochs.member_signs:EpochTurn",
    "Event": "models.events:Event",
    "ExpiryBurst": "models.kafka.cluster.expiry_bursts:ExpiryBurst",
    "Evidence": "models.rows:Evidence",
    "Facts": "models.kafka.partitions.broker_clocks:Facts",
    "Finding": "models.kafka.reconstruction.classic_states:UnexpectedLine",
    "Following": "models.kafka.outages.affected_groups:RebalanceAfterOutage",
    "Going": "models.kafka.cluster.facts:BrokerDeparture",
    "Group": "models.kafka.reconstruction.classic_states:LoggedGroup",
    "GroupHistory": "models.kafka.verdicts.history:GroupHistory",
    "GroupKnowledge": "models.kafka.observations.knowledge:GroupKnowledge",
    "GroupState": "models.rows:GroupState",
    "GroupStateMember": "models.rows:GroupStateMember",
    "GroupStateTimer": "models.rows:GroupStateTimer",
    "GroupTransition": "models.rows:GroupTransition",
    "HistoryWriter": "models.kafka.verdicts.rebalance_rows:VerdictWriter",
    "Impact": "models.kafka.verdicts.impact:Impact",
    "Incident": "models.rows:Incident",
    "IsrBefore": "models.kafka.partitions.partition_history:IsrBefore",
    "IsrChange": "models.kafka.partitions.partition_history:IsrChange",
    "LogAuthors": "models.kafka.observations.log_authors:LogAuthors",
    "_Lane": "models.kafka.observations.client_states:_Lane",
    "Layout": "models.kafka.outages.broker_loss:ClusterLayout",
    "LeaderMove": "models.rows:LeaderMove",
    "Leadership": "models.kafka.partitions.partition_history:Leadership",
    "LeadershipMove": "models.kafka.partitions.leadership_drain:LeadershipMove",
    "Limits": "models.incidents.incidents:Limits",
    "Load": "models.kafka.cluster.facts:Load",
    "Member": "models.kafka.observations.roster:RosterMember",
    "MemberSession": "models.rows:MemberSession",
    "MemberStep": "models.kafka.reconstruction.epochs.member_steps:MemberStep",
    "MemberSnapshot": "models.kafka.conformance.snapshots:MemberSnapshot",
    "ModelStates": "models.kafka.groups.rows.model_states:ModelStates",
    "Membership": "models.kafka.reconstruction.request_members:Membership",
    "ModernReplay": "models.kafka.reconstruction.epochs.log:ModernReplay",
    "Move": "models.kafka.reconstruction.classic_states:CoordinatorRelocation",
    "NodeChange": "models.kafka.cluster.facts:NodeChange",
    "OffsetExpiration": "models.rows:OffsetExpiration",
    "PartitionHistory": "models.kafka.partitions.partition_history:PartitionHistory",
    "OwnedNumbers": "models.kafka.reconstruction.epochs.partition_owners:OwnedNumbers",
    "PartitionOutage": "models.rows:PartitionOutage",
    "PartitionOwners": "models.kafka.reconstruction.epochs.partition_owners:PartitionOwners",
    "Partitions": "models.kafka.partitions.partition_history:Partitions",
    "Peer": "models.kafka.reconstruction.request_members:Peer",
    "Person": "models.rows:Person",
    "Place": "models.events:LogPosition",
    "Placement": "models.kafka.outages.broker_loss:Placement",
    "Readers": "models.kafka.outages.affected_groups:Readers",
    "Rebalance": "models.rows:Rebalance",
    "RebalanceMember": "models.rows:RebalanceMember",
    "Reconciliations": "models.kafka.observations.reconciliation:Reconciliations",
    "RefusalSpell": "models.incidents.refusals:Spell",
    "Refusals": "models.incidents.refusals:Refusals",
    "Refused": "models.kafka.verdicts.impact:RejectedCommit",
    "Reign": "models.kafka.partitions.controllers:ControllerTerm",
    "RequestWindows": "models.kafka.reconstruction.request_windows:RequestWindows",
    "ReturnSpell": "models.incidents.static_restarts:ReturnSpell",
    "Roster": "models.kafka.observations.roster:Roster",
    "Shortage": "models.kafka.partitions.isr:Shortage",
    "Sign": "models.kafka.reconstruction.request_members:RequestSign",
    "Skew": "models.kafka.partitions.broker_clocks:Skew",
    "Skews": "models.kafka.observations.client_clocks:Skews",
    "Snapshot": "models.kafka.conformance.snapshots:Snapshot",
    "Span": "models.kafka.observations.reconciliation:ReconciliationSpan",
    "QuorumTurns": "models.kafka.cluster.quorum_turns:QuorumTurns",
    "State": "models.kafka.coordinator.protocol.group_states:State",
    "StandingCondition": "models.incidents.standing_conditions:StandingCondition",
    "StandingConditions": "models.incidents.standing_conditions:StandingConditions",
    "StateChange": "models.kafka.reconstruction.classic_states:ObservedTransition",
    "StaticRestarts": "models.incidents.static_restarts:StaticRestarts",
    "SignKind": "models.kafka.reconstruction.epochs.member_signs:SignKind",
    "ThreadPause": "models.kafka.verdicts.impact:ThreadPause",
    "Stop": "models.kafka.verdicts.impact:PartitionPause",
    "_Stretch": "models.kafka.observations.client_states:_Stretch",
    "Suspicions": "models.kafka.partitions.suspected_failures:SuspectedFailures",
    "Takeovers": "models.kafka.partitions.leadership_drain:LeadershipDrain",
    "Told": "models.kafka.partitions.partition_history:LeadershipSource",
    "StaleChanges": "models.kafka.cluster.stale_changes:StaleChanges",
    "TopicChange": "models.kafka.cluster.facts:TopicChange",
    "UnderReplicatedSpan": "models.rows:UnderReplicatedSpan",
    "UntoldEpochs": "models.kafka.reconstruction.epochs.unlogged_epochs:UnloggedEpochs",
    "Witness": "models.events:Witness",
}
"""Module and class by stable name."""

ADDED_FIELDS: Mapping[str, tuple[str, ...]] = {
    "Brokers": ("directory_failures",),
    "ClientSight": ("resumed_at", "was_begun_by_others", "is_only_heard", "was_begun_by_strangers"),
    "ClientWindows": ("of_epochs", "_contacts", "_given_up"),
    "ClassicReplay": ("_has_assignments", "_lacks_assignments"),
    "Clients": ("_topics", "_idle"),
    "Controllers": ("failures",),
    "GroupKnowledge": (
        "work_changed_at",
        "protocol_type",
        "leaders",
        "asked_topics",
        "asked_otherwise_at",
        "others_act",
        "has_assignments",
        "committed_at",
        "begins_amid",
        "synced_at",
        "last_partitions",
        "joined_in",
        "unnumbered",
        "ended_in",
        "readmitted_in",
    ),
    "Impact": ("pauses", "_tell_states", "_paused_since"),
    "Membership": ("lost_at",),
    "MemberSession": ("library", "client_version", "session_timeout_ms", "rebalance_timeout_ms"),
    "PartitionHistory": ("reassigned", "offline"),
    "RefusalSpell": ("principal",),
    "Peer": ("doubt_us",),
    "RequestWindows": ("epochs", "broker", "answered", "unheard", "stored", "is_phase_told", "may_be_stored"),
    "Roster": ("logs",),
    "Sign": ("doubt_us",),
    "StandingCondition": ("longest_us",),
    "StandingConditions": ("lost",),
}
"""Fields that classes got after checkpoints were written, oldest first.

Each has a default.
"""

_NAMED_OTHERWISE: Mapping[str, str] = {"partitions_takeovers/Move": "LeadershipMove"}
"""Exceptions for classes that once shared a name with another class.

Keys are the last part of the module and the class, from the time when checkpoints held module names.
"""


@cache
def class_of(name: str) -> type:
    """Class of a stable name.

    Raises KeyError for a name that no version wrote.
    """
    module, _, path = STORED[_stable(name)].partition(":")
    target = getattr(import_module(module), path)
    assert isinstance(target, type)  # noqa: S101 - a table of ours, which tests hold to this
    return target


@cache
def stable_name(kind: type) -> str:
    """Stable name of a class.

    Raises KeyError for a class that is never stored.
    """
    return _NAMES[f"{kind.__module__}:{kind.__qualname__}"]


def _stable(name: str) -> str:
    """Stable name from a stored name, which may be an old `module:class`."""
    module, colon, path = name.rpartition(":")
    return _NAMED_OTHERWISE.get(f"{module.rpartition('.')[2]}/{path}", path) if colon else name


_NAMES: Mapping[str, str] = {place: name for name, place in STORED.items()}

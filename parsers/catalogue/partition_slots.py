"""Slot types for partitions in lines of controllers and brokers.

A registration names the replicas, the leader and the in-sync replicas of a partition. Products and versions print it in
five forms; all have the same fields here: `leader` ("-1": none), `leader_epoch`, `isr`, `replicas`, `partition_epoch`
(in ZooKeeper mode the version of the partition's node), and `adding`, `removing` and `elr` unless they are empty.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from parsers.catalogue.slots import NO, SlotType, Unparsed, parse_int32, parse_partition, unwrap

_LARGE_NUMBER = re.compile(r"\d{10,}")
_NODE = re.compile(r"-?\d{1,10}")
_NODES = re.compile(r"(?:-?\d{1,10}(?:, ?-?\d{1,10})*)?")
_NAMED = re.compile(r"(?:^|, ?)([A-Za-z]\w*)[=:]")
_BROKER_STATE = re.compile(r"BrokerState\(brokerId=(\d{1,10}), brokerEpoch=-?\d{1,19}\)")
_ENCODED = re.compile(r'\{"leader":(?P<leader>-?\d{1,10}),"leader_epoch":(?P<epoch>\d{1,10}),"isr":\[(?P<isr>[\d,]*)\]\}')
_FETCHER = re.compile(
    r"(?:^|, )([^ ,]+) -> InitialFetchState\((?:Some\([^()]*\)|None)?,?BrokerEndPoint[(\[]id=(\d{1,10})[^)\]]*[)\]],(\d{1,10}),"
)
_OLD_FETCHER = re.compile(r"\[([^ ,\[\]]+), initOffset \d{1,19} to broker BrokerEndPoint\((\d{1,10}),[^()]*\)\] ")
_UNCLEAN = re.compile(r"unclean\.leader\.election\.enable(?:=| -> )(true|false)")
_CHANGE = re.compile(r"(?:^|, )(\w+): ")
_KEYED = re.compile(r"(?:^|, )([^ ,]+) -> [A-Z][A-Za-z]*\(([\d, -]*)\)")

_VOTER = re.compile(r"ReplicaKey\(id=(\d{1,10})")
_VOTE = re.compile(r"VoterState\(replicaKey=ReplicaKey\(id=(\d{1,10})[^()]*\), state=([A-Z]+)\)")
_VOTER_STATES = (("silent", "UNRECORDED"), ("refusing", "REJECTED"))
_QUORUM_STATE = re.compile(r"(Unattached|Voted|Prospective|Candidate|Resigned|Follower|Leader)(?:State)?\(")
_QUORUM_EPOCH = re.compile(r"\bepoch=(\d{1,10})\b")
_QUORUM_LEADER = re.compile(r"\b(?:leader|leaderId)=(?:OptionalInt\[)?(\d{1,10})\b")
_LEADER_ITSELF = re.compile(r"Leader\((?:localId=|localVoterNode=VoterNode\(voterKey=ReplicaKey\(id=)(\d{1,10})\b")
_QUORUM_VOTERS = re.compile(r"\bvoters=\[([\d, ]{1,400})\]")
_FETCH_TIMEOUT = re.compile(r"\bfetchTimeoutMs=(\d{1,9})\b")

_NUMBERS = {"leaderepoch": "leader_epoch", "partitionepoch": "partition_epoch", "zkversion": "partition_epoch"}
_LISTS = {"isr": "isr", "isrwithbrokerepoch": "isr", "replicas": "replicas"}
_LISTS_IF_ANY = {"addingreplicas": "adding", "removingreplicas": "removing", "elr": "elr"}

_LEADERSHIP = ("leader", "leader_epoch", "isr", "partition_epoch")
_ENCODED_FIELDS = ("leader", "leader_epoch", "isr")
_REGISTRATION_NAMES = (*_LEADERSHIP, "replicas")
_OPTIONAL = ("adding", "removing", "elr")
_ELECTED = ("isr", "isr_before", "leader_before", "leader_epoch", "replicas", "elr")
_QUORUM_START = "null"
"""Printed for the state before the first one of a process."""
_TURNED = ("state", "epoch", "leader", "from_state", "from_epoch", "from_leader", "timeout_ms", "voters")
_CHANGED = ("isr", "isr_before", "leader", "leader_before", "leader_epoch", "partition_epoch", "replicas", "elr")


SlotValues = dict[str, str | int | list[str] | Unparsed]
"""Fields of one slot, as long as some may not fit."""
AssignmentValues = dict[str, str | int | Mapping[str, list[str] | Unparsed]]
FetcherValues = list[str | int | None]
"""Partition, leader and leader epoch."""
EventFields = Mapping[str, Any]
"""Fields of an event to be written, whose types its kind determines."""


def _parse_node(text: str) -> str | Unparsed:
    return text if _NODE.fullmatch(text) else NO


def _names_partition(name: str) -> bool:
    return parse_partition(name.rpartition("-")[2]) is not NO


def parse_nodes(text: str) -> list[str] | Unparsed:
    """Parse `1, 2`, `1,2`, `[1, 2]` or `List(1, 2)` as node ids."""
    inside = unwrap(text)
    if _NODES.fullmatch(inside) is None:
        return NO
    return [node.strip() for node in inside.split(",")] if inside else []


def parse_registration(text: str) -> SlotValues | Unparsed:
    """Parse `leader=1, isr=[1, 2], ...` or `Leader:1,ISR:1,2,...`.

    A value extends to the next name.
    """
    pieces = _NAMED.split(_BROKER_STATE.sub(r"\1", text))
    values: SlotValues = {}
    for name, value in zip((key.lower() for key in pieces[1::2]), pieces[2::2], strict=True):
        if name == "leader":
            values["leader"] = _parse_node(value)
        elif name in _NUMBERS:
            values[_NUMBERS[name]] = parse_int32(value)
        elif name in _LISTS:
            values[_LISTS[name]] = parse_nodes(value)
        elif name in _LISTS_IF_ANY and value != "[]":
            values[_LISTS_IF_ANY[name]] = parse_nodes(value)
    complete = "leader" in values and "isr" in values and all(value is not NO for value in values.values())
    return values if complete else NO


def _parse_encoded(text: str) -> SlotValues | Unparsed:
    """Parse `{"leader":1,"leader_epoch":5,"isr":[1,2]}` (LeaderAndIsr.toString to 0.11)."""
    match = _ENCODED.fullmatch(text)
    if match is None:
        return NO
    values = {"leader": _parse_node(match["leader"]), "leader_epoch": parse_int32(match["epoch"]), "isr": parse_nodes(match["isr"])}
    return NO if NO in values.values() else values


def _encoded(fields: EventFields) -> str:
    return f'{{"leader":{fields["leader"]},"leader_epoch":{fields["leader_epoch"]},"isr":[{_dense(fields["isr"])}]}}'


def _parse_change(text: str) -> SlotValues | Unparsed:
    """Parse a change by a KRaft controller: values before and after.

    `isr: [2] -> [3], leader: -1 -> 3, leaderEpoch: 1 -> 2`.
    """
    pieces = _CHANGE.split(text)
    values: SlotValues = {}
    for name, value in zip(pieces[1::2], pieces[2::2], strict=True):
        before, arrow, after = value.partition(" -> ")
        if not arrow:
            return NO
        if name == "leader":
            values["leader_before"], values["leader"] = _parse_node(before), _parse_node(after)
        elif name == "isr":
            values["isr_before"], values["isr"] = parse_nodes(before), parse_nodes(after)
        elif name in {"replicas", "elr"}:
            values[name] = parse_nodes(after)
        elif name.lower() in _NUMBERS:
            values[_NUMBERS[name.lower()]] = parse_int32(after)
    return values if values and all(value is not NO for value in values.values()) else NO


def _parse_election(text: str) -> SlotValues | Unparsed:
    """Parse `PartitionRegistration(...), change record: PartitionChangeRecord(...)`.

    The leader epoch rises by one with each leader. The line is written before the record gets the leader, and its ISR may be null.
    """
    before, separator, record = text.partition(", change record: ")
    if not separator:
        return NO
    registration, changed = parse_registration(unwrap(before)), _record_values(unwrap(record))
    epoch = None if registration is NO else registration.get("leader_epoch")
    if registration is NO or changed is NO or not isinstance(epoch, int):
        return NO
    values = {"leader_before": registration["leader"], "isr_before": registration["isr"], "leader_epoch": epoch + 1}
    changes = {name: value for name, value in changed.items() if name != "leader"}
    return {**values, **({"replicas": registration["replicas"]} if "replicas" in registration else {}), **changes}


def _parse_change_record(text: str) -> SlotValues | Unparsed:
    """Parse `partitionId=0, topicId=..., isr=[1], leader=1, ...`.

    What is null did not change.
    """
    return _record_values(text) or NO


def _record_values(text: str) -> SlotValues | Unparsed:
    pieces = _NAMED.split(text)
    values: SlotValues = {}
    for name, value in zip(pieces[1::2], pieces[2::2], strict=True):
        if value in ("null", "-2"):
            continue
        if name == "leader":
            values["leader"] = _parse_node(value)
        elif name in ("isr", "replicas"):
            values[name] = parse_nodes(value)
        elif name == "eligibleLeaderReplicas":
            values["elr"] = parse_nodes(value)
    return values if all(value is not NO for value in values.values()) else NO


def _parse_voters(text: str) -> list[str] | Unparsed:
    """Parse voters of a Raft quorum.

    `[1, 2]`, or keys such as `ReplicaKey(id=1, directoryId=...)`.
    """
    keyed = _VOTER.findall(text)
    return list(dict.fromkeys(keyed)) if keyed else parse_nodes(text)


def _parse_vote_states(text: str) -> SlotValues | Unparsed:
    """Parse which voters of an election did not answer, and which refused."""
    states = _VOTE.findall(text)
    if not states:
        return NO
    return {name: [voter for voter, state in states if state == vote_state] for name, vote_state in _VOTER_STATES}


def _parse_quorum_turn(text: str) -> SlotValues | Unparsed:
    """Parse `FollowerState(epoch=2, …) from Unattached(epoch=1, …)`, whatever else the states print."""
    to_text, _, from_text = text.partition(" from ")
    to_state, from_state = _QUORUM_STATE.match(to_text), _QUORUM_STATE.match(from_text)
    epoch, epoch_before = _QUORUM_EPOCH.search(to_text), _QUORUM_EPOCH.search(from_text)
    if to_state is None or epoch is None:
        return NO
    values: SlotValues = {"state": to_state[1], "epoch": int(epoch[1])}
    if from_state is not None and epoch_before is not None:
        values |= {"from_state": from_state[1], "from_epoch": int(epoch_before[1])}
    elif from_text.startswith("null"):
        values["from_state"] = _QUORUM_START
    for name, part in (("leader", to_text), ("from_leader", from_text)):
        node = _LEADER_ITSELF.match(part) or _QUORUM_LEADER.search(part)
        if node is not None:
            values[name] = node[1]
    timeout = _FETCH_TIMEOUT.search(from_text)
    if timeout is not None:
        values["timeout_ms"] = int(timeout[1])
    voters = _QUORUM_VOTERS.search(text)
    if voters is not None:
        values["voters"] = parse_nodes(voters[1])
    return values if all(value is not NO for value in values.values()) else NO


def _parse_partition_assignment(text: str) -> AssignmentValues | Unparsed:
    """Parse `HashMap(0 -> ArrayBuffer(1, 2), 1 -> ...)`.

    Keys are partitions; their topic is elsewhere in the line.
    """
    assignment: dict[str, list[str] | Unparsed] = {}
    for partition, nodes in _KEYED.findall(text[text.find("(") + 1 :]):
        if parse_partition(partition) is not NO:
            assignment[partition] = parse_nodes(nodes)
    return _assigned(assignment) if assignment else {}


def _assigned(assignment: Mapping[str, list[str] | Unparsed], **more: str) -> AssignmentValues | Unparsed:
    """Partitions with their replicas; `NO` if any value is invalid."""
    if any(nodes is NO for nodes in assignment.values()):
        return NO
    return {**more, "partition_count": max(map(int, assignment)) + 1, "assignment": assignment}


def _parse_topic_assignment(text: str) -> AssignmentValues | Unparsed:
    """Parse `Map(topic-2 -> ArrayBuffer(1), topic-0 -> ...)`.

    Keys are partitions of one topic.
    """
    assignment: dict[str, list[str] | Unparsed] = {}
    names = set()
    for key, nodes in _KEYED.findall(text[text.find("(") + 1 :]):
        topic, dash, partition = key.rpartition("-")
        if not dash or not topic or parse_partition(partition) is NO:
            return NO
        names.add(topic)
        assignment[partition] = parse_nodes(nodes)
    return _assigned(assignment, topic=names.pop()) if len(names) == 1 else NO


def _parse_fetchers(text: str) -> list[FetcherValues] | Unparsed:
    """Parse partition, leader and leader epoch of each fetcher.

    `HashMap(orders-0 -> InitialFetchState(..., BrokerEndPoint(id=2, ...),5,0), ...)`.
    """
    fetchers = [[name, leader, parse_int32(epoch)] for name, leader, epoch in _FETCHER.findall(unwrap(text))]
    return fetchers if all(_names_partition(name) and epoch is not NO for name, _, epoch in fetchers) else NO


def _parse_old_fetchers(text: str) -> list[FetcherValues] | Unparsed:
    """Parse partition and leader of each fetcher, without an epoch.

    `List([orders-0, initOffset 5 to broker BrokerEndPoint(2,...)] , ...)`.
    """
    fetchers = [[name, leader, None] for name, leader in _OLD_FETCHER.findall(text)]
    return fetchers if all(_names_partition(name) for name, _, _ in fetchers) else NO


def _parse_settings(text: str) -> dict[str, bool]:
    """Return whether a topic's settings allow unclean leaders, if they say so."""
    match = _UNCLEAN.search(text)
    return {} if match is None else {"unclean": match[1] == "true"}


# -- writing -------------------------------------------------------------------------------------------------


def _spaced(nodes: Sequence[str]) -> str:
    return ", ".join(nodes)


def _dense(nodes: Sequence[str]) -> str:
    return ",".join(nodes)


def _node_set(nodes: Sequence[str]) -> str:
    return f"Set({_spaced(nodes)})" if len(nodes) < 5 else f"HashSet({_spaced(nodes)})"


def _list(fields: EventFields, name: str) -> str:
    return f"[{_spaced(fields.get(name) or ())}]"


def _registration(fields: EventFields) -> str:
    return (
        f"replicas={_list(fields, 'replicas')}, directories=[], isr={_list(fields, 'isr')}, "
        f"removingReplicas={_list(fields, 'removing')}, addingReplicas={_list(fields, 'adding')}, elr={_list(fields, 'elr')}, "
        f"lastKnownElr=[], leader={fields['leader']}, leaderRecoveryState=RECOVERED, leaderEpoch={fields['leader_epoch']}, "
        f"partitionEpoch={fields['partition_epoch']}"
    )


def _partition_state(fields: EventFields) -> str:
    return (
        f"topicName='', partitionIndex=0, controllerEpoch=-1, leader={fields['leader']}, leaderEpoch={fields['leader_epoch']}, "
        f"isr={_list(fields, 'isr')}, partitionEpoch={fields['partition_epoch']}, replicas={_list(fields, 'replicas')}, "
        f"addingReplicas={_list(fields, 'adding')}, removingReplicas={_list(fields, 'removing')}, isNew=false, leaderRecoveryState=0"
    )


def _zookeeper_told(fields: EventFields) -> str:
    return (
        f"controllerEpoch=1, leader={fields['leader']}, leaderEpoch={fields['leader_epoch']}, isr={_dense(fields['isr'])}, "
        f"zkVersion={fields['partition_epoch']}, replicas={_dense(fields['replicas'])}, isNew=false"
    )


def _leader_and_isr(fields: EventFields) -> str:
    return (
        f"leader={fields['leader']}, leaderEpoch={fields['leader_epoch']}, isr=List({_spaced(fields['isr'])}), "
        f"zkVersion={fields['partition_epoch']}"
    )


def _leader_isr(fields: EventFields) -> str:
    return (
        f"Leader:{fields['leader']},ISR:{_dense(fields['isr'])},LeaderEpoch:{fields['leader_epoch']},"
        f"ZkVersion:{fields['partition_epoch']},ControllerEpoch:1"
    )


def _change(fields: EventFields) -> str:
    parts = []
    if "isr" in fields:
        parts.append(f"isr: {_list(fields, 'isr_before')} -> {_list(fields, 'isr')}")
    if "leader" in fields:
        parts.append(f"leader: {fields['leader_before']} -> {fields['leader']}")
    if "leader_epoch" in fields:
        parts.append(f"leaderEpoch: {fields['leader_epoch'] - 1} -> {fields['leader_epoch']}")
    if "elr" in fields:
        parts.append(f"elr: [] -> {_list(fields, 'elr')}")
    if "partition_epoch" in fields:
        parts.append(f"partitionEpoch: {fields['partition_epoch'] - 1} -> {fields['partition_epoch']}")
    return ", ".join(parts)


def _change_record(fields: EventFields) -> str:
    isr = f"[{_spaced(fields['isr'])}]" if "isr" in fields else "null"
    return (
        f"partitionId=0, topicId=, isr={isr}, leader={fields.get('leader', '-2')}, replicas=null, removingReplicas=null, "
        "addingReplicas=null, leaderRecoveryState=-1, directories=null, eligibleLeaderReplicas=null, lastKnownElr=null"
    )


def _election(fields: EventFields) -> str:
    before = {
        "leader": fields["leader_before"],
        "isr": fields["isr_before"],
        "replicas": fields.get("replicas"),
        "leader_epoch": fields["leader_epoch"] - 1,
        "partition_epoch": 0,
    }
    return f"PartitionRegistration({_registration(before)}), change record: PartitionChangeRecord({_change_record(fields)})"


def _vote_states(fields: EventFields) -> str:
    votes = ((voter, state) for name, state in _VOTER_STATES for voter in fields.get(name) or ())
    states = (f"{voter}=VoterState(replicaKey=ReplicaKey(id={voter}, directoryId=<undefined>), state={state})" for voter, state in votes)
    return f"EpochElection(voterStates={{{', '.join(states)}}})"


def _quorum_turn(fields: EventFields) -> str:
    voters = f", voters=[{_spaced(fields['voters'])}]" if "voters" in fields else ""
    leader = f", leader={fields['leader']}" if "leader" in fields else ""
    turned = f"{fields['state']}(epoch={fields['epoch']}{leader}{voters})"
    if "from_epoch" not in fields:
        return f"{turned} from null" if "from_state" in fields else turned
    timeout = f"fetchTimeoutMs={fields['timeout_ms']}, " if "timeout_ms" in fields else ""
    leader = f", leader={fields['from_leader']}" if "from_leader" in fields else ""
    return f"{turned} from {fields['from_state']}({timeout}epoch={fields['from_epoch']}{leader})"


def _partition_assignment(fields: EventFields) -> str:
    return f"Map({', '.join(f'{number} -> ArrayBuffer({_spaced(nodes)})' for number, nodes in fields['assignment'].items())})"


def _topic_assignment(fields: EventFields) -> str:
    topic = fields["topic"]
    return f"Map({', '.join(f'{topic}-{number} -> ArrayBuffer({_spaced(nodes)})' for number, nodes in fields['assignment'].items())})"


def _fetchers(items: Sequence[FetcherValues]) -> str:
    inside = (f"{name} -> InitialFetchState(BrokerEndPoint(id={leader}, host=10.0.0.1:9092),{epoch},0)" for name, leader, epoch in items)
    return f"Map({', '.join(inside)})"


def _old_fetchers(items: Sequence[FetcherValues]) -> str:
    inside = (f"[{name}, initOffset 0 to broker BrokerEndPoint({leader},10.0.0.1,9092)] " for name, leader, _ in items)
    return f"List({', '.join(inside)})"


_SMALL_SET = 4
"""Maximum number of elements that Scala prints as `Set(…)`, not `HashSet(…)`."""


def _parse_names(text: str) -> list[str] | Unparsed:
    """Parse `Set(a-0, b-1)`: names of partitions, which contain no comma."""
    inside = unwrap(text)
    return NO if inside == text else _named_partitions(inside.split(", ") if inside else [])


def _named_partitions(names: list[str]) -> list[str] | Unparsed:
    """Names of partitions; `NO` if a number exceeds all bounds."""
    return NO if any(_LARGE_NUMBER.fullmatch(name.rpartition("-")[2]) for name in names) else names


def _names(items: Sequence[str]) -> str:
    return f"{'Set' if len(items) <= _SMALL_SET else 'HashSet'}({', '.join(items)})"


def _parse_old_names(text: str) -> list[str] | Unparsed:
    """Parse `a-0,b-1`."""
    return NO if " " in text or "(" in text else _named_partitions(text.split(",") if text else [])


def _settings(fields: EventFields) -> str:
    return f"{{unclean.leader.election.enable={str(fields['unclean']).lower()}}}" if "unclean" in fields else "{}"


def slot_types() -> dict[str, SlotType]:
    """Slot types by name."""
    registration = (*_REGISTRATION_NAMES, *_OPTIONAL)
    return {
        "nodes": SlotType(r"[\d, -]*", parse_nodes, _spaced, is_spaced=True, filler=""),
        "dense_nodes": SlotType(r"[\d,-]*", parse_nodes, _dense, filler=""),
        "node_set": SlotType(r".*", parse_nodes, _node_set, is_spaced=True, filler="Set()"),
        "registration": SlotType(r".*", parse_registration, _registration, is_spaced=True, several=registration, needs=_REGISTRATION_NAMES),
        "told": SlotType(r".*", parse_registration, _partition_state, is_spaced=True, several=registration, needs=_REGISTRATION_NAMES),
        "zookeeper_told": SlotType(
            r".*", parse_registration, _zookeeper_told, is_spaced=True, several=_REGISTRATION_NAMES, needs=_REGISTRATION_NAMES
        ),
        "leader_and_isr": SlotType(r".*", parse_registration, _leader_and_isr, is_spaced=True, several=_LEADERSHIP, needs=_LEADERSHIP),
        "leader_isr": SlotType(r".*", parse_registration, _leader_isr, is_spaced=True, several=_LEADERSHIP, needs=_LEADERSHIP),
        "encoded_leader_and_isr": SlotType(r"[^ ]*", _parse_encoded, _encoded, several=_ENCODED_FIELDS, needs=_ENCODED_FIELDS),
        "fetchers": SlotType(r".*", _parse_fetchers, _fetchers, is_spaced=True),
        "old_fetchers": SlotType(r".*", _parse_old_fetchers, _old_fetchers, is_spaced=True),
        "partition_names": SlotType(r".*", _parse_names, _names, is_spaced=True, filler="Set()"),
        "old_partition_names": SlotType(r"[^ ]*", _parse_old_names, ",".join, filler=""),
        "topic_settings": SlotType(r".*", _parse_settings, _settings, is_spaced=True, several=("unclean",)),
        "change": SlotType(r".*", _parse_change, _change, is_spaced=True, several=_CHANGED),
        "change_record": SlotType(
            r".*", _parse_change_record, _change_record, is_spaced=True, several=("isr", "leader", "replicas", "elr")
        ),
        "election": SlotType(
            r".*",
            _parse_election,
            _election,
            is_spaced=True,
            several=_ELECTED,
            needs=("leader_before", "isr_before", "leader_epoch"),
        ),
        "voters": SlotType(r".*", _parse_voters, lambda voters: f"[{', '.join(voters)}]", is_spaced=True),
        "vote_states": SlotType(r".*", _parse_vote_states, _vote_states, is_spaced=True, several=("silent", "refusing")),
        "quorum_turn": SlotType(r".*", _parse_quorum_turn, _quorum_turn, is_spaced=True, several=_TURNED, needs=("state", "epoch")),
        "partition_assignment": SlotType(
            r".*",
            _parse_partition_assignment,
            _partition_assignment,
            is_spaced=True,
            several=("partition_count", "assignment"),
            needs=("assignment",),
        ),
        "topic_assignment": SlotType(
            r".*",
            _parse_topic_assignment,
            _topic_assignment,
            is_spaced=True,
            several=("topic", "partition_count", "assignment"),
            needs=("topic", "assignment"),
        ),
    }

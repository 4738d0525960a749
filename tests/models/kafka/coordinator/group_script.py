"""Scripts of what clients and operators do to a coordinator, and what must come of it; `scenarios/coordinator/*.txt`.

    # What it is about.
    versions 1.1 2.8.2 4.0.0
    settings initial_delay_ms=0
    join a session=10000      -> a join NONE 1           : CompletingRebalance 1 a*     | GroupCoordinator.doUnknownJoinGroup
    [>=2.2] join a            -> a join MEMBER_ID_REQUIRED : Empty 0                      | GroupCoordinator.doUnknownJoinGroup

After the arrow stand all answers of the step, after the colon the group's state, generation and members in order of their
names (the leader with a star), after the bar which class and method of Kafka's says so. Conditions in brackets choose versions.
A client remembers its member id and generation from what it was last told, as a real one does.

With `both` in the settings groups take both protocols (KIP-848): `beat` is ConsumerGroupHeartbeat, whose answer shows the epoch and
the partitions that are sent, and a consumer group is shown with its epoch and target epoch, each member with its own and what it has:
`Reconciling 3/3 a@2(t-0,t-1) b@3()`. Topic t has four partitions.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from models.kafka.coordinator.classic.coordinator import Coordinator
from models.kafka.coordinator.consumer.group import ConsumerGroup
from models.kafka.coordinator.consumer.requests import ConsumerHeartbeat
from models.kafka.coordinator.consumer.responses import HeartbeatResponse
from models.kafka.coordinator.consumer.settings import ConsumerGroupSettings as ModernSettings
from models.kafka.coordinator.consumer.settings import MigrationPolicy
from models.kafka.coordinator.consumer.topic_partitions import PartitionSet, by_topic
from models.kafka.coordinator.group_coordinator import BothCoordinator
from models.kafka.coordinator.protocol.embedded_consumer import assigned, assignment
from models.kafka.coordinator.protocol.errors import Error
from models.kafka.coordinator.protocol.requests import Commit, Delete, Fetch, Heartbeat, Join, Leave, Leaver, Protocol, Request, Sync
from models.kafka.coordinator.protocol.responses import FetchResponse, JoinResponse, LeaveResponse, SyncResponse
from models.kafka.coordinator.runtime.outcomes import Outcome
from models.kafka.coordinator.runtime.version_policy import CoordinatorSettings, broker_defaults, parse_version, policy_for
from models.kafka.simulation.assignment import range_assignment
from tests.models.kafka.coordinator.transactions import complete_transaction

GROUP = "g"
LINE = re.compile(
    r"(?:\[(?P<version>[^\]]+)\]\s*)?(?P<act>.*?)\s*->\s*(?P<answers>[^:|]*?)\s*(?::\s*(?P<state>[^|]*?)\s*)?\|\s*(?P<source>.+)"
)
SOURCE = re.compile(r"[A-Z]\w+\.\w+(, [A-Z]\w+\.\w+)*")
COMPARE = {"<=": operator.le, ">=": operator.ge, "<": operator.lt, ">": operator.gt, "=": operator.eq}


@dataclass(frozen=True)
class Step:
    """One line of a script."""

    number: int
    condition: str | None
    act: list[str]
    answers: list[str]
    state: str | None
    source: str

    def is_for(self, version: str) -> bool:
        """Return True if the line applies to a version."""
        found = re.findall(r"(<=|>=|<|>|=)(\S+)", self.condition or ">=0")
        assert len(found) == len((self.condition or ">=0").split()), self.condition
        bounds = [(COMPARE[how], parse_version(bound)) for how, bound in found]
        return all(compare(parse_version(version)[: len(bound)], bound) for compare, bound in bounds)


@dataclass(frozen=True)
class Script:
    """A whole script."""

    versions: list[str]
    settings: dict[str, str]
    steps: list[Step]


def read(path: Path) -> Script:
    """Parse a script; an invalid line is an error."""
    versions: list[str] = []
    settings: dict[str, str] = {}
    steps: list[Step] = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        if words[0] == "versions":
            versions = words[1:]
        elif words[0] == "settings":
            settings = dict(word.split("=") for word in words[1:])
        else:
            found = LINE.fullmatch(line.strip())
            assert found, f"{path.name}:{number}: {line}"
            assert SOURCE.fullmatch(found["source"].strip()), f"{path.name}:{number}: names no class and method"
            answers = sorted(answer.strip() for answer in found["answers"].split(",") if answer.strip())
            steps.append(Step(number, found["version"], found["act"].split(), answers, found["state"], found["source"]))
    return Script(versions, settings, steps)


@dataclass
class Client:
    """What a client knows about itself."""

    name: str
    member: str = ""
    generation: int = -1
    instance: str | None = None
    settings: dict[str, str] = field(default_factory=dict)
    owned: PartitionSet = frozenset()
    """Its partitions in the consumer protocol."""


class Stage:
    """A coordinator, its clients, and a successor if a script asks for one."""

    def __init__(self, version: str, settings: dict[str, str]) -> None:
        policy = policy_for(version)
        self.policy = policy
        both = settings.pop("both", None)
        modern_size = int(settings.pop("modern_max_size", 2**31 - 1))
        self.settings: CoordinatorSettings = replace(broker_defaults(policy), **{name: int(value) for name, value in settings.items()})
        self.modern = both and ModernSettings(migration=MigrationPolicy(both), topics={"t": 4, "u": 2}, max_size=modern_size)
        self.coordinator: Any = self._begin(None, 0, loaded=True)
        self.clients: dict[str, Client] = {}
        self.requests: dict[int, tuple[Client, str]] = {}

    def act(self, words: list[str]) -> list[str]:
        """Execute a line; return all answers."""
        name, *rest = words
        options = dict(word.split("=", 1) for word in rest if "=" in word)
        plain = [word for word in rest if "=" not in word]
        outcome = self._operate(name, plain) if name in OPERATIONS else self.coordinator.handle(self._request(name, plain, options))
        return sorted(self._answers(outcome))

    def _begin(self, log: Any, now_ms: int, *, loaded: bool) -> Any:
        if not self.modern:
            return Coordinator(self.policy, self.settings, log=log, now_ms=now_ms, is_loaded=loaded)
        return BothCoordinator(self.policy, self.settings, self.modern, log=log, now_ms=now_ms, is_loaded=loaded)

    def state(self) -> str:
        """The group in the notation of scripts."""
        group = self.coordinator.groups.get(GROUP)
        if group is None:
            return "Absent"
        names = {client.member: client.name for client in self.clients.values()}
        if isinstance(group, ConsumerGroup):
            held = {names.get(each.id, each.id): f"@{each.epoch}({listed(each.assigned)})" for each in group.members.values()}
            shown = [name + held[name] for name in sorted(held)]
            return " ".join([group.state.value, f"{group.epoch}/{group.target_epoch}", *shown])
        shown = sorted(names.get(member, member) + ("*" if member == group.leader else "") for member in group.members)
        offsets = [f"{topic}-{number}={kept.offset}" for (topic, number), kept in sorted(group.offsets.committed.items())]
        return " ".join(word for word in (group.state.value, str(group.generation), ",".join(shown), *offsets) if word)

    def _operate(self, name: str, words: list[str]) -> Outcome:
        return OPERATIONS[name](self, *words)

    def _request(self, api: str, words: list[str], options: dict[str, str]) -> Request:
        client = self.clients.setdefault(words[0], Client(words[0]))
        if api == "join":
            client.settings |= options
            client.instance = options.get("instance", client.instance)
        number = len(self.requests) + 1
        self.requests[number] = (client, api)
        if "anew" in words:
            client.member = ""
        return REQUESTS[api](self, client, number, options)

    def take_over(self) -> Outcome:
        """Let another broker load what this one has written."""
        before = self.coordinator
        self.coordinator = self._begin(before.log, before.now_ms, loaded=False)
        return Outcome()

    def resize(self, size: str) -> Outcome:
        """Let another broker with another group.max.size take over."""
        self.settings = replace(self.settings, max_size=int(size))
        self.coordinator.unload()
        self.take_over()
        return Outcome() if size == "1" else self.coordinator.load()

    def keep_id(self, name: str) -> Outcome:
        """Keep a copy of a client's current id."""
        self.clients[name].settings["old_id"] = self.clients[name].member
        return Outcome()

    def old_id(self, name: str) -> Outcome:
        """Restore the kept id of a client."""
        self.clients[name].member = self.clients[name].settings["old_id"]
        return Outcome()

    def _answers(self, outcome: Outcome) -> Iterator[str]:
        for answer in outcome.answers:
            client, api = self.requests[answer.request_id]
            response = answer.response
            words = [client.name, api.removesuffix("_by_instance"), response.error.value]
            if isinstance(response, JoinResponse):
                words += self._joined(client, response)
            elif isinstance(response, FetchResponse):
                words += [f"{topic}-{n}={shown(offset)}" for (topic, n), offset in sorted(response.offsets.items())]
            elif isinstance(response, HeartbeatResponse):
                words += self._beaten(client, response)
            elif isinstance(response, SyncResponse) and self.modern and response.error is Error.NONE:
                words.append(listed(assigned(response.assignment)))
            elif isinstance(response, LeaveResponse):
                words += [left.error.value for left in response.members]
            yield " ".join(words)

    @staticmethod
    def _beaten(client: Client, response: HeartbeatResponse) -> list[str]:
        client.generation = response.epoch
        if response.assignment is None:
            return [str(response.epoch)]
        client.owned = response.assignment
        return [str(response.epoch), listed(response.assignment)]

    @staticmethod
    def _joined(client: Client, response: JoinResponse) -> list[str]:
        if response.error in (Error.NONE, Error.MEMBER_ID_REQUIRED):
            client.member = response.member
        if response.error is not Error.NONE:
            return []
        client.generation = response.generation
        return [str(response.generation)]


def listed(partitions: Iterable[tuple[str, int]]) -> str:
    """Partitions in the notation of scripts: t-0+t-1."""
    return "+".join(f"{topic}-{number}" for topic, number in sorted(partitions)) or "nothing"


def shown(offset: int | Error | None) -> str:
    """An offset in the answer of OffsetFetch."""
    if isinstance(offset, Error):
        return offset.value
    return "none" if offset is None else str(offset)


def offsets_of(options: dict[str, str]) -> dict[tuple[str, int], int]:
    """Options such as t-0=5."""
    return {(key.split("-")[0], int(key.split("-")[1])): int(value) for key, value in options.items() if "-" in key}


def subscription(topics: str) -> bytes:
    """A consumer's subscription, version 0."""
    names = [name.encode() for name in topics.split("+")]
    packed = b"".join(len(name).to_bytes(2, "big") + name for name in names)
    return b"\0\0" + len(names).to_bytes(4, "big") + packed + b"\xff\xff\xff\xff"


def _join(stage: Stage, client: Client, number: int, options: dict[str, str]) -> Join:
    known = client.settings
    metadata = b"?" if known.get("topics") == "garbled" else subscription(known.get("topics", "t"))
    return Join(
        number,
        GROUP,
        client.member,
        known.get("type", "consumer"),
        tuple(Protocol(name, metadata) for name in known.get("protocols", "range").split("+")),
        int(known.get("session", 10_000)),
        int(known.get("rebalance", 60_000)),
        client.instance,
        client.name,
        require_known_member_id=True,
        supports_skip_assignment="skip" in options,
    )


def _sync(stage: Stage, client: Client, number: int, options: dict[str, str]) -> Sync:
    group = stage.coordinator.groups.get(GROUP)
    members = list(group.members) if not isinstance(group, ConsumerGroup | None) and group.leader == client.member else []
    made = {member: member.encode() for member in members}
    if stage.modern:
        made = {
            member: assignment(share) for member, share in range_assignment(members, {each: {"t"} for each in members}, {"t": 4}).items()
        }
    generation = int(options.get("generation", client.generation))
    return Sync(number, GROUP, client.member, generation, made, client.instance, options.get("type"), options.get("protocol"))


def _beat(stage: Stage, client: Client, number: int, options: dict[str, str]) -> ConsumerHeartbeat:
    """A heartbeat of the consumer protocol.

    The first one has all fields, later ones the owned partitions; `leaves` and `rests` end the membership.
    """
    client.instance = options.get("instance", client.instance)
    joins = not client.member
    client.member = client.member or options.get("id", f"m-{client.name}")
    epoch = 0 if joins else int(options.get("epoch", client.generation))
    told = {"rebalance_ms": 60_000, "topics": frozenset(options.get("topics", "t").split("+"))} if joins else {}
    held = {topic: frozenset(numbers) for topic, numbers in by_topic(() if joins else client.owned).items()}
    return ConsumerHeartbeat(number, GROUP, client.member, epoch, client.instance, owned=held, client_id=client.name, **told)


def _commit(stage: Stage, client: Client, number: int, options: dict[str, str]) -> Commit:
    alone = "alone" in options
    producer = options.get("producer")
    return Commit(
        number,
        GROUP,
        offsets_of(options),
        "" if alone else options.get("id", client.member),
        -1 if alone else int(options.get("generation", client.generation)),
        None if alone else client.instance,
        int(options["retention"]) if "retention" in options else None,
        int(options.get("api", 9)),
        None if producer is None else int(producer),
    )


REQUESTS: dict[str, Callable[[Stage, Client, int, dict[str, str]], Request]] = {
    "join": _join,
    "sync": _sync,
    "beat": _beat,
    "heartbeat": lambda _, client, number, options: Heartbeat(
        number, GROUP, client.member, int(options.get("generation", client.generation)), client.instance
    ),
    "leave": lambda _, client, number, options: Leave(number, GROUP, (Leaver(options.get("id", client.member), client.instance),)),
    "commit": _commit,
    "fetch": lambda _, __, number, options: Fetch(
        number, GROUP, None if "all" in options else (("t", 0),), require_stable="stable" in options
    ),
    "leave_by_instance": lambda _, client, number, __: Leave(number, GROUP, (Leaver("", client.name),)),
    "delete": lambda _, __, number, ___: Delete(number, GROUP),
}


def _outcome(action: Callable[[Stage], Any]) -> Callable[..., Outcome]:
    def act(stage: Stage, *words: str) -> Outcome:
        done = action(stage, *words)
        return done if isinstance(done, Outcome) else Outcome()

    return act


OPERATIONS: dict[str, Callable[..., Outcome]] = {
    "wait": lambda stage, ms: stage.coordinator.advance(int(ms)),
    "unload": lambda stage, *epoch: stage.coordinator.unload(*map(int, epoch)),
    "load": lambda stage, *epoch: stage.coordinator.load(*map(int, epoch)),
    "take_over": Stage.take_over,
    "resize": Stage.resize,
    "keep_id": Stage.keep_id,
    "old_id": Stage.old_id,
    "stop": _outcome(lambda stage: stage.coordinator.stop()),
    "fail_writes": _outcome(lambda stage, error: stage.coordinator.fail_writes(Error[error])),
    "hold_writes": _outcome(lambda stage: stage.coordinator.hold_writes()),
    "settle_writes": lambda stage, error="NONE": stage.coordinator.settle_writes(Error[error]),
    "end_transaction": lambda stage, producer, how: complete_transaction(stage.coordinator, int(producer), commit=how == "commit"),
}


def check(path: Path, version: str) -> None:
    """Run a script with the policy of a version; the first different step fails."""
    script = read(path)
    stage = Stage(version, script.settings)
    for step in script.steps:
        if not step.is_for(version):
            continue
        answers = stage.act(step.act)
        where = f"{path.name}:{step.number} by {version}: {' '.join(step.act)}"
        assert answers == step.answers, where
        if step.state is not None:
            assert stage.state() == " ".join(step.state.split()), where

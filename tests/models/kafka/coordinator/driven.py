"""One broker with one group, driven by requests, and its log lines."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import cast

from models.kafka.cluster.facts import partition_for
from models.kafka.coordinator.announcements import announce
from models.kafka.coordinator.classic.coordinator import Coordinator
from models.kafka.coordinator.protocol.embedded_consumer import assignment, subscription
from models.kafka.coordinator.protocol.errors import Error
from models.kafka.coordinator.protocol.requests import Heartbeat, Join, Leave, Leaver, Protocol, Request, Sync
from models.kafka.coordinator.protocol.responses import JoinResponse, Response
from models.kafka.coordinator.runtime.outcomes import LoggedChange, Outcome
from models.kafka.coordinator.runtime.version_policy import Policy, broker_defaults, policy_for
from models.kafka.simulation.world import ServedRequest, WrittenLine
from parsers.reading.reader import ReadOptions
from pipelines.analysis.in_process import AnalysisResult, AnalyzeOptions, analyze
from pipelines.simulate.requests import RequestLines
from pipelines.simulate.wording import MessageWriter

GROUP, NODE = "orders", 1
SESSION_MS, REBALANCE_MS = 10_000, 60_000


@dataclass(slots=True)
class Broker:
    """Drives a coordinator.

    Clients are named by their client ids, instances by names ending in `!`.
    """

    version: str
    out: Path
    initial_delay_ms: int = 0
    coordinator: Coordinator = field(init=False)
    ids: dict[str, str] = field(default_factory=dict)
    generation: int = 0
    leader: str = ""
    written: list[WrittenLine | ServedRequest] = field(default_factory=list)
    _waiting: dict[int, tuple[str, Request, int]] = field(default_factory=dict)
    _numbers: int = 0

    def __post_init__(self) -> None:
        settings = replace(broker_defaults(self.policy), initial_delay_ms=self.initial_delay_ms)
        self.coordinator = Coordinator(self.policy, settings, make_member_id=self._member_id)
        self.wait(1_000)

    @property
    def policy(self) -> Policy:
        return policy_for(self.version)

    def _member_id(self, prefix: str) -> str:
        self._numbers += 1
        return f"{prefix}-00000000-0000-4000-8000-{self._numbers:012d}"

    # -- requests ------------------------------------------------------------------------------------------------

    def join(self, client: str, *, instance: str | None = None, anew: bool = False, topics: str = "t", assignors: str = "range") -> None:
        """JoinGroup, repeated with the member id that is assigned."""
        for _ in range(2):
            member = "" if anew else self.ids.get(client, "")
            protocols = tuple(Protocol(name, subscription(topics.split("+"))) for name in assignors.split("+"))
            handed_out = self.policy.hands_out_member_ids
            self._send(
                client,
                Join(
                    self._number(), GROUP, member, "consumer", protocols, SESSION_MS, REBALANCE_MS, instance, client, "/10.0.0.9",
                    require_known_member_id=handed_out,
                ),
            )  # fmt: skip
            anew = False
            if self.ids.get(client, "") == member or not handed_out or instance:
                return

    def ask_for_id(self, client: str) -> None:
        """The first half of a join: a member id is assigned and never used."""
        self._send(
            client,
            Join(
                self._number(), GROUP, "", "consumer", (Protocol("range", subscription(["t"])),), SESSION_MS, REBALANCE_MS, None, client,
                "/10.0.0.9", require_known_member_id=True,
            ),
        )  # fmt: skip

    def sync(self, *clients: str) -> None:
        """SyncGroup of these clients; the leader sends the assignment."""
        for client in clients:
            made = {member: assignment([("t", 0)]) for member in self.ids.values()} if self.ids[client] == self.leader else {}
            self._send(client, Sync(self._number(), GROUP, self.ids[client], self.generation, made))

    def beat(self, *clients: str) -> None:
        for client in clients:
            self._send(client, Heartbeat(self._number(), GROUP, self.ids[client], self.generation))

    def leave(self, client: str) -> None:
        """LeaveGroup without a reason, as sent by libraries other than Java's.

        The client forgets its member id.
        """
        self._send(client, Leave(self._number(), GROUP, (Leaver(self.ids.pop(client)),)))

    def remove(self, instance: str, reason: str | None) -> None:
        """The request of Admin.removeMembersFromConsumerGroup."""
        self._send("admin", Leave(self._number(), GROUP, (Leaver("", instance, reason),)))

    def settle(self, *clients: str) -> None:
        """All clients join and sync."""
        for client in clients:
            self.join(client)
            self.wait(20)
        self.wait(100)
        self.sync(*clients)

    def keep_alive(self, seconds: int, *clients: str) -> None:
        """Advance the time while these clients send heartbeats."""
        for _ in range(seconds // 3):
            self.wait(3_000)
            self.beat(*clients)

    def wait(self, by_ms: int) -> None:
        self._settle(self.coordinator.advance(by_ms))

    # -- results -------------------------------------------------------------------------------------------------

    def _number(self) -> int:
        self._numbers += 1
        return self._numbers

    def _send(self, client: str, request: Request) -> None:
        self._waiting[request.request_id] = (client, request, self.coordinator.now_ms)
        self._settle(self.coordinator.handle(request))

    def _settle(self, outcome: Outcome) -> None:
        partition = partition_for(GROUP, 50)
        for change in outcome.changes:
            told = announce(self.policy, change, NODE, partition) if isinstance(change, LoggedChange) else None
            if told is not None:
                self.written.append(WrittenLine(told.at_ms, NODE, told.message, told.level, told.fields))
        for answer in outcome.answers:
            client, request, arrived_ms = self._waiting.pop(answer.request_id)
            self._learn(client, answer.response)
            self.written.append(ServedRequest(answer.at_ms, arrived_ms, NODE, client, request, answer.response))

    def _learn(self, client: str, response: Response) -> None:
        if isinstance(response, JoinResponse) and response.error in {Error.NONE, Error.MEMBER_ID_REQUIRED}:
            self.ids[client] = response.member
            if response.error is Error.NONE:
                self.generation = response.generation
                self.leader = cast("str", response.leader)

    def told(self, *, requests: bool = True) -> AnalysisResult:
        """The analysis of the written log, with or without the request log."""
        wording, asked = MessageWriter(self.policy), RequestLines(self.policy)
        server, log = [], []
        for each in self.written:
            if isinstance(each, ServedRequest):
                log.append(asked.line(each))
            elif each.level != "DEBUG" and (line := wording.line(each)) is not None:
                server.append(line)
        folder = self.out / ("all" if requests else "server")
        folder.mkdir(parents=True)
        (folder / "server.log").write_text("\n".join(server) + "\n", encoding="utf-8")
        if requests:
            (folder / "kafka-request.log").write_text("\n".join(log) + "\n", encoding="utf-8")
        return analyze([str(folder)], AnalyzeOptions(ReadOptions(log_tz=[(None, "UTC")], kafka_versions=[("*", self.version)])))

"""Lines of RocketMQ's clients and brokers as events, in order of time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields

from models.event_kinds import EVENTS
from models.events import Event, LogPosition
from models.rocketmq.rocketmq_history import RocketHistory, history_of_groups
from tests.models.rocketmq.event_parts import EventParts

SECOND = 1_000_000
START = 1_795_250_000 * SECOND
ROUTE = "TopicRouteData [queueDatas=[{}], brokerDatas=[BrokerData [brokerName=broker-a, brokerAddrs={{0=10.0.0.1:10911}}]]]"


def route(**reads: int) -> str:
    parts = [
        f"QueueData [brokerName=broker-{name}, readQueueNums={count}, writeQueueNums={count}, perm=6]" for name, count in reads.items()
    ]
    return ROUTE.format(", ".join(parts))


@dataclass
class Logs:
    """Lines of one cluster, added in order of time.

    Times are in seconds.
    """

    events: list[Event] = field(default_factory=list)

    def say(self, file: str, at: float, name: str, *, text: str = "", **fields: object) -> None:
        common = {key: fields.pop(key) for key in ("group", "client_id", "topic", "partition") if key in fields}
        when = START + round(at * SECOND)
        place = LogPosition(file, len(self.events) + 1, 100 * len(self.events))
        self.events.append(Event(name, when, when, place, EVENTS[name].witness, text=text, fields=fields, **common))  # type: ignore[arg-type]

    def start(self, who: str, at: float, *, queues: int = 4, topics: str = "*", model: str = "CLUSTERING") -> None:
        self.say(who, at, "RocketConsumerStarting", group="billing", model=model)
        self.say(who, at, "RocketClientCreated", client_id=who)
        self.say(who, at + 0.1, "RocketConsumerStarted", group="billing")
        self.say(who, at + 0.1, "RocketRouteChanged", topic="orders", route_before="null", route=route(a=queues))
        subscription = f"SubscriptionData [classFilterMode=false, topic=orders, subString={topics}, tagsSet=[]]"
        told = f"[ConsumerData [groupName=billing, consumeType=P, messageModel={model}, subscriptionDataSet=[{subscription}]]]"
        self.say(who, at + 0.1, "RocketHeartbeat", client_id=who, consumers=told)
        self.connect(who, at + 0.1)

    def connect(self, who: str, at: float) -> None:
        seen = round((START / SECOND + at) * 1000)
        self.say("broker", at, "RocketConsumerConnected", group="billing", client_id=who, remote=f"/{who}:1", seen_ms=seen, model="C")

    def stop(self, who: str, at: float) -> None:
        self.say(who, at, "RocketUnregistered", group="billing", broker="broker-a", address="10.0.0.1:10911")
        self.say("broker", at, "RocketConsumerUnregistered", group="billing", client_id=who, remote=f"/{who}:1", seen_ms=0)

    def crash(self, who: str, at: float) -> None:
        self.say("broker", at, "RocketConsumerLost", group="billing", client_id=who, remote=f"/{who}:1", seen_ms=0)

    def expire(self, who: str, at: float) -> None:
        self.say("broker", at, "RocketConsumerExpired", group="billing", remote=f"{who}:1")

    def notify(self, who: str, at: float) -> None:
        self.say(who, at, "RocketNotified", group="billing", address="10.0.0.1:10911")

    def share(self, who: str, at: float, *, add: Sequence[int] = (), drop: Sequence[int] = (), has: Sequence[int], of: int, queues: int = 4,
              strategy: str = "AVG") -> None:  # fmt: skip
        for queue in drop:
            self.say(who, at, "RocketQueueRemoved", group="billing", topic="orders", partition=queue, broker="broker-a", why="not_in_share")
        for queue in add:
            self.say(who, at, "RocketQueueAdded", group="billing", topic="orders", partition=queue, broker="broker-a")
        held = ", ".join(f"MessageQueue [topic=orders, brokerName=broker-a, queueId={queue}]" for queue in has)
        text = f"rebalanced result changed, [{held}]"
        self.say(
            who, at + 0.01, "RocketShareChanged", text=text, group="billing", topic="orders", client_id=who, strategy=strategy,
            queue_count=queues, client_count=of, share_count=len(has), share=text,
        )  # fmt: skip

    def without(self, file: str) -> Logs:
        """The script without the lines of one file."""
        return Logs([each for each in self.events if each.place.file != file])

    def history(self, until: float = 0) -> RocketHistory:
        parts = history_of_groups("prod", EventParts(self.events), START + round(until * SECOND) if until else 0)
        return joined(parts)


def joined(parts: Iterable[RocketHistory]) -> RocketHistory:
    """All rows of a cluster."""
    whole = RocketHistory()
    for part in parts:
        for each in fields(RocketHistory):
            getattr(whole, each.name).extend(getattr(part, each.name))
    return whole


def two_clients() -> Logs:
    """c1 alone; after ten seconds c2 joins."""
    logs = Logs()
    logs.start("c1", 0)
    logs.share("c1", 0.3, add=[0, 1, 2, 3], has=[0, 1, 2, 3], of=1)
    second_starts(logs, 10)
    return logs


def second_starts(logs: Logs, at: float) -> None:
    """The first client gives two of its queues to the second."""
    logs.start("c2", at)
    logs.notify("c1", at + 0.15)
    logs.share("c1", at + 0.2, drop=[2, 3], has=[0, 1], of=2)
    logs.share("c2", at + 0.3, add=[2, 3], has=[2, 3], of=2)


def crash_and_return(logs: Logs, at: float, *, noticed: float, back: float) -> None:
    """`two_clients` with a crash of the second.

    The first takes its queues and gives them back. Times are in seconds, the last two after the crash.
    """
    logs.crash("c2", at)
    logs.share("c1", at + noticed, add=[2, 3], has=[0, 1, 2, 3], of=1)
    second_starts(logs, at + back)


def causes(history: RocketHistory) -> list[tuple[str, str, list[str | None]]]:
    return [(row.client_id, row.cause, [each.client_id for each in row.offenders]) for row in history.allocation_changes]


def windows(history: RocketHistory, kind: str) -> list[tuple[str, float, float | None]]:
    return [
        (row.queue, ((row.started_at or 0) - START) / SECOND, None if row.ended_at is None else (row.ended_at - START) / SECOND)
        for row in history.queue_ownership
        if row.kind == kind
    ]

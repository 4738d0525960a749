"""Logs of a ZooKeeper controller that loses one broker after the other."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

START = datetime(2026, 1, 1, tzinfo=UTC)
BROKERS = ("1", "2", "3", "4")
CONTROLLER = "4"
AWAY = timedelta(minutes=5)


def name_of(partition: int) -> str:
    return f"topic{partition // 10:03}-{partition % 10}"


def replicas_of(partition: int) -> list[str]:
    """Every fifth partition has one replica."""
    first = partition % 3
    return [BROKERS[first]] if partition % 5 == 0 else [BROKERS[first], BROKERS[(first + 1) % 3]]


def losses(hours: int) -> Iterator[tuple[datetime, str]]:
    """Every two hours another broker is lost."""
    for number, hour in enumerate(range(1, hours, 2)):
        yield START + timedelta(hours=hour), BROKERS[number % 3]


def told(at: datetime, text: str, logger: str) -> str:
    return f"[{at:%Y-%m-%d %H:%M:%S},{at.microsecond // 1000:03}] INFO {text} ({logger})\n"


def changed(at: datetime, text: str) -> str:
    return told(at, f"[Controller id={CONTROLLER} epoch=1] {text}", "state.change.logger")


def state_changes(hours: int, partitions: int) -> Iterator[str]:
    """state-change.log of the controller, of Kafka 2.8."""
    epochs = dict.fromkeys(range(partitions), 0)
    for partition in epochs:
        name, replicas = name_of(partition), replicas_of(partition)
        yield changed(
            START, f"Changed partition {name} state from NonExistentPartition to NewPartition with assigned replicas {','.join(replicas)}"
        )
        yield changed(START, f"Changed partition {name} from NewPartition to OnlinePartition with state {state(replicas[0], 0, replicas)}")
    for at, lost in losses(hours):
        held = [partition for partition in epochs if lost in replicas_of(partition)]
        for partition in held:
            name, replicas = name_of(partition), replicas_of(partition)
            epochs[partition] += 1
            left = [node for node in replicas if node != lost]
            leader, isr = (left[0], left) if left else ("-1", replicas)
            removed = (
                f"(Leader:{leader},ISR:{','.join(isr)},LeaderEpoch:{epochs[partition]},ZkVersion:{epochs[partition]},ControllerEpoch:1)"
            )
            yield changed(
                at,
                f"Partition {name} state changed to {removed} after removing replica {lost} from the ISR "
                "as part of transition to OfflineReplica",
            )
        for partition in held:
            name, replicas = name_of(partition), replicas_of(partition)
            epochs[partition] += 1
            yield changed(
                at + AWAY,
                f"Changed partition {name} from {'Online' if len(replicas) > 1 else 'Offline'}Partition to OnlinePartition with state "
                f"{state(replicas[0], epochs[partition], replicas)}",
            )


def state(leader: str, epoch: int, isr: list[str]) -> str:
    """A partition's state as printed by a controller."""
    return f"LeaderAndIsr(leader={leader}, leaderEpoch={epoch}, isr=List({', '.join(isr)}), zkVersion={epoch})"


def controller(hours: int) -> Iterator[str]:
    """controller.log beside it.

    It has at least the 4 KiB that identify a file.
    """
    for minute in range(60):
        at = START + timedelta(minutes=minute)
        yield told(
            at, f"[Controller id={CONTROLLER}] Processing automatic preferred replica leader election", "kafka.controller.KafkaController"
        )
    for at, lost in losses(hours):
        others = ",".join(node for node in BROKERS if node != lost)
        gone = f"Newly added brokers: , deleted brokers: {lost}, bounced brokers: , all live brokers: {others}"
        back = f"Newly added brokers: {lost}, deleted brokers: , bounced brokers: , all live brokers: {','.join(BROKERS)}"
        for moment, text in ((at, gone), (at + AWAY, back)):
            yield told(moment, f"[Controller id={CONTROLLER}] {text}", "kafka.controller.KafkaController")


def subscribed(at: datetime, group: str, topic: str) -> str:
    """A line of a client."""
    return told(
        at,
        f"[Consumer clientId={group}-1, groupId={group}] Subscribed to topic(s): {topic}",
        "org.apache.kafka.clients.consumer.KafkaConsumer",
    )


def write(folder: Path, hours: int, partitions: int = 20) -> None:
    """Write the controller's logs of this many hours."""
    node = folder / f"broker-{CONTROLLER}"
    node.mkdir(parents=True, exist_ok=True)
    (node / "state-change.log").write_text("".join(state_changes(hours, partitions)), encoding="utf-8")
    (node / "controller.log").write_text("".join(controller(hours)), encoding="utf-8")

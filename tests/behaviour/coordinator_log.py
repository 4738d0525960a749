"""Logs of coordinators at field scale, written line by line for stories whose right answer follows from the coordinator's rules."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path

START = datetime(2026, 3, 17, 14, 0)
PARTITION = "__consumer_offsets-21"
SCALA = "INFO [GroupCoordinator 1]: {} (kafka.coordinator.group.GroupCoordinator)"
JAVA = "INFO [GroupCoordinator id=1 topic=__consumer_offsets partition=21] {} (org.apache.kafka.coordinator.group.GroupMetadataManager)"
CONSUMER = "{} [Consumer clientId={}, groupId={}] {} (org.apache.kafka.clients.consumer.internals.ConsumerCoordinator)"
APART = "INFO [Log partition=audit-3, dir=/data] Rolled new log segment at offset 2410864 in 19 ms. (kafka.log.Log)"


def member(client: str, start: int = 0) -> str:
    """The member id of a client's start."""
    return f"{client}-00000000-0000-4000-8000-{start:012d}"


def stamp(at: float) -> str:
    """Log4j's time, `at` seconds after the start of the story."""
    when = START + timedelta(seconds=at)
    return f"{when:%Y-%m-%d %H:%M:%S},{when.microsecond // 1000:03d}"


@dataclass
class Story:
    """Lines of one file, in any order."""

    form: str = SCALA
    lines: list[tuple[float, int, str]] = field(default_factory=list)

    def say(self, at: float, text: str) -> Story:
        return self.add(at, self.form.format(text))

    def add(self, at: float, line: str) -> Story:
        self.lines.append((at, len(self.lines), f"[{stamp(at)}] {line}"))
        return self

    def others(self, begin: float, end: float, step: float = 60) -> Story:
        """Lines about something else: the log goes on."""
        while begin < end:
            self.add(begin, APART)
            begin += step
        return self

    def turn(self, at: float, before: int, reason: str, lasted: float = 2.7, group: str = "orders", leader: str = "a") -> Story:
        """One whole rebalance as 3.2 to 3.9 log it."""
        self.say(
            at, f"Preparing to rebalance group {group} in state PreparingRebalance with old generation {before} ({PARTITION}) ({reason})"
        )
        self.say(at + lasted, f"Stabilized group {group} generation {before + 1} ({PARTITION}) with 3 members")
        assigned = f"Assignment received from leader {member(leader)} for group {group} for generation {before + 1}."
        return self.say(at + lasted + 0.05, f"{assigned} The group has 3 members, 0 of which are static.")

    def text(self) -> str:
        return "".join(f"{line}\n" for _, _, line in sorted(self.lines))


def write(folder: Path, files: Iterable[tuple[str, Story]]) -> str:
    """Write the files of a story; returns their folder."""
    for name, story in files:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(story.text(), encoding="utf-8")
    return str(folder)

"""Compare rows of analyze with what the lab did and what its members held.

`python -m tests.lab.rocketmq.score RUN...` prints, for each run and for all: changes of the members' tables found, changes not
invented, their causes right, and the share of the time in which the queues of each member are the ones it held. Of runs with controllers
it prints the elections found and not invented, and how many conditions end when a member has locks again, instead.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

NEAR_MS = 2_000
"""Maximum time between a change and its row: the table is looked at every 50 ms, and a scan takes up to a second."""
FILLED_MS = 300
"""Time in which a member fills its table, queue by queue."""
EFFECT_MS = 90_000
"""Maximum time from a deed to its effect on a member."""

ELECTION_MS = 15_000
"""Maximum time from a master's end to its successor's election: a controller misses a broker after 10 s."""
LOCKS_MS = 45_000
"""Maximum time until members ask the new master for locks: a route is asked for every 30 s, a lock every 20 s."""

Steps = list[tuple[int, frozenset[str]]]


@dataclass(frozen=True)
class Deed:
    """Something that the lab did."""

    at: int
    what: str
    who: str


def deeds_of(run: Path) -> list[Deed]:
    """All that was done in a run, in order."""
    return [Deed(**json.loads(line)) for line in (run / "deeds.jsonl").read_text().splitlines()]


def held_by(run: Path) -> dict[str, Steps]:
    """What each member held from when on, by client id; each ends with nothing."""
    found: dict[str, Steps] = {}
    deeds = deeds_of(run)
    for path in sorted(run.glob("m*/truth.jsonl")):
        said = [json.loads(line) for line in path.read_text().splitlines()]
        client = next((each["client_id"] for each in said if "client_id" in each), None)
        if client is None:
            continue
        steps = [(each["at"], frozenset(map(renamed, each["queues"]))) for each in said if each["what"] == "holds"]
        end = next(each.at for each in deeds if each.who == path.parent.name and each.what in ("kill", "leave"))
        whole = [step for step, after in pairwise([*steps, (end, frozenset[str]())]) if after[0] - step[0] > FILLED_MS]
        found[client] = [step for step in whole if step[0] < end] + [(end, frozenset())]
    return found


def renamed(queue: str) -> str:
    """A queue as the client prints it, `broker.topic.id`, as a topic and its name in tables."""
    broker, topic, number = queue.rsplit(".", 2)
    return f"{topic} {broker}:{number}"


def causes_at(deeds: Sequence[Deed], at: int, first: bool) -> set[str]:
    """What may have caused a change, from what was done before."""
    if first:
        return {"consumer_start"}
    recent = [deed for deed in deeds if at - EFFECT_MS <= deed.at <= at]
    found: set[str] = set()
    for deed in recent:
        if deed.who.startswith("broker") and deed.what in ("kill", "stop"):
            found.add("broker_down")
        elif deed.who.startswith("broker") and deed.what == "start":
            found.add("broker_up")
        elif deed.what == "admin" and deed.who.startswith("updateTopic"):
            found.add("queue_count_change")
        elif deed.what == "admin" and deed.who.startswith("updateSubGroup"):
            found.add("message_request_mode")
    return found


def rows_of(run: Path, kind: str = "allocation_changes") -> list[dict[str, Any]]:
    """The changes of shares, or conditions, that analyze tells of the lab's group."""
    logs = [str(path) for path in sorted(run.rglob("*.log")) if "admin" not in path.parts]
    command = [sys.executable, "-m", "groupscope", "analyze", *logs, "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return [row for row in json.loads(done.stdout)[kind] if row["group"] == "billing"]


def millis(text: str) -> int:
    return int(datetime.fromisoformat(text).timestamp() * 1000)


def changes(steps: Steps) -> Iterator[tuple[int, frozenset[str]]]:
    """Times at which a topic's queues changed while the member ran, with all queues after it."""
    for (_, before), (at, after) in pairwise([(0, frozenset[str]()), *steps[:-1]]):
        if after != before:
            yield at, after


def score(run: Path) -> Counter[str]:
    """Counts of one run."""
    held, rows, deeds = held_by(run), rows_of(run), deeds_of(run)
    counts: Counter[str] = Counter()
    for client, steps in held.items():
        mine = [row for row in rows if row["client_id"] == client]
        topics = {queue.split(" ")[0] for _, queues in steps for queue in queues}
        for topic in sorted(topics):
            told = [row for row in mine if row["topic"] == topic]
            only = [(at, frozenset(queue for queue in queues if queue.startswith(f"{topic} "))) for at, queues in steps]
            _count(counts, list(changes(only)), told, deeds)
            _overlap(counts, only, told)
    return counts


def _count(counts: Counter[str], real: list[tuple[int, frozenset[str]]], told: list[dict[str, Any]], deeds: list[Deed]) -> None:
    counts["told"] += len(told)
    for index, (at, queues) in enumerate(real):
        counts["real"] += 1
        near = [row for row in told if abs(millis(row["changed_at"]) - at) <= NEAR_MS]
        match = next((row for row in near if {f"{row['topic']} {queue}" for queue in row["allocated"]} == queues), None)
        if match is None:
            continue
        counts["found"] += 1
        counts["right"] += match["cause"] in causes_at(deeds, at, first=not index)


def _overlap(counts: Counter[str], steps: Steps, told: list[dict[str, Any]]) -> None:
    """Milliseconds of each queue held, and of those that the rows tell as well."""
    said: Steps = [(millis(row["changed_at"]), frozenset(f"{row['topic']} {queue}" for queue in row["allocated"])) for row in told]
    for (low, queues), (high, _) in pairwise(steps):
        counts["held_ms"] += (high - low) * len(queues)
        for (begin, share), (end, _) in pairwise([*said, (high, frozenset[str]())]):
            counts["shared_ms"] += max(0, min(high, end) - max(low, begin)) * len(queues & share)


def lost_masters(deeds: Sequence[Deed]) -> list[tuple[int, int]]:
    """From when until when a master was killed, stopped or held, so that another broker became it."""
    master = ""
    found: list[tuple[int, int]] = []
    for index, deed in enumerate(deeds):
        if deed.what == "master":
            master = deed.who
        elif deed.who == master and deed.what in ("kill", "stop", "pause"):
            over = next((each.at for each in deeds[index:] if each.who == master and each.what == "ended"), deed.at)
            found.append((deed.at, deed.at if deed.what == "pause" else over))
            master = ""
    last = max((deed.at for deed in deeds if deed.what == "master"), default=0)
    return [span for span in found if span[0] < last]


def score_elections(run: Path) -> Counter[str]:
    """Counts of a run with controllers."""
    deeds = deeds_of(run)
    losses, last = lost_masters(deeds), max(deed.at for deed in deeds if deed.what == "master")
    told = [row for row in rows_of(run, "conditions") if row["kind"] == "master_changed" and millis(row["started_at"]) <= last]
    locked = sorted(at for steps in held_by(run).values() for at, queues in changes(steps) if queues)
    counts = Counter(elections=len(losses), conditions=len(told))
    for low, high in losses:
        near = next((row for row in told if low - NEAR_MS <= millis(row["started_at"]) <= high + ELECTION_MS), None)
        if near is not None:
            counts["elected"] += 1
            over = millis(near["ended_at"]) if near["ended_at"] else 0
            again = next((each for each in locked if high < each <= high + LOCKS_MS), over)
            counts["ended"] += over - NEAR_MS <= again <= over + LOCKS_MS
    return counts


def shown_elections(name: str, counts: Counter[str]) -> str:
    """One line of figures about elections."""
    real, told, found = (max(1, counts[each]) for each in ("elections", "conditions", "elected"))
    return (
        f"{name:16} {counts['elections']:3} elections, found {counts['elected'] / real:.3f}, not invented {counts['elected'] / told:.3f}, "
        f"end right {counts['ended'] / found:.3f}"
    )


def shown(name: str, counts: Counter[str]) -> str:
    """One line of figures."""
    real, told, found, held = (max(1, counts[each]) for each in ("real", "told", "found", "held_ms"))
    return (
        f"{name:16} {counts['real']:3} changes, found {counts['found'] / real:.3f}, not invented {counts['found'] / told:.3f}, "
        f"cause right {counts['right'] / found:.3f}, held time told {counts['shared_ms'] / held:.3f}"
    )


def main() -> None:
    """Score runs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="+", type=Path)
    whole: Counter[str] = Counter()
    for run in parser.parse_args().runs:
        if (run / "controller-0").is_dir():
            print(shown_elections(run.name, score_elections(run)))
            continue
        counts = score(run)
        whole += counts
        print(shown(run.name, counts))
    if whole:
        print(shown("all", whole))


if __name__ == "__main__":
    main()

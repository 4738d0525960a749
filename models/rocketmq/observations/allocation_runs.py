"""Allocation runs of a client for one topic, assembled from its lines."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from models.events import Event
from models.rocketmq.object_text import QueueText, assigned_in, queue_name, queues_in
from models.rocketmq.observations.client_groups import ASSIGNMENT_LINES, BY_QUEUE, is_assigned
from models.rocketmq.observations.client_processes import ClientProcess
from models.tolerances import int_tolerance

RESULTS = frozenset({"RocketShareChanged", "RocketShareAssigned", "RocketBroadcastShareChanged"}) | ASSIGNMENT_LINES
OF_RUNS = frozenset({"RocketQueueAdded", "RocketQueueRemoved", "RocketQueueRefused", "RocketQueueExpired", "RocketResetOrdered"})
"""Lines about queues that precede a result."""

NOT_LISTED_US = int_tolerance("rocketmq.allocation_runs.not_listed_us")
"""Maximum time from "not listed" to the result it belongs to."""

BY_QUEUE_US = int_tolerance("rocketmq.allocation_runs.by_queue_us")
"""Maximum time between lines about single queues of one assignment."""

RUN_MAX_US = int_tolerance("rocketmq.allocation_runs.run_max_us")
"""Maximum age of a queue's line that still belongs to a result.

A dead client's locks last for a minute or two.
"""


@dataclass(slots=True)
class AllocationRun:
    """A result line and the preceding lines about queues."""

    life: ClientProcess
    topic: str
    asked_at: int  # before the first queue changed; the lists were known by then
    at: int
    result: Event
    added: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    share: list[QueueText] = field(default_factory=list)
    why: set[str] = field(default_factory=set)  # reasons for removing queues, except leaving the share
    refused: int = 0
    not_listed: Event | None = None
    lines: list[Event] = field(default_factory=list)

    @property
    def is_assigned(self) -> bool:
        """Whether a proxy assigned the queues to a gRPC client."""
        return self.result.name in ASSIGNMENT_LINES or self.result.fields.get("mode") == BY_QUEUE

    @property
    def queues(self) -> int | None:
        """Number of queues known to the client."""
        return _count(self.result.fields.get("queue_count"))

    @property
    def clients(self) -> int | None:
        """Number of clients known to the client."""
        return _count(self.result.fields.get("client_count"))

    @property
    def strategy(self) -> str | None:
        """Strategy in the result line, None if missing."""
        value = self.result.fields.get("strategy")
        return str(value) if value else None


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def queue_of(event: Event) -> str:
    """Queue of an event, as `broker:id`."""
    return queue_name(str(event.fields.get("broker")), event.partition if event.partition is not None else -1)


class AllocationRunReader:
    """Assembles the lines of one client process into runs.

    A fixed list of queues applies to any topic, so a result may name other topics' queues.
    """

    def __init__(self, life: ClientProcess) -> None:
        self.life = life
        self._open: list[tuple[int, Event]] = []
        self._assigned: dict[str, list[QueueText]] = {}
        self._nameless_run: AllocationRun | None = None  # a change that names no queues; the next lines do

    def feed(self, event: Event, at: int) -> AllocationRun | None:
        """Take the next line; a result line returns its run."""
        if is_assigned(event):
            return self._assignment(event, at)
        if event.name in OF_RUNS:
            self._open.append((at, event))
        elif event.name in RESULTS:
            return self._run(event, at)
        return None

    def _assignment(self, event: Event, at: int) -> AllocationRun | None:
        """The run of an assignment with other queues than before.

        A list in another order is the same.
        """
        topic = event.topic or ""
        if event.name not in ASSIGNMENT_LINES:
            if event.fields.get("mode") == BY_QUEUE:
                return self._by_queues(event, at)
            if self._nameless_run is not None and self._nameless_run.topic == topic:
                self._note_queue_name(self._nameless_run, event)
            return None
        self._nameless_run = None
        queues = [] if event.name == "RocketAssignmentsEmptied" else assigned_in(event.fields.get("share"))
        before = self._assigned.get(topic)
        if before is None:
            before = assigned_in(event.fields.get("share_before")) or []
        share = before if queues is None else queues
        if queues is not None and set(queues) == set(before):
            return None
        run = AllocationRun(self.life, topic, at, at, event, share=list(share), lines=[event])
        run.added = sorted(text.queue for text in set(share) - set(before))
        run.removed = sorted(text.queue for text in set(before) - set(share))
        self._assigned[topic] = run.share
        self._nameless_run = run if queues is None else None
        return run

    def _by_queues(self, event: Event, at: int) -> AllocationRun | None:
        """The run that a line about one queue begins.

        No line of C++ tells the whole assignment.
        """
        topic, run = event.topic or "", self._nameless_run
        if run is not None and run.topic == topic and at - run.at <= BY_QUEUE_US:
            self._note_queue_name(run, event)
            return None
        run = AllocationRun(self.life, topic, at, at, event, share=list(self._assigned.get(topic, ())))
        self._assigned[topic], self._nameless_run = run.share, run
        self._note_queue_name(run, event)
        return run

    @staticmethod
    def _note_queue_name(run: AllocationRun, event: Event) -> None:
        queue = QueueText(run.topic, queue_of(event))
        if event.name == "RocketQueueAdded" and queue not in run.share:
            run.share.append(queue)
            run.added.append(queue.queue)
        elif event.name == "RocketQueueRemoved" and queue in run.share:
            run.share.remove(queue)
            run.removed.append(queue.queue)
        run.lines.append(event)

    def _run(self, event: Event, at: int) -> AllocationRun:
        topic = event.topic or ""
        share = queues_in(event.text) or assigned_in(event.fields.get("share")) or []
        topics = {topic} | {text.topic for text in share}
        run_lines = [(when, line) for when, line in self._open if line.topic in topics and at - when <= RUN_MAX_US]
        self._open = [(when, line) for when, line in self._open if line.topic not in topics and at - when <= RUN_MAX_US]
        first = min((when for when, line in run_lines if line.name != "RocketResetOrdered"), default=at)
        lines = [line for _, line in run_lines] + [event]
        run = AllocationRun(self.life, topic, min(first, at), at, event, share=share, lines=lines)
        for _, line in run_lines:
            self._note(run, line)
        absence = self.life.not_listed_before(event.place.position)
        if absence is not None and absence.heeded_in == event.place.position and at - absence.at < NOT_LISTED_US:
            run.not_listed = absence.event
        return run

    @staticmethod
    def _note(run: AllocationRun, event: Event) -> None:
        if event.name == "RocketQueueAdded":
            run.added.append(queue_of(event))
        elif event.name == "RocketQueueRemoved":
            run.removed.append(queue_of(event))
            if event.fields.get("why") != "not_in_share":
                run.why.add(str(event.fields.get("why")))
        elif event.name == "RocketQueueExpired":
            run.why.add("pull_expired")
        elif event.name == "RocketQueueRefused":
            run.refused += 1
        else:  # RocketResetOrdered
            run.why.add("reset")
        if event.fields.get("mode") == "POP":
            run.why.add("mode")


@dataclass(slots=True)
class TopicLines:
    """Lines about a group's topic: runs, lines by process, and locks.

    Runs are in order after `finish`.
    """

    topic: str
    runs: list[AllocationRun] = field(default_factory=list)
    by_life: dict[ClientProcess, list[tuple[int, Event]]] = field(default_factory=dict)
    locks: list[tuple[int, Event]] = field(default_factory=list)
    _readers: dict[ClientProcess, AllocationRunReader] = field(default_factory=dict)

    def feed(self, life: ClientProcess, event: Event, at: int) -> None:
        """Take the next line of a client.

        It concerns this topic, or one whose queues results may name.
        """
        reader = self._readers.get(life)
        if reader is None:
            reader = self._readers[life] = AllocationRunReader(life)
        run = reader.feed(event, at)
        if event.topic == self.topic:
            self.by_life.setdefault(life, []).append((at, event))
            if run is not None:
                self.runs.append(run)

    def finish(self) -> None:
        """Sort runs and locks by time, after the last line.

        Drops assignments that changed nothing.
        """
        self.runs = [run for run in self.runs if not run.is_assigned or run.added or run.removed]
        self.runs.sort(key=lambda run: (run.at, run.life.file, run.result.place.position))
        self.locks.sort(key=lambda item: (item[0], item[1].place.log, item[1].place.position))

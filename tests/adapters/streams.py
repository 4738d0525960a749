"""Replay recordings of streams group coordinators (KIP-1071) step by step.

Their `source` is "kafka VERSION streams"; `tests/recording` makes them. Only the assignor's choice comes from the
recording, and each task must be active once. A step without `state` left it as it was.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from models.kafka.coordinator.protocol.errors import Error
from models.kafka.coordinator.protocol.responses import TimedResponse
from models.kafka.coordinator.runtime.heartbeat_groups import EpochPolicy
from models.kafka.coordinator.runtime.outcomes import Outcome
from models.kafka.coordinator.streams.assignor import Work, choose_tasks, is_complete
from models.kafka.coordinator.streams.coordinator import Coordinator
from models.kafka.coordinator.streams.group import StreamsGroup
from models.kafka.coordinator.streams.member import Member
from models.kafka.coordinator.streams.requests import NOT_SENT, StreamsHeartbeat
from models.kafka.coordinator.streams.responses import StreamsResponse
from models.kafka.coordinator.streams.settings import StreamsGroupSettings
from models.kafka.coordinator.streams.tasks import TaskKind, Tasks, by_kind
from models.kafka.coordinator.streams.topology import Subtopology, Topology
from tests.adapters import Difference, first_difference
from tests.adapters.classic import in_order, natural, shown_fired, shown_timers
from tests.adapters.epoch_policies import epoch_policy
from tests.adapters.recorded_lines import announced_events, recorded_events

Json = dict[str, Any]

SOURCE = re.compile(r"kafka (\d+\.\d+\.\d+) streams")


def accepts(first_line: Json) -> bool:
    """Return True for a trace of a streams group coordinator."""
    return "steps" in first_line and SOURCE.match(str(first_line.get("source", ""))) is not None


def check(line: Json) -> Difference | None:
    """Replay a trace; return the first difference, or None."""
    replay = Replay(line)
    for number, step in enumerate(line["steps"]):
        found = replay.step(step)
        if found is not None:
            return Difference(number, *found, operation=step["op"])
    return None


class ImpossibleTargetError(Exception):
    """The recorded target leaves a task out, or gives it away twice."""


class Replay:
    """A coordinator driven by the operations of a trace."""

    def __init__(self, trace: Json) -> None:
        found = SOURCE.match(trace["source"])
        config = {name.removeprefix("group.streams."): value for name, value in trace["config"].items()}
        self.state: Json = {}
        self.policy: EpochPolicy = epoch_policy(found[1] if found else "")
        self.coordinator = Coordinator(
            self.policy,
            StreamsGroupSettings(
                session_ms=config["session.timeout.ms"],
                heartbeat_interval_ms=config["heartbeat.interval.ms"],
                max_size=config["max.size"],
                assignment_interval_ms=config["assignment.interval.ms"],
                initial_delay_ms=config["initial.rebalance.delay.ms"],
                standby_replicas=config["num.standby.replicas"],
            ),
            choose_tasks=self.recorded_target,
            order=natural,
            now_ms=trace["start_ms"],
        )

    def recorded_target(self, work: Work) -> Mapping[str, Tasks]:
        """Targets of the group's members after the step."""
        recorded = {member["member"]: tasks_of(member["target"]) for member in self.state[work.group].get("members", [])}
        if not recorded.keys() >= work.members.keys():
            return choose_tasks(work)  # a member expired later in the same step, and its target is not recorded
        targets = {member: recorded[member] for member in work.members}
        if not is_complete(targets, work.sizes):
            raise ImpossibleTargetError(f"of {work}: {targets}")
        return targets

    def step(self, step: Json) -> tuple[str, object, object] | None:
        """Perform one operation; return place, expected and actual of a difference."""
        self.state = step.get("state", self.state)
        outcome = self._done(step["op"])
        expected = {
            "t_end": step["t_end"],
            "responses": [recorded_answer(answer) for answer in step.get("responses", [])],
            "fired": [{**fired, "tie": None, "member": fired["member"] or None} for fired in step.get("fired", [])],
            "log": recorded_events(step.get("log", [])),
            "state": {name: recorded_state(state) for name, state in self.state.items()},
        }
        actual = {
            "t_end": self.coordinator.now_ms,
            "responses": [shown_answer(answer) for answer in outcome.answers],
            "fired": [{**shown_fired(fired), "tie": None} for fired in outcome.fired],
            "log": announced_events(outcome),
            "state": {name: self._state(name) for name in self.state},
        }
        return first_difference(expected, actual)

    def _done(self, operation: Json) -> Outcome:
        match operation["op"]:
            case "advance":
                return self.coordinator.advance(operation["ms"])
            case "set_topic":
                return self.coordinator.set_topic(operation["topic"], operation["partitions"])
            case "set_config":
                self.coordinator.shard.standby_replicas["g1"] = operation["standby_replicas"]  # streams.num.standby.replicas
                return self.coordinator.shard.outcome()
            case _:
                return self.coordinator.handle(request_of(operation))

    def _state(self, name: str) -> Json:
        group = self.coordinator.groups.get(name)
        if group is None:
            return {"state": "Absent"}
        shown = {"state": str(self.coordinator.state_of(name)), **shown_group(group)}
        if not self.policy.has_validated_topology:
            del shown["validated_topology_epoch"]
        return {**shown, "timers": shown_timers(self.coordinator.timers, name)}


def request_of(operation: Json) -> StreamsHeartbeat:
    """The request sent by an operation."""
    owned = operation["owned"]
    return StreamsHeartbeat(
        operation["req"],
        operation["group"],
        operation["member"],
        operation["epoch"],
        operation["instance"],
        operation.get("rebalance_ms", NOT_SENT),
        _topology(operation["topology"]),
        operation["process"],
        None if owned is None else tasks_of(owned),
        operation["shutdown"],
    )


def _topology(told: Json | None) -> Topology | None:
    if told is None:
        return None
    parts = (
        Subtopology(part["id"], tuple(part["sources"]), part["repartition_sources"], tuple(part["sinks"]), tuple(part["changelogs"]))
        for part in told["subtopologies"]
    )
    return Topology(told["epoch"], tuple(parts))


def recorded_answer(answer: Json) -> Json:
    """A recorded response; with an error only the error counts."""
    return answer if answer["error"] == "NONE" else {key: answer[key] for key in ("req", "t", "error")}


def shown_answer(answer: TimedResponse) -> Json:
    """A response of the model in the form of recordings."""
    response = answer.response
    shown: Json = {"req": answer.request_id, "t": answer.at_ms, "error": response.error.value}
    if not isinstance(response, StreamsResponse) or response.error is not Error.NONE:
        return shown
    return {
        **shown,
        "member": response.member,
        "member_epoch": response.epoch,
        "heartbeat_interval_ms": response.heartbeat_interval_ms,
        "tasks": None if response.tasks is None else by_kind(response.tasks),
        "status": [int(status) for status in response.status],
        "create": response.missing,
    }


def recorded_state(state: Json) -> Json:
    """The recorded state, sorted where order has no meaning."""
    if state["state"] == "Absent":
        return state
    timers = [{**timer, "member": timer["member"] or None} for timer in state["timers"]]
    return {**state, "members": sorted(state["members"], key=lambda member: natural(member["member"])), "timers": in_order(timers)}


def shown_group(group: StreamsGroup) -> Json:
    """A group's state in the form of recordings, without timers."""
    return {
        "epoch": group.epoch,
        "assignment_epoch": group.target_epoch,
        "topology_epoch": None if group.topology is None else group.topology.epoch,
        "validated_topology_epoch": group.validated_epoch,
        "members": [shown_member(group, member) for member in sorted(group.members.values(), key=lambda member: natural(member.id))],
    }


def shown_member(group: StreamsGroup, member: Member) -> Json:
    """A member in the form of recordings."""
    return {
        "member": member.id,
        "instance": member.instance,
        "epoch": member.epoch,
        "previous_epoch": member.previous_epoch,
        "state": member.state.value,
        "process": member.process,
        "topology_epoch": member.topology_epoch,
        "assigned": by_kind(member.assigned),
        "pending_revocation": by_kind(member.pending_revocation),
        "target": by_kind(group.target(member.id)),
    }


def tasks_of(kinds: Mapping[str, Mapping[str, Iterable[int]]]) -> Tasks:
    """Flatten partition numbers by kind and subtopology."""
    return frozenset(
        (TaskKind(kind), subtopology, number)
        for kind, subtopologies in kinds.items()
        for subtopology, numbers in subtopologies.items()
        for number in numbers
    )

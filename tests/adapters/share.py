"""Replay recordings of share group coordinators (KIP-932) step by step.

Their `source` is "kafka VERSION share"; `tests/recording` makes them. Only the assignor's choice comes from the
recording; it may only have partitions that are initialised or were held before. More cannot be required: 4.1 places
members by the hashes of their ids, and later versions leave partitions out while subscriptions differ. A step without
`state` left it as it was.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from models.kafka.coordinator.consumer.topic_partitions import PartitionSet, by_topic, flat
from models.kafka.coordinator.protocol.errors import Error
from models.kafka.coordinator.protocol.requests import Request
from models.kafka.coordinator.protocol.responses import TimedResponse
from models.kafka.coordinator.runtime.outcomes import Outcome
from models.kafka.coordinator.share.assignor import Sharing
from models.kafka.coordinator.share.coordinator import Coordinator
from models.kafka.coordinator.share.group import ShareGroup, ShareMember
from models.kafka.coordinator.share.requests import Initialization, ShareHeartbeat
from models.kafka.coordinator.share.responses import ShareResponse
from models.kafka.coordinator.share.settings import ShareGroupSettings
from tests.adapters import Difference, first_difference
from tests.adapters.classic import in_order, natural, shown_fired, shown_timers
from tests.adapters.epoch_policies import epoch_policy
from tests.adapters.recorded_lines import announced_events, recorded_events

Json = dict[str, Any]

SOURCE = re.compile(r"kafka (\d+\.\d+\.\d+) share")


def accepts(first_line: Json) -> bool:
    """Return True for a trace of a share group coordinator."""
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
    """The recorded target has a partition that is neither initialised nor was held before."""


class Replay:
    """A coordinator driven by the operations of a trace."""

    def __init__(self, trace: Json) -> None:
        found = SOURCE.match(trace["source"])
        config = {name.removeprefix("group.share."): value for name, value in trace["config"].items()}
        self.state: Json = {}
        self.coordinator = Coordinator(
            epoch_policy(found[1] if found else ""),
            ShareGroupSettings(
                session_ms=config["session.timeout.ms"],
                heartbeat_interval_ms=config["heartbeat.interval.ms"],
                max_size=config["max.size"],
                assignment_interval_ms=config["assignment.interval.ms"],
            ),
            choose_shares=self.recorded_target,
            order=natural,
            now_ms=trace["start_ms"],
        )

    def recorded_target(self, sharing: Sharing) -> Mapping[str, PartitionSet]:
        """Targets of the group's members after the step."""
        recorded = {member["member"]: flat(member["target"]) for member in self.state[sharing.group].get("members", [])}
        targets = {member: recorded.get(member, frozenset()) for member in sharing.members}
        allowed = {member: sharing.partitions | sharing.former.get(member, frozenset()) for member in targets}
        if not all(target <= allowed[member] for member, target in targets.items()):
            raise ImpossibleTargetError(f"of {sharing}: {targets}")
        return targets

    def step(self, step: Json) -> tuple[str, object, object] | None:
        """Perform one operation; return place, expected and actual of a difference."""
        self.state = step.get("state", self.state)
        outcome = self._done(step["op"])
        expected = {
            "t_end": step["t_end"],
            "responses": [self._without_repetition(recorded_answer(answer), outcome) for answer in step.get("responses", [])],
            "fired": [{**fired, "tie": None} for fired in step.get("fired", [])],
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

    def _without_repetition(self, answer: Json, outcome: Outcome) -> Json:
        """An assignment is sent again unchanged if topics without partitions come or go in it; that is left out."""
        told = [each.response for each in outcome.answers if isinstance(each.response, ShareResponse) and each.response.assignment is None]
        members = self.coordinator.groups["g1"].members if told else {}
        member = members.get(answer.get("member", ""))
        if member is not None and answer["assignment"] == by_topic(member.assigned):
            return {**answer, "assignment": None}
        return answer

    def _done(self, operation: Json) -> Outcome:
        match operation["op"]:
            case "advance":
                return self.coordinator.advance(operation["ms"])
            case "set_topic":
                return self.coordinator.set_topic(operation["topic"], operation["partitions"])
            case _:
                return self.coordinator.handle(request_of(operation))

    def _state(self, name: str) -> Json:
        group = self.coordinator.groups.get(name)
        if group is None:
            return {"state": "Absent"}
        return {**shown_group(group), "timers": shown_timers(self.coordinator.timers, name)}


def request_of(operation: Json) -> Request:
    """The request sent by an operation."""
    if operation["op"] == "share_heartbeat":
        topics = operation.get("topics")
        told = None if topics is None else frozenset(topics)
        return ShareHeartbeat(operation["req"], operation["group"], operation["member"], operation["epoch"], told)
    partitions = {topic: frozenset(numbers) for topic, numbers in operation["topics"].items()}
    return Initialization(0, operation["group"], partitions, operation["op"] == "initialized")


def recorded_answer(answer: Json) -> Json:
    """A recorded response; with an error only the error counts."""
    if answer["error"] != "NONE":
        return {key: answer[key] for key in ("req", "t", "error")}
    assignment = answer["assignment"]
    return {**answer, "assignment": assignment and {topic: numbers for topic, numbers in assignment.items() if numbers}}


def shown_answer(answer: TimedResponse) -> Json:
    """A response of the model in the form of recordings."""
    response = answer.response
    shown: Json = {"req": answer.request_id, "t": answer.at_ms, "error": response.error.value}
    if not isinstance(response, ShareResponse) or response.error is not Error.NONE:
        return shown
    return {
        **shown,
        "member": response.member,
        "member_epoch": response.epoch,
        "heartbeat_interval_ms": response.heartbeat_interval_ms,
        "assignment": None if response.assignment is None else by_topic(response.assignment),
        "initialize": by_topic(response.initialize),
    }


def recorded_state(state: Json) -> Json:
    """The recorded state, sorted where order has no meaning."""
    if state["state"] == "Absent":
        return state
    return {**state, "members": sorted(state["members"], key=lambda member: natural(member["member"])), "timers": in_order(state["timers"])}


def shown_group(group: ShareGroup) -> Json:
    """A group's state in the form of recordings, without timers."""
    return {
        "state": group.state.value,
        "epoch": group.epoch,
        "assignment_epoch": group.target_epoch,
        "initialization": {
            "initializing": {topic: sorted(numbers) for topic, numbers in group.partitions.initializing.items()},
            "initialized": {topic: sorted(numbers) for topic, numbers in group.partitions.initialized.items()},
        },
        "members": [shown_member(group, member) for member in sorted(group.members.values(), key=lambda member: natural(member.id))],
    }


def shown_member(group: ShareGroup, member: ShareMember) -> Json:
    """A member in the form of recordings."""
    return {
        "member": member.id,
        "epoch": member.epoch,
        "previous_epoch": member.previous_epoch,
        "state": "STABLE",
        "subscribed": sorted(member.topics),
        "assigned": by_topic(member.assigned),
        "target": by_topic(group.target(member.id)),
    }

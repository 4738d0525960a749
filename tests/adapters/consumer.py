"""Replay recordings of consumer group coordinators (KIP-848) step by step.

Their `source` is "kafka VERSION consumer". Only the assignors' choice comes from the recording: when the model asks for
new targets, it gets those of the group's state after the step. They must assign each partition to at most one member,
and only known partitions. More cannot be required: if a member without a subscription joins while the target is behind
the group epoch for another reason, 4.0 tells the assignor that all subscriptions are equal
(SubscriptionType.HOMOGENEOUS), and it may use that member's topics for all.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any

from models.kafka.coordinator.consumer.assignors import Subscription, Targets
from models.kafka.coordinator.consumer.coordinator import Coordinator
from models.kafka.coordinator.consumer.group import ConsumerGroup
from models.kafka.coordinator.consumer.member import Member
from models.kafka.coordinator.consumer.requests import ConsumerHeartbeat
from models.kafka.coordinator.consumer.responses import HeartbeatResponse
from models.kafka.coordinator.consumer.settings import ConsumerGroupSettings
from models.kafka.coordinator.consumer.topic_partitions import by_topic, flat
from models.kafka.coordinator.protocol.errors import Error
from models.kafka.coordinator.protocol.requests import Commit, Delete, Request
from models.kafka.coordinator.protocol.responses import Response, TimedResponse
from models.kafka.coordinator.runtime.outcomes import Outcome
from tests.adapters import Difference, first_difference
from tests.adapters.classic import in_order, natural, shown_fired, shown_timers

Json = dict[str, Any]

SOURCE = re.compile(r"kafka \d+\.\d+\.\d+ consumer")
SIMPLE_GROUP = {
    "state": "Empty",
    "generation": 0,
    "leader": None,
    "protocol_type": None,
    "protocol": None,
    "members": [],
    "pending_join": [],
    "pending_sync": [],
    "static": {},
}


def accepts(first_line: Json) -> bool:
    """Return True for a trace of a consumer group coordinator."""
    return "steps" in first_line and SOURCE.match(str(first_line.get("source", ""))) is not None


def check(line: Json) -> Difference | None:
    """Replay a trace; return the first difference, or None."""
    replay = Replay(line["config"])
    for number, step in enumerate(line["steps"]):
        found = replay.step(step)
        if found is not None:
            return Difference(number, *found, operation=step["op"])
    return None


class ImpossibleTargetError(Exception):
    """The recorded target assigns a partition twice, or an unknown one."""


class Recorded:
    """Answers assignments and ids from the recorded step."""

    def __init__(self) -> None:
        self.state: Json = {}
        self.ids = 0

    def target(self, subscription: Subscription) -> Targets:
        """Targets of the group's members after the step."""
        recorded = {member["member"]: flat(member["target"]) for member in self.state[subscription.group].get("members", [])}
        targets = {member: recorded.get(member, frozenset()) for member in subscription.members}
        given = [partition for target in targets.values() for partition in target]
        if len(set(given)) < len(given) or not all(number < subscription.topics.get(topic, 0) for topic, number in given):
            raise ImpossibleTargetError(f"of {subscription}: {targets}")
        return targets

    def member_id(self) -> str:
        """The next id, which counts as issued once it appears in a response."""
        return f"M{self.ids + 1}"

    def see(self, member: str) -> None:
        """Record that an id was issued."""
        self.ids += member == self.member_id()


class Replay:
    """A coordinator driven by the operations of a trace."""

    def __init__(self, config: Json) -> None:
        self.recorded = Recorded()
        self.coordinator = Coordinator(
            ConsumerGroupSettings(
                session_ms=config["consumer_session_ms"],
                heartbeat_interval_ms=config["heartbeat_interval_ms"],
                max_size=config["consumer_max_size"],
                assignors=tuple(config["assignors"]),
                retention_ms=config["offsets_retention_ms"],
                retention_check_interval_ms=config["retention_check_interval_ms"],
                topics=config["topics"],
            ),
            choose_target=self.recorded.target,
            make_member_id=self.recorded.member_id,
            order=natural,
        )

    def step(self, step: Json) -> tuple[str, object, object] | None:
        """Perform one operation; return place, expected and actual of a difference."""
        self.recorded.state = step["state"]
        outcome = self._done(step["op"])
        for answer in outcome.answers:
            if isinstance(answer.response, HeartbeatResponse):
                self.recorded.see(answer.response.member)
        expected = {
            "t_end": step["t_end"],
            "responses": [recorded_answer(answer) for answer in step["responses"]],
            "fired": [{"tie": False, **fired} for fired in step["fired"]],
            "state": {name: recorded_state(state) for name, state in step["state"].items()},
        }
        return first_difference(expected, self._shown(step["op"], outcome, step["state"]))

    def _done(self, operation: Json) -> Outcome:
        match operation["op"]:
            case "advance":
                return self.coordinator.advance(operation["ms"])
            case "set_topic":
                return self.coordinator.set_topic(operation["topic"], operation["partitions"])
            case _:
                return self.coordinator.handle(request_of(operation))

    def _shown(self, operation: Json, outcome: Outcome, groups: Collection[str]) -> Json:
        answers = list(outcome.answers)
        if operation["op"] == "set_topic":
            answers.append(TimedResponse(operation["req"], self.coordinator.now_ms, Response()))
        return {
            "t_end": self.coordinator.now_ms,
            "responses": [shown_answer(answer) for answer in answers],
            "fired": [shown_fired(fired) for fired in outcome.fired],
            "state": {name: self._state(name) for name in groups},
        }

    def _state(self, name: str) -> Json:
        group = self.coordinator.groups.get(name)
        if group is None:
            return {"state": "Absent"}
        shown = shown_group(group) if isinstance(group, ConsumerGroup) else dict(SIMPLE_GROUP)
        shown["offsets"] = {f"{topic}-{partition}": held.offset for (topic, partition), held in group.offsets.committed.items()}
        shown["timers"] = shown_timers(self.coordinator.timers, name)
        return shown


def request_of(operation: Json) -> Request:
    """The request sent by an operation."""
    return _REQUESTS[operation["op"]](operation)


_REQUESTS = {
    "consumer_heartbeat": lambda o: ConsumerHeartbeat(
        o["req"],
        o["group"],
        o["member"],
        o["epoch"],
        o["instance"],
        o.get("rack"),
        o["rebalance_ms"],
        None if o["topics"] is None else frozenset(o["topics"]),
        o["regex"],
        o["assignor"],
        None if o["owned"] is None else {topic: frozenset(numbers) for topic, numbers in o["owned"].items()},
        o.get("client", ""),
        o.get("version", 1),
    ),
    "commit": lambda o: Commit(
        o["req"],
        o["group"],
        {(each["topic"], each["partition"]): each["offset"] for each in o["offsets"]},
        o["member"],
        o["generation"],
        o["instance"],
        api_version=o.get("version", 9),
    ),
    "delete_group": lambda o: Delete(o["req"], o["group"]),
}


def recorded_answer(answer: Json) -> Json:
    """A recorded response without encoding details.

    With an error only the error counts.
    """
    kept = {"req", "t", "error"} if answer["error"] != "NONE" else answer.keys() - {"api", "error_message"}
    return {key: value for key, value in answer.items() if key in kept}


def shown_answer(answer: TimedResponse) -> Json:
    """A response of the model in the form of recordings."""
    response = answer.response
    shown: Json = {"req": answer.request_id, "t": answer.at_ms, "error": response.error.value}
    if not isinstance(response, HeartbeatResponse) or response.error is not Error.NONE:
        return shown
    return {
        **shown,
        "member": response.member,
        "member_epoch": response.epoch,
        "heartbeat_interval_ms": response.heartbeat_interval_ms,
        "assignment": None if response.assignment is None else by_topic(response.assignment),
    }


def recorded_state(state: Json) -> Json:
    """The recorded state, sorted where order has no meaning."""
    if state["state"] == "Absent":
        return state
    members = [{**member, "subscribed": sorted(member["subscribed"])} for member in state["members"]]
    return {**state, "members": sorted(members, key=lambda member: natural(member["member"])), "timers": in_order(state["timers"])}


def shown_group(group: ConsumerGroup) -> Json:
    """A group's state in the form of recordings, without offsets and timers."""
    members = sorted(group.members.values(), key=lambda member: natural(member.id))
    return {
        "state": group.state.value,
        "group_type": "consumer",
        "epoch": group.epoch,
        "assignment_epoch": group.target_epoch,
        "assignor": group.assignor,
        "members": [shown_member(group, member) for member in members],
        "static": group.static,
        "subscription_metadata": group.metadata,
        "resolved_regex": {regex: resolution.topics for regex, resolution in group.resolutions.items()},
        "targets_without_member": {member: by_topic(target) for member, target in group.targets.items() if member not in group.members},
    }


def shown_member(group: ConsumerGroup, member: Member) -> Json:
    """A member in the form of recordings."""
    return {
        "member": member.id,
        "instance": member.instance,
        "epoch": member.epoch,
        "previous_epoch": member.previous_epoch,
        "state": member.state.value,
        "assigned": by_topic(member.assigned),
        "pending_revocation": by_topic(member.pending_revocation),
        "target": by_topic(group.target(member.id)),
        "subscribed": sorted(member.topics),
        "regex": member.regex,
        "assignor": member.assignor,
        "rebalance_ms": member.rebalance_ms,
    }

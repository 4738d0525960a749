"""Replay recordings of classic coordinators (`source` "kafka VERSION classic") step by step.

Only choices that neither requests nor state determine come from the recording: the leader after the old one left, and
ties of the protocol vote. `Recorded` looks them up in the current step.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from itertools import count
from typing import Any

from models.kafka.coordinator.classic.coordinator import Coordinator
from models.kafka.coordinator.classic.group import Group, Member
from models.kafka.coordinator.protocol.errors import Error
from models.kafka.coordinator.protocol.requests import Commit, Delete, Heartbeat, Join, Leave, Leaver, Protocol, Request, Sync
from models.kafka.coordinator.protocol.responses import JoinResponse, LeaveResponse, Response, SyncResponse, TimedResponse
from models.kafka.coordinator.runtime.outcomes import Outcome, TimerFired
from models.kafka.coordinator.runtime.timers import Timers
from models.kafka.coordinator.runtime.version_policy import CoordinatorSettings, policy_for
from tests.adapters import Difference, first_difference

Json = dict[str, Any]

SOURCE = re.compile(r"kafka (\d+\.\d+\.\d+) classic")
NUMBERED = re.compile(r"M(\d+)")
TIMERS_ARE_STATE = (4, 0)
"""First version in which a satisfied heartbeat never stays queued.

Only then can waiting timers be compared.
"""


def accepts(first_line: Json) -> bool:
    """Return True for a trace of a classic coordinator."""
    return "steps" in first_line and version_of(first_line) is not None


def check(line: Json) -> Difference | None:
    """Replay a trace; return the first difference, or None."""
    replay = Replay(line)
    for number, step in enumerate(line["steps"]):
        found = replay.step(step)
        if found is not None:
            return Difference(number, *found, operation=step["op"])
    return None


def version_of(line: Json) -> str | None:
    """Version of the recorded coordinator."""
    found = SOURCE.match(str(line.get("source", "")))
    return found[1] if found and "initial_delay_ms" in line.get("config", {}) else None


def natural(member: str) -> tuple[int, int, str]:
    """Sort key of members: M2 before M10, literal ids last."""
    found = NUMBERED.fullmatch(member)
    return (0, int(found[1]), "") if found else (1, 0, member)


class Recorded:
    """Answers arbitrary choices from the recorded step."""

    def __init__(self) -> None:
        self.step: Json = {}
        self.group_of: dict[int, str] = {}

    def leader(self, group: str, generation: int, at_ms: int, candidates: Collection[str]) -> str:
        """The leader named by the next generation's joins, else by the state."""
        named = [answer["leader"] for answer in self._joins(group, at_ms) if answer["generation"] == generation + 1]
        state = self.step["state"][group].get("leader")
        return next((leader for leader in (*named[:1], state) if leader in candidates), next(iter(candidates)))

    def protocol(self, group: str, generation: int, at_ms: int, winners: Sequence[str]) -> str:
        """The protocol of joins of the new generation, else of the state, else any."""
        named = [answer["protocol"] for answer in self._joins(group, at_ms) if answer["generation"] == generation]
        state = self.step["state"][group]
        if state.get("generation") == generation:
            named.append(state["protocol"])
        return next((name for name in named if name in winners), winners[0])

    def keeps_protocol(self, group: str, generation: int, at_ms: int, winners: Sequence[str]) -> bool:  # noqa: ARG002
        """Return True if this join keeps the current generation."""
        own = self.step["op"]["req"]
        return any(answer["req"] == own and answer["generation"] == generation for answer in self._joins(group, at_ms))

    def _joins(self, group: str, at_ms: int) -> list[Json]:
        """Joins of the group that succeed in the rest of this step."""
        return [
            answer
            for answer in self.step["responses"]
            if answer["api"] == "join" and answer["error"] == "NONE" and answer["t"] >= at_ms and self.group_of.get(answer["req"]) == group
        ]


class Replay:
    """A coordinator driven by the operations of a trace."""

    def __init__(self, line: Json) -> None:
        version = version_of(line) or ""
        numbers = count(1)
        self.recorded = Recorded()
        self.coordinator = Coordinator(
            policy_for(version),
            settings_of(line["config"]),
            choices=self.recorded,
            make_member_id=lambda _: f"M{next(numbers)}",
            order=natural,
        )
        self.compares_timers = tuple(map(int, version.split(".")[:2])) >= TIMERS_ARE_STATE

    def step(self, step: Json) -> tuple[str, object, object] | None:
        """Perform one operation; return place, expected and actual of a difference."""
        self.recorded.step = step
        operation = step["op"]
        if operation["op"] == "advance":
            outcome = self.coordinator.advance(operation["ms"])
        else:
            self.recorded.group_of[operation["req"]] = operation["group"]
            outcome = self.coordinator.handle(request_of(operation))
        expected = {
            "t_end": step["t_end"],
            "responses": [recorded_answer(answer) for answer in step["responses"]],
            "fired": [{"tie": False, **fired} for fired in step["fired"]],
            "state": {name: self._comparable(state) for name, state in step["state"].items()},
        }
        return first_difference(expected, self._shown(outcome, step["state"]))

    def _shown(self, outcome: Outcome, groups: Collection[str]) -> Json:
        answers = sorted(outcome.answers, key=lambda answer: (answer.at_ms, answer.request_id))
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
        shown = shown_group(group)
        if self.compares_timers:
            shown["timers"] = shown_timers(self.coordinator.timers, name)
        return shown

    def _comparable(self, state: Json) -> Json:
        """The recorded state, sorted where order has no meaning."""
        if state["state"] == "Absent":
            return state
        wanted = {**state, "pending_join": sorted(state["pending_join"]), "pending_sync": sorted(state["pending_sync"])}
        wanted["members"] = sorted(state["members"], key=lambda member: natural(member["member"]))
        if self.compares_timers:
            wanted["timers"] = in_order(state["timers"])
        else:
            del wanted["timers"]
        return wanted


def settings_of(config: Json) -> CoordinatorSettings:
    """The broker's settings in a trace."""
    return CoordinatorSettings(
        initial_delay_ms=config["initial_delay_ms"],
        min_session_ms=config["min_session_ms"],
        max_session_ms=config["max_session_ms"],
        max_size=config["max_size"],
        new_member_join_timeout_ms=config["new_member_join_timeout_ms"],
        retention_ms=config["offsets_retention_ms"],
        retention_check_interval_ms=config["retention_check_interval_ms"],
    )


def request_of(operation: Json) -> Request:
    """The request sent by an operation."""
    return _REQUESTS[operation["op"]](operation)


_REQUESTS: dict[str, Callable[[Json], Request]] = {
    "join": lambda o: Join(
        o["req"],
        o["group"],
        o["member"],
        o["protocol_type"],
        tuple(Protocol(each["name"], bytes.fromhex(each["metadata"])) for each in o["protocols"]),
        o["session_ms"],
        o["rebalance_ms"],
        o["instance"],
        o.get("client", ""),
        require_known_member_id=o.get("require_known_member_id", False),
        supports_skip_assignment=o.get("supports_skip_assignment", False),
    ),
    "sync": lambda o: Sync(
        o["req"],
        o["group"],
        o["member"],
        o["generation"],
        {each["member"]: bytes.fromhex(each["assignment"]) for each in o["assignments"]},
        o["instance"],
        o["protocol_type"],
        o["protocol"],
    ),
    "heartbeat": lambda o: Heartbeat(o["req"], o["group"], o["member"], o["generation"], o["instance"]),
    "leave": lambda o: Leave(o["req"], o["group"], tuple(Leaver(each["member"], each["instance"]) for each in o["members"])),
    "commit": lambda o: Commit(
        o["req"],
        o["group"],
        {(each["topic"], each["partition"]): each["offset"] for each in o["offsets"]},
        o["member"],
        o["generation"],
        o["instance"],
    ),
    "delete_group": lambda o: Delete(o["req"], o["group"]),
}


def recorded_answer(answer: Json) -> Json:
    """A recorded response without encoding details.

    With an error only the error counts, and an assigned member id.
    """
    if answer["error"] != "NONE":
        kept = {"req", "t", "error"} | ({"member"} if answer["error"] == Error.MEMBER_ID_REQUIRED else set())
        return {key: value for key, value in answer.items() if key in kept}
    return {key: value for key, value in answer.items() if key != "api"}


def shown_answer(answer: TimedResponse) -> Json:
    """A response of the model in the form of recordings."""
    response = answer.response
    shown: Json = {"req": answer.request_id, "t": answer.at_ms, "error": response.error.value}
    if isinstance(response, JoinResponse) and response.error is Error.MEMBER_ID_REQUIRED:
        return {**shown, "member": response.member}
    return {**shown, **shown_fields(response)} if response.error is Error.NONE else shown


def shown_fields(response: Response) -> Json:
    """The values of a successful response, without its error."""
    if isinstance(response, JoinResponse):
        members = sorted(response.members, key=lambda member: natural(member.member))
        return {
            "member": response.member,
            "generation": response.generation,
            "protocol_type": response.protocol_type,
            "protocol": response.protocol,
            "leader": response.leader,
            "skip_assignment": response.skip_assignment,
            "members": [{"member": each.member, "instance": each.instance, "metadata": each.metadata.hex()} for each in members],
        }
    if isinstance(response, SyncResponse):
        return {"protocol_type": response.protocol_type, "protocol": response.protocol, "assignment": response.assignment.hex()}
    if isinstance(response, LeaveResponse):
        return {"members": [{"member": each.member, "instance": each.instance, "error": each.error.value} for each in response.members]}
    return {}


def shown_fired(fired: TimerFired) -> Json:
    """A fired timer in the form of recordings."""
    shown: Json = {"t": fired.at_ms, "timer": fired.kind.value, "group": fired.group, "member": fired.member, "tie": fired.is_tied}
    return {**shown, "exception": fired.fault} if fired.fault else shown


def shown_group(group: Group) -> Json:
    """A group's state in the form of recordings, without timers."""
    members = sorted(group.members.values(), key=lambda member: natural(member.id))
    return {
        "state": group.state.value,
        "generation": group.generation,
        "leader": group.leader,
        "protocol_type": group.protocol_type,
        "protocol": group.protocol,
        "members": [shown_member(member) for member in members],
        "pending_join": sorted(group.pending_join),
        "pending_sync": sorted(group.pending_sync),
        "static": group.static,
        "offsets": {f"{topic}-{partition}": held.offset for (topic, partition), held in group.offsets.committed.items()},
    }


def shown_member(member: Member) -> Json:
    """A member in the form of recordings."""
    return {
        "member": member.id,
        "instance": member.instance,
        "awaiting": "join" if member.join is not None else "sync" if member.sync is not None else None,
        "is_new": member.is_new,
        "session_ms": member.session_ms,
        "rebalance_ms": member.rebalance_ms,
        "protocols": list(member.preferences),
        "assignment": member.assignment.hex(),
    }


def shown_timers(timers: Timers, group: str) -> list[Json]:
    """The waiting timers of a group."""
    return in_order([{"timer": each.kind.value, "member": each.member or None, "at": each.at_ms} for each in timers.of_group(group)])


def in_order(timers: Sequence[Json]) -> list[Json]:
    """Sort key of timers by deadline; equal ones need any fixed order."""
    return sorted(timers, key=lambda timer: (timer["at"], timer["timer"], natural(timer["member"] or "")))

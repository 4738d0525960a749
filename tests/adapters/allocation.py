"""Recordings of allocation strategies of rocketmq-client, one call per line."""

from __future__ import annotations

from typing import Any

from models.rocketmq.strategies import ILLEGAL_ARGUMENT, NEARBY, AllocationError, AllocationStrategy, Queue, strategy_named
from tests.adapters import Difference, first_difference

Line = dict[str, Any]


def accepts(first_line: Line) -> bool:
    """Return True if the line records a call of a strategy."""
    return {"strategy", "params", "mq_all", "cid_all", "current_cid"} <= first_line.keys()


def check(line: Line) -> Difference | None:
    """Call the strategy with the recorded input; compare its result or exception."""
    actual = _called(line)
    expected = {name: line.get(name) for name in actual}
    if "error" in actual and isinstance(expected["error"], dict):
        expected["error"] = _comparable(expected["error"])
    elif "error" in line:
        expected["error"], actual["error"] = _comparable(line["error"]), None
    found = first_difference(expected, actual)
    return None if found is None else Difference(None, *found, operation={name: line[name] for name in ("strategy", "version", "params")})


def _called(line: Line) -> Line:
    try:
        strategy = _strategy(line["strategy"], line["params"])
    except AllocationError as error:
        return {"error": _error(error, "constructor")}
    try:
        result = strategy.allocate(_queues(line["mq_all"]), line["cid_all"], line["current_cid"])
    except AllocationError as error:
        return {"strategy_name": strategy.name, "error": _error(error, "allocate")}
    queues = None if result is None else [{"topic": each.topic, "broker": each.broker, "queue_id": each.queue_id} for each in result]
    return {"strategy_name": strategy.name, "result": queues}


def _strategy(name: str, params: Line) -> AllocationStrategy:
    if name == NEARBY.removesuffix("-"):
        name = NEARBY + params["inner"]
    return strategy_named(
        name,
        virtual_nodes=params.get("virtual_node_cnt", 0),
        configured=_queues(params.get("message_queue_list")),
        rooms=params.get("consumer_idcs"),
    )


def _queues(listed: list[Line] | None) -> list[Queue] | None:
    return None if listed is None else [Queue(each["topic"], each["broker"], each["queue_id"]) for each in listed]


def _error(error: AllocationError, where: str) -> Line:
    return _comparable({"type": error.java_class, "message": str(error), "where": where})


def _comparable(error: Line) -> Line:
    """Compare messages of other exceptions without names of fields.

    The JVM takes these names from the class file.
    """
    return {name: value for name, value in error.items() if name != "message" or error["type"] == ILLEGAL_ARGUMENT}

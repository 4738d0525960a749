"""Fields of requests of groups with epochs: consumer, share and streams groups.

All of them send heartbeats that join, keep or leave; members of share groups fetch and acknowledge by share partitions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

Body = Mapping[str, Any]

TOPOLOGY_STATES = {
    1: ("source_topics_missing", "Source topics ", " are missing."),
    2: ("partitions_differ", "Existing topic ", ""),
    3: ("internal_topics_missing", "Internal topics are missing: ", ""),
}
"""States of a topology by the status code that its members are told (StreamsGroupHeartbeatResponse).

With what stands before and after the topics' names (TopicConfigurationException).
"""

READY = "ready"
"""State of a topology without such a status."""


def non_negative(number: Any) -> int | None:
    """A generation or timeout, None for -1."""
    return number if isinstance(number, int) and number >= 0 else None


def first_error(response: Body, nested: str | None = None) -> int | None:
    """The error code of an answer, or the first one among its parts."""
    if "errorCode" in response and (response["errorCode"] or nested is None):
        return int(response["errorCode"])
    codes = response.get("codes")
    if codes is None:
        codes = [part.get("errorCode", 0) for part in response.get(nested or "", ()) if isinstance(part, dict)]
    if not codes:
        return response.get("errorCode")
    return next((code for code in codes if code), 0)


def member_of(request: Body) -> dict[str, Any]:
    """Group, member and generation that a request names."""
    generation = request.get("generationId", request.get("generationIdOrMemberEpoch"))
    return {
        "group": request.get("groupId"),
        "member_id": request.get("memberId") or None,
        "instance_id": request.get("groupInstanceId"),
        "generation": non_negative(generation),
    }


# -- heartbeats --------------------------------------------------------------------------------------------


def consumer_heartbeat(request: Body, response: Body) -> dict[str, Any]:
    """Fields of a ConsumerGroupHeartbeat and its answer."""
    return {
        **_heartbeat(request, response),
        "topics": request.get("subscribedTopicNames"),
        "regex": request.get("subscribedTopicRegex"),
        "assignor": request.get("serverAssignor"),
    }


def share_heartbeat(request: Body, response: Body) -> dict[str, Any]:
    """Fields of a ShareGroupHeartbeat and its answer."""
    return {**_heartbeat(request, response), "topics": request.get("subscribedTopicNames")}


def streams_heartbeat(request: Body, response: Body) -> dict[str, Any]:
    """Fields of a StreamsGroupHeartbeat and its answer."""
    topology = request.get("topology") or {}
    parts = topology.get("subtopologies") or ()
    return {
        **_heartbeat(request, response),
        "topology_epoch": topology.get("epoch"),
        "topics": sorted({topic for part in parts for topic in part["sourceTopics"]}) or None,
        **_topology_state(response),
    }


def _heartbeat(request: Body, response: Body) -> dict[str, Any]:
    return {
        "group": request.get("groupId"),
        "member_id": request.get("memberId") or response.get("memberId") or None,
        "instance_id": request.get("instanceId"),
        "member_epoch": request.get("memberEpoch"),
        "response_epoch": response.get("memberEpoch"),
        "rebalance_timeout_ms": non_negative(request.get("rebalanceTimeoutMs")),
        "error_code": first_error(response),
    }


def _topology_state(response: Body) -> dict[str, Any]:
    """State of the topology's topics, from an answer."""
    if response.get("errorCode") != 0 or (response.get("memberEpoch") or 0) <= 0:
        return {}
    for status in response.get("status") or ():
        if status["statusCode"] in TOPOLOGY_STATES:
            state, before, after = TOPOLOGY_STATES[status["statusCode"]]
            return {"topology_state": state, "detail": status["statusDetail"].removeprefix(before).removesuffix(after)}
    return {"topology_state": READY}


# -- share partitions --------------------------------------------------------------------------------------


def _share_partitions(response: Body) -> Iterator[tuple[dict[str, Any], Body]]:
    """Place and body of each share partition in an answer."""
    for topic in response.get("responses") or ():
        for partition in topic["partitions"]:
            yield {"topic_id": topic["topicId"], "partition": partition["partitionIndex"]}, partition


def share_fetch(request: Body, response: Body) -> dict[str, Any] | None:
    """Refused acknowledgements of a fetch, or its most delivered record."""
    head = member_of(request)
    worst: dict[str, Any] | None = None
    for place, partition in _share_partitions(response):
        if partition.get("acknowledgeErrorCode"):
            return {**head, **place, "error_code": partition["acknowledgeErrorCode"]}
        for batch in partition.get("acquiredRecords") or ():
            if batch["deliveryCount"] > (worst["deliveries"] if worst else 1):
                worst = {**head, **place, "offset": batch["firstOffset"], "deliveries": batch["deliveryCount"]}
    return worst


def share_acknowledge(request: Body, response: Body) -> dict[str, Any] | None:
    """Acknowledgements that were refused."""
    refused = ((place, partition) for place, partition in _share_partitions(response) if partition.get("errorCode"))
    return next(({**member_of(request), **place, "error_code": partition["errorCode"]} for place, partition in refused), None)

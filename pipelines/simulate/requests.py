"""Lines of kafka-request.log for simulated requests: text until 2.6, JSON since 2.7.

Bodies are built with the field names of JSON. In text these have underscores, and until 2.1 some differ.
"""

from __future__ import annotations

import base64
import uuid
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

import orjson

from models.kafka.coordinator.consumer.requests import ConsumerHeartbeat
from models.kafka.coordinator.consumer.responses import HeartbeatResponse
from models.kafka.coordinator.consumer.topic_partitions import by_topic
from models.kafka.coordinator.protocol.requests import Commit, Heartbeat, Join, Leave, Protocol, Request, Sync
from models.kafka.coordinator.protocol.responses import JoinedMember, JoinResponse, LeaveResponse, Response, SyncResponse
from models.kafka.coordinator.runtime.version_policy import Policy, parse_version
from models.kafka.simulation.world import ServedRequest
from parsers.catalogue.request_log import API_KEYS, ERRORS
from pipelines.simulate.wording import stamp

JSON_SINCE = (2, 7)
NEW_NAMES_SINCE = (2, 2)
INSTANCES_SINCE = (2, 3)
TYPES_SINCE = (2, 5)
CODES = {name: code for code, name in ERRORS.items()} | {"NONE": 0}
API_NAMES: Mapping[type[Request], str] = {
    Join: "JOIN_GROUP",
    Sync: "SYNC_GROUP",
    Heartbeat: "HEARTBEAT",
    Leave: "LEAVE_GROUP",
    Commit: "OFFSET_COMMIT",
    ConsumerHeartbeat: "CONSUMER_GROUP_HEARTBEAT",
}
KEYS = {name: key for key, name in API_KEYS.items()}
API_VERSIONS: Mapping[str, Sequence[tuple[str, int]]] = {
    "JOIN_GROUP": (("1.0", 2), ("2.0", 3), ("2.2", 4), ("2.3", 5), ("2.4", 6), ("2.5", 7), ("3.2", 9)),
    "SYNC_GROUP": (("1.0", 1), ("2.0", 2), ("2.3", 3), ("2.4", 4), ("2.5", 5)),
    "HEARTBEAT": (("1.0", 1), ("2.0", 2), ("2.3", 3), ("2.4", 4)),
    "LEAVE_GROUP": (("1.0", 1), ("2.0", 2), ("2.4", 4), ("3.2", 5)),
    "CONSUMER_GROUP_HEARTBEAT": (("4.0", 1),),
    "OFFSET_COMMIT": (("1.0", 3), ("2.0", 4), ("2.1", 6), ("2.3", 7), ("2.4", 8), ("4.0", 9)),
}
"""The highest version supported by both sides, by broker."""
REASON_VERSIONS = {"JOIN_GROUP": 8, "LEAVE_GROUP": 5}
BATCH_VERSION = 3
BATCH_SINCE = (2, 4)


class RequestLines:
    """Writes the requests of one version."""

    def __init__(self, policy: Policy) -> None:
        self._version = parse_version(policy.version)
        self._release = policy.version

    def line(self, served: ServedRequest) -> str:
        """The line of one request."""
        name = API_NAMES[type(served.request)]
        api_version = self._api_version(name)
        body = self._request(served.request, api_version)
        answer = self._response(served.request, served.response)
        line_of = self._json if self._version >= JSON_SINCE else self._text
        return f"[{stamp(served.at_ms)}] DEBUG Completed request:{line_of(served, name, api_version, body, answer)} (kafka.request.logger)"

    def _api_version(self, name: str) -> int:
        return max(number for since, number in API_VERSIONS[name] if parse_version(since) <= self._version)

    def _json(self, served: ServedRequest, name: str, api_version: int, body: Any, answer: Any) -> str:
        took_ms = served.at_ms - served.arrived_ms
        return orjson.dumps(
            {
                "isForwarded": False,
                "requestHeader": {
                    "requestApiKey": KEYS[name],
                    "requestApiVersion": api_version,
                    "correlationId": served.request.request_id,
                    "clientId": served.client_id,
                    "requestApiKeyName": name,
                },
                "request": body,
                "response": answer,
                "connection": f"10.0.0.{served.node}:9092-10.0.1.1:40000-1",
                "totalTimeMs": took_ms + 0.4,
                "requestQueueTimeMs": 0.1,
                "localTimeMs": 0.2,
                "remoteTimeMs": float(took_ms),
                "throttleTimeMs": 0,
                "responseQueueTimeMs": 0.05,
                "sendTimeMs": 0.05,
                "securityProtocol": "PLAINTEXT",
                "principal": "User:ANONYMOUS",
                "listener": "PLAINTEXT",
                "clientInformation": {"softwareName": "apache-kafka-java", "softwareVersion": self._release},
            }
        ).decode()

    def _text(self, served: ServedRequest, name: str, api_version: int, body: Any, answer: Any) -> str:
        took_ms = served.at_ms - served.arrived_ms
        return (
            f"RequestHeader(apiKey={name}, apiVersion={api_version}, clientId={served.client_id}, "
            f"correlationId={served.request.request_id}) -- {struct_text(body)},response:{struct_text(answer)} "
            f"from connection 10.0.0.{served.node}:9092-10.0.1.1:40000-1;totalTime:{took_ms + 0.4:.3f},requestQueueTime:0.1,localTime:0.2,"
            f"remoteTime:{took_ms:.3f},throttleTime:0.0,responseQueueTime:0.05,sendTime:0.05,securityProtocol:PLAINTEXT,"
            "principal:User:ANONYMOUS,listener:PLAINTEXT"
        )

    def _named(self, what: str, fields: Mapping[str, Any]) -> dict[str, Any]:
        """Fields with the names of the version.

        `what` selects the old names.
        """
        if self._version >= JSON_SINCE:
            return dict(fields)
        old = _OLD.get(what, {}) if self._version < NEW_NAMES_SINCE else {}
        return {old.get(key) or _snake(key): value for key, value in fields.items()}

    def _request(self, request: Request, api_version: int) -> dict[str, Any]:
        fields: dict[str, Any] = {"groupId": request.group}
        if isinstance(request, Join):
            fields |= {"sessionTimeoutMs": request.session_ms, "rebalanceTimeoutMs": request.rebalance_ms, "memberId": request.member}
            fields |= {**self._instance(request.instance), "protocolType": request.protocol_type}
            fields["protocols"] = [self._protocol(protocol) for protocol in request.protocols]
            fields |= {"reason": request.reason} if api_version >= REASON_VERSIONS["JOIN_GROUP"] else {}
        elif isinstance(request, ConsumerHeartbeat):
            fields |= heartbeat_fields(request)
        elif isinstance(request, Leave):
            fields |= self._leavers(request, api_version)
        else:
            request = cast("Sync | Heartbeat | Commit", request)
            fields |= {"generationId": request.generation, "memberId": request.member, **self._instance(request.instance)}
        if isinstance(request, Sync):
            types = self._version >= TYPES_SINCE
            fields |= {"protocolType": request.protocol_type, "protocolName": request.protocol} if types else {}
            fields["assignments"] = [
                self._named("assignment", {"memberId": member, "assignment": self._packed(packed)})
                for member, packed in request.assignments.items()
            ]
        elif isinstance(request, Commit):
            fields |= {"retentionTimeMs": -1} if self._version < NEW_NAMES_SINCE else {}
            fields["topics"] = self._topics(request)
        return self._named("request", fields)

    def _leavers(self, request: Leave, api_version: int) -> dict[str, Any]:
        if api_version < BATCH_VERSION:
            return {"memberId": request.members[0].member}
        reasons = api_version >= REASON_VERSIONS["LEAVE_GROUP"]
        return {
            "members": [
                self._named(
                    "member",
                    {"memberId": member.member, "groupInstanceId": member.instance, **({"reason": member.reason} if reasons else {})},
                )
                for member in request.members
            ]
        }

    def _topics(self, request: Commit) -> list[dict[str, Any]]:
        topics: dict[str, list[dict[str, Any]]] = {}
        for (topic, number), offset in request.offsets.items():
            place = {"partitionIndex": number, "committedOffset": offset, "committedMetadata": ""}
            topics.setdefault(topic, []).append(self._named("place", place))
        return [self._named("topic", {"name": topic, "partitions": partitions}) for topic, partitions in topics.items()]

    def _response(self, request: Request, response: Response) -> dict[str, Any]:
        fields: dict[str, Any] = {"throttleTimeMs": 0, "errorCode": CODES[response.error.value]}
        if isinstance(response, JoinResponse):
            fields |= {"generationId": response.generation}
            fields |= {"protocolType": response.protocol_type} if self._version >= TYPES_SINCE else {}
            fields |= {"protocolName": response.protocol or "", "leader": response.leader or "", "memberId": response.member}
            fields["members"] = [self._joined(member) for member in response.members]
        elif isinstance(response, HeartbeatResponse):
            given = None if response.assignment is None else {"topicPartitions": topic_partitions(by_topic(response.assignment))}
            fields |= {"errorMessage": None, "memberId": response.member or None, "memberEpoch": response.epoch}
            fields |= {"heartbeatIntervalMs": response.heartbeat_interval_ms, "assignment": given}
        elif isinstance(response, SyncResponse):
            fields["assignment"] = self._packed(response.assignment)
        elif isinstance(response, LeaveResponse) and self._version < BATCH_SINCE:  # one member, whose error is the answer's
            fields["errorCode"] = next((CODES[member.error.value] for member in response.members), fields["errorCode"])
        elif isinstance(response, LeaveResponse):
            fields["members"] = [
                self._named(
                    "member", {"memberId": member.member, "groupInstanceId": member.instance, "errorCode": CODES[member.error.value]}
                )
                for member in response.members
            ]
        elif isinstance(request, Commit):
            code = fields.pop("errorCode")
            fields["topics"] = [
                self._named("topic", {"name": topic, "partitions": [self._named("place", {"partitionIndex": number, "errorCode": code})]})
                for topic, number in request.offsets
            ]
        return self._named("response", fields)

    def _joined(self, member: JoinedMember) -> dict[str, Any]:
        instance = self._instance(member.instance)
        return self._named("member", {"memberId": member.member, **instance, "metadata": self._packed(member.metadata)})

    def _instance(self, instance: str | None) -> dict[str, Any]:
        return {"groupInstanceId": instance} if self._version >= INSTANCES_SINCE else {}

    def _protocol(self, protocol: Protocol) -> dict[str, Any]:
        return self._named("protocol", {"name": protocol.name, "metadata": self._packed(protocol.metadata)})

    def _packed(self, data: bytes) -> str:
        if self._version >= JSON_SINCE:
            return base64.b64encode(data).decode()
        return f"java.nio.HeapByteBuffer[pos=0 lim={len(data)} cap={len(data)}]"


_OLD: Mapping[str, Mapping[str, str]] = {
    "request": {
        "sessionTimeoutMs": "session_timeout",
        "rebalanceTimeoutMs": "rebalance_timeout",
        "protocols": "group_protocols",
        "assignments": "group_assignment",
        "retentionTimeMs": "retention_time",
    },
    "response": {"protocolName": "group_protocol", "leader": "leader_id", "assignment": "member_assignment", "topics": "responses"},
    "protocol": {"name": "protocol_name", "metadata": "protocol_metadata"},
    "member": {"metadata": "member_metadata"},
    "assignment": {"assignment": "member_assignment"},
    "topic": {"name": "topic"},
    "place": {"partitionIndex": "partition", "committedOffset": "offset", "committedMetadata": "metadata"},
}
"""Names of fields that differed before bodies were generated."""


def heartbeat_fields(request: ConsumerHeartbeat) -> dict[str, Any]:
    """The fields of ConsumerGroupHeartbeat without the group."""
    return {
        "memberId": request.member,
        "memberEpoch": request.epoch,
        "instanceId": request.instance,
        "rackId": request.rack,
        "rebalanceTimeoutMs": request.rebalance_ms,
        "subscribedTopicNames": None if request.topics is None else sorted(request.topics),
        "subscribedTopicRegex": request.regex,
        "serverAssignor": request.assignor,
        "topicPartitions": None if request.owned is None else topic_partitions(request.owned),
    }


def topic_partitions(by_topic: Mapping[str, Iterable[int]]) -> list[dict[str, Any]]:
    """Partitions by topic id; ids are derived from names."""
    return [{"topicId": topic_id(topic), "partitions": sorted(numbers)} for topic, numbers in sorted(by_topic.items())]


def topic_id(topic: str) -> str:
    """The id of a topic, always the same for one name (Uuid.java)."""
    return base64.urlsafe_b64encode(uuid.uuid5(uuid.NAMESPACE_OID, topic).bytes).decode().rstrip("=")


def _snake(name: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name)


def struct_text(value: Any) -> str:
    """A body in the format of Struct.toString."""
    if isinstance(value, dict):
        return "{" + ",".join(f"{key}={struct_text(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(struct_text, value)) + "]"
    return "null" if value is None else str(value)

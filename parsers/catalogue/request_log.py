"""Lines of kafka-request.log: request, answer and duration.

A line is one answered request, written when the answer was sent (DEBUG), or one request at its arrival (TRACE). Bodies
are text up to 2.7, JSON later. Only the APIs of groups are read; all others are recognised by their key at the start of
the line and skipped without parsing.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import orjson

from parsers.catalogue.request_bodies import Bodies, topics_in_metadata
from parsers.catalogue.request_epochs import (
    Body,
    consumer_heartbeat,
    first_error,
    member_of,
    non_negative,
    share_acknowledge,
    share_fetch,
    share_heartbeat,
    streams_heartbeat,
)
from parsers.catalogue.slots import INT32, INT64, NO, SPANS_MS, SlotType

API_KEYS = {
    8: "OFFSET_COMMIT",
    10: "FIND_COORDINATOR",
    11: "JOIN_GROUP",
    12: "HEARTBEAT",
    13: "LEAVE_GROUP",
    14: "SYNC_GROUP",
    42: "DELETE_GROUPS",
    68: "CONSUMER_GROUP_HEARTBEAT",
    76: "SHARE_GROUP_HEARTBEAT",
    88: "STREAMS_GROUP_HEARTBEAT",
}
"""APIs that are read, by their number in the protocol (ApiKeys.java)."""

_OF_RECORDS = {78: "SHARE_FETCH", 79: "SHARE_ACKNOWLEDGE"}
"""APIs about records; only requests with trouble are read.

Their bodies are always JSON.
"""
_JSON_APIS = {**API_KEYS, **_OF_RECORDS}

_OLD_NAMES = {"GROUP_COORDINATOR": "FIND_COORDINATOR"}
_APIS = frozenset(API_KEYS.values())

ERRORS = {
    -1: "UNKNOWN_SERVER_ERROR",
    3: "UNKNOWN_TOPIC_OR_PARTITION",
    5: "LEADER_NOT_AVAILABLE",
    6: "NOT_LEADER_OR_FOLLOWER",
    7: "REQUEST_TIMED_OUT",
    12: "OFFSET_METADATA_TOO_LARGE",
    14: "COORDINATOR_LOAD_IN_PROGRESS",
    15: "COORDINATOR_NOT_AVAILABLE",
    16: "NOT_COORDINATOR",
    22: "ILLEGAL_GENERATION",
    23: "INCONSISTENT_GROUP_PROTOCOL",
    24: "INVALID_GROUP_ID",
    25: "UNKNOWN_MEMBER_ID",
    26: "INVALID_SESSION_TIMEOUT",
    27: "REBALANCE_IN_PROGRESS",
    28: "INVALID_COMMIT_OFFSET_SIZE",
    29: "TOPIC_AUTHORIZATION_FAILED",
    30: "GROUP_AUTHORIZATION_FAILED",
    35: "UNSUPPORTED_VERSION",
    42: "INVALID_REQUEST",
    68: "NON_EMPTY_GROUP",
    69: "GROUP_ID_NOT_FOUND",
    79: "MEMBER_ID_REQUIRED",
    81: "GROUP_MAX_SIZE_REACHED",
    82: "FENCED_INSTANCE_ID",
    110: "FENCED_MEMBER_EPOCH",
    111: "UNRELEASED_INSTANCE_ID",
    112: "UNSUPPORTED_ASSIGNOR",
    113: "STALE_MEMBER_EPOCH",
    121: "INVALID_RECORD_STATE",
    128: "INVALID_REGULAR_EXPRESSION",
    130: "STREAMS_INVALID_TOPOLOGY",
    131: "STREAMS_INVALID_TOPOLOGY_EPOCH",
    132: "STREAMS_TOPOLOGY_FENCED",
}
"""Names of error codes in answers to group requests (Errors.java)."""

_COMPLETED = "Completed request:"
_JSON_KEY = re.compile(r'\{"isForwarded":(?:true|false),"requestHeader":\{"requestApiKey":(\d{1,4}),')
_RECEIVED = re.compile(r"Processor \d{1,9} received request: ")
_HEADER = re.compile(r"RequestHeader\(apiKey=(\w+), apiVersion=(\d{1,4}), clientId=")
_HEADER_END = re.compile(r", correlationId=(-?\d{1,10})(?:, headerVersion=\d{1,3})?\) -- ")
_OLD_HEADER = re.compile(r"\{api_key=(\d{1,4}),api_version=(\d{1,4}),correlation_id=(-?\d{1,10}),client_id=")
_TAIL = re.compile(
    r" from connection (\S*);totalTime:#,requestQueueTime:#,localTime:#,remoteTime:#,"
    r"(?:throttleTime:#,)?responseQueueTime:#,sendTime:#,securityProtocol:".replace("#", r"(\d{1,12}(?:\.\d{1,9})?)")
)
_NOT_A_GROUP = re.compile(r'(?:"keyType":|keyType=|coordinator_type=)[1-9]')
_TIMES = ("total_ms", "request_queue_ms", "local_ms", "remote_ms", "throttle_ms", "response_queue_ms", "send_ms")
_NAMES_IN_JSON = ("totalTimeMs", "requestQueueTimeMs", "localTimeMs", "remoteTimeMs", "throttleTimeMs", "responseQueueTimeMs", "sendTimeMs")
_TIMES_IN_JSON = tuple(zip(_TIMES, _NAMES_IN_JSON, strict=True))
_CONNECTION = re.compile(r"(?P<here>\S*):\d{1,5}-(?P<there>\S*):\d{1,5}-\d+(?:-\d+)?")

RequestFields = tuple[str, dict[str, Any]]


class Requests:
    """Reads the lines of the request log."""

    def __init__(self, bodies: Bodies) -> None:
        self._bodies = bodies

    def read(self, head: str) -> RequestFields | None:
        """Return message id and fields of a line.

        None for other APIs and for unreadable bodies.
        """
        if head.startswith(_COMPLETED):
            at, received = len(_COMPLETED), False
        else:
            arrived = _RECEIVED.match(head)
            if arrived is None:
                return None
            at, received = arrived.end(), True
        if head.startswith('{"', at):
            return self._json(head, at, received)
        return self._text(head, at, received)

    def is_unread(self, head: str) -> bool:
        """Return True for a group request that `read` cannot read.

        It is damaged or has an unknown form.
        """
        api = self._api(head)
        transactional = api == "FIND_COORDINATOR" and _NOT_A_GROUP.search(head) is not None
        return api is not None and not transactional and self.read(head) is None

    @staticmethod
    def _api(head: str) -> str | None:
        """The group request named in a line's header, if any."""
        begun = _RECEIVED.match(head)
        at = len(_COMPLETED) if head.startswith(_COMPLETED) else begun.end() if begun else -1
        if at < 0:
            return None
        if named := _HEADER.match(head, at):
            api = _OLD_NAMES.get(named[1], named[1])
            return api if api in _APIS else None
        key = _JSON_KEY.match(head, at) or _OLD_HEADER.match(head, at)
        return API_KEYS.get(int(key[1])) if key else None

    # -- JSON ----------------------------------------------------------------------------------------------

    @staticmethod
    def _json(head: str, at: int, is_received: bool) -> RequestFields | None:
        key = _JSON_KEY.match(head, at)
        if key is not None and (int(key[1]) not in _JSON_APIS or (is_received and int(key[1]) in _OF_RECORDS)):
            return None
        try:
            line = orjson.loads(head[at:])
            header, request = line["requestHeader"], line["request"]
            api = _JSON_APIS[header["requestApiKey"]]
        except (orjson.JSONDecodeError, KeyError, TypeError):
            return None
        response = line.get("response")
        if not isinstance(request, dict) or not (is_received or isinstance(response, dict)):
            return None
        values: dict[str, Any] = {
            "client_id": header.get("clientId"),
            "api_version": header.get("requestApiVersion"),
            "correlation_id": header.get("correlationId"),
        }
        if not is_received:
            values["connection"] = line.get("connection")
            for name, source in _TIMES_IN_JSON:
                values[name] = line.get(source)
        return understand(api, request, response or {}, values, is_received)

    # -- text ----------------------------------------------------------------------------------------------

    def _text(self, head: str, at: int, is_received: bool) -> RequestFields | None:
        opened = _HEADER.match(head, at)
        if opened is not None:
            api = _OLD_NAMES.get(opened[1], opened[1])
            if api not in _APIS:
                return None
            closed = _only(_HEADER_END, head, opened.end())
            if closed is None:
                return None
            client, correlation, body = head[opened.end() : closed.start()], closed[1], closed.end()
        else:
            opened = _OLD_HEADER.match(head, at)
            if opened is None or int(opened[1]) not in API_KEYS:
                return None
            api, correlation = API_KEYS[int(opened[1])], opened[3]
            end = head.find("} -- ", opened.end())
            if end < 0 or head.find("} -- ", end + 1) >= 0:
                return None
            client, body = head[opened.end() : end], end + 5
        values: dict[str, Any] = {"client_id": client, "api_version": int(opened[2]), "correlation_id": int(correlation)}
        if is_received:
            request = self._bodies.read(api, "request", head[body:])
            return None if request is None else understand(api, request, {}, values, is_received)
        return self._completed_text(api, head, body, values)

    def _completed_text(self, api: str, head: str, body: int, values: dict[str, Any]) -> RequestFields | None:
        begin = head.rfind(" from connection ")
        tail = _TAIL.match(head, begin) if begin >= 0 else None
        if tail is None:
            return None
        values["connection"] = tail[1]
        for name, number in zip(_TIMES, tail.groups()[1:], strict=True):
            if number is not None:
                values[name] = float(number)
        split = head.find(",response:", body, begin)
        if split >= 0 and head.find(",response:", split + 1, begin) >= 0:
            return None
        request = self._bodies.read(api, "request", head[body : split if split >= 0 else begin])
        if request is None:
            return None
        response = self._bodies.read(api, "response", head[split + 10 : begin]) if split >= 0 else None
        return understand(api, request, response or {}, values, is_received=False)

    # -- bodies in client lines ----------------------------------------------------------------------------

    def slot_types(self) -> dict[str, SlotType]:
        """Slot types for bodies in lines of clients."""
        return {
            "join_body": _body_type(self._join_sent, _JOIN_SENT),
            "join_answer": _body_type(self._join_answered, _JOIN_ANSWERED),
            "sync_body": _body_type(self._sync_sent, _SYNC_SENT),
        }

    def _join_sent(self, text: str) -> dict[str, Any] | None:
        """A JoinGroup printed by a client before sending."""
        body = self._bodies.read("JOIN_GROUP", "request", text)
        if body is None:
            return None
        values = _joining(body)
        values.pop("protocol_type")
        values["protocols"] = [protocol["name"] for protocol in body["protocols"]]
        return {"member_id": body.get("memberId") or None, **values}

    def _join_answered(self, text: str) -> dict[str, Any] | None:
        """The answer to JoinGroup printed by a client."""
        body = self._bodies.read("JOIN_GROUP", "response", text)
        if body is None:
            return None
        return {
            "member_id": body.get("memberId"),
            "generation": non_negative(body.get("generationId")),
            "protocol": body.get("protocolName"),
            "leader_id": body.get("leader"),
        }

    def _sync_sent(self, text: str) -> dict[str, Any] | None:
        """A SyncGroup printed by a client before sending."""
        body = self._bodies.read("SYNC_GROUP", "request", text)
        return None if body is None else {"member_id": body.get("memberId"), "generation": non_negative(body.get("generationId"))}


_JOIN_SENT = ("instance_id", "session_timeout_ms", "rebalance_timeout_ms", "protocols", "topics", "reason", "member_id")
_JOIN_ANSWERED = ("member_id", "generation", "protocol", "leader_id")
_SYNC_SENT = ("member_id", "generation")


def _body_type(read: Callable[[str], dict[str, Any] | None], names: tuple[str, ...]) -> SlotType:
    def parse(text: str) -> Any:
        values = read(text)
        return NO if values is None else values

    return SlotType(r".*", parse, str, is_spaced=True, several=names)


def _only(pattern: re.Pattern[str], text: str, at: int) -> re.Match[str] | None:
    """The only match from `at` on, None if there is none or several."""
    match = pattern.search(text, at)
    return match if match is not None and pattern.search(text, match.start() + 1) is None else None


def _joining(request: Body) -> dict[str, Any]:
    protocols = request.get("protocols") or []
    topics = topics_in_metadata(protocols) if request.get("protocolType") == "consumer" else None
    return {
        "instance_id": request.get("groupInstanceId"),
        "session_timeout_ms": request.get("sessionTimeoutMs"),
        "rebalance_timeout_ms": request.get("rebalanceTimeoutMs"),
        "protocol_type": request.get("protocolType"),
        "protocols": [protocol["name"] for protocol in protocols],
        "topics": topics,
        "reason": request.get("reason") or None,
    }


def _join(request: Body, response: Body) -> dict[str, Any]:
    asked_as = request.get("memberId") or None
    members = [member["memberId"] if isinstance(member, dict) else member for member in response.get("members") or ()]
    return {
        "group": request.get("groupId"),
        **_joining(request),
        "request_member_id": asked_as,
        "member_id": response.get("memberId") or asked_as,
        "error_code": first_error(response),
        "response_generation": non_negative(response.get("generationId")),
        "protocol": response.get("protocolName") or None,
        "leader_id": response.get("leader") or None,
        "members": members or None,
    }


def _sync(request: Body, response: Body) -> dict[str, Any]:
    assignments = request.get("assignments") or []
    members = [entry["memberId"] if isinstance(entry, dict) else entry for entry in assignments]
    return {**member_of(request), "error_code": first_error(response), "by_leader": bool(assignments), "assigned_members": members or None}


def _heartbeat(request: Body, response: Body) -> dict[str, Any]:
    return {**member_of(request), "error_code": first_error(response)}


def _leave(request: Body, response: Body) -> dict[str, Any]:
    members = request.get("members") or ([{"memberId": request["memberId"]}] if request.get("memberId") else [])
    only = members[0] if len(members) == 1 else {}
    return {
        "group": request.get("groupId"),
        "member_id": only.get("memberId") or None,
        "instance_id": only.get("groupInstanceId"),
        "members": [member.get("memberId") or member.get("groupInstanceId") or "" for member in members],
        "reason": next((member["reason"] for member in members if member.get("reason")), None),
        "error_code": first_error(response, "members"),
    }


def _commit(request: Body, response: Body) -> dict[str, Any]:
    codes = response.get("codes")
    if codes is None and "topics" in response:
        codes = [part.get("errorCode", 0) for topic in response["topics"] for part in topic.get("partitions", ())]
    topics = [topic["name"] for topic in request.get("topics") or () if topic.get("name")]
    return {**member_of(request), "topics": topics, "error_code": first_error({"codes": codes}) if codes else None}


def _find(request: Body, response: Body) -> dict[str, Any] | None:
    if request.get("keyType", 0) != 0:
        return None
    keys = request.get("coordinatorKeys") or [request.get("key")]
    answers = response.get("coordinators") or [response]
    answer = answers[0] if len(answers) == 1 else {}
    known = answer.get("host") and answer.get("port", -1) >= 0
    return {
        "group": keys[0] if len(keys) == 1 else None,
        "node": str(answer["nodeId"]) if known else None,
        "coordinator": f"{answer['host']}:{answer['port']}" if known else None,
        "error_code": first_error(answer) if answer else None,
    }


def _delete(request: Body, response: Body) -> dict[str, Any]:
    return {"groups": request.get("groupsNames"), "error_code": first_error(response, "results")}


READERS: dict[str, tuple[str, Callable[[Body, Body], dict[str, Any] | None]]] = {
    "JOIN_GROUP": ("kafka.request.join_group_completed", _join),
    "SYNC_GROUP": ("kafka.request.sync_group_completed", _sync),
    "HEARTBEAT": ("kafka.request.heartbeat_completed", _heartbeat),
    "LEAVE_GROUP": ("kafka.request.leave_group_completed", _leave),
    "OFFSET_COMMIT": ("kafka.request.offset_commit_completed", _commit),
    "FIND_COORDINATOR": ("kafka.request.find_coordinator_completed", _find),
    "CONSUMER_GROUP_HEARTBEAT": ("kafka.request.consumer_group_heartbeat_completed", consumer_heartbeat),
    "SHARE_GROUP_HEARTBEAT": ("kafka.request.share_group_heartbeat_completed", share_heartbeat),
    "STREAMS_GROUP_HEARTBEAT": ("kafka.request.streams_group_heartbeat_completed", streams_heartbeat),
    "DELETE_GROUPS": ("kafka.request.delete_groups_completed", _delete),
    "SHARE_FETCH": ("kafka.request.share_fetch_completed", share_fetch),
    "SHARE_ACKNOWLEDGE": ("kafka.request.share_acknowledge_completed", share_acknowledge),
}
_RECEIVED_FIELDS = frozenset(
    {"group", "client_id", "member_id", "instance_id", "generation", "api_version", "correlation_id", "request_member_id"}
    | {"session_timeout_ms", "rebalance_timeout_ms", "protocol_type", "protocols", "topics", "reason", "member_epoch"}
)


_NUMBERS = frozenset(
    {"generation", "response_generation", "member_epoch", "response_epoch", "error_code", "api_version", "correlation_id"}
    | {"session_timeout_ms", "rebalance_timeout_ms", "partition", "deliveries", "topology_epoch"}
)
_LISTS = frozenset({"protocols", "topics", "members", "assigned_members", "groups"})
_LIMITS = {
    **dict.fromkeys(_NUMBERS, ((int,), INT32[0], INT32[-1])),
    **dict.fromkeys(_TIMES, ((int, float), 0, SPANS_MS.stop)),
    "offset": ((int,), 0, INT64[-1]),
}
"""Types, least and largest value of each number."""


def _merged(*parts: dict[str, Any]) -> dict[str, Any] | None:
    """All fields with a value; None if the protocol does not allow one.

    JSON from another source may contain anything.
    """
    merged = {}
    for part in parts:
        for name, value in part.items():
            if value is None:
                continue
            if name in _LIMITS:
                kinds, least, largest = _LIMITS[name]
                if type(value) not in kinds or not least <= value <= largest:
                    return None
            elif name in _LISTS:
                if type(value) is not list or not all(isinstance(item, str) for item in value):
                    return None
            elif type(value) is not str and name != "by_leader":
                return None
            merged[name] = value
    return merged


def understand(api: str, request: Body, response: Body, values: dict[str, Any], is_received: bool) -> RequestFields | None:
    """Fields of an event from request and answer, in any printed form.

    Absent fields are omitted.
    """
    message_id, reader = READERS[api]
    try:
        read = reader(request, response)
    except (AttributeError, KeyError, OverflowError, TypeError, ValueError):
        return None  # JSON of another shape, not printed by a broker
    merged = None if read is None else _merged(values, read)
    if merged is None:
        return None
    code = merged.get("error_code")
    if code:
        merged["error"] = ERRORS.get(code, f"ERROR_{code}")
    connection = merged.get("connection")
    if connection is not None and (host := _host_in(connection)) is not None:
        merged["client_host"] = host
    if is_received:
        merged = {name: value for name, value in merged.items() if name in _RECEIVED_FIELDS}
        return "kafka.request.received", {**merged, "api": api}
    return message_id, merged


@lru_cache(maxsize=1024)
def _host_in(connection: str) -> str | None:
    """The client's host in the name of a connection."""
    where = _CONNECTION.fullmatch(connection)
    return where["there"] if where is not None else None

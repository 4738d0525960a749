"""The errors that the coordinator of consumer groups answers with, named as in Kafka's `Errors`."""

from __future__ import annotations

from enum import StrEnum


class Error(StrEnum):
    """Names of org.apache.kafka.common.protocol.Errors."""

    NONE = "NONE"
    FENCED_INSTANCE_ID = "FENCED_INSTANCE_ID"
    FENCED_MEMBER_EPOCH = "FENCED_MEMBER_EPOCH"
    GROUP_ID_NOT_FOUND = "GROUP_ID_NOT_FOUND"
    GROUP_MAX_SIZE_REACHED = "GROUP_MAX_SIZE_REACHED"
    INVALID_REGULAR_EXPRESSION = "INVALID_REGULAR_EXPRESSION"
    INVALID_REQUEST = "INVALID_REQUEST"
    NON_EMPTY_GROUP = "NON_EMPTY_GROUP"
    STALE_MEMBER_EPOCH = "STALE_MEMBER_EPOCH"
    UNKNOWN_MEMBER_ID = "UNKNOWN_MEMBER_ID"
    UNRELEASED_INSTANCE_ID = "UNRELEASED_INSTANCE_ID"
    UNSUPPORTED_ASSIGNOR = "UNSUPPORTED_ASSIGNOR"
    UNSUPPORTED_VERSION = "UNSUPPORTED_VERSION"


class Refusal(Exception):
    """A request is refused; nothing that it asked for has been done."""

    def __init__(self, error: Error) -> None:
        super().__init__(error.value)
        self.error = error

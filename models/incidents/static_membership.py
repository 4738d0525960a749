"""Members that may be static, that is, have a group.instance.id (KIP-345)."""

from __future__ import annotations

CONSUMER_TYPES = frozenset({None, "consumer"})
"""Protocol types of groups of consumers.

None is unknown, and nearly always theirs. Connect's workers have another.
"""

_PROTOCOLS = frozenset({"classic", "consumer"})
"""Protocols whose members' instance ids a user can set."""


def is_of_consumers(protocol_type: str | None) -> bool:
    """Whether a group's members are consumers, as far as is known."""
    return protocol_type in CONSUMER_TYPES


def may_be_static(protocol_type: str | None, protocol: str | None) -> bool:
    """Whether members of a group can be given a group.instance.id."""
    return is_of_consumers(protocol_type) and protocol in _PROTOCOLS

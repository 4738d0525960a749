"""What the coordinator's line "Preparing to rebalance" says of its reason."""

from __future__ import annotations

from models.events import Event, names_field, text_field
from models.kafka.observations.actions import ActionKind, MemberAction


def reason_id_in(line: Event | None) -> str | None:
    """Id of the reason in the coordinator's line."""
    return text_field(line, "reason_id") if line is not None else None


def reason_in(line: Event | None) -> str | None:
    """The coordinator's reason, in its own words."""
    return text_field(line, "reason") if line is not None else None


def listed_actions(kind: ActionKind, line: Event) -> list[MemberAction]:
    """Members that the line's reason lists, as actions at the start."""
    return [MemberAction(kind, line.time_us, member, None, None, None, None, line) for member in names_field(line, "reason_members")]


_KINDS = {"new_member": ActionKind.JOIN, "leave": ActionKind.LEAVE, "heartbeat_expiration": ActionKind.EXPIRE}


def named_action(line: Event) -> MemberAction | None:
    """The member that the line's reason names, as an action at the start."""
    member_id = text_field(line, "reason_member_id")
    if member_id is None:
        return None
    kind, instance = _KINDS.get(reason_id_in(line) or "", ActionKind.REJOIN), text_field(line, "reason_instance_id")
    return MemberAction(kind, line.time_us, member_id, None, instance, text_field(line, "client_reason"), None, line)

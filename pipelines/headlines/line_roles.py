"""Words for the roles of lines in rebalances."""

from __future__ import annotations

from collections.abc import Mapping

from models.incidents.line_placement import LineRole, RoleReason, RowReason
from pipelines.headlines.phrases import cause_words

ROLE_WORDS: Mapping[RoleReason, str] = {
    RoleReason.STATIC_RETURN: (
        "a static member came back within its session timeout, unchanged, so that nobody had to rebalance (KIP-345)"
    ),
    RoleReason.STATIC_TAKEOVER: (
        "a static member came back within its session timeout and took its place; no rebalance followed (KIP-345)"
    ),
    RoleReason.NO_REBALANCE_THEN: "no rebalance of {group} was going on then",
    RoleReason.NO_GROUP: "it names no group, and no rebalance that followed rests on it",
    RoleReason.NO_KNOWN_LINE: "no line before it is one that groupscope knows",
    RoleReason.UNKNOWN_MEANING: "what it says is not known",
    RoleReason.ANNOUNCEMENT: "the coordinator says that it begins, and why",
    RoleReason.REJOIN_OF_REBALANCING: "the member rejoins because the group is rebalancing already",
    RoleReason.OWN_JOIN: "this member's join is what it is about",
    RoleReason.ANSWER: "the member answers the rebalance",
    RoleReason.OWN_ACTION: "this member's act is what it is about",
    RoleReason.COORDINATOR_REACTION: "it is what made the coordinator act",
    RoleReason.ACTION_OF_ANOTHER: "another member's act is what it is about",
    RoleReason.CONSEQUENCE: "it follows from the rebalance",
    RoleReason.BROKER_EVENT: "it stands before {group}'s rebalance{and_more}, behind which is {cause}",
}
ROW_WORDS: Mapping[RowReason, str] = {
    RowReason.EVIDENCE: "its verdict stands on this line",
    RowReason.GENERATION: "it speaks of generation {generation}",
    RowReason.JUST_BEFORE: "it stands just before the rebalance begins",
    RowReason.TIME: "it stands in its time",
    RowReason.HEARD_LATER: "the member hears only now that its group went on without it",
}


def role_reason(role: LineRole) -> str:
    """One clause with the reason for a line's role."""
    others = role.following_count - 1
    and_more = f", and {others} more" if others > 0 else ""
    words = ROLE_WORDS[role.reason].format(group=role.group, and_more=and_more, cause=cause_words(str(role.cause)))
    return words if role.row_reason is None else f"{words}; {ROW_WORDS[role.row_reason].format(generation=role.generation)}"

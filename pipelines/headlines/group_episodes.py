"""Headlines about rebalances of Kafka groups."""

from __future__ import annotations

from dashboards.wording.durations import duration
from models.incidents.headline_facts import (
    ActionsTogether,
    BriefMembers,
    EmptinessFacts,
    EndlessWait,
    EpisodeFacts,
    EpisodeStory,
    FrequentCause,
    HeldUp,
    MemberActions,
    Migration,
    NamedMember,
    PauseVictims,
    RejoinRequest,
    TurnRestarts,
)
from pipelines.headlines.phrases import cause_words, counted, first_names, often

GROUP_ACTION_WORDS = {
    "session_timeout": "missed its session timeout",
    "poll_timeout": "exceeded its poll interval",
    "rebalance_timeout": "did not rejoin in time",
    "sync_timeout": "never sent SyncGroup",
    "member_leave": "left",
    "member_join": "joined",
    "member_restart": "restarted",
    "new_group": "started the group",
    "subscription_change": "changed its subscription",
    "metadata_change": "saw topics change",
    "assignor_change": "came back with another assignor",
    "cooperative_followup": "gave up partitions",
    "admin_removal": "was removed by an administrator",
    "static_member_replaced": "came back under a new member id",
}
"""Action of a member, by cause."""

CAUSE_WORDS = {
    "over_capacity": "it has more members than group.max.size allows, and had to let some go",
    "assignment_store_failed": "its coordinator could not store the assignment",
}
"""Events of a group in which no member is named."""

MISSING_NAMED_MAX = 3
"""Members named that a roll-out lost."""

QUOTED_MAX = 80
"""Characters quoted of what a client wrote."""


def episode(facts: EpisodeFacts) -> str:
    """Count, time, downtime, and who caused it."""
    count = counted(facts.rebalance_count, "rebalance")
    span = f" in {duration(facts.span_seconds)}" if facts.rebalance_count > 1 and facts.span_seconds is not None else ""
    before = "after its coordinator moved, " if facts.has_new_coordinator else ""
    return f"{facts.group}: {count}{span}, {_harm(facts)}; {before}{_story_clause(facts.story)}"


def emptiness(facts: EmptinessFacts) -> str:
    """Time without members so far, and how the last ones went."""
    words = GROUP_ACTION_WORDS.get(facts.cause, cause_words(facts.cause))
    others = f", and {counted(facts.other_count, 'other member')} did so, too" if facts.other_count else ""
    went = f"; {facts.name} {words}{others}" if facts.name is not None else ""
    known = "as far as its members' logs show, " if facts.is_inferred else ""
    return f"{facts.group}: {known}without members for {duration(facts.seconds)}, and still so when the logs end, so nobody consumes{went}"


def _harm(facts: EpisodeFacts) -> str:
    if facts.stopped_seconds is not None:
        return f"{duration(facts.stopped_seconds)} stopped"
    if facts.is_open:
        return "not over as the logs end"
    if facts.is_untimed:
        return "stopped for an unknown time"
    if facts.emptied_by is not None:
        return "no member was left"
    return "nobody stopped" if facts.moving_seconds is None else f"partitions on the move for {duration(facts.moving_seconds)}"


def _story_clause(story: EpisodeStory) -> str:
    """Story of the episode, as a clause."""
    match story:
        case TurnRestarts():
            lost = f", but {first_names(story.missing, MISSING_NAMED_MAX)} did not come back" if story.missing else ""
            return f"{story.member_count if story.member_count > 1 else 'its'} members were restarted in turn{lost}"
        case Migration():
            return f"it changed to the {story.protocol} protocol" if story.protocol else "it changed its group protocol and went back"
        case BriefMembers():
            return f"{counted(story.member_count, 'member')} came and went again, as if it were scaled up and down in turn"
        case RejoinRequest():
            return _request(story)
        case FrequentCause():
            return _cause(story)
        case EndlessWait():
            return _wait(story)
        case HeldUp():
            return f"{_who(story.member)} held the others up{f' for {duration(story.seconds)}' if story.seconds else ''}"
        case MemberActions():
            return _actions(story)
        case ActionsTogether():
            words = GROUP_ACTION_WORDS.get(story.cause, cause_words(story.cause))
            return f"{counted(story.member_count, 'member')} {words.replace(' its ', ' their ')} together"
        case PauseVictims():
            paused = "its coordinator" if story.broker is None else f"broker {story.broker}"
            return f"{counted(story.member_count, 'member')} expired when {paused} most likely stood still, or nothing reached it"


def _who(member: NamedMember) -> str:
    return member.name + (f" on {member.host.lstrip('/')}" if member.host else "")


def _actions(story: MemberActions) -> str:
    actions = (often(GROUP_ACTION_WORDS.get(cause, cause_words(cause)), times) for cause, times in story.times)
    words = f"{_who(story.member)} {' and '.join(actions)}"
    words += f", and {counted(story.other_count, 'other member')} did so, too" if story.other_count else ""
    return words if story.probability is None else f"perhaps {words} ({story.probability:.0%})"


def _request(story: RejoinRequest) -> str:
    who = "its members" if story.member is None else _who(story.member)
    words = "rejoined as planned" if story.is_planned else "asked for it"
    return f"{who} {words} ({story.text[:QUOTED_MAX]})"


def _cause(story: FrequentCause) -> str:
    words = CAUSE_WORDS.get(story.cause) or cause_words(story.cause)
    return words if story.probability is None else f"perhaps {words} ({story.probability:.0%})"


def _wait(story: EndlessWait) -> str:
    """The state that a stuck group is in, and the awaited members."""
    names = " or ".join(story.members)
    if not names:
        return f"stuck in {'CompletingRebalance' if story.has_joined else 'PreparingRebalance'} as the logs end"
    if story.has_joined:
        return f"stuck in CompletingRebalance, waiting for the SyncGroup of {names}"
    return f"stuck in PreparingRebalance, waiting for {names} to rejoin"

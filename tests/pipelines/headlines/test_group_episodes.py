"""Headlines about rebalances of Kafka groups: facts and the words for them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from models.incidents.headline_facts import (
    ActionsTogether,
    BriefMembers,
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
from pipelines.headlines.headlines import headline

B = NamedMember("b")


def episode(story: EpisodeStory, count: int = 1, stopped: float | None = 3.3, moving: float | None = None) -> EpisodeFacts:
    return EpisodeFacts("orders", count, 55.0, stopped, moving, story)


STOOD_STILL = "most likely stood still, or nothing reached it"
FLAPPED = MemberActions(B, (("session_timeout", 4),))
TOLD = {
    episode(FLAPPED, 5, 0.03): "orders: 5 rebalances in 55 s, 30 ms stopped; b missed its session timeout 4 times",
    episode(MemberActions(B, (("member_join", 1),)), stopped=None): "orders: 1 rebalance, nobody stopped; b joined",
    episode(MemberActions(B, (("poll_timeout", 1),), 0.5)): (
        "orders: 1 rebalance, 3.3 s stopped; perhaps b exceeded its poll interval (50%)"
    ),
    episode(HeldUp(B, 0.0)): "orders: 1 rebalance, 3.3 s stopped; b held the others up",
    replace(episode(FLAPPED, stopped=None), is_open=True): (
        "orders: 1 rebalance, not over as the logs end; b missed its session timeout 4 times"
    ),
    replace(episode(FLAPPED, stopped=None), is_untimed=True): (
        "orders: 1 rebalance, stopped for an unknown time; b missed its session timeout 4 times"
    ),
    episode(MemberActions(B, (("member_leave", 3), ("member_restart", 1))), 4): (
        "orders: 4 rebalances in 55 s, 3.3 s stopped; b left 3 times and restarted"
    ),
    episode(MemberActions(NamedMember("b", "/10.0.0.1"), (("metadata_change", 1),)), 2, None, 213.0): (
        "orders: 2 rebalances in 55 s, partitions on the move for 3 min 33 s; b on 10.0.0.1 saw topics change"
    ),
    episode(MemberActions(B, (("poll_timeout", 2),), None, 1)): (
        "orders: 1 rebalance, 3.3 s stopped; b exceeded its poll interval 2 times, and 1 other member did so, too"
    ),
    episode(MemberActions(B, (("subscription_change", 1),), 0.54)): (
        "orders: 1 rebalance, 3.3 s stopped; perhaps b changed its subscription (54%)"
    ),
    episode(MemberActions(B, (("group_deleted", 2),))): "orders: 1 rebalance, 3.3 s stopped; b group deleted 2 times",
    replace(episode(FLAPPED), has_new_coordinator=True): (
        "orders: 1 rebalance, 3.3 s stopped; after its coordinator moved, b missed its session timeout 4 times"
    ),
    episode(TurnRestarts(3), 7): "orders: 7 rebalances in 55 s, 3.3 s stopped; 3 members were restarted in turn",
    episode(TurnRestarts(3, ("w-4",)), 7): (
        "orders: 7 rebalances in 55 s, 3.3 s stopped; 3 members were restarted in turn, but w-4 did not come back"
    ),
    episode(Migration("consumer"), 7): "orders: 7 rebalances in 55 s, 3.3 s stopped; it changed to the consumer protocol",
    episode(Migration(None), 7): "orders: 7 rebalances in 55 s, 3.3 s stopped; it changed its group protocol and went back",
    episode(BriefMembers(4), 8): (
        "orders: 8 rebalances in 55 s, 3.3 s stopped; 4 members came and went again, as if it were scaled up and down in turn"
    ),
    episode(TurnRestarts(1), 7): "orders: 7 rebalances in 55 s, 3.3 s stopped; its members were restarted in turn",
    episode(RejoinRequest(B, is_planned=True, text="Scheduled probing rebalance")): (
        "orders: 1 rebalance, 3.3 s stopped; b rejoined as planned (Scheduled probing rebalance)"
    ),
    episode(RejoinRequest(None, is_planned=False, text="x" * 81)): (
        f"orders: 1 rebalance, 3.3 s stopped; its members asked for it ({'x' * 80})"
    ),
    episode(FrequentCause("member_join")): "orders: 1 rebalance, 3.3 s stopped; member join",
    episode(FrequentCause("unknown")): "orders: 1 rebalance, 3.3 s stopped; cause unknown",
    episode(FrequentCause("member_join", 0.44)): "orders: 1 rebalance, 3.3 s stopped; perhaps member join (44%)",
    episode(EndlessWait(("b", "a"), has_joined=False)): (
        "orders: 1 rebalance, 3.3 s stopped; stuck in PreparingRebalance, waiting for b or a to rejoin"
    ),
    episode(EndlessWait(("a",), has_joined=True)): (
        "orders: 1 rebalance, 3.3 s stopped; stuck in CompletingRebalance, waiting for the SyncGroup of a"
    ),
    episode(HeldUp(B, 300.0)): "orders: 1 rebalance, 3.3 s stopped; b held the others up for 5 min",
    episode(ActionsTogether(4, "session_timeout")): "orders: 1 rebalance, 3.3 s stopped; 4 members missed their session timeout together",
    episode(PauseVictims(1, None)): f"orders: 1 rebalance, 3.3 s stopped; 1 member expired when its coordinator {STOOD_STILL}",
    episode(PauseVictims(4, "2"), 2): f"orders: 2 rebalances in 55 s, 3.3 s stopped; 4 members expired when broker 2 {STOOD_STILL}",
}


@pytest.mark.parametrize(("facts", "text"), TOLD.items(), ids=TOLD.values())
def test_an_episode_is_told(facts: EpisodeFacts, text: str) -> None:
    assert headline(facts) == text

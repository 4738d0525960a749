"""Join phases that waited for a member: what bounds them, and what that is worth."""

from __future__ import annotations

from pathlib import Path

import pytest

from models.units import US_PER_MS
from models.whatif.advice import Advice, advise
from models.whatif.configuration import Configuration
from models.whatif.history import GroupBaseline, History
from models.whatif.outlook import WhatIfResult, under
from parsers.reading.reader import ReadOptions
from pipelines.analysis.in_process import AnalyzeOptions, analyze

COORDINATOR = "(kafka.coordinator.group.GroupCoordinator)"
JOINED = """
08:40:00,516 Preparing to rebalance group parcels in state PreparingRebalance with old generation 6 (__consumer_offsets-8) \
(reason: Adding new member parcel-3-11111111-1111-1111-1111-111111111111 with group instance id None)
08:40:03,412 Stabilized group parcels generation 7 (__consumer_offsets-8) with 3 members
08:40:03,432 Assignment received from leader for group parcels for generation 7. The group has 3 members, 0 of which are static.
09:20:00,516 Preparing to rebalance group parcels in state PreparingRebalance with old generation 7 (__consumer_offsets-8) \
(reason: Adding new member parcel-4-22222222-2222-2222-2222-222222222222 with group instance id None)
"""
EVICTED = """
09:25:00,520 Group parcels removed dynamic members who haven't joined: Set(parcel-2-33333333-3333-3333-3333-333333333333)
09:25:00,521 Stabilized group parcels generation 8 (__consumer_offsets-8) with 3 members
09:25:00,539 Assignment received from leader for group parcels for generation 8. The group has 3 members, 0 of which are static.
"""
BACK = """
09:26:37,724 Preparing to rebalance group parcels in state PreparingRebalance with old generation 8 (__consumer_offsets-8) \
(reason: Adding new member parcel-2-44444444-4444-4444-4444-444444444444 with group instance id None)
09:26:40,124 Stabilized group parcels generation 9 (__consumer_offsets-8) with 4 members
09:26:40,144 Assignment received from leader for group parcels for generation 9. The group has 4 members, 0 of which are static.
"""
DIED = """
09:20:41,424 Member parcel-3-11111111-1111-1111-1111-111111111111 in group parcels has failed, removing it from the group
09:20:41,425 Stabilized group parcels generation 8 (__consumer_offsets-8) with 3 members
09:20:41,439 Assignment received from leader for group parcels for generation 8. The group has 3 members, 0 of which are static.
"""
ALL_EXPIRED = """
14:02:11,060 Member parcel-1-11111111-1111-1111-1111-111111111111 in group parcels has failed, removing it from the group
14:02:11,061 Preparing to rebalance group parcels in state PreparingRebalance with old generation 7 (__consumer_offsets-8) \
(reason: removing member parcel-1-11111111-1111-1111-1111-111111111111 on heartbeat expiration)
14:02:11,071 Member parcel-2-22222222-2222-2222-2222-222222222222 in group parcels has failed, removing it from the group
14:02:11,104 Group parcels with generation 8 is now empty (__consumer_offsets-8)
14:02:12,964 Preparing to rebalance group parcels in state PreparingRebalance with old generation 8 (__consumer_offsets-8) \
(reason: Adding new member parcel-1-33333333-3333-3333-3333-333333333333 with group instance id None)
14:02:15,980 Stabilized group parcels generation 9 (__consumer_offsets-8) with 2 members
14:02:15,995 Assignment received from leader for group parcels for generation 9. The group has 2 members, 0 of which are static.
"""


def baseline(story: str, folder: Path) -> GroupBaseline:
    log = folder / "server.log"
    lines = (line.partition(" ") for line in story.splitlines() if line)
    log.write_text("".join(f"[2026-03-03 {stamp}] INFO [GroupCoordinator 1]: {text} {COORDINATOR}\n" for stamp, _, text in lines))
    rows = analyze([str(log)], AnalyzeOptions(ReadOptions(log_tz=[(None, "UTC")])))
    (history,) = History(list(rows.rebalances), list(rows.rebalance_members), list(rows.members), list(rows.client_states)).groups()
    return history


def helpful(advice: Advice) -> list[str]:
    return [finding.candidate.id for finding in advice.helpful]


def useless(advice: Advice) -> set[str]:
    return {finding.candidate.id for finding in advice.useless}


@pytest.mark.parametrize("story", [JOINED + EVICTED, JOINED + EVICTED + BACK], ids=["gone for good", "back later"])
@pytest.mark.parametrize(("interval_ms", "left_seconds"), [(60_000, 60), (30_000, 30)])
def test_a_shorter_poll_interval_bounds_the_wait_for_who_was_put_out(
    story: str, interval_ms: int, left_seconds: int, tmp_path: Path
) -> None:
    history = baseline(story, tmp_path)
    outlook: WhatIfResult = under(history, Configuration(max_poll_interval_ms=interval_ms))
    waited = outlook.changes[1]
    assert waited.stopped_seconds - waited.saved_seconds == pytest.approx(left_seconds, abs=2)
    advice = advise(history)
    assert "shorter_poll" in helpful(advice)
    assert "shorter_poll" not in useless(advice)


def test_a_shorter_session_bounds_the_wait_for_who_had_died(tmp_path: Path) -> None:
    advice = advise(baseline(JOINED + DIED, tmp_path))
    assert helpful(advice)[0] == "shorter_session", "more of the members' downtime than anything else"
    assert 30 < advice.helpful[0].outlook.saved_seconds < 37


def test_nothing_is_advised_with_which_all_members_would_have_stood_still_as_long(tmp_path: Path) -> None:
    history = baseline(ALL_EXPIRED, tmp_path)
    advice = advise(history)
    assert helpful(advice) == []
    assert advice.assumed[0].startswith("session.timeout.ms is taken to be 45 s"), "the default since 3.0, not the least"


def test_letting_some_work_on_is_not_advised_where_nobody_tells_how_many_there_are(tmp_path: Path) -> None:
    story = (JOINED + EVICTED).split("\n09:20", 1)[1].split("\n09:25:00,521")[0]
    advice = advise(baseline("09:20" + story, tmp_path))
    assert not {"cooperative", "consumer"} & {*helpful(advice), *useless(advice)}


UNSEEN = """
08:40:00,516 Preparing to rebalance group parcels in state PreparingRebalance with old generation 0 (__consumer_offsets-8) \
(reason: Adding new member parcel-1-11111111-1111-1111-1111-111111111111 with group instance id None)
08:40:03,516 Stabilized group parcels generation 1 (__consumer_offsets-8) with 1 members
08:40:03,532 Assignment received from leader for group parcels for generation 1. The group has 1 members, 0 of which are static.
09:00:00,516 Preparing to rebalance group parcels in state PreparingRebalance with old generation 1 (__consumer_offsets-8) \
(reason: Adding new member parcel-2-22222222-2222-2222-2222-222222222222 with group instance id None)
09:00:03,412 Stabilized group parcels generation 2 (__consumer_offsets-8) with 3 members
09:00:03,432 Assignment received from leader for group parcels for generation 2. The group has 3 members, 0 of which are static.
10:00:00,516 Preparing to rebalance group parcels in state PreparingRebalance with old generation 2 (__consumer_offsets-8) \
(reason: Removing member parcel-3-33333333-3333-3333-3333-333333333333 on LeaveGroup)
10:00:03,412 Stabilized group parcels generation 3 (__consumer_offsets-8) with 2 members
10:00:03,432 Assignment received from leader for group parcels for generation 3. The group has 2 members, 0 of which are static.
"""


def test_a_member_whose_arrival_no_line_tells_came_after_a_group_that_had_no_room_for_it(tmp_path: Path) -> None:
    """It is not taken to have been there from the beginning, beside all others of its name."""
    history = baseline(UNSEEN, tmp_path)
    behaviour, _, _ = history.reading()
    (life,) = behaviour.members["parcel-3"].lives

    assert history.rows[0].members_after == 1
    assert life.start_ms == history.rows[1].began // US_PER_MS

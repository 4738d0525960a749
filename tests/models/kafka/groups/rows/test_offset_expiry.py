"""When offsets of groups without members go, and which are gone."""

from __future__ import annotations

from models.rows import OffsetExpiration
from tests.models.kafka.groups.script import events_of, replay

EMPTIED = """
1.0 RebalanceStarted generation=0 reason_id=new_member reason_member_id=a#1
4.0 GenerationStarted generation=1 member_count=1
4.1 AssignmentReceived generation=1 member_id=a#1 member_count=1
60.0 RebalanceStarted generation=1 reason_id=leave reason_member_id=a#1
60.1 GroupEmptied generation=2
"""
DAY = 86_400


def rows_of(story: str) -> list[OffsetExpiration]:
    return replay(events_of(story.splitlines())).offset_expirations


def test_an_empty_group_keeps_its_offsets_for_a_week() -> None:
    (row,) = rows_of(EMPTIED)
    assert ((row.empty_since or 0) / 1e6, (row.expires_at or 0) / 1e6, row.has_expired) == (60.1, 60.1 + 7 * DAY, False)


def test_the_brokers_own_setting_counts() -> None:
    (row,) = rows_of("0.5 BrokerConfigured node=1 offsets_retention_minutes=60" + EMPTIED)
    assert row.retention_seconds == 3_600


def test_brokers_before_2_0_keep_them_for_a_day() -> None:
    (row,) = rows_of("0.4 BrokerStarted node=1\n0.5 KafkaVersion version=1.1.1" + EMPTIED)
    assert row.retention_seconds == DAY
    (row,) = rows_of("0.4 BrokerStarted node=1\n0.5 KafkaVersion version=2.8.2" + EMPTIED)
    assert row.retention_seconds == 7 * DAY


def test_a_group_that_is_used_again_is_at_no_risk() -> None:
    assert rows_of(EMPTIED + "90.0 RebalanceStarted generation=2 reason_id=new_member reason_member_id=a#2") == []


def test_each_death_is_a_loss_also_of_a_group_that_lives_again() -> None:
    again = """
700000.0 GroupDied generation=2
800000.0 RebalanceStarted generation=0 reason_id=new_member reason_member_id=a#3
800003.0 GenerationStarted generation=1 member_count=1
800003.1 AssignmentReceived generation=1 member_id=a#3 member_count=1
800060.0 RebalanceStarted generation=1 reason_id=leave reason_member_id=a#3
800060.1 GroupEmptied generation=2
"""
    lost, at_risk = rows_of(EMPTIED + again)
    assert (lost.has_expired, (lost.empty_since or 0) / 1e6, (lost.expires_at or 0) / 1e6) == (True, 60.1, 700_000.0)
    assert (at_risk.has_expired, (at_risk.empty_since or 0) / 1e6) == (False, 800_060.1)
    assert lost.offset_expiration_id != at_risk.offset_expiration_id

"""What brokers of several versions write of one and the same deed, worded and read back."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

import pytest

from models.kafka.coordinator.announcements import announce
from models.kafka.coordinator.classic.coordinator import Coordinator
from models.kafka.coordinator.consumer.requests import ConsumerHeartbeat
from models.kafka.coordinator.consumer.settings import ConsumerGroupSettings
from models.kafka.coordinator.group_coordinator import BothCoordinator
from models.kafka.coordinator.protocol.errors import Error
from models.kafka.coordinator.protocol.requests import Commit, Delete, Heartbeat, Join, Leave, Leaver, Protocol, Sync
from models.kafka.coordinator.runtime.outcomes import LoggedChange, Outcome
from models.kafka.coordinator.runtime.version_policy import broker_defaults, policy_for
from models.kafka.simulation.world import WrittenLine
from parsers.catalogue.catalogue import Match, catalogue
from pipelines.simulate.wording import MessageWriter

RANGE = (Protocol("range", b""),)
Driven = Coordinator | BothCoordinator


def join(number: int, member: str = "", instance: str | None = None) -> Join:
    return Join(number, "g", member, "consumer", RANGE, 10_000, 20_000, instance, "c", "/h")


def begun(coordinator: Driven, *instances: str | None) -> Iterable[Outcome]:
    """A generation with one member for each instance; its leader is the first one."""
    for number, instance in enumerate(instances, 1):
        yield coordinator.handle(join(number, instance=instance))
    yield coordinator.advance(3_000 * len(instances))


def ids(coordinator: Driven) -> list[str]:
    return list(coordinator.groups["g"].members)


def assigned(coordinator: Driven, *left_out: str) -> Outcome:
    made = {member: b"a" for member in ids(coordinator) if member not in left_out}
    return coordinator.handle(Sync(50, "g", ids(coordinator)[0], 1, made))


def fenced(coordinator: Driven) -> Iterable[Outcome]:
    yield from begun(coordinator, "i1")
    yield coordinator.handle(Heartbeat(90, "g", "old", 1, "i1"))


def deleted(coordinator: Driven) -> Iterable[Outcome]:
    yield coordinator.handle(Commit(90, "g", {("t", 0): 1}))
    yield coordinator.handle(Delete(91, "g"))


def left_without(coordinator: Driven) -> Iterable[Outcome]:
    yield from begun(coordinator, None, None)
    yield assigned(coordinator, ids(coordinator)[1])


def nobody_came(coordinator: Driven) -> Iterable[Outcome]:
    """Both members are static and stay away from the join phase that a third one begins, who then leaves."""
    yield from begun(coordinator, "i1", "i2")
    yield assigned(coordinator)
    yield coordinator.handle(join(60))
    yield coordinator.handle(Leave(61, "g", (Leaver(ids(coordinator)[2]),)))
    yield coordinator.advance(9_000)
    yield coordinator.handle(Heartbeat(62, "g", ids(coordinator)[0], 1, "i1"))
    yield coordinator.handle(Heartbeat(63, "g", ids(coordinator)[1], 1, "i2"))
    yield coordinator.advance(9_000)
    yield coordinator.handle(Heartbeat(64, "g", ids(coordinator)[0], 1, "i1"))
    yield coordinator.handle(Heartbeat(65, "g", ids(coordinator)[1], 1, "i2"))
    yield coordinator.advance(5_000)


def not_written(coordinator: Driven) -> Iterable[Outcome]:
    yield from begun(coordinator, None)
    coordinator.fail_writes(Error.NOT_ENOUGH_REPLICAS)
    yield assigned(coordinator)


def never_begun(coordinator: Driven) -> Iterable[Outcome]:
    """A group that could not be written is gone before the first step of its join phase is over."""
    coordinator.fail_writes(Error.NOT_ENOUGH_REPLICAS)
    yield coordinator.handle(join(1))
    yield coordinator.advance(4_000)


def not_confirmed(coordinator: Driven) -> Iterable[Outcome]:
    yield from begun(coordinator, None)
    yield assigned(coordinator)
    coordinator.hold_writes()
    yield coordinator.advance(16_000)  # the session ends, and so does the wait for the write that follows from it


def cleaned_up(coordinator: Driven) -> Iterable[Outcome]:
    yield coordinator.advance(600_000)


def expired(coordinator: Driven) -> Iterable[Outcome]:
    yield coordinator.handle(Commit(90, "g", {("t", 0): 1, ("t", 1): 1}))
    yield coordinator.advance(8 * 86_400_000)


def member_replaced(coordinator: Driven) -> Iterable[Outcome]:
    """The old id's timer outlives it."""
    yield from begun(coordinator, "i1")
    yield assigned(coordinator)
    yield coordinator.advance(2_000)
    yield coordinator.handle(join(60, instance="i1"))
    yield coordinator.advance(8_500)


def group_deleted_early(coordinator: Driven) -> Iterable[Outcome]:
    """A member id that was handed out is still waited for."""
    yield coordinator.handle(replace(join(1), require_known_member_id=True))
    yield coordinator.handle(Delete(2, "g"))
    yield coordinator.advance(11_000)


def ordered_late(coordinator: Driven) -> Iterable[Outcome]:
    yield coordinator.unload(5)
    yield coordinator.load(7)
    yield coordinator.load(6)
    yield coordinator.unload(6)


def taken_over(coordinator: Driven) -> Iterable[Outcome]:
    yield from begun(coordinator, "i1")
    yield assigned(coordinator)
    yield coordinator.unload()
    yield coordinator.load()


def said(version: str, happened: Callable[[Driven], Iterable[Outcome]]) -> list[tuple[str, Match]]:
    """Level and meaning of all lines, read back from their words."""
    policy = policy_for(version)
    settings = replace(broker_defaults(policy), retention_ms=86_400_000)
    kind = BothCoordinator if policy.is_java else Coordinator
    coordinator = kind(policy, settings)
    wording, lines = MessageWriter(policy), []
    for outcome in happened(coordinator):
        for change in outcome.changes:
            told = announce(policy, change, 1, 12) if isinstance(change, LoggedChange) else None
            if told is not None:
                line = wording.line(WrittenLine(told.at_ms, 1, told.message, told.level, told.fields))
                assert line is not None, told
                head, _, logger = line.partition("] ")[2].rpartition(" (")
                level, _, text = head.partition(" ")
                match = catalogue().match(logger.rstrip(")"), text)
                assert isinstance(match, Match), line
                lines.append((level, match))
    return lines


@pytest.mark.parametrize(
    ("happened", "version", "message", "expected"),
    [
        (fenced, "2.2.2", "kafka.group.static_member_fenced", []),
        (fenced, "2.5.1", "kafka.group.static_member_fenced", ["ERROR"]),
        (fenced, "3.9.1", "kafka.group.static_member_fenced", ["INFO"]),
        (fenced, "4.1.1", "kafka.group.static_member_fenced", ["INFO"]),
        (deleted, "1.1.1", "kafka.group.deleted", ["INFO"]),
        (deleted, "4.1.1", "kafka.group.deleted", ["INFO"]),
        (deleted, "4.1.1", "kafka.group.simple_group_created", ["INFO"]),
        (deleted, "3.9.1", "kafka.group.simple_group_created", []),
        (left_without, "2.4.1", "kafka.group.empty_assignment_sent", []),
        (left_without, "2.8.2", "kafka.group.empty_assignment_sent", ["WARN"]),
        (left_without, "4.1.1", "kafka.group.empty_assignment_sent", ["WARN"]),
        (nobody_came, "2.3.1", "kafka.group.leader_not_replaced", ["INFO"]),
        (nobody_came, "4.1.1", "kafka.group.leader_not_replaced", ["INFO"]),
        (not_written, "3.9.1", "kafka.runtime.write_failed", []),
        (not_written, "4.1.1", "kafka.runtime.write_failed", ["ERROR"]),
        (not_confirmed, "4.1.1", "kafka.runtime.timer_rescheduled", ["INFO"]),
        (never_begun, "3.9.1", "kafka.group.generation_started", ["INFO"]),
        (never_begun, "4.1.1", "kafka.group.generation_started", []),
        (cleaned_up, "2.6.3", "kafka.offsets.expired", ["INFO"]),
        (cleaned_up, "2.7.2", "kafka.offsets.expired", []),
        (cleaned_up, "4.1.1", "kafka.runtime.expired", ["INFO"]),
        (member_replaced, "4.1.1", "kafka.group.late_session_timer", ["DEBUG"]),
        (group_deleted_early, "2.8.2", "kafka.group.late_heartbeat_timer", ["INFO"]),
        (group_deleted_early, "4.1.1", "kafka.group.late_heartbeat_timer", []),
        (ordered_late, "2.8.0", "kafka.offsets.load_repeated", []),
        (ordered_late, "3.9.1", "kafka.offsets.load_repeated", ["INFO"]),
        (ordered_late, "3.9.1", "kafka.offsets.unload_repeated", ["INFO"]),
        (ordered_late, "4.1.1", "kafka.runtime.load_ignored", ["INFO"]),
        (ordered_late, "4.1.1", "kafka.runtime.unload_ignored", ["INFO", "INFO"]),  # it was never loaded in an epoch before
        (taken_over, "2.7.2", "kafka.group.member_loaded", []),
        (taken_over, "2.8.2", "kafka.group.member_loaded", ["INFO"]),
        (taken_over, "4.1.1", "kafka.group.member_loaded", []),
    ],
)
def test_a_deed_is_told_by_the_versions_that_tell_it(
    happened: Callable[[Driven], Iterable[Outcome]], version: str, message: str, expected: list[str]
) -> None:
    assert [level for level, match in said(version, happened) if match.message_id == message] == expected


def test_a_fenced_request_is_named() -> None:
    operations = [match.fields["operation"] for _, match in said("3.9.1", fenced) if match.event == "StaticMemberFenced"]
    assert operations == ["heartbeat"]


@pytest.mark.parametrize(("version", "counts"), [("2.6.3", [2]), ("3.9.1", [2]), ("4.1.1", [3])])
def test_what_expires_is_counted(version: str, counts: list[int]) -> None:
    """Offsets in Scala; records in Java, that of the group among them."""
    told = [match.fields["offsets_count"] for _, match in said(version, expired) if match.event == "OffsetsExpired"]
    assert [count for count in told if count] == counts


def test_one_line_tells_of_the_clean_up_of_both_kinds_of_groups_and_one_of_patterns() -> None:
    def happened(coordinator: Driven) -> Iterable[Outcome]:
        assert isinstance(coordinator, BothCoordinator)
        yield coordinator.set_topic("t", 1)
        yield coordinator.handle(ConsumerHeartbeat(1, "m", "a", 0, rebalance_ms=5_000, owned={}, regex="t.*"))
        yield coordinator.handle(Commit(2, "g", {("t", 0): 1}))
        yield coordinator.handle(ConsumerHeartbeat(3, "m", "a", -1))
        yield coordinator.handle(Delete(4, "m"))
        yield coordinator.advance(3 * 86_400_000)

    lines = [match for _, match in said("4.1.1", happened)]
    assert sum(match.fields["offsets_count"] for match in lines if match.event == "OffsetsExpired") == 2
    assert len([match for match in lines if match.event == "OffsetsExpired"]) == 3 * 24 * 6
    assert [match.event for match in lines if match.message_id in ("kafka.modern.topics_scanned", "kafka.group.deleted")] == [
        "CoordinatorNote",
        "GroupsDeleted",
    ]


def test_settings_of_consumer_groups_are_those_of_classic_ones() -> None:
    """Both kinds are cleaned up at one time."""
    assert ConsumerGroupSettings().retention_check_interval_ms == broker_defaults(policy_for("4.1.1")).retention_check_interval_ms

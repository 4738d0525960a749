"""From rows to what is shown."""

from dataclasses import asdict, replace
from typing import Any

import pytest

from dashboards.answer.build import build_answer, tally_of
from dashboards.answer.rebalance_items import rebalance
from dashboards.view.answer import NEWER_PROTOCOLS, Answer
from models.downtime import NAMELESS, PROTOCOLS_WITHOUT_STOP, stopped_seconds
from models.rows import Person
from tests.dashboards import made


def answer() -> Answer:
    return build_answer(made.small_story())


def test_the_headline_numbers() -> None:
    totals = answer().totals
    assert (totals.groups, totals.rebalances, totals.unexpected, totals.sure) == (2, 8, 6, 7)
    assert (totals.incidents, totals.attention, totals.outages) == (3, 2, 1)
    assert (totals.files_read, totals.files_skipped) == (2, 1)
    assert round(totals.stopped_seconds, 3) == round(6 * 38.5 + 0.1 + 212.0, 3)
    assert (totals.first_at, totals.last_at) == (made.at(0), made.at(700))


@pytest.mark.parametrize(
    "columns",
    [
        {},
        {"initial_delay_seconds": 1.0},
        {"initial_delay_seconds": 9.0},
        {"duration_seconds": None, "at_least_seconds": 2.0},
        {"duration_seconds": None},
        {"outcome": "empty"},
        {"assignor": "cooperative-sticky"},
        {"assignor": None},
        *({"protocol": protocol} for protocol in sorted(PROTOCOLS_WITHOUT_STOP)),
    ],
)
def test_pages_and_models_agree_on_how_long_a_group_stood_still(columns: dict[str, Any]) -> None:
    row = made.rebalance("orders", 1, 0, **columns)
    assert rebalance(row).stopped_seconds == stopped_seconds(row)
    assert NEWER_PROTOCOLS == PROTOCOLS_WITHOUT_STOP


def test_incidents_come_worst_first_and_are_numbered() -> None:
    assert [(item.number, item.severity) for item in answer().incidents] == [(1, "critical"), (2, "warning"), (3, "info")]


def test_an_incident_leads_with_what_a_healthy_group_does_not() -> None:
    failed = made.rebalance("orders", 1, 0, cause="session_timeout")
    joined = [made.rebalance("orders", 2 + number, 10 * number, cause="member_join") for number in range(3)]
    story = made.Made(rebalances=[failed, *joined], incidents=[made.incident("orders", "warning", [failed, *joined], "x")])
    assert build_answer(story).incidents[0].cause == "session_timeout"


def test_an_incident_says_how_sure_and_what_else_it_may_be() -> None:
    unsure = answer().incidents[1]
    assert (unsure.cause, unsure.confidence) == ("member_leave", 0.62)
    assert unsure.rivals == (("poll_timeout", 0.3), ("member_join", 0.08))
    assert unsure.settled_by == ("client logs of billing at INFO",)


def test_offenders_are_ranked_by_the_time_that_groups_stood_still() -> None:
    ranked = answer().offenders
    assert [(one.name, one.caused, one.blocked) for one in ranked] == [
        ("orders-worker-3", 6, 0),
        ("orders-worker-1", 0, 6),
        ("billing-a", 1, 0),
        ("billing-b", 1, 0),
    ]
    assert ranked[0].hosts == ("10.0.0.7",)
    assert ranked[0].causes == (("poll_timeout", 6),)
    assert ranked[0].stopped_seconds == 6 * 38.5


def test_who_set_off_and_held_up_one_rebalance_is_charged_once() -> None:
    both = [made.person("a", first=True), made.person("a")]
    one = made.rebalance("g", 1, 0, offenders=both[:1], blockers=both[1:])
    (offender,) = build_answer(made.Made(rebalances=[one])).offenders
    assert (offender.caused, offender.blocked, offender.stopped_seconds) == (1, 1, 3.0)


def test_the_initial_delay_is_not_counted_as_standing_still() -> None:
    assert rebalance(made.rebalance("g", 0, 0, initial_delay_seconds=3.0, duration_seconds=3.2)).stopped_seconds == 3.2 - 3.0


def test_a_group_that_went_empty_kept_nobody_waiting() -> None:
    assert rebalance(made.rebalance("g", 0, 0, outcome="empty")).stopped_seconds == 0.0


def test_an_open_rebalance_counts_for_as_long_as_it_is_known_to_last() -> None:
    item = rebalance(
        made.rebalance("g", 0, 0, outcome="open", duration_seconds=None, join_seconds=None, sync_seconds=None, at_least_seconds=212.0)
    )
    assert (item.stopped_seconds, item.waiting_seconds, item.assignment_seconds) == (212.0, 212.0, 0.0)


def test_a_member_goes_by_the_name_that_people_know() -> None:
    def name(client: str | None, instance: str | None, member: str | None) -> str:
        return rebalance(made.rebalance("g", 0, 0, offenders=[Person(member, client, instance, "/10.0.0.1", "", True)])).offenders[0].name

    assert name("client", "instance", "member") == "client"
    assert name(None, "instance", "member") == "instance"
    assert name(None, None, "member") == "member"
    assert name(None, None, None) == NAMELESS


def test_states_follow_one_another() -> None:
    lane = next(lane for lane in answer().lanes if lane.group == "billing")
    states = " ".join(stretch.state for stretch in lane.stretches)
    assert states == "Empty PreparingRebalance CompletingRebalance Stable PreparingRebalance"
    assert [stretch.ended_at for stretch in lane.stretches[:-1]] == [stretch.started_at for stretch in lane.stretches[1:]]
    assert lane.stretches[-1].ended_at is None


def test_mappings_give_the_same_answer_as_dataclasses() -> None:
    story = made.small_story()
    keys = ("rebalances", "timeline", "incidents", "coordinator_moves", "offsets_at_risk", "divergences")
    plain = replace(story, **{key: [asdict(row) for row in getattr(story, key)] for key in keys})
    assert build_answer(plain) == build_answer(story)


def test_the_order_of_rows_does_not_matter() -> None:
    story, shuffled = made.many(200), made.many(200)
    shuffled.rebalances.sort(key=lambda row: row.rebalance_id[::-1])
    first, second = build_answer(story), build_answer(shuffled)
    assert first.rebalances == second.rebalances
    assert [one.name for one in first.offenders] == [one.name for one in second.offenders]


def test_a_bounded_answer_keeps_the_longest_and_counts_all() -> None:
    story = made.many(300)
    bounded, whole = build_answer(story, kept_max=10), build_answer(story)
    longest = sorted(whole.rebalances, key=lambda item: (item.stopped_seconds, not item.expected, item.id), reverse=True)[:10]
    assert {item.id for item in bounded.rebalances} == {item.id for item in longest}
    assert bounded.totals == whole.totals
    assert bounded.offenders == whole.offenders
    assert bounded.incidents == whole.incidents


def test_offenders_can_be_ranked_by_host_instance_or_member() -> None:
    def of(host: str | None, member: str, instance: str | None) -> made.Person:
        return made.Person(member, "app", instance, host, "left", True)

    people = [of("/10.0.0.1", "m1", "i1"), of("/10.0.0.1", "m2", "i2"), of(None, "m3", None)]
    story = made.Made(rebalances=[made.rebalance("a", n, n, offenders=[person]) for n, person in enumerate(people)])

    def ranked(by: str) -> dict[str, int]:
        return {one.name: one.caused for one in tally_of(story.rebalances, None, {}, by).offenders()}

    assert ranked("client") == {"app": 3}
    assert ranked("host") == {"10.0.0.1": 2, "a host that no line names": 1}
    assert ranked("member") == {"m1": 1, "m2": 1, "m3": 1}
    assert ranked("instance") == {"i1": 1, "i2": 1, "app": 1}


def test_doubts_of_a_kind_stand_together() -> None:
    rows = [made.rebalance("a", n, n, confidence=0.5, alternatives={"member_join": 0.4, "unknown": 0.01}, settled_by="x") for n in range(3)]
    (doubt,) = build_answer(made.Made(rebalances=[*rows, replace(rows[0], rebalance_id="z", group="b")])).open_questions
    assert (doubt.count, doubt.groups, doubt.rivals, doubt.settled_by) == (4, ("a", "b"), ("Member joined",), "x")


def test_doubts_that_one_kind_of_file_would_settle_stand_together_and_name_the_first() -> None:
    files = [f"kafka-request.log at DEBUG of broker {n} between 2026-03-01 10:0{n} and 10:0{n + 1} UTC" for n in range(3)]
    rows = [made.rebalance("a", n, n, confidence=0.5, alternatives={}, settled_by=files[n]) for n in (2, 0, 1)]
    (doubt,) = build_answer(made.Made(rebalances=rows)).open_questions
    assert (doubt.count, doubt.settled_by) == (3, f"{files[0]}, and others like it")


def test_an_empty_analysis_is_an_answer_too() -> None:
    empty = build_answer(made.Made())
    assert (empty.totals.rebalances, empty.totals.first_at, list(empty.incidents)) == (0, None, [])


def test_a_cause_of_a_newer_version_can_be_shown() -> None:
    item = rebalance(made.rebalance("g", 0, 0, cause="invented_later", advice_id=None))
    assert (item.cause, item.cause_title) == ("invented_later", "Cause unknown")


def test_queues_without_one_owner_are_summed_up_by_topic() -> None:
    answer = build_answer(made.queue_story())
    assert [(one.topic, one.kind, one.queues, one.seconds, one.ended_at is None) for one in answer.contested] == [
        ("Stock", "no_owner", ("broker-a:2",), None, True),
        ("Stock", "two_owners", ("broker-a:0", "broker-a:1"), 148.0, False),
        ("Orders", "no_owner", ("broker-a:3",), 1.5, False),
    ]
    assert answer.contested[1].owners == ("app@7",)


def test_standing_faults_have_their_advice_where_there_is_any() -> None:
    conflict, skew = build_answer(made.queue_story()).conditions
    assert (conflict.title, skew.title) == ("Two clients with one id", "Topics shared out unevenly")
    assert conflict.advice
    assert skew.ended_at is None


def test_an_incident_of_rocketmq_is_about_the_fault_that_stood_meanwhile() -> None:
    story = made.queue_story()
    told = {"system": "rocketmq", "kind": "queue_ownership", "started_at": made.at(12), "ended_at": made.at(160)}
    story.incidents = [made.incident("CG_notify", "critical", story.rebalances, "CG_notify: no owner", **told)]
    (found,) = build_answer(story).incidents
    assert (found.cause_title, found.trigger) == ("Two clients with one id", "consumer_start")
    story.conditions[0]["ended_at"] = made.at(1)
    (found,) = build_answer(story).incidents
    assert found.cause_title == "Consumer started"


@pytest.mark.parametrize(("ended_by", "is_told"), [("unclean_election", True), ("replica_returned", False)])
def test_how_an_outage_ended_has_its_advice(ended_by: str, is_told: bool) -> None:
    story = made.small_story()
    story.outages = [{**row, "ended_by": ended_by} for row in story.outages]
    (outage,) = build_answer(story).outages
    settings = {setting.name for item in outage.advice for setting in item.settings}
    assert ("unclean.leader.election.enable" in settings) is is_told


@pytest.mark.parametrize(("kind", "is_shorter"), [("slow_member", True), ("single", False)])
def test_a_dead_member_that_others_waited_for_has_a_shorter_session_advised(kind: str, is_shorter: bool) -> None:
    """A longer session, which spares a paused member its expiry, makes the others wait longer."""
    story = made.small_story()
    story.incidents = [replace(row, kind=kind, root_cause="session_timeout") for row in story.incidents[:1]]
    (incident,) = build_answer(story).incidents
    words = " ".join(item.do for item in incident.advice)
    assert ("shorter session" in words, "longer session" in words) == (is_shorter, not is_shorter)

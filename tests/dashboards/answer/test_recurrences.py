"""Incidents that recur, and the labels of their facts."""

from typing import Any

import pytest

from dashboards.answer.build import build_answer
from dashboards.answer.recurrences import recurrences
from dashboards.view.answer import Incident, MemberWait
from dashboards.wording.facts import facts, selection
from models.rows import Rebalance
from tests.dashboards import made

SLOW = made.person("billing-worker-1", "slow_rejoin")


def held_up(number: int, **columns: Any) -> Rebalance:
    """A rebalance whose 56 seconds of joining were spent waiting for one member."""
    values = {"cause": "member_join", "blockers": [SLOW], "join_seconds": 56.0, "duration_seconds": 56.2, "confidence": 0.97}
    return made.rebalance("billing", number, 200.0 * number, **(values | columns))


def story(rows: list[list[Rebalance]], **columns: Any) -> made.Made:
    incidents = [
        made.incident("billing", "warning", each, f"billing: headline {number}", incident_id=f"i{number}", kind="slow_member", **columns)
        for number, each in enumerate(rows)
    ]
    return made.Made(rebalances=[row for each in rows for row in each], incidents=incidents)


def incidents_of(made_story: made.Made) -> list[Incident]:
    return list(build_answer(made_story).incidents)


def test_many_waits_for_one_member_are_one_problem() -> None:
    found = recurrences(incidents_of(story([[held_up(number)] for number in range(41)], worst_offender=SLOW)))
    assert [len(one.incidents) for one in found] == [41]
    assert (found[0].held_up_count, round(found[0].held_up_seconds)) == (41, 41 * 56)
    assert found[0].headline.startswith("billing: billing-worker-1 held the others up 41 times, 38 min 16 s; 41 incidents, 41 rebalances")


def test_an_incident_like_no_other_keeps_its_headline() -> None:
    assert [one.headline for one in recurrences(incidents_of(story([[held_up(1)]])))] == ["billing: headline 0"]


@pytest.mark.parametrize(
    ("rows", "count"),
    [
        ([[held_up(1, cause="poll_timeout", blockers=[])], [held_up(2, cause="session_timeout", blockers=[])]], 2),
        ([[held_up(1, blockers=[])], [held_up(2, blockers=[])]], 1),
        ([[held_up(1)], [held_up(2, blockers=[made.person("billing-worker-2")])]], 2),
    ],
    ids=["another cause", "the same cause and member", "another member waited for"],
)
def test_incidents_are_told_apart_by_cause_and_member(rows: list[list[Rebalance]], count: int) -> None:
    made_story = story(rows)
    for incident, each in zip(made_story.incidents, rows, strict=True):
        incident.kind = "single"
        incident.worst_offender = (each[0].blockers or each[0].offenders)[0]
    assert len(recurrences(incidents_of(made_story))) == count


def test_unknown_lengths_are_no_standstill_of_no_time() -> None:
    untimed = {"join_seconds": None, "duration_seconds": None, "blockers": []}
    (one,) = recurrences(incidents_of(story([[held_up(number, **untimed)] for number in (1, 2)], worst_offender=None)))
    assert one.headline.endswith("; 2 incidents, 2 rebalances")


def test_what_is_expected_is_not_counted_with_what_is_not() -> None:
    made_story = story([[held_up(1, blockers=[])], [held_up(2, blockers=[])]])
    made_story.incidents[1].severity = "info"
    assert [one.worst.severity for one in recurrences(incidents_of(made_story))] == ["warning", "info"]


def test_a_guess_that_recurs_is_called_one() -> None:
    found = recurrences(incidents_of(story([[held_up(n, confidence=0.44, blockers=[])] for n in (1, 2)], worst_offender=None)))
    assert "perhaps member joined (44 %)" in found[0].headline


def test_time_that_was_waited_for_several_is_booked_once() -> None:
    both = held_up(1, blockers=[SLOW, made.person("billing-worker-2", "slow_rejoin")])
    assert incidents_of(story([[both]]))[0].held_up == (MemberWait("billing-worker-1", 1, 28.0), MemberWait("billing-worker-2", 1, 28.0))


def test_each_fact_stands_under_its_own_label() -> None:
    told = facts(incidents_of(story([[held_up(1)]], root_cause="slow_processing"))[0])
    assert told == [
        ("trigger", "member joined (97 %)"),
        ("what it is", "slow member"),
        ("held up by", "billing-worker-1 (1 time, 56 s)"),
        ("root", "a member was too busy to rejoin"),
    ]


def test_an_incident_of_several_systems_counts_a_rebalance_in_each() -> None:
    """A rebalance that followed an outage belongs to the outage's incident and to its group's."""
    row = held_up(1)
    made_story = story([[row], [row]])
    made_story.rebalances = [row]
    assert [item.trigger for item in incidents_of(made_story)] == ["member_join", "member_join"]


class Cut:
    """A selection without the first rebalance."""

    def __init__(self, whole: made.Made) -> None:
        self.whole = whole
        self.rebalances = whole.rebalances[1:]

    def beyond(self, table: str, name: str, ids: set[str]) -> list[Any]:
        return [row for row in getattr(self.whole, table) if getattr(row, name) in ids]

    def __getattr__(self, key: str) -> Any:
        return getattr(self.whole, key)


def test_an_incident_cut_by_the_selection_is_judged_as_a_whole() -> None:
    rows = [held_up(1, cause="poll_timeout", blockers=[]), held_up(2, blockers=[])]
    whole = story([rows])
    whole.incidents[0].kind = "single"
    cut = build_answer(Cut(whole))
    item = cut.incidents[0]
    assert (cut.totals.rebalances, item.trigger, item.cause_title) == (1, "poll_timeout", "Poll interval exceeded")
    assert selection(item) == "1 of its 2 rebalances is selected"
    assert selection(incidents_of(story([rows]))[0]) == ""


@pytest.mark.parametrize(
    ("seconds", "headline"), [(0.0, "broker outage; 2 incidents"), (40.0, "broker outage; 2 incidents, 1 min 20 s without leader")]
)
def test_outages_that_recur_name_no_group(seconds: float, headline: str) -> None:
    made_story = story([[held_up(1)], [held_up(2)]])
    for incident in made_story.incidents:
        incident.groups, incident.kind, incident.root_cause = [], "broker_outage", "broker_outage"
        incident.rebalance_count, incident.rebalance_ids, incident.stopped_seconds = 0, [], seconds
    assert [one.headline for one in recurrences(incidents_of(made_story))] == [headline]

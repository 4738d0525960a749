"""One rebalance told in sentences."""

import pytest

from dashboards.answer.build import build_answer
from dashboards.answer.rebalance_items import rebalance
from dashboards.wording.story import own_words, savings, story
from dashboards.wording.units import Clock
from tests.dashboards import golden, made

CLOCK = Clock()


def told(**columns: object) -> str:
    return "\n".join(story(rebalance(made.rebalance("orders", 41, 5, **columns)), CLOCK))


def test_the_whole_story(request: pytest.FixtureRequest) -> None:
    first, second = made.person("orders-3", first=True), made.person("orders-4", host=None)
    text = told(
        cause="poll_timeout",
        root_cause="rolling_restart",
        offenders=[first, second],
        blockers=[made.person("orders-1", "rejoined_last", host="/10.0.0.5")],
        initial_delay_seconds=1.0,
        confidence=0.7,
        alternatives={"member_leave": 0.25, "unknown": 0.001},
        settled_by="client logs at INFO",
        duplicate_window=2.0,
    )
    golden.check("story.txt", text + "\n", rewrite=request.config.getoption("--rewrite"))


@pytest.mark.parametrize(
    ("outcome", "sentence"),
    [
        ("empty", "It ended with the group empty at 2026-03-01 10:00:08.000 UTC."),
        ("dead", "It ended with the group removed at 2026-03-01 10:00:08.000 UTC."),
        ("superseded", "Before the group was stable, another rebalance began at 2026-03-01 10:00:08.000 UTC."),
        ("coordinator_lost", "It ended unfinished at 2026-03-01 10:00:08.000 UTC, when the group lost its coordinator."),
        ("not_yet_known", "It ended at 2026-03-01 10:00:08.000 UTC."),
    ],
)
def test_how_it_ended(outcome: str, sentence: str) -> None:
    assert sentence in told(outcome=outcome).splitlines()


def test_what_was_measured_is_told() -> None:
    numbers = {"polled_after_ms": 312_000, "max_poll_interval_ms": 300_000}
    sentences = told(cause="poll_timeout", measurements_ms=numbers).splitlines()
    assert "orders-worker-3 polled after 5 min 12 s, with max.poll.interval.ms of 5 min." in sentences
    assert "orders-worker-3 did not poll within max.poll.interval.ms of 5 min." in told(
        cause="poll_timeout", measurements_ms={"max_poll_interval_ms": 300_000}
    )
    assert "max.poll.interval.ms" not in told(cause="poll_timeout", measurements_ms={})


def test_what_fixed_identities_would_have_spared() -> None:
    assert savings({"static_avoided": 14, "static_saved_seconds": 42.0}, 16) == (
        "Static membership (group.instance.id, since 2.3.0) would have avoided 14 of 16 rebalances, and 42 s of standing still."
    )
    assert savings({"static_avoided": 0}, 2) == savings({}, 2) == ""


def test_an_open_end_is_a_lower_bound() -> None:
    assert "The logs end before it was over; it lasted at least 3 min 32 s." in told(outcome="open", ended_at=None, at_least_seconds=212.0)


def test_the_end_of_an_epoch_is_not_told_by_brokers() -> None:
    text = told(protocol="consumer", outcome="open", ended_at=None, at_least_seconds=None)
    assert "No line tells when its members had taken over their shares; their own logs at INFO would." in text
    assert "The logs end before" not in text


def test_where_no_member_acted_none_is_named() -> None:
    assert "the group's coordinator moved to another broker, and group orders" in told(cause="coordinator_failover", offenders=[])
    assert "a member that no line names joined" in told(cause="member_join", offenders=[])


def test_what_is_inferred_and_unexplained_is_said() -> None:
    assert "2 steps of it are inferred and 1 line remains unexplained." in told(conformance={"inferred_steps": 2, "unexplained_lines": 1})
    assert "1 step of it is inferred." in told(conformance={"inferred_steps": 1, "unexplained_lines": 0})


def test_a_start_without_a_time_is_told() -> None:
    assert told(started_at=None).startswith("At a time that the logs do not give: ")


def test_the_coordinators_words_are_its_reason_and_not_a_line_that_is_evidence_already() -> None:
    row = made.rebalance("orders", 1, 0)
    assert own_words(rebalance(row)) == "removing member on heartbeat expiration"
    row.trigger_text = row.evidence[0].text[:100]
    assert own_words(rebalance(row)) == ""


def test_every_cause_makes_a_sentence() -> None:
    from conf.causes import causes

    rows = [made.rebalance("g", n, n, cause=entry.id, system=entry.system, advice_id=None) for n, entry in enumerate(causes().values())]
    for item in build_answer(made.Made(rebalances=rows)).rebalances:
        assert story(item, CLOCK)[0].endswith("began to rebalance.")


def test_what_a_pause_of_a_queue_may_bring_afterwards() -> None:
    text = told(system="rocketmq", pause_seconds=15.0, duplicate_window=2.0, backlog_seconds=17.0)

    assert "For 2.0 s two members may have read the same queue." in text
    assert "A queue had no owner for up to 15 s. Up to 17 s of queued messages may have arrived at once afterwards." in text

"""The list of causes is complete, and its words can be built into sentences."""

import re

import pytest

from conf.causes import (
    EXPLAINED_SYSTEMS,
    FAMILIES,
    CauseText,
    cause,
    causes,
    incident_kinds,
    outage_cause,
    outage_causes,
    outage_ends,
    turns,
    waits,
)
from pipelines.schema import allowed_values as vocabulary

EVERY = [*causes().values(), *outage_causes().values(), *incident_kinds().values(), *outage_ends().values(), *waits().values()]


def test_every_cause_in_use_has_an_entry_and_no_entry_is_left_over() -> None:
    kafka = {entry.id for entry in causes().values() if entry.system == "kafka" and not entry.root_only}
    rocketmq = {entry.id for entry in causes().values() if entry.system == "rocketmq"}
    roots = {entry.id for entry in causes().values() if entry.root_only}
    assert kafka == set(vocabulary.KAFKA_CAUSES)
    assert rocketmq == set(vocabulary.ALLOCATION_CAUSES)
    assert roots == set(vocabulary.ROOT_CAUSES) - set(vocabulary.REBALANCE_CAUSES) - set(outage_causes())
    assert set(outage_causes()) == set(vocabulary.OUTAGE_CAUSES)
    assert set(outage_ends()) <= set(vocabulary.OUTAGE_ENDS)
    assert set(waits()) <= set(vocabulary.ROOT_CAUSES)
    told_by_offsets_at_risk = {"offsets_lost"}
    assert set(incident_kinds()) <= {*vocabulary.INCIDENT_KINDS, *vocabulary.CONDITION_KINDS} | told_by_offsets_at_risk


@pytest.mark.parametrize("entry", EVERY, ids=lambda entry: f"{entry.system}-{entry.id}")
def test_an_entry_says_what_it_is_and_what_to_do(entry: CauseText) -> None:
    assert entry.system in EXPLAINED_SYSTEMS
    assert entry.family in FAMILIES
    assert entry.meaning.endswith(".")
    assert entry.advice
    assert all(advice.do.endswith(".") for advice in entry.advice)
    assert all(sign.by.endswith(".") for sign in entry.recognised)
    assert {advice.turn for advice in entry.advice} - {None} <= turns().keys()
    assert "{" not in entry.clause("orders-1")


NUMBERS = {"session_timeout_ms", "max_poll_interval_ms", "rebalance_timeout_ms", "polled_after_ms", "silent_ms", "absent_ms"}
"""What `models.kafka.hypotheses.measurements` tells."""


@pytest.mark.parametrize("entry", EVERY, ids=lambda entry: f"{entry.system}-{entry.id}")
def test_what_is_measured_is_told_in_whole_sentences(entry: CauseText) -> None:
    assert all(sentence.endswith(".") and "{who}" in sentence for sentence in entry.measured)
    assert {name for sentence in entry.measured for name in re.findall(r"\{(\w+)\}", sentence)} <= NUMBERS | {"who"}


@pytest.mark.parametrize("entry", causes().values(), ids=lambda entry: f"{entry.system}-{entry.id}")
def test_an_entry_says_how_it_is_recognised(entry: CauseText) -> None:
    assert entry.recognised
    assert len({sign.versions for sign in entry.recognised}) >= 1


def test_every_setting_names_its_first_version() -> None:
    settings = [setting for entry in EVERY for advice in entry.advice for setting in advice.settings]
    assert settings
    assert [setting for setting in settings if not re.fullmatch(r"\d+\.\d+(\.\d+)?", setting.since)] == []
    assert all(setting.at for setting in settings)


def test_a_cause_of_a_newer_version_reads_as_unknown() -> None:
    assert cause("kafka", "not_yet_known").id == "unknown"
    assert cause("kafka", None).id == "unknown"
    assert cause("another", "x").system == "kafka"
    assert outage_cause("x").id == "unknown"


def test_the_same_name_means_another_thing_in_another_system() -> None:
    assert cause("kafka", "subscription_change").meaning != cause("rocketmq", "subscription_change").meaning

"""Whatever the models may give as facts has words."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Mapping
from typing import Any, get_args

import pytest

from models.incidents.headline_facts import EpisodeStory, HeadlineFacts, QueueStory, RefusalFacts
from models.incidents.refusals import REFUSAL_KINDS
from models.incidents.standing_conditions import NOT_READY_STATES
from models.kafka.partitions.brokers import BrokerAbsence
from models.rows import Evidence, Incident, Person
from pipelines.headlines import group_conditions, group_episodes, outages, queue_episodes
from pipelines.headlines.headlines import HEADLINE_WORDINGS, headline, with_headlines
from pipelines.schema.allowed_values import ALLOCATION_CAUSES, KAFKA_CAUSES, OWNERSHIP_KINDS
from tests.pipelines.headlines import (
    test_group_conditions,
    test_group_episodes,
    test_outages,
    test_queue_episodes,
    test_unattributed_troubles,
)

TOLD = {
    facts: text
    for module in (test_group_conditions, test_group_episodes, test_outages, test_queue_episodes, test_unattributed_troubles)
    for facts, text in module.TOLD.items()
}


def test_all_facts_have_a_wording() -> None:
    assert set(HEADLINE_WORDINGS) == set(get_args(HeadlineFacts))


@pytest.mark.parametrize("kind", get_args(HeadlineFacts))
def test_each_wording_has_an_example(kind: type) -> None:
    own = {text for facts, text in TOLD.items() if type(facts) is kind}

    assert own
    assert all(headline(facts) == text for facts, text in TOLD.items())


@pytest.mark.parametrize("kind", [*get_args(EpisodeStory), *get_args(QueueStory)])
def test_each_story_has_an_example(kind: type) -> None:
    assert any(type(getattr(facts, "story", None)) is kind for facts in TOLD)


FLAGS = ("is_controlled", "log_dir", "has_restarted", "session_lost", "is_fenced")
SHUTDOWN_KINDS = {
    BrokerAbsence("1", 0, **dict(zip(FLAGS, values, strict=True))).how for values in itertools.product((False, True), repeat=len(FLAGS))
}
COMPLETE: dict[str, tuple[Mapping[str, str], Collection[str]]] = {
    "kinds of refusals": (group_conditions.REFUSAL_WORDS, [kind.kind for kind in REFUSAL_KINDS]),
    "states of topologies": (group_conditions.TOPOLOGY_WORDS, NOT_READY_STATES),
    "kinds of shutdowns": (outages.SHUTDOWN_WORDS, SHUTDOWN_KINDS),
    "harms to queues": (queue_episodes.HARM_WORDS, set(OWNERSHIP_KINDS) - {"owned"}),
}


@pytest.mark.parametrize(("words", "named"), COMPLETE.values(), ids=COMPLETE)
def test_all_that_models_name_has_words(words: Mapping[str, str], named: Collection[str]) -> None:
    assert set(words) == set(named)


@pytest.mark.parametrize(
    ("words", "causes"), [(group_episodes.GROUP_ACTION_WORDS, KAFKA_CAUSES), (queue_episodes.QUEUE_ACTION_WORDS, ALLOCATION_CAUSES)]
)
def test_words_for_actions_are_of_causes_that_there_are(words: Mapping[str, str], causes: Collection[str]) -> None:
    assert set(words) <= set(causes)


COLUMNS: dict[str, Any] = {
    "cluster": "c", "system": "kafka", "incident_id": "i", "kind": "group_full", "severity": "warning", "groups": ["g"],
    "started_at": 1, "ended_at": 2, "rebalance_count": 3, "stopped_seconds": 4.5, "root_cause": "r",
    "worst_offender": Person("m", None, None, None, "left"), "rebalance_ids": ["x"], "outage_ids": ["y"],
    "restarted_members": ["m"], "static_membership_effect": {"static_avoided": 1.0},
    "evidence": [Evidence("server.log", 1, 0, "text")], "final_at": 5,
}  # fmt: skip


def test_an_incident_keeps_all_else() -> None:
    facts = RefusalFacts("g", "late", "group_full", 2)

    assert with_headlines([Incident(headline=facts, **COLUMNS)]) == [Incident(headline=headline(facts), **COLUMNS)]


def test_a_headline_that_fails_takes_no_other_rows_away() -> None:
    unknown, known = RefusalFacts("g", "late", "no kind of refusal", 2), RefusalFacts("g", "late", "group_full", 2)

    failed, fine = with_headlines([Incident(headline=unknown, **COLUMNS), Incident(headline=known, **COLUMNS)])

    assert failed.headline.startswith("g: group full; its headline failed (KeyError(")
    assert fine.headline == headline(known)

"""Headlines about rebalances of RocketMQ groups: facts and the words for them."""

from __future__ import annotations

import pytest

from models.incidents.fault_facts import DifferingClients, MasterAbsence
from models.incidents.headline_facts import ClientAction, FrequentCause, HeadlineFacts, QueueFacts, QueueHarm, ServerFacts, StandingQuarrel
from pipelines.headlines.headlines import headline

CRASH = ClientAction("c2", "consumer_crash", 3)
QUARREL = StandingQuarrel(DifferingClients("strategy", (("AVG_BY_CIRCLE", ("c3",)),)))
TOLD: dict[HeadlineFacts, str] = {
    ServerFacts(MasterAbsence("broker-a", 0, is_open=False, master="2")): (
        "broker-a changed its master; broker 2 is it now and holds no locks yet"
    ),
    QueueFacts("billing", 1, (), ClientAction("c2", "consumer_start", 1)): "billing: 1 rebalance; c2 started",
    QueueFacts("billing", 1, (), ClientAction("c2", "consumer_crash", 1), is_empty=True): (
        "billing: 1 rebalance, no client was left; c2 crashed"
    ),
    QueueFacts("billing", 2, (), ClientAction("c2", "queue_count_change", 1)): "billing: 2 rebalances; c2 queue count change",
    QueueFacts("billing", 3, (QueueHarm("no_owner", 2, ("orders",), 44.0),), CRASH): (
        "billing: 3 rebalances, 2 queues of orders had no owner for 44 s; c2 crashed 3 times"
    ),
    QueueFacts("billing", 3, (QueueHarm("no_owner", 1, ("a",), 0.2), QueueHarm("two_owners", 9, tuple("abcde"), 90.0)), CRASH): (
        "billing: 3 rebalances, 1 queue of a had no owner for 200 ms, 9 queues of a, b, c and 2 more had two owners for 1 min 30 s; "
        "c2 crashed 3 times"
    ),
    QueueFacts(
        "billing", 1, (), StandingQuarrel(DifferingClients("strategy", (("AVG_BY_CIRCLE", ("c3",)),)))
    ): "billing: 1 rebalance; c3 uses AVG_BY_CIRCLE",
    QueueFacts("billing", 1, (), FrequentCause("broker_down")): "billing: 1 rebalance; a broker went down",
    QueueFacts("billing", 1, (), FrequentCause("queue_count_change")): "billing: 1 rebalance; the number of queues changed",
    QueueFacts("billing", 1, (), FrequentCause("offset_reset")): "billing: 1 rebalance; offset reset",
    QueueFacts("billing", 1, (), FrequentCause("unknown")): "billing: 1 rebalance; cause unknown",
}


@pytest.mark.parametrize(("facts", "text"), TOLD.items(), ids=TOLD.values())
def test_a_rocketmq_episode_is_told(facts: HeadlineFacts, text: str) -> None:
    assert headline(facts) == text

"""Details of standing faults: facts and the words for them."""

from __future__ import annotations

from typing import get_args

import pytest

from conf.causes import incident_kinds
from models.incidents.fault_facts import (
    ClientFault,
    DifferingClients,
    FaultFacts,
    IdleClients,
    LostBrokers,
    MasterAbsence,
    MessageTrouble,
    RemovedTopics,
    ReplacedFilters,
    SharedClientIds,
    SkewedShares,
)
from models.rocketmq.observations.fault_lines import LIMITS
from pipelines.headlines.standing_faults import FAULT_WORDINGS, fault_detail

EXAMPLES: dict[FaultFacts, str] = {
    DifferingClients("strategy", (("AVG_BY_CIRCLE", ("c3",)), ("AVG", ("c1", "c2")))): "c3 uses AVG_BY_CIRCLE; c1, c2 use AVG",
    DifferingClients("subscription", (("orders *", tuple("abcde")),)): "a, b, c and 2 more read orders *",
    ReplacedFilters("orders", ("a", "b")): "heartbeats set the filter of orders to a and b in turn",
    RemovedTopics(("orders", "refunds")): "heartbeats take orders, refunds from the group's subscription again and again",
    LostBrokers(("broker-a",), 180): (
        "a name server lost broker-a, back after 180 s: clients drop its queues when they next ask for routes; "
        "which groups read them is not told"
    ),
    LostBrokers((), None): (
        "a name server lost a broker, not seen back: clients drop its queues when they next ask for routes; "
        "which groups read them is not told"
    ),
    SharedClientIds(("c1",)): "more than one process is called c1",
    SharedClientIds(("${HOST}",)): "more than one process is called ${HOST}: a placeholder was not resolved",
    IdleClients(5, 4, ("c5",)): "5 clients, 4 queues: c5 has nothing to read",
    IdleClients(6, 4, ("c5", "c6")): "6 clients, 4 queues: c5, c6 have nothing to read",
    SkewedShares((("c1", 8),), 10, 4, 2): "c1 holds 8 of 10 queues over 4 topics, another client 2",
    ClientFault("lock_missing", ("c1", "c2"), ("orders",), 9): (
        "c1, c2 held queues of orders without their locks, and consumed nothing of them (9 lines)"
    ),
    ClientFault("consumer_not_started", (), (), 1): "a consumer of a client could not start (1 line)",
    ClientFault("offset_reset", (), ("orders",), 1): (
        "somebody reset the group's offsets of orders: messages are skipped, or consumed again (1 line)"
    ),
    MessageTrouble("proxy_unreachable", "c1", None, 1): "c1 does not reach a proxy",
    MessageTrouble("consumption_stalled", "c1", None, 7): "c1 holds too many messages that its listener has not taken (7 lines)",
    MessageTrouble("consumption_stalled", "", "orders", 7): (
        "the group holds too many messages of orders unacknowledged, and a broker gives it no more (7 lines)"
    ),
    MessageTrouble("invisible_time_exceeded", "c1", None, 3): "3 receipts of c1 came after their messages' invisible time",
    MessageTrouble("invisible_time_exceeded", "", "orders", 3): (
        "3 messages of orders came again, as nobody acknowledged them within their invisible time"
    ),
    MasterAbsence("b1", 12, is_open=False, master="2"): "b1 had no master for 12 s; broker 2 is it now and holds no locks yet",
    MasterAbsence("b1", 0, is_open=True, master=None): "b1 had no master for 0 s",
    MasterAbsence("b1", 0, is_open=False, master="2"): "b1 changed its master; broker 2 is it now and holds no locks yet",
}


def test_all_facts_have_a_wording_and_an_example() -> None:
    assert set(FAULT_WORDINGS) == set(get_args(FaultFacts))
    assert {type(facts) for facts in EXAMPLES} == set(FAULT_WORDINGS)


@pytest.mark.parametrize(("facts", "text"), EXAMPLES.items(), ids=EXAMPLES.values())
def test_a_fault_is_put_into_words(facts: FaultFacts, text: str) -> None:
    assert fault_detail(facts) == text


@pytest.mark.parametrize("kind", sorted(LIMITS))
def test_each_fault_that_the_catalogue_names_has_words_and_advice(kind: str) -> None:
    assert fault_detail(ClientFault(kind, ("c1",), (), 1)).endswith("(1 line)")
    assert incident_kinds()[kind].advice

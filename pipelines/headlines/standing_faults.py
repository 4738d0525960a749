"""Details of RocketMQ groups' standing faults, in words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from typing import Any

from models.incidents import fault_facts as facts_of
from models.incidents.fault_facts import FaultFacts
from models.rows import Condition
from pipelines.headlines.phrases import counted, first_names

NAMED_MAX = 3
_VERBS = {"strategy": ("uses", "use"), "subscription": ("reads", "read")}
_OF_CLIENTS = {
    "proxy_unreachable": "{client} does not reach a proxy",
    "consumption_stalled": "{client} holds too many messages that its listener has not taken ({count} lines)",
    "invisible_time_exceeded": "{count} receipts of {client} came after their messages' invisible time",
    "lite_subscription_lost": "a broker ended subscriptions of {client} to lite topics of {topic}, and {client} gets nothing of them",
    "lite_subscription_refused": "{client} could not subscribe to lite topics{quota} ({count} lines)",
}
_OF_TOPICS = {
    "consumption_stalled": "the group holds too many messages of {topic} unacknowledged, and a broker gives it no more ({count} lines)",
    "invisible_time_exceeded": "{count} messages of {topic} came again, as nobody acknowledged them within their invisible time",
    "lite_subscription_lost": "a broker ended a client's subscriptions to lite topics of {topic}",
    "lite_subscription_refused": "a client could not subscribe to lite topics{quota} ({count} lines)",
    "lite_topic_contended": "clients take {lite_topic} from each other, which only one of them may read ({count} times)",
}
_FAULTS_OF_CLIENTS = {
    "allocation_failed": "{clients} could not share out queues{of_topics}, so all kept what they held",
    "broker_unreachable": "heartbeats of {clients} reached no broker, which strikes a client off after two minutes",
    "consume_timeout_exceeded": "{clients} consumed messages{of_topics} for longer than the limit, so they were sent back",
    "consumer_not_started": "a consumer of {clients} could not start",
    "listener_failed": "the listener of {clients} failed for messages{of_topics}, which come again",
    "listener_slow": "{clients} read no more{of_topics} for a time, as the listener was slower than the queues",
    "lock_missing": "{clients} held queues{of_topics} without their locks, and consumed nothing of them",
    "name_server_unreachable": "{clients} could ask no name server for routes, and kept those that they knew",
    "offset_not_kept": "{clients} could not keep offsets, so a restart reads from elsewhere",
    "offset_out_of_range": "{clients} asked for offsets{of_topics} that the broker does not have, and went on at others",
    "reading_failed": "{clients} could not read queues{of_topics}",
    "route_missing": "{clients} found no route{of_topics}, so its queues were not shared out",
}
_FAULTS_OF_BROKERS = {
    "consumption_disabled": "a broker switched the group off, as it was far behind: it gets nothing from there",
    "offset_reset": "somebody reset the group's offsets{of_topics}: messages are skipped, or consumed again",
}
_LISTED = " ({lines})"
_QUOTA_USED = ", as their quota is used up"


def fault_detail(facts: FaultFacts) -> str:
    """One clause with the facts of a fault."""
    return FAULT_WORDINGS[type(facts)](facts)


def conditions_in_words(conditions: Iterable[Condition[FaultFacts]]) -> list[Condition[str]]:
    """The rows of these faults."""
    return [_in_words(condition) for condition in conditions]


def _in_words(condition: Condition[FaultFacts]) -> Condition[str]:
    columns = {field.name: getattr(condition, field.name) for field in fields(condition)}
    return Condition(**columns | {"detail": fault_detail(condition.detail)})


def _differing(facts: facts_of.DifferingClients) -> str:
    singular, plural = _VERBS[facts.setting]
    return "; ".join(f"{_named(clients)} {singular if len(clients) == 1 else plural} {value}" for value, clients in facts.clients_by_value)


def _removed(facts: facts_of.RemovedTopics) -> str:
    return f"heartbeats take {_named(facts.topics)} from the group's subscription again and again"


def _replaced(facts: facts_of.ReplacedFilters) -> str:
    return f"heartbeats set the filter of {facts.topic} to {' and '.join(facts.expressions)} in turn"


def _shared(facts: facts_of.SharedClientIds) -> str:
    """Mentions an unresolved placeholder if an id contains one."""
    is_unresolved = any("${" in client_id for client_id in facts.client_ids)
    return f"more than one process is called {_named(facts.client_ids)}{': a placeholder was not resolved' if is_unresolved else ''}"


def _idle(facts: facts_of.IdleClients) -> str:
    have = "has" if len(facts.client_ids) == 1 else "have"
    return f"{facts.client_count} clients, {facts.queue_count} queues: {_named(facts.client_ids)} {have} nothing to read"


def _skewed(facts: facts_of.SkewedShares) -> str:
    largest = ", ".join(f"{client} holds {count}" for client, count in facts.queue_counts[:NAMED_MAX])
    return f"{largest} of {facts.queue_count} queues over {facts.topic_count} topics, another client {facts.queues_min}"


def _message_trouble(facts: facts_of.MessageTrouble) -> str:
    wordings = _OF_CLIENTS if facts.client_id else _OF_TOPICS
    quota = _QUOTA_USED if facts.is_quota_used else ""
    names = {"client": facts.client_id, "topic": facts.topic, "lite_topic": facts.lite_topic}
    return wordings[facts.kind].format(count=facts.line_count, quota=quota, **names)


def _client_fault(facts: facts_of.ClientFault) -> str:
    clients = _named(facts.client_ids) if facts.client_ids else "a client"
    of_topics = f" of {_named(facts.topics)}" if facts.topics else ""
    wording = _FAULTS_OF_BROKERS.get(facts.kind) or _FAULTS_OF_CLIENTS[facts.kind]
    return wording.format(clients=clients, of_topics=of_topics) + _LISTED.format(lines=counted(facts.line_count, "line"))


def _master(facts: facts_of.MasterAbsence) -> str:
    has_lasted = facts.seconds or facts.is_open
    absence = f"{facts.broker} had no master for {facts.seconds} s" if has_lasted else f"{facts.broker} changed its master"
    if facts.master is None:
        return absence
    if facts.lock_seconds is None:
        return f"{absence}; broker {facts.master} is it now and holds no locks yet"
    return f"{absence}; broker {facts.master} is it now, and gave the first lock {facts.lock_seconds} s later"


def _lost_brokers(facts: facts_of.LostBrokers) -> str:
    lost = _named(facts.names) if facts.names else "a broker"
    back = "not seen back" if facts.seconds is None else f"back after {facts.seconds} s"
    return f"a name server lost {lost}, {back}: clients drop its queues when they next ask for routes; which groups read them is not told"


def _named(names: tuple[str, ...]) -> str:
    return first_names(names, NAMED_MAX)


FAULT_WORDINGS: Mapping[type, Callable[[Any], str]] = {
    facts_of.DifferingClients: _differing,
    facts_of.RemovedTopics: _removed,
    facts_of.ReplacedFilters: _replaced,
    facts_of.SharedClientIds: _shared,
    facts_of.IdleClients: _idle,
    facts_of.SkewedShares: _skewed,
    facts_of.MessageTrouble: _message_trouble,
    facts_of.ClientFault: _client_fault,
    facts_of.MasterAbsence: _master,
    facts_of.LostBrokers: _lost_brokers,
}
"""Functions that put facts into words, by class."""

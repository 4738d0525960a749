"""Headlines about rebalances of RocketMQ groups."""

from __future__ import annotations

from dashboards.wording.durations import duration
from models.incidents.headline_facts import ClientAction, FrequentCause, QueueFacts, QueueHarm, QueueStory, ServerFacts, StandingQuarrel
from pipelines.headlines.phrases import cause_words, counted, first_names, often
from pipelines.headlines.standing_faults import fault_detail

QUEUE_ACTION_WORDS = {
    "consumer_start": "started",
    "consumer_stop": "stopped",
    "consumer_crash": "crashed",
    "channel_expired": "fell silent",
    "connection_lost": "lost its connection",
    "consumer_resume": "came back",
    "pull_expired": "stopped pulling",
    "consumer_list_partial": "was missing on a broker's list",
    "subscription_change": "changed its subscription",
    "broker_up": "was back on a broker's list",
}
"""Action of a client, by cause."""

BROKER_WORDS = {
    "broker_down": "a broker went down",
    "broker_up": "a broker came back",
    "consumer_list_partial": "a broker's list of clients was not complete",
    "queue_count_change": "the number of queues changed",
}
"""What changed in the cluster, by cause."""

HARM_WORDS = {"no_owner": "had no owner", "two_owners": "had two owners"}
TOPICS_NAMED_MAX = 3


def queue_episode(facts: QueueFacts) -> str:
    """Count, harm to queues, and who caused it."""
    if not facts.rebalance_count:
        return f"{facts.group}: {_story_clause(facts.story)}"
    clauses = [counted(facts.rebalance_count, "rebalance"), *map(_harm, facts.harms)]
    if facts.is_empty:
        clauses.append("no client was left")
    return f"{facts.group}: {', '.join(clauses)}; {_story_clause(facts.story)}"


def _harm(harm: QueueHarm) -> str:
    queues = f"{counted(harm.queue_count, 'queue')} of {first_names(harm.topics, TOPICS_NAMED_MAX)}"
    return f"{queues} {HARM_WORDS[harm.kind]} for {duration(harm.seconds)}"


def _story_clause(story: QueueStory) -> str:
    """Story of the episode, as a clause."""
    match story:
        case StandingQuarrel():
            return fault_detail(story.fault)
        case ClientAction():
            return f"{story.client_id} {often(QUEUE_ACTION_WORDS.get(story.cause, cause_words(story.cause)), story.times)}"
        case FrequentCause():
            return BROKER_WORDS.get(story.cause) or cause_words(story.cause)


def servers_alone(facts: ServerFacts) -> str:
    """What servers tell without any group."""
    return fault_detail(facts.fault)

"""One rebalance in sentences: trigger, waiting, end, and certainty."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from conf.causes import cause as cause_entry
from dashboards.view.answer import NEWER_PROTOCOLS, SHOWN_AS_LIKELY, SHOWN_AS_SURE, Incident, Person, Rebalance
from dashboards.wording.durations import duration
from dashboards.wording.units import Clock, counted, listed, share

SPARED_MIN_SECONDS = 0.05
"""Shorter times are not mentioned."""

_PLACE = re.compile(r"\{(\w+)\}")

_OUTCOMES = {
    "empty": "It ended with the group empty{at}.",
    "dead": "It ended with the group removed{at}.",
    "superseded": "Before the group was stable, another rebalance began{at}.",
    "coordinator_lost": "It ended unfinished{at}, when the group lost its coordinator.",
}


def title(item: Rebalance) -> str:
    """Title of a rebalance: group, topic and generations."""
    topic = f", topic {item.topic}" if item.topic else ""
    return f"{item.group}{topic}" + (f", generation {item.generations}" if item.generations else "")


def story(item: Rebalance, clock: Clock) -> list[str]:
    """Sentences in chronological order, then the certainty of the verdict."""
    sentences = [
        _beginning(item, clock),
        measurement(item),
        _behind(item),
        _followers(item),
        _waiting(item),
        _blockers(item),
        _end(item, clock),
        _cost(item),
    ]
    return [sentence for sentence in (*sentences, *certainty(item)) if sentence]


def offender_names(people: tuple[Person, ...], limit: int = 3) -> str:
    """Names of members, the first to act before the others."""
    return listed([person.where for person in sorted(people, key=lambda person: not person.first)], limit)


def act(item: Rebalance) -> str:
    """The cause as a clause: `orders-3 on 10.0.0.7 exceeded its poll interval`."""
    first = tuple(person for person in item.offenders if person.first) or item.offenders[:1]
    entry = cause_entry(item.system, item.cause)
    return entry.clause(offender_names(first) if first else "a member that no line names")


def measurement(item: Rebalance) -> str:
    """Measurement of the member that acted first, compared with the timeout in force."""
    first = tuple(person for person in item.offenders if person.first) or item.offenders[:1]
    return filled(cause_entry(item.system, item.cause).measured, first[0].name, item.measurements_ms) if first else ""


def filled(sentences: Sequence[str], who: str, numbers: Mapping[str, float]) -> str:
    """Return the first sentence with all its numbers known, filled in."""
    for sentence in sentences:
        names = [name for name in _PLACE.findall(sentence) if name != "who"]
        if all(name in numbers for name in names):
            values = {name: duration(numbers[name] / 1000) for name in names} | {"who": who}
            return "".join(values[part] if place else part for place, part in _parts(sentence))
    return ""


def _parts(sentence: str) -> Iterator[tuple[bool, str]]:
    """Split a sentence into texts (False) and names of placeholders (True)."""
    for index, part in enumerate(_PLACE.split(sentence)):
        yield index % 2 == 1, part


STATIC_MEMBERSHIP = "Static membership (group.instance.id, since 2.3.0)"
"""Begin of the sentences about its effect."""


def savings(numbers: Mapping[str, float], rebalances: int, confidence: float | None = None) -> str:
    """Rebalances that static membership would have avoided, as a sentence.

    `confidence` is that of the trigger: if it was another one, nothing might have been avoided.
    """
    avoided = int(numbers.get("static_avoided", 0))
    if not avoided:
        return ""
    seconds = numbers.get("static_saved_seconds", 0.0)
    saved = f", and {duration(seconds)} of standing still" if seconds >= SPARED_MIN_SECONDS else ""
    doubt = f", if the trigger is the one named ({share(confidence)} sure)" if confidence is not None and confidence < SHOWN_AS_SURE else ""
    sentence = f"would have avoided {avoided} of {counted(rebalances, 'rebalance')}{saved}{doubt}."
    return f"{STATIC_MEMBERSHIP} {sentence}"


def perhaps_static(numbers: Mapping[str, float], rebalances: int) -> str:
    """That static membership may have avoided rebalances, as a sentence.

    It has no number, as only a run of all members tells that.
    """
    if not numbers.get("static_avoided", 0):
        return ""
    some = f"some of {counted(rebalances, 'rebalance')}" if rebalances > 1 else "the rebalance"
    return f"{STATIC_MEMBERSHIP} may have avoided {some}: groupscope whatif PATH... --static-membership runs them again."


def outcome(item: Rebalance) -> str:
    """The outcome in one or two words."""
    if item.outcome == "open" and item.protocol in NEWER_PROTOCOLS:
        return "unknown"
    return item.outcome.replace("_", " ")


def own_words(item: Rebalance) -> str:
    """The coordinator's reason.

    Empty if there is none, or if the evidence already contains the whole record.
    """
    reason_text = item.trigger_text or ""
    return "" if any(line.text.startswith(reason_text[:80]) for line in item.evidence) else reason_text


def certainty(item: Rebalance) -> list[str]:
    """Confidence in the cause, alternatives, and evidence that would settle it."""
    rivals = [f"{cause_entry(item.system, name).title.lower()} ({share(value)})" for name, value in item.alternatives if value >= 0.01]
    sure = share(item.confidence)
    if item.is_sure:
        sentences = [f"The cause is nearly certain ({sure})" + (f"; what else would fit: {listed(rivals)}." if rivals else ".")]
    else:
        words = "The cause is likely" if item.confidence >= SHOWN_AS_LIKELY else "The cause is one of several"
        sentences = [f"{words} ({sure})" + (f"; it may also be {listed(rivals)}." if rivals else ".")]
    if item.settled_by:
        sentences.append(f"What would settle it: {item.settled_by}.")
    if item.inferred_steps or item.unexplained_lines:
        steps = f"{counted(item.inferred_steps, 'step')} of it {'is' if item.inferred_steps == 1 else 'are'} inferred"
        lines = f"{counted(item.unexplained_lines, 'line')} {'remains' if item.unexplained_lines == 1 else 'remain'} unexplained"
        clauses = [text for count, text in ((item.inferred_steps, steps), (item.unexplained_lines, lines)) if count]
        sentences.append(" and ".join(clauses) + ".")
    return sentences


def incident_certainty(item: Incident) -> str:
    """Confidence in the cause of an incident, in one line."""
    if item.confidence is None:
        return ""
    rivals = [f"{cause_entry(item.system, name).title.lower()} ({share(value)})" for name, value in item.rivals]
    title = cause_entry(item.system, item.trigger).title
    text = f"Trigger {title.lower()}: {share(item.confidence)}"
    return text + (f"; it may also be {listed(rivals)}" if rivals else "")


def _beginning(item: Rebalance, clock: Clock) -> str:
    members = f" of {counted(item.members_before, 'member')}" if item.members_before else ""
    broker = f" on coordinator {item.coordinator}" if item.coordinator else ""
    when = "At a time that the logs do not give" if item.started_at is None else clock.full(item.started_at)
    return f"{when}: {act(item)}, and group {item.group}{members}{broker} began to rebalance."


def _behind(item: Rebalance) -> str:
    if not item.root_cause:
        return ""
    entry = cause_entry(item.system, item.root_cause)
    return f"Root cause: {entry.title.lower()}. {entry.meaning}"


def _followers(item: Rebalance) -> str:
    others = tuple(person for person in item.offenders if not person.first)
    if len(item.offenders) < 2 or not others or len(others) == len(item.offenders):
        return ""
    return f"Then {offender_names(others, 5)} did the same while it was under way."


def _waiting(item: Rebalance) -> str:
    if item.join_seconds is None:
        return ""
    expected = item.initial_delay_seconds
    known = f", {duration(expected)} of it the initial delay, which is expected" if expected else ""
    if item.protocol in NEWER_PROTOCOLS:
        return f"The target assignment came {duration(item.join_seconds)} later{known}."
    return f"The members took {duration(item.join_seconds)} to rejoin{known}."


def _blockers(item: Rebalance) -> str:
    if not item.blockers:
        return ""
    reasons = [person.where + (f" ({person.reason.replace('_', ' ')})" if person.reason else "") for person in item.blockers]
    return f"The others waited for {listed(reasons, 5)}."


def _end(item: Rebalance, clock: Clock) -> str:
    at = f" at {clock.full(item.ended_at)}" if item.ended_at is not None else ""
    if item.outcome == "stable":
        sync = f"The assignment followed {duration(item.sync_seconds)} later. " if item.sync_seconds is not None else ""
        after = f" with {counted(item.members_after, 'member')}" if item.members_after is not None else ""
        generation = f" in generation {item.generation_after}" if item.generation_after is not None else ""
        lasted = f", {duration(item.duration_seconds)} after it began" if item.duration_seconds is not None else ""
        return f"{sync}The group was stable{generation}{after}{at}{lasted}."
    if item.outcome == "open" and item.protocol in NEWER_PROTOCOLS and item.at_least_seconds is None:
        return "No line tells when its members had taken over their shares; their own logs at INFO would."
    if item.outcome == "open":
        least = f"; it lasted at least {duration(item.at_least_seconds)}" if item.at_least_seconds is not None else ""
        return f"The logs end before it was over{least}. {_state_at_the_end(item, clock)}"
    return _OUTCOMES.get(item.outcome, "It ended{at}.").format(at=at)


def _state_at_the_end(item: Rebalance, clock: Clock) -> str:
    """State of a classic group with an open rebalance.

    It is rejoining, or waiting for the leader's assignment.
    """
    state, since = ("PreparingRebalance", item.started_at) if item.joined_at is None else ("CompletingRebalance", item.joined_at)
    at = f" since {clock.full(since)}" if since is not None else ""
    names = " or ".join(person.where for person in item.blockers)
    state_text = (
        "" if not item.blockers else f", waiting for {names}" if item.joined_at is None else f", waiting for the SyncGroup of {names}"
    )
    return f"The group was in {state}{at}{state_text}."


def _cost(item: Rebalance) -> str:
    parts = []
    if item.member_seconds_stopped and item.outcome != "empty":
        parts.append(f"Members stood still for {duration(item.member_seconds_stopped)}, summed over them.")
    if item.partition_seconds_stopped and item.outcome != "empty":
        parts.append(f"Partitions stood still for {duration(item.partition_seconds_stopped)}, summed over them.")
    if item.duplicate_window:
        window = duration(item.duplicate_window)
        if item.system == "rocketmq":
            parts.append(f"For {window} two members may have read the same queue.")
        else:
            parts.append(f"Work of up to {window} may be done twice: a commit was refused, as the group had gone on.")
    if item.pause_seconds:
        parts.append(f"A queue had no owner for up to {duration(item.pause_seconds)}.")
    if item.backlog_seconds:
        parts.append(f"Up to {duration(item.backlog_seconds)} of queued messages may have arrived at once afterwards.")
    return " ".join(parts)

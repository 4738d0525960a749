"""Sums up an answer: what was read, and what needs attention."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from dashboards.view.answer import SHOWN_AS_LIKELY, Answer, Divergence, Incident, Outage
from dashboards.view.recurrence import Recurrence
from dashboards.wording.durations import duration
from dashboards.wording.units import Clock, counted
from models.downtime import SHORTEST_SECONDS

_LOGS_NAMED = 3

CONTESTED_SECONDS = 60.0
"""Minimum time without exactly one owner for a queue to be a headline.

A handover takes less.
"""


def summary_lines(answer: Answer, clock: Clock, repeated: Sequence[Recurrence]) -> Iterator[str]:
    """Sentences of a summary: first what was read, then the findings."""
    totals = answer.totals
    yield f"{what_was_read(answer, clock)}."
    yield from other_zones(answer.doubts)
    if not totals.rebalances and not totals.outages:
        yield nothing_found(answer)
        if answer.partitions_short[0] and not answer.is_narrowed:
            yield _short(*answer.partitions_short)
        if not totals.incidents:
            return
    elif answer.groups_left and not answer.is_narrowed:
        yield f"{_gone(answer, 'more group')}."
    if answer.outages:
        yield _leaderless(answer.outages)
    yield from faults(answer)
    yield _attention(answer, repeated) if totals.attention else all_clear(answer)


def other_zones(doubts: Iterable[Divergence]) -> Iterator[str]:
    """Warn that a client's log, or its broker's, has a wrong time zone."""
    of_zones = [doubt for doubt in doubts if doubt.is_of_zones]
    logs = sorted({line.file for doubt in of_zones for line in doubt.evidence[-1:]})
    if logs:
        brokers = sorted({line.file for doubt in of_zones for line in doubt.evidence[:-1]})
        either = f", or else the log of the broker ({_first_logs(brokers)})" if brokers else ""
        yield (
            f"{counted(len(logs), 'log')} {'seems' if len(logs) == 1 else 'seem'} to be read in a wrong time zone "
            f"({_first_logs(logs)}){either}: rebalances may be listed twice, and without what members say of them. "
            "What was read names the difference (divergences of --json); --log-tz sets the zone of either."
        )


def _first_logs(logs: Sequence[str]) -> str:
    more = f" and {len(logs) - _LOGS_NAMED} more" if len(logs) > _LOGS_NAMED else ""
    return f"{', '.join(logs[:_LOGS_NAMED])}{more}"


def what_was_read(answer: Answer, clock: Clock) -> str:
    """Period of the logs, and what they hold, as a clause."""
    totals = answer.totals
    when = clock.span(totals.first_at, totals.last_at) + ": " if totals.first_at is not None else ""
    return f"{when}{counted(totals.files_read, 'log file')}, {counted(totals.groups, 'group')}, {counted(totals.rebalances, 'rebalance')}"


def nothing_found(answer: Answer) -> str:
    """The statement if neither rebalances nor outages were found.

    Only a broker's log can show that there were none.
    """
    if answer.is_narrowed:
        return _NOT_ASKED_FOR
    kinds = {item.kind for item in answer.files if item.recognised}
    if {item.system for item in answer.files if item.recognised} == {"rocketmq"}:
        return _SERVERS_ALONE if _are_servers_alone(answer) else _NO_SHARES
    if "server" in kinds and answer.groups_left:
        subject = "partition without a leader" if answer.incidents else "outage"
        return f"No {subject} is in these logs. {_gone(answer)}."
    if "server" in kinds and answer.incidents:
        return "No rebalance and no partition without a leader is in these logs."
    if "server" in kinds:
        return "No rebalance and no outage is in these logs."
    if kinds & {"controller", "state_change"}:
        subject = "partition without a leader" if answer.incidents else "outage"
        return f"No {subject} is in these logs. Controllers do not log rebalances: {_NOT_KNOWN}"
    witnesses = " and ".join(name for kind, name in (("client", "consumers"), ("request", "a request log")) if kind in kinds)
    if witnesses == "a request log":
        return f"No rebalance is in these requests. They are of the groups whose coordinator wrote them; of others {_NOT_KNOWN}"
    if witnesses:
        return f"Only lines of {witnesses} were recognised, and none of them names a group that rebalanced: {_NOT_KNOWN}"
    if kinds:
        return (
            f"The lines that were recognised are of neither a group coordinator nor a client, so that rebalances cannot show: {_NOT_KNOWN}"
        )
    return (
        "No line of a group coordinator or client was recognised. Are these the server.log files of brokers, or logs of consumers at INFO?"
    )


def _short(ever: int, at_end: int) -> str:
    """What is known of replicas that fell behind, as a sentence."""
    still = f"; {at_end} of them still {'has' if at_end == 1 else 'have'} when the logs end" if at_end else ""
    return f"{counted(ever, 'partition')} had fewer replicas in sync than replicas{still} (under_replicated_spans of --json)."


def _gone(answer: Answer, noun: str = "group") -> str:
    """What is known of groups that members left, as a clause."""
    return f"Members of {counted(answer.groups_left, noun)} left or expired, but the rebalances that this was part of are not there"


_NOT_KNOWN = "whether there were any is not known. Add the server.log files of the brokers."


def _are_servers_alone(answer: Answer) -> bool:
    """Whether all that was recognised is of servers of RocketMQ."""
    recognised = {(item.system, item.kind) for item in answer.files if item.recognised}
    return bool(recognised) and all(system == "rocketmq" and kind != "client" for system, kind in recognised)


_NOT_ASKED_FOR = "No rebalance and no outage is in what was asked for; the groups, the time or the filters asked for leave the rest out."

_NO_SHARES = (
    "No allocation of a group's queues is in these logs of RocketMQ. Each client logs its own: of others whether there were any is not "
    "known."
)

_SERVERS_ALONE = (
    "No line of these servers of RocketMQ tells of a consumer that came or went. Rebalances for other reasons are in the consumers' logs "
    "(rocketmq_client.log): whether there were any is not known."
)


def all_clear(answer: Answer) -> str:
    """The statement if no incident needs attention, with the doubt about it."""
    count = answer.totals.incidents
    guesses = guesses_among(answer.incidents)
    subject = "No rebalance" if answer.outages or faults(answer) else "Nothing"
    which = "which was" if count == 1 else "all of them"
    if guesses:
        guess_text = "its cause is a guess" if count == 1 else _guessed(guesses)
        return f"{subject} seems to need attention: {counted(count, 'incident')}, {which} probably expected, but {guess_text}."
    return f"{subject} needs attention" + (f": {counted(count, 'incident')}, {which} expected." if count else ".")


def guesses_among(items: Iterable[Incident]) -> int:
    """Number of incidents whose cause is a guess."""
    return sum(item.confidence is not None and item.confidence < SHOWN_AS_LIKELY for item in items)


def calm(count: int, guesses: int) -> str:
    """What is said of incidents that need no attention, as a clause."""
    examples = "deployments, scaling, first starts and the like"
    need = "seems to need" if count == 1 else "seem to need"
    if not guesses:
        return f"that {'needs' if count == 1 else 'need'} no attention ({examples})"
    return f"that {need} no attention ({examples}), but {_guessed(guesses)}"


def _guessed(guesses: int) -> str:
    return f"{counted(guesses, 'cause')} {'is a guess' if guesses == 1 else 'are guesses'}"


def faults(answer: Answer) -> list[str]:
    """RocketMQ: standing faults, and queues contested for longer than a handover takes."""
    sentences = [f"{item.group}: {item.title.lower()}" + (" (ongoing)." if item.ended_at is None else ".") for item in answer.conditions]
    for item in answer.contested:
        if item.ended_at is None or (item.seconds or 0) >= CONTESTED_SECONDS:
            longest = "when the logs end" if item.ended_at is None else f"for up to {duration(item.seconds)}"
            sentences.append(f"{item.group}: {counted(len(item.queues), 'queue')} of {item.topic} had {item.title} {longest}.")
    return list(dict.fromkeys(sentences))


def _leaderless(outages: Sequence[Outage]) -> str:
    """Sentence with the number of partitions without leader and the longest time."""
    partitions = {(item.cluster, item.topic, item.partition) for item in outages}
    still = {(item.cluster, item.topic, item.partition) for item in outages if item.online_at is None}
    longest = max((item.seconds for item in outages if item.seconds is not None), default=None)
    text = f"{counted(len(partitions), 'partition')} had no leader"
    text += f", for up to {duration(longest)}" if longest is not None else ""
    earlier = len({(item.cluster, item.topic, item.partition) for item in outages if item.offline_at is None})
    if earlier:
        text += ", since before these lines begin" if earlier == len(partitions) else f"; {earlier} of them since before these lines begin"
    return text + (f"; {len(still)} of them still {'has' if len(still) == 1 else 'have'} none when the logs end." if still else ".")


def _attention(answer: Answer, repeated: Sequence[Recurrence]) -> str:
    """Sentence with the number of incidents that need attention."""
    totals = answer.totals
    text = f"{totals.attention} of {counted(totals.incidents, 'incident')} {'needs' if totals.attention == 1 else 'need'} attention"
    problems = sum(item.worst.severity != "info" for item in repeated)
    are_all_there = len(answer.incidents) == totals.incidents  # the summary of a run has the worst one alone
    text += f", {counted(problems, 'problem')} in all" if are_all_there and problems < totals.attention else ""
    return f"{text}{downtime(answer)}."


def downtime(answer: Answer) -> str:
    """Time that groups stood still, as a clause."""
    if not answer.totals.rebalances:
        return ""
    if (answer.conditions or _are_servers_alone(answer)) and answer.totals.stopped_seconds < SHORTEST_SECONDS:
        return ""  # standing faults stop groups without a rebalance, and servers of RocketMQ don't tell of stops
    seconds, untimed = answer.totals.stopped_seconds, answer.totals.untimed
    if seconds < SHORTEST_SECONDS:
        return "; how long groups stood still is not known" if untimed else "; no group stood still"
    unknown = f", and for an unknown time in {counted(untimed, 'rebalance')}" if untimed else ""
    return f"; groups stood still for {duration(seconds)} in all{unknown}"

"""Headlines about partitions, brokers and log directories."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dashboards.wording.durations import duration
from models.incidents.headline_facts import (
    AbsenceFacts,
    DirectoryFacts,
    LossConsequences,
    OutageFacts,
    QuorumFacts,
    Replica,
    StaleLeaderFacts,
)
from pipelines.headlines.phrases import brokers_named, counted

SHUTDOWN_WORDS = {
    "controlled": "was shut down in good order",
    "killed": "was killed",
    "session_expired": "lost its session",
    "fenced": "was fenced",
    "log_dir_failed": "shut down as all its log directories had failed",
}
"""Departure of a broker, by kind of shutdown."""

REPLICAS_NAMED_MAX = 3
"""Replicas that are named; of more it is the number."""


def outage(facts: OutageFacts) -> str:
    """Lost brokers, partitions without leader, and consequences."""
    [*named] = facts.partitions
    subject = _replica_name(named[0]) if len(named) == 1 else f"{len(named)} partitions"
    clauses = [": ".join([*_what_went(facts), f"{subject} {_vacant(facts)}"])]
    clauses += [f"{_elected_uncleanly(facts)}, so that acknowledged records may be lost"] if facts.at_risk_count else []
    clauses += [f"{facts.coordinator_count} of them held coordinators"] if facts.coordinator_count else []
    return "; ".join([*clauses, *_what_followed(facts.consequences)])


def _vacant(facts: OutageFacts) -> str:
    """How long there was no leader."""
    if facts.longest_seconds == 0 and not facts.has_begun_unseen:
        return "at once with another leader"
    lasted = "still open" if facts.longest_seconds is None else f"up to {duration(facts.longest_seconds)}"
    lengths = [] if facts.longest_seconds == 0 else [lasted]
    return ", ".join(["without leader", *lengths, *(["begun before these lines"] if facts.has_begun_unseen else [])])


def _elected_uncleanly(facts: OutageFacts) -> str:
    """Number of leaders that did not have all records."""
    count = facts.at_risk_count
    if count == len(facts.partitions) == 1:
        return "its new leader was not in sync"
    return f"{count} of the new leaders {'was' if count == 1 else 'were'} not in sync"


def _what_went(facts: OutageFacts) -> list[str]:
    """Brokers that went, and brokers that lost a directory only.

    None where no line tells what became of them.
    """
    gone = [f"{brokers_named(facts.brokers)} went"] if facts.brokers else []
    failed = [f"a log directory of {brokers_named(facts.directory_brokers)} failed"] if facts.directory_brokers else []
    return [" and ".join([*gone, *failed])] if gone or failed else []


def _what_followed(consequences: LossConsequences) -> Iterator[str]:
    lost = consequences.groups_without_coordinator
    if lost:
        yield f"{counted(lost, 'group')} lost {'its' if lost == 1 else 'their'} coordinator"
    if consequences.rebalance_count:
        yield f"{counted(consequences.rebalance_count, 'rebalance')} followed"


def absence(facts: AbsenceFacts) -> str:
    """Departures of brokers, returns, and consequences."""
    how = "went" if facts.shutdown_kind is None else SHUTDOWN_WORDS[facts.shutdown_kind]
    if len(facts.brokers) > 1:
        how = how.replace("was ", "were ", 1).replace(" its ", " their ")
    clauses = [f"{brokers_named(facts.brokers)} {how}{_away(facts)}"]
    moved = facts.moved_leaderships
    clauses += [f"{counted(moved, 'leadership')} moved"] if moved else []
    # Without lines about leaders, the partitions that the brokers led are unknown.
    clauses += ["no partition was without leader" if moved else "no partition without leader is told"]
    return "; ".join([*clauses, *_what_followed(facts.consequences)])


def _away(facts: AbsenceFacts) -> str:
    """Brokers that are back, and after what time."""
    gone = [node for node in facts.brokers if node not in facts.back]
    if not gone:
        return f", away for {duration(facts.longest_seconds)}"
    if not facts.back:
        return ", not seen back"
    return f"; {brokers_named(gone)} not seen back, {brokers_named(facts.back)} back after {duration(facts.longest_seconds)}"


def failed_directory(facts: DirectoryFacts) -> str:
    """Failed directories, their replicas, and the new leaders."""
    several = len(facts.folders) > 1
    named = f" ({', '.join(facts.folders)})" if facts.folders else ""
    failed = f"{'log directories' if several else 'a log directory'} of broker {facts.broker} failed{named}"
    return "; ".join([failed, _what_lay_there(facts.replicas), *_who_leads(facts)])


def _what_lay_there(replicas: Sequence[Replica]) -> str:
    if not replicas:
        return "which replicas lay there is not told"
    return f"{_replicas_named(replicas)} {'is' if len(replicas) == 1 else 'are'} offline there"


def _who_leads(facts: DirectoryFacts) -> Iterator[str]:
    if facts.moved_leaderships:
        yield f"{counted(facts.moved_leaderships, 'leadership')} moved"
        if facts.has_moved_all:
            yield "no partition was without leader"
    elif facts.led:
        yield f"the broker led {_replicas_named(facts.led)}, and no line tells who leads now"
    elif facts.has_unknown_leaders:
        yield f"no line tells whether the broker led {'it' if len(facts.replicas) == 1 else 'them'}"
    elif facts.replicas:
        yield "it led none of them"


def _replicas_named(replicas: Sequence[Replica]) -> str:
    if len(replicas) > REPLICAS_NAMED_MAX:
        return f"{len(replicas)} replicas"
    return f"{'the replica' if len(replicas) == 1 else 'replicas'} of {', '.join(map(_replica_name, replicas))}"


def _replica_name(replica: Replica) -> str:
    topic, partition = replica
    return f"{topic}-{partition}"


def stale_leader(facts: StaleLeaderFacts) -> str:
    """Broker whose changes were refused, and for how long."""
    who = "a broker" if facts.broker is None else f"broker {facts.broker}"
    of = counted(facts.partition_count, "partition")
    if not facts.is_lasting:
        return f"ZooKeeper refused {who} a change of the in-sync replicas of {of}, as it knows a later one; in passing, as far as is told"
    return (
        f"{who} worked with a state of {of} that ZooKeeper no longer had, for at least {duration(facts.seconds)}: its changes of in-sync "
        "replicas were refused, and who leads them, or is in sync, is not what it says"
    )


def quorum_turn(facts: QuorumFacts) -> str:
    """New leader of the controllers, why, and the time without one."""
    who = f"{'controller' if facts.is_voter else 'node'} {facts.node}" if facts.node else "a node"
    lasted = f"{'at least ' if facts.is_open or facts.is_cut else ''}{duration(facts.seconds)}"
    silent = f"; {'voter' if len(facts.silent) == 1 else 'voters'} {', '.join(facts.silent)} did not answer" if facts.silent else ""
    if facts.is_kept:
        return f"{who} lost its leader {facts.leader_after} for {lasted}{_quorum_reason(facts)}; the quorum kept that leader"
    if facts.is_open:
        since = " since it started" if facts.is_start else ""
        why = f"{since}{_quorum_reason(facts)}{_epochs(facts)}"
        return f"the controllers have no leader when the logs end: {who} knew none for {lasted}{why}{silent}"
    if facts.leader_after is None:
        return f"controller {facts.leader_before} leads the controllers no more{_quorum_reason(facts)}{silent}; who does next is not told"
    if facts.is_start:
        return f"{who} found no leader of the controllers for {lasted} after it started, then controller {facts.leader_after}{silent}"
    without = f"; {who} knew no leader for {lasted}" if facts.seconds else ""
    return f"{_new_leader(facts)}{_quorum_reason(facts)}{_epochs(facts)}{without}{silent}"


def _new_leader(facts: QuorumFacts) -> str:
    after, before = f"controller {facts.leader_after}", facts.leader_before
    if facts.election_count > 1:
        return f"the controllers elected a leader {facts.election_count} times, last {after}"
    if before is None or before == facts.leader_after:
        return f"{after} leads the controllers{' again' if before else ''}"
    return f"{after} leads the controllers instead of {before}"


def _quorum_reason(facts: QuorumFacts) -> str:
    if facts.why == "fetch_timeout":
        timeout = "" if facts.timeout_seconds is None else f" ({duration(facts.timeout_seconds)})"
        return f", as it had heard nothing from its leader for the fetch timeout{timeout}"
    return {"resigned": ", as the leader resigned", "quorum_lost": ", as the leader heard from too few voters"}.get(facts.why, "")


def _epochs(facts: QuorumFacts) -> str:
    first, last = facts.epochs
    return f" (epoch {last})" if first == last else f" (epoch {first} to {last})"

"""Turns of a KRaft quorum: leaders of the controllers, and times without one.

A follower that hears nothing from its leader for its fetch timeout looks for another one. Since Kafka 4.0 it asks first whether others
would vote for it (KIP-996), so a node that is cut off finds its old leader again in the same epoch; a new leader has a new epoch.
Brokers observe the quorum, and say what they know of its leader in the same words.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from models.events import Event, int_field, text_field
from models.evidence import evidence
from models.ids import make_id
from models.incidents.headline_facts import QuorumFacts
from models.incidents.incident_rows import incident_row
from models.kafka.cluster.facts import ClusterFacts
from models.rows import KAFKA, Incident
from models.tolerances import int_tolerance
from models.units import US_PER_MS, US_PER_SECOND

QUORUM_TURN = "quorum_turn"

LEADERLESS_LASTING_US = int_tolerance("kafka.quorum_elections.lasting_us")
"""Shortest time without a leader that needs attention."""

RESTLESS_COUNT = int_tolerance("kafka.quorum_elections.restless_count")
"""Smallest number of elections in one incident that needs attention."""

QUORUM_LINES_MAX = 6

_WITH_LEADER = frozenset({"Leader", "Follower"})
_START = "null"


@dataclass(frozen=True, slots=True, order=True)
class Term:
    """An epoch of the quorum and who leads in it."""

    epoch: int
    leader: str


@dataclass(slots=True)
class LeaderlessStretch:
    """Time during which one node knew no leader.

    `before` and `after` are the terms that it knew; a stretch that begins with its process has neither a term before, nor one that it
    missed.
    """

    node: str
    turns: list[Event] = field(default_factory=list)
    before: Term | None = None
    after: Term | None = None
    is_start: bool = False

    @property
    def started_at(self) -> int:
        """Time of its first line."""
        return self.turns[0].time_us

    @property
    def ended_at(self) -> int:
        """Time of its last line, with which it ended if `after` is known."""
        return self.turns[-1].time_us

    @property
    def lasted_us(self) -> int:
        """Time from its first to its last line."""
        return self.ended_at - self.started_at

    @property
    def first_epoch(self) -> int:
        """Epoch that it began in, as far as its first line tells."""
        before = int_field(self.turns[0], "from_epoch")
        return _epoch(self.turns[0]) if before is None else before

    @property
    def epoch(self) -> int:
        """Last epoch that it saw."""
        return _epoch(self.turns[-1])

    @property
    def has_resigned(self) -> bool:
        """Whether a leader gave up and said nothing more."""
        first = self.turns[0].fields
        return first.get("state") == "Resigned" and first.get("from_state") == "Leader"

    @property
    def is_cut(self) -> bool:
        """Whether its beginning is before the first line."""
        return not self.is_start and self.before is None


def quorum_incidents(facts: ClusterFacts, node_of: Mapping[str, str], gap_seconds: float) -> Iterator[Incident[QuorumFacts]]:
    """One incident for the stretches that follow each other closely.

    A node that finds its leader soon after it started is no incident. `node_of` has the nodes of files whose lines name none.
    """
    by_node: dict[str, list[Event]] = {}
    for event in filter(_is_whole, facts.quorum.turns):
        by_node.setdefault(event.node or node_of.get(event.place.file) or "", []).append(event)
    stretches = [stretch for node, turns in sorted(by_node.items()) for stretch in _stretches(node, sorted(turns, key=_order))]
    notable = [stretch for stretch in stretches if not stretch.is_start or stretch.lasted_us >= LEADERLESS_LASTING_US]
    for episode in _episodes(sorted(notable, key=lambda stretch: (stretch.started_at, stretch.node)), gap_seconds):
        yield _incident(facts, episode)


def _order(event: Event) -> tuple[int, str, int]:
    return event.time_us, event.place.file, event.place.byte_offset


def _is_whole(event: Event) -> bool:
    return int_field(event, "epoch") is not None and text_field(event, "state") is not None


def _epoch(event: Event) -> int:
    """Epoch of a turn, which each whole one has."""
    return int_field(event, "epoch") or 0


def _stretches(node: str, turns: Iterable[Event]) -> Iterator[LeaderlessStretch]:
    known: Term | None = None
    stretch: LeaderlessStretch | None = None
    for event in turns:
        is_start = event.fields.get("from_state") == _START
        if is_start and stretch is not None:
            yield stretch
            stretch = None
        term = _term(node, event)
        if term is None:
            if stretch is None:
                before = None if is_start else known or _term_before(node, event)
                stretch = LeaderlessStretch(node, before=before, is_start=is_start)
            stretch.turns.append(event)
            continue
        before = known or _term_before(node, event)
        if stretch is None and not is_start and before != term:
            stretch = LeaderlessStretch(node, before=before)
        if stretch is not None:
            stretch.turns.append(event)
            stretch.after = term
            yield stretch
            stretch = None
        known = term
    if stretch is not None:
        yield stretch


def _term(node: str, event: Event) -> Term | None:
    leader = event.fields.get("leader")
    if text_field(event, "state") not in _WITH_LEADER or (leader is None and not node):
        return None
    return Term(_epoch(event), str(leader or node))


def _term_before(node: str, event: Event) -> Term | None:
    leader, epoch = event.fields.get("from_leader"), int_field(event, "from_epoch")
    if text_field(event, "from_state") not in _WITH_LEADER or epoch is None or (leader is None and not node):
        return None
    return Term(epoch, str(leader or node))


def _episodes(stretches: Iterable[LeaderlessStretch], gap_seconds: float) -> Iterator[Sequence[LeaderlessStretch]]:
    episode: list[LeaderlessStretch] = []
    for stretch in stretches:
        if episode and stretch.started_at - max(other.ended_at for other in episode) > gap_seconds * US_PER_SECOND:
            yield episode
            episode = []
        episode.append(stretch)
    if episode:
        yield episode


def _incident(facts: ClusterFacts, stretches: Sequence[LeaderlessStretch]) -> Incident[QuorumFacts]:
    started_at, ended_at = stretches[0].started_at, max(stretch.ended_at for stretch in stretches)
    terms = sorted({term for stretch in stretches for term in (stretch.before, stretch.after) if term is not None})
    found_epoch = max((stretch.after.epoch for stretch in stretches if stretch.after is not None), default=-1)
    unsolved = [stretch for stretch in stretches if stretch.after is None and stretch.epoch >= found_epoch]
    views = [stretch for stretch in unsolved if not stretch.has_resigned] or [s for s in stretches if not s.is_start] or stretches
    view = max(views, key=lambda stretch: stretch.lasted_us)
    lasted = view.lasted_us
    failures = [event for event in facts.quorum.failures if started_at - LEADERLESS_LASTING_US <= event.time_us <= ended_at]
    is_open = bool(unsolved) and not all(stretch.has_resigned for stretch in unsolved)
    headline = QuorumFacts(
        node=view.node or None,
        is_voter=view.node in _voters(stretches),
        seconds=lasted / US_PER_SECOND,
        leader_before=terms[0].leader if terms and (found_epoch < 0 or terms[0].epoch < max(found_epoch, view.epoch)) else None,
        leader_after=terms[-1].leader if found_epoch >= 0 and not is_open else None,
        epochs=(min([view.first_epoch, *(term.epoch for term in terms[:1])]), max(found_epoch, view.epoch)),
        election_count=max(len({term.epoch for term in terms}) - 1, 0),
        why=_why(stretches, failures),
        timeout_seconds=_timeout_seconds(stretches),
        silent=tuple(sorted(_silent(failures))),
        is_open=is_open,
        is_start=view.is_start,
        is_cut=view.is_cut,
    )
    is_lasting = lasted >= LEADERLESS_LASTING_US and not headline.is_kept
    severity = "critical" if is_open and is_lasting else "warning" if is_lasting or is_open or _is_restless(headline) else "info"
    return incident_row(
        cluster=facts.cluster,
        system=KAFKA,
        incident_id=make_id("incident", make_id("quorum turn", facts.cluster, started_at)),
        kind=QUORUM_TURN,
        severity=severity,
        started_at=started_at,
        ended_at=None if is_open else ended_at,
        headline=headline,
        evidence=evidence(sorted([*failures[:2], *view.turns[:2], *view.turns[2:][-2:]], key=_order)[:QUORUM_LINES_MAX]),
    )


def _is_restless(headline: QuorumFacts) -> bool:
    return headline.election_count >= RESTLESS_COUNT


def _voters(stretches: Iterable[LeaderlessStretch]) -> set[str]:
    voters: set[str] = set()
    for stretch in stretches:
        for event in stretch.turns:
            listed = event.fields.get("voters")
            voters.update(map(str, listed if isinstance(listed, (list, tuple)) else ()))
            if event.fields.get("state") in ("Leader", "Candidate", "Resigned"):
                voters.add(stretch.node)
    return voters


def _why(stretches: Sequence[LeaderlessStretch], failures: Iterable[Event]) -> str:
    """Why the first of them began, as far as a line tells."""
    if any(event.name == "QuorumLost" for event in failures):
        return "quorum_lost"
    if any(stretch.has_resigned for stretch in stretches):
        return "resigned"
    first = next((stretch.turns[0].fields for stretch in stretches if not stretch.is_start), {})
    is_same_epoch = first.get("from_epoch") == first.get("epoch") or first.get("state") in ("Candidate", "Prospective")
    return "fetch_timeout" if first.get("from_state") == "Follower" and is_same_epoch and first.get("state") != "Follower" else ""


def _timeout_seconds(stretches: Iterable[LeaderlessStretch]) -> float | None:
    firsts = (stretch.turns[0].fields for stretch in stretches)
    timeouts = (first.get("timeout_ms") for first in firsts if first.get("from_state") == "Follower")
    timeout = next((value for value in timeouts if isinstance(value, int)), None)
    return None if timeout is None else timeout * US_PER_MS / US_PER_SECOND


def _silent(failures: Iterable[Event]) -> set[str]:
    nodes: set[str] = set()
    for event in failures:
        heard = event.fields.get("heard")
        voters = event.fields.get("voters" if event.name == "QuorumLost" else "silent")
        listed = set(map(str, voters if isinstance(voters, (list, tuple)) else ()))
        nodes |= listed - set(map(str, heard if isinstance(heard, (list, tuple)) else ())) - {event.node or ""}
    return nodes

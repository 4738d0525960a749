"""Static members that came back under a new member id (KIP-345).

Back in time, each takes its old place, and no rebalance shows that it was away. Where one instance id is taken over again
and again, its process fails again and again, or two consumers have it and take turns: whoever is fenced while it lives, a line tells.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from models.clear_names import clear
from models.events import Event
from models.evidence import evidence, line_of
from models.ids import make_id
from models.incidents.headline_facts import StaticReturnFacts, StaticTakeoverFacts
from models.incidents.incident_rows import incident_row
from models.incidents.refusals import REFUSAL_LINES_MAX
from models.rows import KAFKA, Incident, Person
from models.tolerances import int_tolerance

KEPT_US = int_tolerance("incidents.static_restarts.kept_us")
"""The line that no rebalance follows stands this soon after that of the return.

The group's new metadata are stored in between.
"""

TAKEOVERS_MIN = 3
"""Minimum number of returns in a spell that show two consumers taking turns."""


@dataclass(slots=True)
class ReturnSpell:
    """Returns close to each other; times are microseconds."""

    ordinal: int
    first_at: int
    last_at: int
    counts: dict[str, int] = field(default_factory=dict)
    """Returns by instance id."""
    is_fenced: bool = False
    """Whether a line says that one consumer fenced another."""
    lines: list[Event] = field(default_factory=list)


@dataclass(slots=True)
class StaticRestarts:
    """The spell of one group that may go on."""

    spell: ReturnSpell | None = None
    ordinal: int = 0
    returned: Event | None = None
    """The latest return by the consumer protocol, while an epoch may follow."""

    @property
    def are_open(self) -> bool:
        """Whether returns are kept that others may join."""
        return self.spell is not None or self.returned is not None

    def feed(self, event: Event, kept: Sequence[Event]) -> None:
        """Take an event.

        `kept` are the lines that say that nobody has to rebalance, in order of time.
        """
        self._confirm_return(event)
        if event.name == "StaticMemberFenced" and self.spell is not None:
            self.spell.is_fenced = True
        if event.name == "ModernMemberJoined" and event.instance_id and event.fields.get("rejoined"):
            self.returned = event
        elif event.name == "StaticMemberReplaced" and event.instance_id and was_kept(event, kept):
            self._note(event)

    def _confirm_return(self, event: Event) -> None:
        """Count the latest return, unless the group's epoch rises with it."""
        back = self.returned
        if back is None or ((is_prompt := event.time_us - back.time_us <= KEPT_US) and event.name != "GroupEpochBumped"):
            return
        self.returned = None
        if not is_prompt:
            self._note(back)

    def _note(self, event: Event) -> None:
        at, name = event.time_us, event.instance_id or ""
        if self.spell is None:
            self.ordinal += 1
            self.spell = ReturnSpell(self.ordinal, at, at)
        spell = self.spell
        spell.last_at = max(spell.last_at, at)
        spell.counts[name] = spell.counts.get(name, 0) + 1
        if len(spell.lines) < REFUSAL_LINES_MAX:
            spell.lines.append(line_of(event))

    def over_by(self, until: int, gap_us: int) -> tuple[int, ReturnSpell] | None:
        """Remove the spell if no later return can join it.

        Returns it with the time at which it was final.
        """
        if self.returned is not None and self.returned.time_us + KEPT_US < until:
            self._note(self.returned)
            self.returned = None
        spell = self.spell
        if spell is None or spell.last_at + gap_us >= until:
            return None
        self.spell = None
        return spell.last_at + gap_us + 1, spell


def was_kept(event: Event, kept: Sequence[Event]) -> bool:
    """Whether a line of the same broker says right afterwards that no rebalance follows."""
    at = event.time_us
    return any(0 <= start.time_us - at <= KEPT_US and start.node == event.node for start in _near(kept, at))


def _near(kept: Sequence[Event], at: int) -> Sequence[Event]:
    low = bisect_left(kept, at, key=lambda event: event.time_us)
    return kept[low : bisect_right(kept, at + KEPT_US, key=lambda event: event.time_us)]


def return_incident(cluster: str, group: str, spell: ReturnSpell) -> Incident[StaticReturnFacts | StaticTakeoverFacts] | None:
    """Incident of a spell of returns, None if refusals already explain it."""
    name, times = max(Counter(spell.counts).items(), key=lambda item: (item[1], clear(item[0])))
    in_turn = times >= TAKEOVERS_MIN
    if in_turn and spell.is_fenced:
        return None
    instances = sorted(spell.counts, key=clear)
    returns = StaticReturnFacts(group, tuple(instances), sum(spell.counts.values()))
    person = Person(None, None, name, None, "static_member_fenced" if in_turn else "static_restart", first=True)
    return incident_row(
        cluster=cluster,
        system=KAFKA,
        incident_id=make_id("incident", make_id("static restarts", cluster, group, spell.ordinal)),
        kind="static_member_fenced" if in_turn else "static_restart",
        severity="warning" if in_turn else "info",
        groups=[group],
        started_at=spell.first_at,
        ended_at=spell.last_at,
        worst_offender=person,
        headline=StaticTakeoverFacts(group, name, times) if in_turn else returns,
        restarted_members=instances,
        evidence=evidence(spell.lines),
    )

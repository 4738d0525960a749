"""The outlook of a group under another configuration, over all variants of its behaviour.

The behaviour of each group's members is run through the reference coordinator twice: under the present configuration,
to see whether that gives the history that was logged, and under the other one. What differs between the runs is the answer
(`comparison` decides which rebalances are avoided); where the first run differs from the log, rows count as unchanged.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from models.tolerances import float_tolerance, int_tolerance
from models.whatif.behaviour.plans import planned
from models.whatif.comparison import Comparison, RebalanceChange, RebalanceSpan, rule_of, span_of
from models.whatif.configuration import WHAT_IF_RULES, Configuration, WhatIfRule
from models.whatif.doubt import readings, variants
from models.whatif.history import GroupBaseline, GroupReading
from models.whatif.runs.settings import changed
from models.whatif.runs.simulated_rebalances import SimulatedRebalance

SPARED_SHARE = int_tolerance("whatif.outlook.spared_share")
"""Number of answers for each one left out at either end."""
HEARD_SHARE = float_tolerance("whatif.outlook.heard_share")
"""Share of a heartbeat interval by which a rebalance may last longer or shorter.

When members hear of it no log tells; over many rebalances it evens out, so that it grows with the root of their number.
"""
LONG_MISS_MS = int_tolerance("whatif.outlook.long_miss_ms")
"""Waits for members that a run misses by more are not explained by it."""
NEAR_SECONDS = float_tolerance("whatif.outlook.near_seconds")
NEAR_SHARE = float_tolerance("whatif.outlook.near_share")
"""Downtimes that differ by no more, in seconds or as a share, are alike."""
CLEARLY_MORE = float_tolerance("whatif.outlook.clearly_more")
"""Factor by which more answers have to agree than agree with the logged behaviour's."""
RUN_PROTOCOLS = frozenset({"classic", "consumer"})


@dataclass(slots=True)
class WhatIfResult:
    """One group under the other configuration."""

    cluster: str
    group: str
    changes: list[RebalanceChange] = field(default_factory=list)
    fewest: int = 0
    """Smallest number of rebalances that the answer allows for; the largest is `left`."""
    saved_range: tuple[float, float] = (0.0, 0.0)
    """Least and most downtime that may be saved, in seconds."""
    reproduced: int = 0
    """Number of logged rebalances that the run of the same configuration gives, too."""
    assumed: list[str] = field(default_factory=list)
    runs: tuple[list[SimulatedRebalance], list[SimulatedRebalance]] = ((), ())  # type: ignore[assignment]
    """Rebalances of the present configuration's run, and of the other's."""
    spans: list[RebalanceSpan] = field(default_factory=list)
    """Rebalances that there would have been: the number is `left`."""

    def count(self, effect: str) -> int:
        """Number of rebalances with an effect."""
        return sum(change.effect == effect for change in self.changes)

    @property
    def left(self) -> int:
        """Number of rebalances under the other configuration, at most."""
        return len(self.changes) - self.count("avoided") + self.added

    @property
    def perhaps(self) -> int:
        """Number of those left that may not be."""
        return max(0, self.left - self.fewest)

    @property
    def added(self) -> int:
        """Number of additional rebalances."""
        return sum(change.added for change in self.changes)

    @property
    def stopped_seconds(self) -> float:
        """Actual downtime of the group, in seconds."""
        return round(sum(change.stopped_seconds for change in self.changes), 6)

    @property
    def saved_seconds(self) -> float:
        """Downtime saved, in seconds."""
        return round(sum(change.saved_seconds for change in self.changes), 6)

    @property
    def member_seconds_stopped(self) -> float:
        """Actual downtime of its members, in member-seconds."""
        return round(sum(change.row.member_seconds_stopped or 0.0 for change in self.changes), 6)

    @property
    def saved_member_seconds(self) -> float:
        """Members' downtime saved, in member-seconds."""
        return round(sum(change.saved_member_seconds for change in self.changes), 6)

    def rules(self) -> list[WhatIfRule]:
        """Rules that were applied, in the order of `WHAT_IF_RULES`."""
        used = {change.rule for change in self.changes}
        return [rule for rule in WHAT_IF_RULES if rule.id in used]


def under(history: GroupBaseline, configuration: Configuration, *, is_varied: bool = True) -> WhatIfResult:
    """A group under another configuration.

    `is_varied` is whether delays that the logs leave open are tried as well.
    """
    made = WhatIfResult(history.cluster, history.group, [RebalanceChange(row) for row in history.rows], fewest=len(history.rows))
    made.spans = [span_of(row) for row in history.rows]
    protocol = history.rows[0].protocol
    if protocol not in RUN_PROTOCOLS:
        made.assumed.append(f"what would change cannot be known: groups of the {protocol} protocol are not simulated")
        return made
    behaviour, settings, _ = history.reading()
    other_settings = changed(settings, configuration, behaviour)
    if other_settings == settings and not _moves_members(configuration):
        return made
    read, varied_answers = (_answers(history, configuration, some(history)) for some in (readings, variants if is_varied else _none))
    _settle(made, read, varied_answers, on_time=history.is_on_time())
    made.saved_range = _saved_range(made, read, varied_answers, max(settings.heartbeat_ms, other_settings.heartbeat_ms))
    made.assumed += behaviour.assumed.values()
    if other_settings.session_ms[""] < settings.session_ms[""]:
        made.assumed.append(
            f"silences of less than the present session of {settings.session_ms[''] / 1000:g} s cannot be known from these logs:"
            " a shorter session may end with some of them"
        )
    if history.longest_miss_ms() >= LONG_MISS_MS and _bounds_waits(configuration):
        made.assumed.append(
            "a run of the present configuration does not wait for members as long as they did: what bounds their waits is unknown"
        )
    if made.reproduced < len(made.changes):
        known = f"{made.reproduced} of {len(made.changes)} rebalances"
        but = " but their downtime" if any(row.goes_on for row in made.runs[1]) else ""
        made.assumed.append(f"a run of the present configuration gives {known}; of the others nothing is said to change{but}")
    return made


def _bounds_waits(configuration: Configuration) -> bool:
    return configuration.session_timeout_ms is not None or configuration.max_poll_interval_ms is not None


def _answers(history: GroupBaseline, configuration: Configuration, behaviours: Iterable[GroupReading]) -> list[Comparison]:
    """One answer for each behaviour that the logs allow for."""
    given = list(behaviours)
    on_time = history.is_on_time()
    others = [
        (planned(behaviour, configuration, on_time=on_time), changed(settings, configuration, behaviour))
        for behaviour, settings, _ in given
    ]
    is_as_often = configuration.heartbeat_interval_ms is None and configuration.consumer_heartbeat_ms is None
    by_chance_ms = history.wait_error_ms() if is_as_often else 0
    return [
        Comparison(history.rows, before, after, history.ends_ms, configuration, by_chance_ms, behaviour.heartbeat_ms)
        for (behaviour, _, before), after in zip(given, history.reruns(others), strict=True)
    ]


def _none(_: GroupBaseline) -> Iterable[GroupReading]:
    return ()


def _moves_members(configuration: Configuration) -> bool:
    moves = (configuration.instances, configuration.restart_pause_ms, configuration.scheduled_delay_ms)
    return any(move is not None for move in moves)


def _spared(values: Iterable[float]) -> tuple[float, float]:
    """Least and most of some values, without the outliers at either end."""
    in_order = sorted(values)
    spared = len(in_order) // SPARED_SHARE
    return in_order[spared], in_order[-1 - spared]


def _saved_range(made: WhatIfResult, read: Sequence[Comparison], varied: Sequence[Comparison], heartbeat_ms: int) -> tuple[float, float]:
    """Downtime saved at least and at most, in seconds.

    Zero where nothing would be another.
    """
    answers = [*read, *varied]
    if not any(change.effect != "same" or change.saved_seconds for answer in answers for change in answer.changes):
        return (0.0, 0.0)
    least, most = _spared([made.saved_seconds, *(answer.saved for answer in answers)])
    heard = HEARD_SHARE * heartbeat_ms / 1000 * math.sqrt(max(1, made.left))
    known = [made.saved_seconds, *(answer.saved for answer in read)]
    return round(min(least, *known) - heard, 6), round(min(made.stopped_seconds, max(most, *known) + heard), 6)


def _likeliest(answers: Sequence[Comparison], stopped_seconds: float) -> Comparison:
    """The first answer, unless clearly more of the others agree about another downtime."""
    downtimes = [stopped_seconds - answer.saved for answer in answers]
    alike = [sum(_is_near(other, downtime) for other in downtimes) for downtime in downtimes]
    most = alike.index(max(alike))
    return answers[most] if alike[most] > CLEARLY_MORE * alike[0] else answers[0]


def _is_near(downtime: float, other: float) -> bool:
    return abs(downtime - other) <= max(NEAR_SECONDS, NEAR_SHARE * other)


def _settle(made: WhatIfResult, read: Sequence[Comparison], varied: Sequence[Comparison], *, on_time: bool) -> None:
    """Take the answer with most rebalances, and mark what is in doubt.

    Of several that of the logged behaviour itself, if members' heartbeats are known and other answers are not clearly likelier,
    else the middle one.
    """
    answers = [*read, *varied]
    low, high = _spared(answer.left for answer in answers)
    fewest = int(min(low, *(answer.left for answer in read)))
    most = int(max(high, *(answer.left for answer in read)))
    middle = sorted(answer.saved for answer in answers)[len(answers) // 2]
    alike = [answer for answer in answers if answer.left == most]
    if on_time and alike[0] in read:
        chosen = _likeliest(alike, made.stopped_seconds)
    else:
        chosen = min(alike, key=lambda answer: abs(answer.saved - middle))
    made.changes, made.reproduced, made.fewest = chosen.changes, chosen.reproduced, fewest
    made.runs = chosen.before, chosen.after
    made.spans = chosen.spans
    if fewest < most:
        some = set().union(*(answer.avoided for answer in answers if fewest <= answer.left < most))
        for index in some - chosen.avoided:
            made.changes[index].effect = "perhaps_avoided"
    for change in made.changes:
        change.rule = change.rule or rule_of(change, chosen.configuration)

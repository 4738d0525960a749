"""Settings that would have helped a group, found by search, in words.

See `models.whatif.advice`. `groupscope advise` searches at length, `analyze` and `explain` only in groups with few
rebalances, because each setting is a run of them all. Groups are searched as a whole: a part of one reads otherwise.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from shlex import quote
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from models.whatif.advice import Advice, Finding
    from models.whatif.history import GroupHistory

GROUPS_MAX = 3
"""Number of groups that are searched beside an answer."""
ROWS_MAX = 20
"""Rebalances of all these groups together, so that the answer does not wait."""
FINDINGS_MAX = 2
"""Settings named for a group."""
OPTIONS = {
    "session_timeout_ms": "--session-timeout",
    "max_poll_interval_ms": "--max-poll-interval",
    "initial_delay_ms": "--initial-delay",
    "static_membership": "--static-membership",
    "cooperative": "--cooperative",
    "consumer_protocol": "--consumer-protocol",
}
"""Options of `groupscope whatif` that ask about a finding."""


def beside_answer(rows: Any, wanted: Collection[tuple[str, str]]) -> dict[str, list[tuple[str, str]]]:
    """What helps the groups of an answer, and where to ask about others."""
    from dashboards.wording.units import counted

    found = searched(rows, wanted)
    shown = told(found)
    rebalanced = {(row.cluster, row.group) for row in rows.rebalances}
    left = len(rebalanced.intersection(wanted) - {(advice.cluster, advice.group) for advice in found})
    if left:
        shown[f"{counted(left, 'group')} not searched here"] = [("A longer search covers them:", "groupscope advise PATH...")]
    return shown


def by_harm(groups: Iterable[GroupHistory]) -> list[GroupHistory]:
    """Groups by downtime, most first."""
    from models.downtime import stopped_seconds

    return sorted(groups, key=lambda each: (-sum(map(stopped_seconds, each.rows)), -len(each.rows), each.cluster, each.group))


def searched(rows: Any, wanted: Collection[tuple[str, str]]) -> list[Advice]:
    """What would have helped those of some groups that have few rebalances."""
    counts = Counter((row.cluster, row.group) for row in rows.rebalances)
    short = {group for group in wanted if 0 < counts[group] <= ROWS_MAX}
    if not short:
        return []
    from models.whatif.advice import advise
    from pipelines.cli.answers.histories import history

    found: list[Advice] = []
    room = ROWS_MAX
    for group in by_harm(each for each in history(rows).groups() if (each.cluster, each.group) in short):
        if len(group.rows) <= room and len(found) < GROUPS_MAX:
            room -= len(group.rows)
            found.append(advise(group, varied=False))
    return found


def told(found: Sequence[Advice]) -> dict[str, list[tuple[str, str]]]:
    """What helps each group most, what it costs, and how to ask further.

    Groups that no setting would have helped by as much as a rebalance costs are left out.
    """
    if not found:
        return {}
    from dashboards.wording.durations import duration
    from dashboards.wording.units import counted
    from models.whatif.advice import REBALANCE_SECONDS

    return {
        f"{advice.group}: {counted(advice.count, 'rebalance')}, {duration(advice.stopped_seconds)} stopped": list(_told(advice))
        for advice in found
        if any(finding.gain >= REBALANCE_SECONDS for finding in advice.helpful)
    }


def _told(advice: Advice) -> Iterator[tuple[str, str]]:
    for finding in advice.helpful[:FINDINGS_MAX]:
        asked = f"groupscope whatif PATH... --group {quote(advice.group)} {options(finding)}"
        yield f"{sentence(finding)} It costs: {cost(finding)}.", asked
    if advice.useless:
        yield f"Does not help: {'; '.join(dict.fromkeys(map(turn, advice.useless)))}.", ""


def sentence(finding: Finding) -> str:
    """A change with the rebalances and the downtime that it avoids."""
    from dashboards.wording.durations import duration
    from dashboards.wording.units import counted

    outlook = finding.outlook
    count, left = len(outlook.changes), outlook.left
    spared = f"{count - left:,} of {counted(count, 'rebalance')} fewer" if left < count else f"{counted(left - count, 'rebalance')} more"
    spared = f"as many rebalances ({count:,})" if left == count else spared
    doubt = f", perhaps {outlook.perhaps:,} fewer still" if outlook.perhaps else ""
    return (
        f"{turn(finding)}: {spared}{doubt}, {duration(max(0.0, outlook.saved_seconds))} of {duration(outlook.stopped_seconds)}"
        f" not stopped, {outlook.saved_member_seconds / 60:.1f} member-minutes less."
    )


def turn(finding: Finding) -> str:
    """A change in words, with its value."""
    from conf.causes import turns

    return turns()[finding.candidate.id].says.format(**_values(finding))


def cost(finding: Finding) -> str:
    """What a change costs."""
    from conf.causes import turns

    return turns()[finding.candidate.id].costs.format(**_values(finding))


def options(finding: Finding) -> str:
    """Options of `groupscope whatif` that ask about a finding."""
    configuration, parts = finding.candidate.configuration, []
    for name, option in OPTIONS.items():
        value = getattr(configuration, name)
        if value is True:
            parts.append(option)
        elif value:
            parts.append(f"{option} {value // 1000}s")
    return " ".join(parts)


def _values(finding: Finding) -> dict[str, str]:
    from dashboards.wording.durations import duration

    return {name: duration(value / 1000) for name, value in finding.candidate.values_ms.items()}

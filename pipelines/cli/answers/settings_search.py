"""Settings that would have helped a group, found by search, in words.

See `models.whatif.advice`. Each setting is a run of all rebalances of a group, which takes some milliseconds for each, so
an answer searches few of them unless it is asked for more: `BESIDE` adds a tenth of a second, most of it for imports, and
`ON_PAGE` less than a tenth of what the page's own what-ifs take. Groups are searched as a whole: a part of one reads otherwise.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from shlex import quote
from typing import TYPE_CHECKING, Any

from dashboards.view.row_access import column
from dashboards.view.settings import SettingAdvice
from pipelines.cli.answers.selection import counts_of, values_of

if TYPE_CHECKING:
    from conf.causes import RecommendedAction as Words
    from dashboards.view.answer import Answer, Incident
    from models.whatif.advice import Advice, RatedChange
    from models.whatif.configuration import Configuration
    from models.whatif.history import GroupBaseline
    from models.whatif.scopes import AdviceScope


@dataclass(frozen=True, slots=True)
class SearchLimits:
    """Limits of a search.

    `rows_max` counts the rebalances of all its groups together, None without a limit; `is_varied` is whether delays that the
    logs leave open are tried, too.
    """

    groups_max: int
    rows_max: int | None
    is_varied: bool = False


BESIDE = SearchLimits(3, 20)
"""Search beside an answer, which is always made."""
ON_PAGE = SearchLimits(20, 200)
"""Search for a page, which runs its groups under other configurations anyway."""
AT_LENGTH = SearchLimits(20, None, is_varied=True)
"""Search that was asked for."""
FINDINGS_MAX = 2
"""Settings named for a group or an incident."""
OPTIONS = {
    "session_timeout_ms": "--session-timeout",
    "consumer_session_ms": "--consumer-session-timeout",
    "max_poll_interval_ms": "--max-poll-interval",
    "initial_delay_ms": "--initial-delay",
    "static_membership": "--static-membership",
    "cooperative": "--cooperative",
    "consumer_protocol": "--consumer-protocol",
}
"""Options of `groupscope whatif` that ask about a finding."""


SETTINGS = {
    "session_timeout_ms": "session.timeout.ms",
    "consumer_session_ms": "group.consumer.session.timeout.ms",
    "max_poll_interval_ms": "max.poll.interval.ms",
    "initial_delay_ms": "group.initial.rebalance.delay.ms",
    "static_membership": "group.instance.id",
    "cooperative": "partition.assignment.strategy",
    "consumer_protocol": "group.protocol",
}
"""Settings that a finding changes."""
FIXED_VALUES = {
    "cooperative": "org.apache.kafka.clients.consumer.CooperativeStickyAssignor",
    "consumer_protocol": "consumer",
}
"""Values of settings that are either on or off.

Each instance has another group.instance.id.
"""

ClusterAndGroup = tuple[str, str]
"""Cluster and name."""


def search(
    rows: Any, wanted: Collection[ClusterAndGroup] | None, budget: SearchLimits, *scopes: AdviceScope, processes: int = 1
) -> list[Advice]:
    """Search settings for groups and for their incidents, most downtime first.

    Without `wanted`, for all groups. `scopes` are parts of their history that are asked about beside the incidents.
    `processes` are as in `whatif_history`.
    """
    counts: Counter[ClusterAndGroup] = Counter()
    for (cluster, name, system), count in counts_of(rows.rebalances, "cluster", "group", "system").items():
        if system == "kafka":
            counts[cluster, name] += count
    room = budget.rows_max if budget.rows_max is not None else counts.total()
    fitting = {group for group in (counts if wanted is None else wanted) if 0 < counts[group] <= room}
    if not fitting:
        return []
    from models.whatif.advice import advise
    from pipelines.cli.answers.histories import whatif_history

    incidents = _scopes(rows)
    advices: list[Advice] = []
    for group in by_harm(group for group in whatif_history(rows, processes).groups() if (group.cluster, group.group) in fitting):
        if len(group.rows) <= room and len(advices) < budget.groups_max:
            room -= len(group.rows)
            scope_ids = [*incidents[group.cluster, group.group], *scopes]
            advices.append(advise(group, is_varied=budget.is_varied, scopes=scope_ids))
    return advices


def _scopes(rows: Any) -> Mapping[ClusterAndGroup, list[AdviceScope]]:
    """Incidents that need attention, by group.

    Those that the selection cuts are left out.
    """
    from models.whatif.scopes import AdviceScope

    selected = values_of(rows.rebalances, "rebalance_id")
    scopes: defaultdict[ClusterAndGroup, list[AdviceScope]] = defaultdict(list)
    for incident in _grave(rows):
        ids = frozenset(column(incident, "rebalance_ids") or ())
        for group in column(incident, "groups") or () if ids and ids <= selected else ():
            scopes[column(incident, "cluster"), group].append(AdviceScope(column(incident, "incident_id"), ids))
    return scopes


def _grave(rows: Any) -> Iterator[Any]:
    for incident in rows.incidents:
        if column(incident, "system") == "kafka" and column(incident, "severity") != "info":
            yield incident


def harmed_groups(rows: Any) -> set[ClusterAndGroup]:
    """Kafka groups of the incidents that need attention."""
    return {(column(incident, "cluster"), group) for incident in _grave(rows) for group in column(incident, "groups") or ()}


def in_sections(rows: Any, wanted: Collection[ClusterAndGroup], advices: Sequence[Advice]) -> dict[str, list[tuple[str, str]]]:
    """Advice for the groups of an answer, and questions about the others."""
    from dashboards.wording.units import counted

    shown = advice_lines(advices)
    rebalanced = counts_of(rows.rebalances, "cluster", "group").keys()
    left = len(rebalanced & set(wanted) - {(advice.cluster, advice.group) for advice in advices})
    if left:
        shown[f"{counted(left, 'group')} not searched here"] = [("A longer search covers them:", "groupscope advise PATH...")]
    return shown


def with_remedies(answer: Answer, advices: Sequence[Advice]) -> Answer:
    """Add the settings that help each incident; drop advice that does not."""
    incidents = [
        replace(item, advice=that_helps(item.advice, item.id, item.cluster, item.groups, advices), measured=as_run(item, advices))
        for item in answer.incidents
    ]
    rebalances = [replace(item, advice=that_helps(item.advice, item.id, item.cluster, [item.group], advices)) for item in answer.rebalances]
    return replace(answer, incidents=incidents, rebalances=rebalances, remedies=in_short(advices))


def as_run(item: Incident, advices: Iterable[Advice]) -> tuple[str, ...]:
    """Sentences of an incident, with the effect of static membership by a run.

    Without a run of the incident they stay.
    """
    from dashboards.wording.story import STATIC_MEMBERSHIP, savings

    outlooks = [search.static[item.id] for search in advices if item.id in search.static]
    kept = tuple(text for text in item.measured if not text.startswith(STATIC_MEMBERSHIP))
    if not outlooks or len(kept) == len(item.measured):
        return item.measured
    spared = sum(len(outlook.changes) - outlook.left for outlook in outlooks)
    saved = sum(outlook.saved_seconds for outlook in outlooks)
    numbers = {"static_avoided": float(max(0, spared)) if saved >= 0 else 0.0, "static_saved_seconds": saved}
    return (*kept, *filter(None, [savings(numbers, item.rebalance_count, item.confidence)]))


def that_helps(advice: Iterable[Words], scope: str, cluster: str, groups: Collection[str], advices: Iterable[Advice]) -> tuple[Words, ...]:
    """Advice without the changes that avoid nothing, by a search.

    All of it stays if one of the groups was not searched, and what is about a change that was not searched for one of them.
    """
    searched = {search.group: search for search in advices if search.cluster == cluster}
    if not all(group in searched for group in groups):
        return tuple(advice)
    runs = [searched[group].helpful for group in groups] + [search.scopes.get(scope, ()) for search in searched.values()]
    turns = {finding.candidate.id for findings in runs for finding in findings}
    tried = frozenset.intersection(*(searched[group].searched for group in groups)) if groups else frozenset()
    return tuple(item for item in advice if item.turn is None or item.turn in turns or item.turn not in tried)


def in_short(advices: Iterable[Advice]) -> dict[str, list[str]]:
    """Advice for each incident or other scope, by id.

    Each text has the value, the rebalances and the downtime that it avoids, and the cost.
    """
    texts: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)
    for advice in advices:
        for scope, findings in advice.scopes.items():
            texts[scope] += [(advice.group, short_sentence(finding)) for finding in findings[:FINDINGS_MAX]]
    several = {scope for scope, pairs in texts.items() if len({group for group, _ in pairs}) > 1}
    return {scope: [f"{group}: {text}" if scope in several else text for group, text in pairs] for scope, pairs in texts.items()}


def advised_to(advices: Iterable[Advice]) -> list[tuple[Advice, RatedChange]]:
    """Advice for each group and its incidents, without repetitions.

    Best first: the first of each group and incident comes before the second of any.
    """
    chosen: dict[tuple[str, str, Configuration], tuple[Advice, RatedChange]] = {}
    lists = [(advice, findings) for advice in advices for findings in (advice.helpful, *advice.scopes.values())]
    for place in range(FINDINGS_MAX):
        for advice, findings in lists:
            for finding in findings[place : place + 1]:
                chosen.setdefault((advice.cluster, advice.group, finding.candidate.configuration), (advice, finding))
    return list(chosen.values())


def for_page(advices: Iterable[Advice]) -> list[SettingAdvice]:
    """Changes tried for each group, helpful ones first."""
    return [
        SettingAdvice(
            advice.cluster,
            advice.group,
            turn(finding),
            cost(finding),
            f"groupscope whatif --group {quote(advice.group)} {options(finding)}",
            len(finding.outlook.changes),
            len(finding.outlook.changes) - finding.outlook.left,
            finding.outlook.perhaps,
            finding.outlook.stopped_seconds,
            finding.outlook.saved_seconds,
            finding.outlook.saved_member_seconds,
            helps=finding in advice.helpful,
        )
        for advice in advices
        for finding in (*advice.helpful, *advice.useless)
    ]


def by_harm(groups: Iterable[GroupBaseline]) -> list[GroupBaseline]:
    """Groups by downtime, most first."""
    from models.downtime import stopped_seconds

    return sorted(groups, key=lambda group: (-sum(map(stopped_seconds, group.rows)), -len(group.rows), group.cluster, group.group))


def advice_lines(advices: Sequence[Advice]) -> dict[str, list[tuple[str, str]]]:
    """Best advice for each group, with costs and further questions.

    Groups that no setting would have helped by as much as a rebalance costs are left out.
    """
    if not advices:
        return {}
    from dashboards.wording.durations import duration
    from dashboards.wording.units import counted, listed
    from models.whatif.advice import REBALANCE_SECONDS

    alike: defaultdict[tuple[str, tuple[tuple[str, str], ...]], list[Advice]] = defaultdict(list)
    for advice in advices:
        if any(finding.gain >= REBALANCE_SECONDS for finding in advice.helpful):
            sums = f"{counted(advice.count, 'rebalance')}, {duration(advice.stopped_seconds)} stopped"
            alike[sums, tuple(_advice_texts(advice, ""))].append(advice)
    return {
        f"{listed([advice.group for advice in same], 4)}: {sums}{' each' if len(same) > 1 else ''}": list(
            _advice_texts(same[0], f"--group {quote(same[0].group)} ")
        )
        for (sums, _), same in alike.items()
    }


def _advice_texts(advice: Advice, selection: str) -> Iterator[tuple[str, str]]:
    """Sentences about a group, each with a command, which `selection` is part of."""
    from dashboards.wording.units import counted

    for finding in advice.helpful[:FINDINGS_MAX]:
        yield f"{change_sentence(finding)} It costs: {cost(finding)}.", f"groupscope whatif PATH... {selection}{options(finding)}"
    if advice.without_end:
        were = "was" if advice.without_end == 1 else "were"
        yield f"{counted(advice.without_end, 'rebalance')} that had no end when the logs ended {were} not run again.", ""
    if any("session" in finding.candidate.values_ms for finding in advice.helpful[:FINDINGS_MAX]):
        yield from ((f"Assumed: {text}.", "") for text in advice.assumed if "session.timeout.ms" in text)
    if advice.useless:
        yield f"Does not help: {'; '.join(dict.fromkeys(map(turn, advice.useless)))}.", ""


def change_sentence(finding: RatedChange) -> str:
    """A change with the rebalances and the downtime that it avoids."""
    from dashboards.wording.durations import duration
    from dashboards.wording.units import counted

    outlook = finding.outlook
    count, left = len(outlook.changes), outlook.left
    spared = f"{count - left:,} of {counted(count, 'rebalance')} fewer" if left < count else f"{counted(left - count, 'rebalance')} more"
    spared = f"as many rebalances ({count:,})" if left == count else spared
    doubt = f", perhaps {outlook.perhaps:,} fewer still" if outlook.perhaps else ""
    members = f", {_of_members(outlook.saved_member_seconds)}" if outlook.member_seconds_stopped >= LEAST_TOLD else ""
    if outlook.stopped_seconds < LEAST_TOLD:
        return f"{turn(finding)}: {spared}{doubt}, none of which is known to have stopped the group."
    return (
        f"{turn(finding)}: {spared}{doubt}, {duration(max(0.0, outlook.saved_seconds))} of {duration(outlook.stopped_seconds)}"
        f" not stopped{members}."
    )


def short_sentence(finding: RatedChange) -> str:
    """The same in one clause, with the cost."""
    from dashboards.wording.units import counted

    outlook = finding.outlook
    count, left = len(outlook.changes), outlook.left
    parts = [f"{count - left:,} of {counted(count, 'rebalance')}"] if left < count else []
    parts += [f"perhaps {outlook.perhaps:,} fewer still"] if outlook.perhaps else []
    parts += list(_saved(finding))
    parts += [f"though {counted(left - count, 'rebalance')} more"] if left > count else []
    return f"{turn(finding)}: {', '.join(parts)}; {cost(finding)}" if parts else f"{turn(finding)}; {cost(finding)}"


def _saved(finding: RatedChange) -> Iterator[str]:
    """Downtime that is saved.

    That of members, or of the group where no line tells how many they are.
    """
    from dashboards.wording.durations import duration

    outlook = finding.outlook
    if outlook.saved_member_seconds >= LEAST_TOLD:
        yield _of_members(outlook.saved_member_seconds)
    elif outlook.saved_seconds >= LEAST_TOLD:
        yield f"{duration(outlook.saved_seconds)} of {duration(outlook.stopped_seconds)} not stopped"


def _of_members(seconds: float) -> str:
    """Time of members' downtime that is saved."""
    unit, value = ("minutes", seconds / 60) if seconds >= MANY_SECONDS else ("seconds", seconds)
    return f"{value:,.1f} member-{unit} less" if value < FEW_UNITS else f"{value:,.0f} member-{unit} less"


LEAST_TOLD = 0.05
"""Seconds that are not told as none."""
MANY_SECONDS = 120
"""Times of members from here on are told in minutes."""
FEW_UNITS = 10
"""Numbers from here on are told without a fraction."""


def turn(finding: RatedChange) -> str:
    """A change in words, with its value."""
    from conf.causes import turns

    entry = turns()[finding.candidate.id]
    text = entry.says if finding.candidate.values_ms.get("later", 1) else entry.enough
    return text.format(**_values(finding))


def cost(finding: RatedChange) -> str:
    """Cost of a change."""
    from conf.causes import turns

    entry = turns()[finding.candidate.id]
    longer = entry.longer if finding.candidate.values_ms.get("later") else ""
    return "; ".join(text.format(**_values(finding)) for text in (entry.costs, longer) if text)


def settings(finding: RatedChange) -> list[dict[str, Any]]:
    """Settings that a finding changes, as properties have them."""
    configuration = finding.candidate.configuration
    changed = [(name, value) for name in SETTINGS if (value := getattr(configuration, name))]
    return [{"name": SETTINGS[name], "value": FIXED_VALUES.get(name) if value is True else str(value)} for name, value in changed]


def options(finding: RatedChange) -> str:
    """Options of `groupscope whatif` that ask about a finding."""
    configuration, parts = finding.candidate.configuration, []
    for name, option in OPTIONS.items():
        value = getattr(configuration, name)
        if value is True:
            parts.append(option)
        elif value:
            parts.append(f"{option} {value // 1000}s")
    return " ".join(parts)


def _values(finding: RatedChange) -> dict[str, str]:
    from dashboards.wording.durations import duration

    return {name: duration(value / 1000) for name, value in finding.candidate.values_ms.items()}

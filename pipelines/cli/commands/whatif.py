"""Commands `whatif` and `advise`: history under another configuration.

See `models.whatif.outlook` and `models.whatif.advice`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pipelines import exit_codes as codes
from pipelines.cli.answers.advice_rows import advice_rows, effects, finding_rows
from pipelines.cli.answers.settings_search import AT_LENGTH, SearchLimits, change_sentence, cost, options, search, turn
from pipelines.cli.answers.source import Source, open_source
from pipelines.cli.arguments import options as o
from pipelines.cli.arguments.question import QueryOptions, question
from pipelines.cli.output.standard_streams import screen
from pipelines.errors import UsageError

if TYPE_CHECKING:
    from rich.console import Console

    from models.whatif.advice import Advice
    from models.whatif.comparison import RebalanceChange
    from models.whatif.configuration import Configuration, WhatIfRule
    from models.whatif.outlook import WhatIfResult


def _span(*names: str, says: str) -> Any:
    """An option that takes a stretch of time."""
    return typer.Option(*names, metavar="SPAN", help=says, rich_help_panel=o.SHOW)


SessionTimeout = Annotated[str | None, _span("--session-timeout", says="session.timeout.ms, such as 45s.")]
HeartbeatOption = Annotated[str | None, _span("--heartbeat-interval", says="heartbeat.interval.ms, such as 3s.")]
MaxPoll = Annotated[
    str | None,
    _span("--max-poll-interval", "--rebalance-timeout", says="max.poll.interval.ms, such as 10m; of Connect: rebalance.timeout.ms."),
]
InitialDelay = Annotated[str | None, _span("--initial-delay", says="group.initial.rebalance.delay.ms, such as 3s or 0s.")]
Static = Annotated[
    bool, typer.Option("--static-membership", help="Each instance has a group.instance.id (KIP-345).", rich_help_panel=o.SHOW)
]
Cooperative = Annotated[bool, typer.Option("--cooperative", help="A cooperative assignor (KIP-429).", rich_help_panel=o.SHOW)]
ConsumerProtocol = Annotated[bool, typer.Option("--consumer-protocol", help="group.protocol=consumer (KIP-848).", rich_help_panel=o.SHOW)]
MaxSize = Annotated[
    int | None,
    typer.Option("--max-size", min=1, metavar="N", help="group.max.size; of KIP-848: group.consumer.max.size.", rich_help_panel=o.SHOW),
]
Instances = Annotated[
    int | None, typer.Option("--instances", min=1, metavar="N", help="Number of members of each group.", rich_help_panel=o.SHOW)
]
RestartPause = Annotated[str | None, _span("--restart-pause", says="Time between restarts in a rolling restart.")]
ScheduledDelay = Annotated[str | None, _span("--scheduled-delay", says="scheduled.rebalance.max.delay.ms of Connect, such as 5m or 0s.")]
ConsumerSessionOption = Annotated[
    str | None, _span("--consumer-session-timeout", says="group.consumer.session.timeout.ms (KIP-848), such as 60s.")
]
ConsumerHeartbeatOption = Annotated[
    str | None, _span("--consumer-heartbeat-interval", says="group.consumer.heartbeat.interval.ms (KIP-848), such as 5s.")
]
_COLUMNS = (
    "cluster", "group", "rebalance_id", "started_at", "cause", "effect", "rule", "stopped_seconds", "saved_seconds",
    "saved_member_seconds", "added", "initial_delay_seconds", "confidence",
)  # fmt: skip
"""Columns of CSV, JSON lines, and the list `rebalances` of a group."""


@question
def whatif(
    query_options: QueryOptions,
    form: o.OutputForm,
    session_timeout: SessionTimeout = None,
    heartbeat_interval: HeartbeatOption = None,
    max_poll_interval: MaxPoll = None,
    initial_delay: InitialDelay = None,
    static_membership: Static = False,
    cooperative: Cooperative = False,
    consumer_protocol: ConsumerProtocol = False,
    max_size: MaxSize = None,
    instances: Instances = None,
    restart_pause: RestartPause = None,
    scheduled_delay: ScheduledDelay = None,
    consumer_session_timeout: ConsumerSessionOption = None,
    consumer_heartbeat_interval: ConsumerHeartbeatOption = None,
    limit: o.Limit = 20,
) -> int:
    """Say which rebalances another configuration would have avoided, and what time that saves."""
    from models.whatif.configuration import Configuration
    from models.whatif.outlook import under
    from pipelines.cli.answers.histories import whatif_history
    from pipelines.cli.output import json_csv as answers

    configuration = Configuration(
        session_timeout_ms=_milliseconds(session_timeout, "--session-timeout"),
        heartbeat_interval_ms=_milliseconds(heartbeat_interval, "--heartbeat-interval"),
        max_poll_interval_ms=_milliseconds(max_poll_interval, "--max-poll-interval"),
        initial_delay_ms=_milliseconds(initial_delay, "--initial-delay"),
        static_membership=static_membership,
        cooperative=cooperative,
        consumer_protocol=consumer_protocol,
        max_size=max_size,
        instances=instances,
        restart_pause_ms=_milliseconds(restart_pause, "--restart-pause"),
        scheduled_delay_ms=_milliseconds(scheduled_delay, "--scheduled-delay"),
        consumer_session_ms=_milliseconds(consumer_session_timeout, "--consumer-session-timeout"),
        consumer_heartbeat_ms=_milliseconds(consumer_heartbeat_interval, "--consumer-heartbeat-interval"),
    )
    if configuration == Configuration():
        raise UsageError("say what would be set otherwise: --static-membership, --session-timeout 45s, ... (see --help)")
    source = open_source(query_options)
    histories = whatif_history(source.rows, source.settings.input.processes).groups()
    results = [under(history, configuration) for history in histories]
    if form == "people":
        _show(screen(), results, source, limit, verbose=query_options.verbose)
    elif form == "json":
        answers.write_object(outlook_object(results, configuration))
    elif form == "jsonl":
        answers.write_lines(_changes(results))
    else:
        answers.write_csv(_COLUMNS, _changes(results))
    return codes.decisive(source.codes)


def _milliseconds(text: str | None, option: str) -> int | None:
    from pipelines.cli.arguments.times import stretch

    if text is None:
        return None
    duration_us = stretch(text)
    if duration_us is None:
        raise UsageError(f"{option} {text!r} is no stretch of time; examples are 500ms, 45s and 5m")
    return round(duration_us.total_seconds() * 1000)


def outlook_object(results: Iterable[WhatIfResult], configuration: Configuration) -> dict[str, Any]:
    """The answer as described by `groupscope schema whatif`."""
    import dataclasses

    outlooks = list(results)
    return {
        "configuration": dataclasses.asdict(configuration),
        "groups": [_group(outlook) for outlook in outlooks],
        "rules": [dataclasses.asdict(rule) for rule in _rules(outlooks)],
    }


def _rules(results: Iterable[WhatIfResult]) -> list[WhatIfRule]:
    from models.whatif.configuration import WHAT_IF_RULES

    used = {rule.id for outlook in results for rule in outlook.rules()}
    return [rule for rule in WHAT_IF_RULES if rule.id in used]


def _group(outlook: WhatIfResult) -> dict[str, Any]:
    return {
        "cluster": outlook.cluster,
        "group": outlook.group,
        **effects(outlook),
        "reproduced": outlook.reproduced,
        "assumptions": outlook.assumed,
        "rebalances": [_change(outlook, change) for change in outlook.changes],
    }


def _changes(results: Iterable[WhatIfResult]) -> Iterator[dict[str, Any]]:
    for outlook in results:
        yield from (_change(outlook, change) for change in outlook.changes)


def _change(outlook: WhatIfResult, change: RebalanceChange) -> dict[str, Any]:
    from pipelines.schema.tables import instant_text

    return {
        "cluster": outlook.cluster,
        "group": outlook.group,
        "rebalance_id": change.row.rebalance_id,
        "started_at": instant_text(change.row.started_at),
        "cause": change.row.cause,
        "effect": change.effect,
        "rule": change.rule,
        "stopped_seconds": round(change.stopped_seconds, 6),
        "saved_seconds": change.saved_seconds,
        "saved_member_seconds": change.saved_member_seconds,
        "added": change.added,
        "initial_delay_seconds": change.waits_seconds,
        "confidence": change.row.confidence,
    }


EFFECTS = {
    "avoided": "would have been avoided",
    "perhaps_avoided": "might not have been",
    "shorter": "shorter",
    "longer": "longer",
    "later": "later",
    "sooner": "sooner",
    "same": "the same",
}


def _show(console: Console, results: list[WhatIfResult], source: Source, limit: int, *, verbose: bool) -> None:
    from dashboards.wording.durations import duration
    from dashboards.wording.units import counted
    from pipelines.cli.output import screens
    from pipelines.cli.output.grid import GridColumn, grid

    ranked = sorted(results, key=lambda result: (-result.saved_seconds, -result.count("avoided"), result.cluster, result.group))
    if not ranked:
        screens.say(console, "No rebalance found.")
        return
    screens.say(console, _headline(ranked), style="bold")
    shown = ranked[: limit or None]
    has_clusters = len({result.cluster for result in ranked}) > 1
    columns = [
        GridColumn("cluster", [result.cluster if has_clusters else "" for result in shown], rank=2, least=12),
        GridColumn("group", [result.group for result in shown], least=16),
        GridColumn("rebalances", [f"{len(result.changes):,}" for result in shown], is_right_aligned=True),
        GridColumn("avoided", [f"{result.count('avoided'):,}" for result in shown], is_right_aligned=True),
        GridColumn("perhaps", [f"{result.perhaps or ''}" for result in shown], is_right_aligned=True, rank=1),
        GridColumn("more", [f"{result.added or ''}" for result in shown], is_right_aligned=True),
        GridColumn("stopped", [duration(result.stopped_seconds) for result in shown], is_right_aligned=True),
        GridColumn("saved", [duration(result.saved_seconds) for result in shown], is_right_aligned=True),
    ]
    console.print(grid(columns, console.width, indent=1))
    if len(ranked) > len(shown):
        screens.say(console, f"{len(shown):,} of {counted(len(ranked), 'group')}; --limit 0 shows all", style="dim")
    if verbose:
        _show_changes(console, shown, source)
    rules = _rules(results)
    if rules:
        screens.heading(console, "By which rules, and what is taken for granted")
    for rule in rules:
        screens.say(console, f"- {rule.says} {rule.assumes} ({rule.source}; since {rule.since})", indent=1, hang=2)
    _show_assumptions(console, shown)


def _show_assumptions(console: Console, results: list[WhatIfResult]) -> None:
    """What the logs of each group do not tell, each text once."""
    from dashboards.wording.units import listed
    from pipelines.cli.output import screens

    groups: dict[str, list[str]] = {}
    for result in results:
        for text in result.assumed:
            groups.setdefault(text, []).append(result.group)
    if groups:
        screens.heading(console, "What these logs do not tell")
    for text, names in groups.items():
        screens.say(console, f"- {listed(sorted(names))}: {text}.", indent=1, hang=2)


def _headline(results: list[WhatIfResult]) -> str:
    from dashboards.wording.durations import duration
    from dashboards.wording.units import counted

    count, avoided = sum(len(result.changes) for result in results), sum(result.count("avoided") for result in results)
    saved, stopped = sum(result.saved_seconds for result in results), sum(result.stopped_seconds for result in results)
    added = sum(result.added for result in results)
    doubt = _doubt(stopped, *(sum(result.saved_range[end] for result in results) for end in (1, 0)))
    text = f"{avoided:,} of {counted(count, 'rebalance')} would have been avoided"
    text += f", and there would have been {added:,} more" if added else ""
    if not stopped and not saved:
        return f"{text}; no group is known to have stood still, or would have."
    if saved < 0:
        return f"{text}; groups would have stood still for {duration(-saved)} more than the {duration(stopped)} that they did{doubt}."
    return f"{text}; groups would have stood still for {duration(max(0.0, stopped - saved))} instead of {duration(stopped)}{doubt}."


def _doubt(stopped: float, most_saved: float, least_saved: float) -> str:
    """The range of the downtime that there would have been."""
    from dashboards.wording.durations import duration

    least, most = (max(0.0, stopped - saved) for saved in (most_saved, least_saved))
    return f" (between {duration(least)} and {duration(most)} in all)" if most > least else ""


def _show_changes(console: Console, results: list[WhatIfResult], source: Source) -> None:
    from dashboards.wording.durations import duration
    from pipelines.cli.output import screens
    from pipelines.cli.output.grid import GridColumn, grid

    changed = [(result, change) for result in results for change in result.changes if change.effect != "same"]
    if not changed:
        return
    screens.heading(console, f"What would have been another ({source.clock.zone_name})")
    columns = [
        GridColumn("start", [source.clock.stamp(change.row.started_at) for _, change in changed]),
        GridColumn("group", [result.group for result, _ in changed], least=14),
        GridColumn("cause", [change.row.cause.replace("_", " ") for _, change in changed], least=14),
        GridColumn("then", [EFFECTS[change.effect] for _, change in changed], least=12),
        GridColumn("saved", [duration(change.saved_seconds) for _, change in changed], is_right_aligned=True),
    ]
    console.print(grid(columns, console.width, indent=1))


# -- advise -------------------------------------------------------------------------------------------------------

ADVICE_COLUMNS = (
    "cluster", "group", "advice", "helps", "settings", "options", "count", "avoided", "perhaps_avoided", "added", "stopped_seconds",
    "saved_seconds", "member_seconds_stopped", "saved_member_seconds", "found_later_seconds", "costs",
)  # fmt: skip
"""Columns of its CSV and JSON lines."""


@question
def advise(query_options: QueryOptions, form: o.OutputForm, limit: o.Limit = AT_LENGTH.groups_max) -> int:
    """Say which settings would have avoided most, with their costs."""
    from pipelines.cli.output import json_csv as answers

    source = open_source(query_options)
    groups = len({(row.cluster, row.group) for row in source.rows.rebalances if row.system == "kafka"})
    advices = search(source.rows, None, SearchLimits(limit or groups, None, is_varied=True), processes=source.settings.input.processes)
    if form == "people":
        _show_advice(screen(), advices, groups)
    elif form == "json":
        answers.write_object({"groups": list(advice_rows(advices))})
    elif form == "jsonl":
        answers.write_lines(finding_rows(advices))
    else:
        answers.write_csv(ADVICE_COLUMNS, finding_rows(advices))
    return codes.decisive(source.codes)


def _show_advice(console: Console, advices: list[Advice], groups: int) -> None:
    from pipelines.cli.output import screens

    if not advices:
        screens.say(console, "No rebalance of a Kafka group found, so there is nothing to set otherwise.")
        return
    for advice in advices:
        _show_one(console, advice)
    if groups > len(advices):
        screens.say(console, f"{len(advices):,} of {groups:,} groups, those with most downtime; --limit 0 searches all", style="dim")
    screens.say(console, "groupscope whatif with the options in brackets tells what each would change.", style="dim")


def _show_one(console: Console, advice: Advice) -> None:
    from dashboards.wording.durations import duration
    from dashboards.wording.units import counted
    from pipelines.cli.output import screens

    screens.heading(console, f"{advice.group}: {counted(advice.count, 'rebalance')}, {duration(advice.stopped_seconds)} stopped")
    if not advice.helpful:
        screens.say(console, "No setting that can be tried would have avoided much.", indent=1)
    for finding in advice.helpful:
        screens.say(console, f"- {change_sentence(finding)} [{options(finding)}]", indent=1, hang=2)
        screens.say(console, f"It costs: {cost(finding)}.", indent=3, hang=2, style="dim")
    if advice.useless:
        names = dict.fromkeys(turn(finding) for finding in advice.useless)
        screens.say(console, f"Does not help: {'; '.join(names)}.", indent=1, hang=2, style="dim")
    for text in advice.assumed:
        screens.say(console, f"Assumed: {text}.", indent=1, hang=2, style="dim")

"""Command `groupscope report`: the answer as one self-contained HTML page."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pipelines import exit_codes as codes
from pipelines.cli.answers.source import open_source
from pipelines.cli.arguments import options as o
from pipelines.cli.arguments.question import QueryOptions, question

if TYPE_CHECKING:
    from dashboards.view.charts import BrokerLoss, WhatIf, WhatIfLane
    from models.kafka.outages.broker_loss import ClusterLayout
    from models.whatif.advice import Advice
    from models.whatif.comparison import RebalanceSpan
    from models.whatif.history import GroupBaseline
    from models.whatif.outlook import WhatIfResult as GroupOutlook
    from pipelines.cli.answers.source import Source
    from pipelines.cli.output.proof import Part


@question
def report(
    query_options: QueryOptions,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="Where to write the page.", rich_help_panel=o.HOW)] = Path(
        "groupscope.html"
    ),
    title: Annotated[
        str | None, typer.Option("--title", metavar="TEXT", help="Heading of the page; by default what was read.", rich_help_panel=o.HOW)
    ] = None,
    advise: o.Advise = False,
) -> int:
    """Write the answer as one self-contained HTML page."""
    from pipelines.cli.answers.settings_search import AT_LENGTH, search

    source = open_source(query_options)
    advices = search(source.rows, None, AT_LENGTH, processes=source.settings.input.processes) if advise else None
    write_report(source, out, query_options, title=title, advices=advices)
    return codes.decisive(source.codes)


def write_report(
    source: Source, path: Path, query_options: QueryOptions, *, title: str | None = None, advices: Sequence[Advice] | None = None
) -> None:
    """Write the page atomically.

    `advices` are the results of a long search over settings, if one was made.
    """
    from pipelines.cli.answers.proof import proofs_of
    from pipelines.cli.output.atomic_write import write_text

    write_text(path, page_of(source, title or title_of(query_options, source), proofs_of(source, query_options), advices))
    query_options.talk.note(f"report written: {path}")


def page_of(source: Source, title: str, proofs: Mapping[str, Sequence[Part]] | None = None, advices: Sequence[Advice] | None = None) -> str:
    """The answer as one HTML page."""
    from dashboards.answer.build import build_answer
    from dashboards.page.page import report
    from pipelines.cli.answers.settings_search import ON_PAGE, for_page, search, with_remedies
    from pipelines.versions import product_version

    if advices is None:
        advices = search(source.rows, None, ON_PAGE)
    drawn = source.settings.report.drawn_rebalances_max
    answer = replace(
        with_remedies(build_answer(source.rows, for_page=True), advices),
        what_ifs=what_ifs(source.rows, advices),
        broker_losses=broker_losses(source.layouts),
        proofs=proofs or {},
        settings=for_page(advices),
    )
    return report(answer, source.clock, title=title, version=product_version(), drawn_max=drawn)


def title_of(query_options: QueryOptions, source: Source) -> str:
    """Default title: the names of the input, without folders."""
    paths = list(query_options.paths or ()) or [query_options.warehouse or source.settings.warehouse.uri]
    names = [Path(path).name or Path(path).resolve().name or path for path in paths]
    if source.redaction is not None:
        names = [source.redaction.path(name) for name in names]
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


# Settings that people usually try first: title, options of `whatif`, and the configuration.
TURNED: tuple[tuple[str, str, dict[str, Any]], ...] = (
    (
        "Static membership, sessions of 45 s",
        "--static-membership --session-timeout 45s",
        {"static_membership": True, "session_timeout_ms": 45_000},
    ),
    ("Sessions of 45 s", "--session-timeout 45s", {"session_timeout_ms": 45_000}),
    ("Poll interval of 10 min", "--max-poll-interval 10m", {"max_poll_interval_ms": 600_000}),
    ("Cooperative assignor", "--cooperative", {"cooperative": True}),
    ("Consumer protocol (KIP-848)", "--consumer-protocol", {"consumer_protocol": True}),
)


ROWS_RUN = 1_000
"""Number of rebalances run for the page, of groups with most downtime."""
ADVISED_MAX = 10
"""Configurations on the page that groups are advised to use, beside those of `TURNED`."""


def what_ifs(rows: Any, advised: Sequence[Advice] = ()) -> list[WhatIf]:
    """Results of each configuration in `TURNED` and of those advised.

    Empty without Kafka groups.
    """
    from dashboards.view.charts import WhatIf
    from models.whatif.configuration import Configuration
    from models.whatif.outlook import under

    groups = _groups_run(rows)
    answers = []
    for title, change_options, settings in TURNED if groups else ():
        outlooks = [under(group, Configuration(**settings)) for group in groups]
        assumes = dict.fromkeys(rule.assumes for outlook in outlooks for rule in outlook.rules())
        answers.append(WhatIf(title, change_options, tuple(assumes), _lanes(outlooks, groups)))
    return answers + list(_advised(groups, advised))


def _advised(groups: Sequence[GroupBaseline], advices: Sequence[Advice]) -> Iterator[WhatIf]:
    """Results of what is advised to single groups.

    The other groups stay as they are, unless it is a broker's setting.
    """
    from dashboards.view.charts import WhatIf
    from models.whatif.configuration import Configuration
    from models.whatif.outlook import under
    from pipelines.cli.answers.settings_search import advised_to, options, turn

    usual = [Configuration(**settings) for _, _, settings in TURNED]
    several = len(groups) > 1
    others = [pair for pair in advised_to(advices) if pair[1].candidate.configuration not in usual]
    for advice, finding in others[:ADVISED_MAX]:
        made, group_key = finding.candidate.configuration, (advice.cluster, advice.group)
        concerned = [made.initial_delay_ms is not None or (group.cluster, group.group) == group_key for group in groups]
        outlooks = [under(group, made if concerns else Configuration()) for group, concerns in zip(groups, concerned, strict=True)]
        assumes = dict.fromkeys(rule.assumes for outlook in outlooks for rule in outlook.rules())
        title, command_options = turn(finding), options(finding)
        title = f"Advised to {advice.group}: {title}" if several else f"Advised: {title}"
        command_options = f"--group {quote(advice.group)} {command_options}" if several else command_options
        yield WhatIf(title, command_options, tuple(assumes), _lanes(outlooks, groups))


def _lanes(outlooks: Sequence[GroupOutlook], groups: Sequence[GroupBaseline]) -> tuple[WhatIfLane, ...]:
    return tuple(_outlook(outlook, group.ends_ms) for outlook, group in zip(outlooks, groups, strict=True))


def _groups_run(rows: Any) -> list[GroupBaseline]:
    """Groups of the page, with the last rebalances of a long history."""
    from models.downtime import stopped_seconds
    from pipelines.cli.answers.histories import whatif_history

    groups = whatif_history(rows).groups()
    groups.sort(key=lambda group: (-sum(map(stopped_seconds, group.rows)), group.cluster, group.group))
    kept, left = [], ROWS_RUN
    for group in groups:
        if left > 0:
            kept.append(replace(group, rows=group.rows[-left:]))
            left -= len(group.rows)
    return sorted(kept, key=lambda group: (group.cluster, group.group))


def _outlook(group: GroupOutlook, ends_ms: int) -> WhatIfLane:
    from dashboards.view.charts import WhatIfLane
    from models.whatif.comparison import span_of

    return WhatIfLane(
        cluster=group.cluster,
        group=group.group,
        count=len(group.changes),
        avoided=group.count("avoided"),
        perhaps=group.perhaps,
        added=group.added,
        stopped_seconds=group.stopped_seconds,
        saved_seconds=group.saved_seconds,
        saved_member_seconds=group.saved_member_seconds,
        was=_bounds((span_of(change.row) for change in group.changes), ends_ms),
        would_be=_bounds(group.spans, ends_ms),
        assumed=tuple(group.assumed),
    )


def _bounds(spans: Iterable[RebalanceSpan], ends_ms: int) -> tuple[tuple[int, int], ...]:
    """Begin and end of rebalances in microseconds.

    Those without an end last as long as the logs.
    """
    from models.units import US_PER_MS

    ends = ((span, ends_ms if span.ended_ms is None else span.ended_ms) for span in spans)
    return tuple((span.start_ms * US_PER_MS, max(span.start_ms, end_ms) * US_PER_MS) for span, end_ms in ends)


def broker_losses(layouts: Iterable[ClusterLayout]) -> list[BrokerLoss]:
    """Partitions that would lose their leader with each running broker.

    Clusters with a single broker are left out.
    """
    from dashboards.view.charts import BrokerLoss
    from models.kafka.outages.broker_loss import exposed_by

    losses = []
    for layout in layouts:
        for node in layout.running if len(layout.running) > 1 else ():
            exposed = tuple(
                (f"{partition.placement.topic}-{partition.placement.partition}", partition.why) for partition in exposed_by(layout, node)
            )
            if exposed:
                losses.append(BrokerLoss(layout.cluster, node, exposed, len(layout.placements)))
    return sorted(losses, key=lambda loss: (-len(loss.exposed), loss.cluster, len(loss.node), loss.node))

"""Answers for people as Rich renderables.

Nothing is decided here: numbers and words come from `dashboards`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from conf.causes import RecommendedAction
from dashboards.answer.recurrences import recurrences
from dashboards.view.answer import Answer, Incident, Offender, OpenQuestion, Outage, Person, Rebalance
from dashboards.view.evidence import Line
from dashboards.view.recurrence import Recurrence
from dashboards.wording import story
from dashboards.wording.durations import NO_VALUE, duration
from dashboards.wording.escaping import first_line, shortened, visible
from dashboards.wording.facts import facts, selection
from dashboards.wording.summary import calm, guesses_among, summary_lines
from dashboards.wording.units import Clock, counted, lasted, listed, share, size
from pipelines.cli.output.grid import GridColumn, grid

if TYPE_CHECKING:
    from rich.console import Console

SEVERITY_STYLES = {"critical": "bold red", "warning": "bold yellow", "info": "green"}
INCIDENTS_SHOWN = 10
REMEDIES_SHOWN = 3
PRECISE_WIDTH = 100
"""Minimum width for milliseconds in tables."""
USUAL_WIDTH = 80
"""Width of most terminals; in narrower ones names are folded."""
DOUBTS_SHOWN = 5
FILES_SHOWN = 5
TIMES_SIGN = "\N{MULTIPLICATION SIGN}"
EVIDENCE_CHARACTERS = 2000
_TEXT_MAX = 100
"""Maximum width of prose."""


def say(console: Console, text: str, *, indent: int = 0, hang: int = 0, style: str = "", is_wide: bool = False) -> None:
    """Print a wrapped paragraph.

    `hang` indents its later lines; `is_wide` uses the whole width.
    """
    from rich.text import Text

    width = (console.width if is_wide else min(console.width, _TEXT_MAX + indent)) - indent
    lines = Text(visible(text), style=style).wrap(console, max(width - hang, 20))
    for number, line in enumerate(lines):
        line.rstrip()
        console.print(Text(" " * (indent + (hang if number else 0))) + line, no_wrap=True, crop=False, overflow="ignore")


def heading(console: Console, text: str, *, space: bool = True) -> None:
    """Print a heading."""
    if space:
        console.print()
    console.print(visible(text), style="bold")


def analysis(
    console: Console,
    answer: Answer,
    clock: Clock,
    *,
    limit: int,
    verbose: bool,
    skipped: Sequence[dict[str, Any]],
    settings: Mapping[str, Sequence[tuple[str, str]]],
) -> None:
    """Print the first screen.

    What happened, what to do, how sure; then the rebalances and the input.
    """
    summary(console, answer, clock)
    repeated = recurrences(answer.incidents)
    attention = [item for item in answer.incidents if item.severity != "info"]
    grave = [item for item in repeated if item.worst.severity != "info"]
    shown = (repeated if verbose else grave or repeated)[: None if verbose else INCIDENTS_SHOWN]
    if shown:
        heading(console, "What happened, worst first")
        _print_incidents(console, shown, answer, clock, verbose=verbose)
        _advice(console, attention, verbose=verbose)
        settings_in_short(console, settings)
        _certainty(console, answer, verbose=verbose)
    if answer.conditions or answer.contested:
        queues(console, answer, clock, verbose=verbose)
    if answer.outages:
        heading(console, f"Partitions without leader ({clock.zone_name})")
        outages_in_short(console, answer.outages, clock, limit=limit, verbose=verbose)
    if answer.rebalances:
        rest = answer.totals.rebalances - len(answer.rebalances)
        which = (
            f"the {len(answer.rebalances)} of {answer.totals.rebalances:,} that stopped longest; --limit 0 shows all" if rest else "by time"
        )
        heading(console, f"Rebalances ({which})")
        rebalances(console, answer.rebalances, clock)
    _inputs(console, answer, skipped, verbose=verbose)


def summary(console: Console, answer: Answer, clock: Clock) -> None:
    """Print what was read, and how much of it needs attention."""
    read, *findings = summary_lines(answer, clock, recurrences(answer.incidents))
    say(console, read)
    for text in findings:
        say(console, text, style="bold")


def queues(console: Console, answer: Answer, clock: Clock, *, verbose: bool) -> None:
    """Print RocketMQ's standing faults with advice, and queues without one owner."""
    if answer.conditions:
        heading(console, "Standing faults")
    attention = [item for item in answer.incidents if item.severity != "info"]
    advised = set(list(dict.fromkeys((item.cause_title, item.advice) for item in attention))[:REMEDIES_SHOWN])
    for item in answer.conditions:
        until = " (ongoing)" if item.ended_at is None else ""
        say(console, f"{item.group}: {item.title.lower()}, {clock.span(item.started_at, item.ended_at)}{until}", indent=1, hang=2)
        say(console, item.detail or f"clients {listed(list(item.members), 4)}", indent=3, hang=2, style="dim")
        if (item.title, item.advice) not in advised or verbose:
            advise(console, item.advice if verbose else item.advice[:REMEDIES_SHOWN], indent=3)
    if not answer.contested:
        return
    heading(console, f"Queues without one owner ({clock.zone_name})")
    shown = answer.contested[: None if verbose else INCIDENTS_SHOWN]
    columns = [
        GridColumn("group", [item.group for item in shown], least=14),
        GridColumn("topic", [item.topic for item in shown], least=14),
        GridColumn("had", [item.title for item in shown]),
        GridColumn("queues", [f"{len(item.queues):,}" for item in shown], is_right_aligned=True),
        GridColumn("longest", ["ongoing" if item.ended_at is None else duration(item.seconds) for item in shown], is_right_aligned=True),
        GridColumn("from", [clock.stamp(item.started_at) for item in shown], rank=1),
        GridColumn("to", [clock.stamp(item.ended_at) if item.ended_at is not None else "" for item in shown], rank=2),
        GridColumn("clients", [listed(list(item.owners), 2) if item.owners else "" for item in shown], rank=3, least=14),
    ]
    console.print(grid(columns, console.width, indent=1))
    if len(answer.contested) > len(shown):
        say(console, f"{len(answer.contested) - len(shown)} more; -v shows them", indent=1, style="dim")


def incident(console: Console, answer: Answer, clock: Clock, *, evidence_max: int | None) -> None:
    """Print one incident with its advice, its lines and its rebalances."""
    (item,) = answer.incidents
    _print_incidents(console, recurrences(answer.incidents), answer, clock, verbose=False)
    say(console, f"id {item.id}", indent=12, style="dim")
    if item.advice:
        heading(console, "What to do")
        advise(console, item.advice, indent=1)
    if item.evidence:
        heading(console, "Evidence")
        evidence(console, item.evidence, evidence_max)
    if answer.outages:
        heading(console, f"Partitions without leader ({clock.zone_name})")
        outages_in_short(console, answer.outages, clock, limit=0, verbose=True)
    if answer.rebalances:
        heading(console, "Rebalances")
        rebalances(console, answer.rebalances, clock)
        say(console, f"groupscope explain {answer.rebalances[-1].id[:10]} tells the last one", style="dim")


def _print_incidents(console: Console, repeated: Sequence[Recurrence], answer: Answer, clock: Clock, *, verbose: bool) -> None:
    has_clusters = len({item.cluster for item in answer.incidents}) > 1
    for recurrence in repeated:
        item = recurrence.worst
        label = f"{item.number:>2} {item.severity.upper():<8} "
        labelled(console, label, SEVERITY_STYLES.get(item.severity, ""), recurrence.headline)
        when = clock.span(recurrence.started_at, recurrence.ended_at) + ("" if recurrence.ended_at is not None else ", still open")
        cluster = f", cluster {item.cluster}" if has_clusters else ""
        say(console, f"{when}{cluster}", indent=len(label), style="dim")
        if len(recurrence.incidents) > 1:
            say(console, f"the worst: {item.headline}", indent=len(label), style="dim")
        texts = [f"{name}: {text}" for name, text in facts(item)]
        say(console, "; ".join([*texts, *filter(None, [selection(item)])]), indent=len(label), style="dim")
        if item.evidence:
            say(console, f"stands on {item.evidence[-1].place}", indent=len(label), style="dim")
        for text in answer.remedies.get(item.id, ()):
            say(console, f"would have helped: {text}", indent=len(label), hang=2, style="cyan")
        if item.severity == "info":  # whose advice isn't shown
            for text in item.measured[-1:]:
                say(console, text, indent=len(label), style="dim")
        if verbose:
            _others(console, recurrence.incidents[1:], clock, indent=len(label))
    _not_shown(console, sum(len(recurrence.incidents) for recurrence in repeated), answer)


def _others(console: Console, items: Iterable[Incident], clock: Clock, *, indent: int) -> None:
    """Print the further incidents of a recurrence, one each."""
    for item in items:
        when = clock.span(item.started_at, item.ended_at)
        say(console, f"{item.number:>2} {when}: {item.headline}", indent=indent, hang=3, style="dim")


def _not_shown(console: Console, shown: int, answer: Answer) -> None:
    hidden = answer.totals.incidents - shown
    if hidden > 0:
        hidden_text = counted(hidden, "more incident")
        if hidden == answer.totals.incidents - answer.totals.attention:
            guesses = guesses_among(item for item in answer.incidents if item.severity == "info")
            hidden_text = f"{hidden_text} {calm(hidden, guesses)}"
        say(console, f"{hidden_text}; -v shows them", indent=12, style="dim")


def labelled(console: Console, label: str, label_style: str, text: str) -> None:
    """Print wrapped text behind a label, with aligned lines."""

    from rich.text import Text

    width = min(console.width, _TEXT_MAX + len(label)) - len(label)
    for number, line in enumerate(Text(visible(text)).wrap(console, max(width, 20))):
        line.rstrip()
        head = Text(label, style=label_style) if number == 0 else Text(" " * len(label))
        console.print(head + line, no_wrap=True, crop=False, overflow="ignore")


def _advice(console: Console, items: Sequence[Incident], *, verbose: bool) -> None:
    """Print each piece of advice once, with the numbers of its incidents."""
    by_advice: dict[tuple[str, tuple[RecommendedAction, ...]], list[Incident]] = {}
    for item in items:
        by_advice.setdefault((item.cause_title, item.advice), []).append(item)
    if not by_advice:
        return
    heading(console, "What to do")
    shown = list(by_advice.items())[: None if verbose else REMEDIES_SHOWN]
    for (title, advice), incidents in shown:
        numbers = listed([str(item.number) for item in incidents], 6)
        say(console, f"{title} (incident{'s' if len(incidents) > 1 else ''} {numbers})", indent=1)
        for text in dict.fromkeys(text for item in incidents[: None if verbose else 1] for text in item.measured):
            say(console, text, indent=3, hang=2, style="dim")
        advise(console, advice if verbose else advice[:REMEDIES_SHOWN], indent=3)
        if brokers := [broker for item in incidents for broker in item.lost_brokers]:
            if_down(console, brokers, indent=3)
    if len(by_advice) > len(shown):
        say(console, f"and for {counted(len(by_advice) - len(shown), 'other cause')}; -v shows all", indent=1, style="dim")


def settings_in_short(console: Console, settings: Mapping[str, Sequence[tuple[str, str]]], remedies: Sequence[str] = ()) -> None:
    """Print values of settings by group, each with the question that tells more.

    `remedies` are the settings that would have helped in the rebalance shown.
    """
    if settings or remedies:
        heading(console, "What to set, and to what value (found by running the same members again)")
    if remedies:
        say(console, "this rebalance", indent=1)
    for text in remedies:
        say(console, f"- {text}", indent=3, hang=2)
    for group, texts in settings.items():
        say(console, group, indent=1)
        for text, command in texts:
            say(console, f"- {text}", indent=3, hang=2, style="" if command else "dim")
            if command:
                say(console, command, indent=5, hang=2, style="cyan")


def if_down(console: Console, brokers: Iterable[str], *, indent: int) -> None:
    """Point to what else hangs on the brokers that were lost."""
    names = sorted(set(brokers), key=lambda name: (len(name), name))
    for name in names[:REMEDIES_SHOWN]:
        say(console, f"- See what else hangs on broker {name} alone, and where to move it first.", indent=indent, hang=2)
        say(console, f"groupscope outages PATH... --if-down {name}", indent=indent + 2, hang=2, style="cyan")


def advise(console: Console, advice: Iterable[RecommendedAction], *, indent: int) -> None:
    """Print advice with the settings it concerns."""
    for item in advice:
        settings = ", ".join(f"{setting.name} ({setting.at}, since {setting.since})" for setting in item.settings)
        say(console, f"- {item.do}", indent=indent, hang=2)
        if settings:
            say(console, settings, indent=indent + 2, hang=2, style="cyan")


def _certainty(console: Console, answer: Answer, *, verbose: bool) -> None:
    totals = answer.totals
    if not totals.rebalances:
        return
    heading(console, "How sure")
    are = "is" if totals.rebalances == 1 or totals.sure == 1 else "are"
    say(console, f"{totals.sure:,} of {counted(totals.rebalances, 'cause')} {are} sure (90 % or more).", indent=1)
    for doubt in answer.open_questions[: None if verbose else DOUBTS_SHOWN]:
        say(console, f"- {_doubt(doubt)}", indent=1, hang=2)


def _doubt(doubt: OpenQuestion) -> str:
    rivals = f", or {listed([name.lower() for name in doubt.rivals])}" if doubt.rivals else ""
    settle = f". Would settle it: {doubt.settled_by}" if doubt.settled_by else ""
    number = f"{doubt.count} of " if doubt.count > 1 else ""
    return f"{number}{listed(list(doubt.groups))}: {doubt.cause_title.lower()} ({share(doubt.confidence)}){rivals}{settle}."


def rebalances(console: Console, items: Sequence[Rebalance], clock: Clock) -> None:
    """Print a table of rebalances.

    If all have the same date, it is printed once above.
    """
    days = {clock.day(item.started_at) for item in items if item.started_at is not None}
    one_day = len(days) == 1
    many_clusters = len({item.cluster for item in items}) > 1
    if one_day:
        say(console, f"all on {days.pop()}", indent=1, style="dim")
    starts = [clock.time(item.started_at) if one_day else clock.stamp(item.started_at) for item in items]
    is_narrow = console.width < PRECISE_WIDTH
    least_who = 24 if not is_narrow else 16 if console.width >= USUAL_WIDTH else 10
    columns = [
        GridColumn(f"start ({clock.zone_name})", [start.partition(".")[0] for start in starts] if is_narrow else starts),
        GridColumn("cluster", [item.cluster if many_clusters else "" for item in items], rank=5, least=16),
        GridColumn("group", [item.group for item in items], least=10 if is_narrow else 16),
        GridColumn("topic", [item.topic or "" for item in items], rank=3 if is_narrow else 0, least=12),
        GridColumn("gen", [item.generations.replace(" ", "") for item in items], rank=3 if is_narrow else 2),
        GridColumn("cause", [item.cause.replace("_", " ") for item in items], least=9 if is_narrow else 15),
        GridColumn("behind it", [(item.root_cause or "").replace("_", " ") for item in items], rank=4, least=15),
        GridColumn("who", [_names(item.offenders) for item in items], least=least_who),
        GridColumn("lasted", [lasted(item.duration_seconds, item.at_least_seconds) for item in items], rank=1, is_right_aligned=True),
        GridColumn("waited for", [_names(item.blockers) if item.blockers else "" for item in items], rank=3, least=21),
        GridColumn("outcome", [story.outcome(item) for item in items], rank=6),
        GridColumn("sure", [share(item.confidence) for item in items], rank=2 if is_narrow else 1, is_right_aligned=True),
        GridColumn("id", [item.id[:10] for item in items]),  # what explain takes
    ]
    console.print(grid(columns, console.width, indent=1))


def _names(people: Sequence[Person]) -> str:
    """Name of the first actor, and the number of others."""
    ordered = sorted(people, key=lambda person: not person.first)
    return NO_VALUE if not ordered else ordered[0].name + (f" +{len(ordered) - 1}" if len(ordered) > 1 else "")


def offenders(console: Console, items: Sequence[Offender], clock: Clock) -> None:
    """Print members that caused rebalances or delayed others."""
    many_clusters = len({item.cluster for item in items}) > 1
    columns = [
        GridColumn("", [f"{position}." for position in range(1, len(items) + 1)], is_right_aligned=True),
        GridColumn("member", [item.name for item in items], least=21),
        GridColumn("host", [listed(list(item.hosts), 2) if item.hosts else "" for item in items], rank=4, least=12),
        GridColumn("cluster", [item.cluster if many_clusters else "" for item in items], rank=5, least=6),
        GridColumn("group", [item.group for item in items], least=14),
        GridColumn("caused", [str(item.caused) for item in items], is_right_aligned=True),
        GridColumn("held up", [str(item.blocked) for item in items], is_right_aligned=True),
        GridColumn("stood still", [duration(item.stopped_seconds) for item in items], is_right_aligned=True),
        GridColumn(
            "by",
            [", ".join(f"{name.replace('_', ' ')} {TIMES_SIGN}{count}" for name, count in item.causes) for item in items],
            rank=2,
            least=16,
        ),
        GridColumn(f"last ({clock.zone_name})", [clock.stamp(item.last_at) for item in items], rank=3),
    ]
    console.print(grid(columns, console.width))


def outages(console: Console, items: Sequence[Outage], clock: Clock) -> None:
    """Print a table of partitions without leader.

    If all times have the same date, it is printed once above.
    """
    times = [time for item in items for time in (item.offline_at, item.online_at) if time is not None]
    one_day = len({clock.day(time) for time in times}) == 1
    if one_day:
        say(console, f"all on {clock.day(times[0])}", indent=1, style="dim")
    shown = clock.time if one_day else clock.stamp
    many_clusters = len({item.cluster for item in items}) > 1
    columns = [
        GridColumn(f"from ({clock.zone_name})", [shown(item.offline_at) if item.offline_at is not None else "earlier" for item in items]),
        GridColumn("to", [shown(item.online_at) if item.online_at is not None else "" for item in items], rank=4),
        GridColumn("cluster", [item.cluster if many_clusters else "" for item in items], rank=7, least=16),
        GridColumn("partition", [f"{item.topic}-{item.partition}" for item in items], least=20),
        GridColumn("lasted", ["still open" if item.online_at is None else duration(item.seconds) for item in items], is_right_aligned=True),
        GridColumn("why", [item.why for item in items], rank=1, least=14),
        GridColumn("ended by", [item.ended_by.replace("_", " ") for item in items], rank=2, least=8),
        GridColumn("lost", [", ".join(f"broker {node}" for node in item.lost_brokers) for item in items], rank=5, least=6),
        GridColumn("at risk", ["records" if item.at_risk else "" for item in items], rank=3),
        GridColumn("groups", [listed(list(item.groups), 2) if item.groups else "" for item in items], rank=6, least=8),
    ]
    console.print(grid(columns, console.width, indent=1))


def outages_in_short(console: Console, items: Sequence[Outage], clock: Clock, *, limit: int, verbose: bool) -> None:
    """Print the outages without normal elections, which are only counted."""
    brief = [item for item in items if item.is_failover and not verbose]
    lasting = [item for item in items if verbose or not item.is_failover]
    if lasting:
        outages(console, lasting[: limit or None], clock)
    if brief:
        longest = duration(max(item.seconds or 0 for item in brief))
        noun = "more partition" if lasting else "partition"
        say(
            console,
            f"{counted(len(brief), noun)} got another in-sync replica as leader within {longest}; -v shows them",
            indent=1,
            style="dim",
        )


def print_story(console: Console, item: Rebalance, clock: Clock, *, evidence_max: int | None) -> None:
    """Print one rebalance as a story with its evidence."""
    console.print(visible(story.title(item)), style="bold")
    say(console, f"id {item.id}, cluster {item.cluster}, {item.cause_title.lower()}, {story.outcome(item)}", style="dim")
    console.print()
    for sentence in story.story(item, clock):
        say(console, sentence)
    if own_words := story.own_words(item):
        say(console, f"The coordinator's own words: {own_words}")
    heading(console, "Evidence")
    evidence(console, item.evidence, evidence_max)
    if item.advice:
        heading(console, "What to do")
        advise(console, item.advice, indent=1)


def evidence(console: Console, lines: Sequence[Line], limit: int | None) -> None:
    """Print log lines with their positions; all without a limit."""
    for line in lines[:limit]:
        mark = ", implies it" if line.inferred else ""
        say(console, f"{line.place} (byte {line.byte_offset}){mark}", indent=1, style="dim")
        say(console, shortened(first_line(line.text), EVIDENCE_CHARACTERS), indent=3, is_wide=True)
    if limit is not None and len(lines) > limit:
        say(console, f"{counted(len(lines) - limit, 'more line')}; -v shows them", indent=1, style="dim")
    if not lines:
        say(console, "no line names it", indent=1)


def _inputs(console: Console, answer: Answer, skipped: Sequence[dict[str, Any]], *, verbose: bool) -> None:
    heading(console, "What was read")
    totals, files = answer.totals, answer.files
    read = sum(item.bytes_read or 0 for item in files)
    recognised = sum(item.recognised for item in files)
    say(console, f"{counted(totals.files_read, 'file')}, {size(read)}, {counted(recognised, 'record')} recognised.", indent=1)
    limit = None if verbose else FILES_SHOWN
    broken = [item for item in files if item.status in ("rejected", "truncated") or (item.status == "ok" and item.reason)]
    for item in broken[:limit]:
        say(console, f"{item.path}: {item.reason or item.status}", indent=1, hang=2)
    if len(broken) > len(broken[:limit]):
        say(console, f"{counted(len(broken) - FILES_SHOWN, 'more file')} broken or not recognised; -v shows them", indent=1)
    others = [(item.path, item.reason or "") for item in files if item.status == "skipped"]
    others += [(str(item["path"]), str(item["reason"])) for item in skipped]
    if others and verbose:
        for path, reason in others:
            say(console, f"skipped {path}: {reason}", indent=1, hang=2)
    elif others:
        say(console, f"{counted(len(others), 'other file')} skipped, such as {others[0][0]} ({others[0][1]}).", indent=1, hang=2)
    _noted(console, answer, verbose=verbose)


_GRAVE = ("FATAL", "ERROR", "WARN")
"""Levels of unknown lines that are shown before all others, whose number says more."""


def _noted(console: Console, answer: Answer, *, verbose: bool) -> None:
    limit = None if verbose else 3
    if answer.rejected:
        say(console, f"{counted(len(answer.rejected), 'record')} could not be read:", indent=1)
        for item in answer.rejected[:limit]:
            say(console, f"{item.file}:{item.line} (byte {item.byte_offset}): {item.reason}", indent=3, hang=2)
    if answer.unknown:
        count = sum(item.count for item in answer.unknown)
        say(
            console,
            f"{counted(count, 'line')} of {counted(len(answer.unknown), 'kind')} that the catalogue does not know; a new version?",
            indent=1,
        )
        worst_first = sorted(answer.unknown, key=lambda item: _GRAVE.index(item.level) if item.level in _GRAVE else len(_GRAVE))
        for unknown in worst_first[:limit]:
            level = f"{unknown.level} " if unknown.level in _GRAVE else ""
            place = f"({unknown.file}:{unknown.line})"
            say(console, f"{unknown.count} {TIMES_SIGN} {level}{shortened(unknown.template, 160)} {place}", indent=3, hang=2)
    if answer.doubts:
        say(console, f"{counted(len(answer.doubts), 'observation')} that the model could not explain:", indent=1)
        for doubt in answer.doubts[:limit]:
            say(console, f"{doubt.group or NO_VALUE}: expected {doubt.expected}, observed {doubt.observed}", indent=3, hang=2)

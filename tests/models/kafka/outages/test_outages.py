"""Stories of brokers and partitions, told in the lines that controllers and brokers log, each with all that must come out.

A story holds lines, `TIME FILE MESSAGE` (TIME in seconds, FILE as `NODE/NAME`), then `----`, then what was found.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from models.events import Event, LogPosition, Witness
from models.kafka.cluster.facts import CLUSTER_EVENTS, learn
from models.kafka.outages.outage_stage import Outages
from models.kafka.partitions.event_fields import DEPENDENT_EVENTS
from parsers.catalogue.catalogue import catalogue
from pipelines.analysis.stages import OUTAGE_TABLES
from pipelines.headlines.headlines import headline
from tests.conftest import ROOT
from tests.models.kafka.outages.whole_replay import replay_outages

STORIES = sorted((ROOT / "tests" / "scenarios" / "outages").glob("*.txt"))
CATALOGUE = catalogue()


def event_of(line: str, number: int) -> Event:
    """One line of a story, read by the catalogue."""
    seconds, file, message = line.split(" ", 2)
    at = round(float(seconds) * 1_000_000)
    found = CATALOGUE.match("kafka.server.KafkaServer" if message in {"starting"} else None, message)
    assert found is not None, f"line {number}: no message is like {message!r}"
    assert found.event is not None, f"line {number} can be read in several ways"
    columns = {name: value for name, value in found.columns.items() if name in Event.__slots__}
    place = LogPosition(file, number, number)
    return Event(found.event, at, at, place, Witness(found.witness), found.message_id, message, fields=found.fields, **columns)


def events_of(text: str) -> list[Event]:
    lines = [(number, line) for number, line in enumerate(text.splitlines(), 1) if line.strip() and not line.startswith("#")]
    events = [event_of(line, number) for number, line in lines]
    return sorted(events, key=lambda event: (event.order_us, event.place.file, event.place.byte_offset))


def find(events: list[Event]) -> Outages:
    nodes = {event.place.file: event.place.file.partition("/")[0] for event in events}
    facts = learn((event for event in events if event.name in CLUSTER_EVENTS), "test")
    return replay_outages("test", events, nodes, facts)


def seconds(at: int | None) -> str:
    return "?" if at is None else f"{at / 1_000_000:g}"


def show(found: Outages) -> Iterator[str]:
    """What came out, a line each."""
    for down in found.broker_outages:
        yield f"broker {down.node} {seconds(down.down_at)}..{seconds(down.up_at)} {down.shutdown_kind}"
    for diverging in found.divergences:
        yield f"divergence {diverging.observed}, by the clock of {diverging.expected.rpartition(' ')[-1]}"
    for row in found.partition_outages:
        risk = {True: " at risk", False: "", None: ""}[row.at_risk]
        yield (
            f"outage {row.topic}-{row.partition} {seconds(row.offline_at)}..{seconds(row.online_at)} {row.cause} {row.ended_by}{risk}"
            f" leader {row.leader_before} -> {row.leader_after} epoch {row.leader_epoch_before}"
            f" replicas {','.join(row.replicas)} isr {','.join(row.isr)} lost {','.join(row.lost_brokers)}"
            f"{' settled by ' + row.settled_by if row.settled_by else ''}"
            f" lines {','.join(str(each.line) + ('~' if each.inferred else '') for each in row.evidence)}"
        )
    for span in found.under_replicated_spans:
        yield (
            f"short {span.topic}-{span.partition} {seconds(span.started_at)}..{seconds(span.ended_at)} {span.cause} {span.ended_by}"
            f" replicas {','.join(span.replicas)} isr {','.join(span.isr)} missing {','.join(span.missing)}"
            f" lost {','.join(span.lost_brokers)}{' settled by ' + span.settled_by if span.settled_by else ''}"
            f" lines {','.join(str(each.line) + ('~' if each.inferred else '') for each in span.evidence)}"
        )
    for move in found.leader_moves:
        clean = {True: "clean", False: "unclean", None: "?"}[move.is_clean_election]
        yield f"move {move.topic}-{move.partition} {seconds(move.moved_at)} {move.from_node} -> {move.to_node} {clean}, {move.reason}"
    for each in found.incidents:
        if each.kind == "log_dir_failed":
            lines = ",".join(str(line.line) for line in each.evidence)
            yield f"directory {seconds(each.started_at)}..{seconds(each.ended_at)} {headline(each.headline)} lines {lines}"


@pytest.mark.parametrize("path", STORIES, ids=lambda path: path.stem)
def test_story(path: Path, request: pytest.FixtureRequest) -> None:
    given, _, expected = path.read_text(encoding="utf-8").partition("----\n")
    found = "".join(f"{line}\n" for line in show(find(events_of(given))))
    if request.config.getoption("--rewrite"):
        path.write_text(f"{given}----\n{found}", encoding="utf-8")
        return
    assert found == expected


@pytest.mark.parametrize("path", STORIES, ids=lambda path: path.stem)
def test_lines_said_twice_change_nothing(path: Path) -> None:
    """A node's lines may stand in two files; the second telling is no second outage."""
    events = events_of(path.read_text(encoding="utf-8").partition("----\n")[0])
    twice = [event for event in events for _ in range(2)]

    def told(outages: Outages) -> list[str]:
        return [line.partition(" lines ")[0] for line in show(outages)]

    assert told(find(twice)) == told(find(events))


@pytest.mark.parametrize("path", STORIES, ids=lambda path: path.stem)
def test_any_lines_may_be_missing(path: Path) -> None:
    """Files are partial: whatever is left out, replay says something and never raises."""
    events = events_of(path.read_text(encoding="utf-8").partition("----\n")[0])
    chance = random.Random(path.stem)  # noqa: S311  (which lines are left out must be the same each time)
    for _ in range(50):
        kept = [event for event in events if chance.random() < 0.7]
        for row in find(kept).partition_outages:
            assert row.online_at is None or row.offline_at is None or row.offline_at <= row.online_at
            assert (row.ended_by == "open") == (row.online_at is None)


@pytest.mark.parametrize("path", STORIES, ids=lambda path: path.stem)
def test_no_two_rows_have_one_id(path: Path) -> None:
    """Also not those of a topic that is deleted and created again, whose leader epochs begin anew."""
    found = find(events_of(path.read_text(encoding="utf-8").partition("----\n")[0]))
    ids = [row.outage_id for row in found.partition_outages] + [row.leader_move_id for row in found.leader_moves]
    ids += [row.under_replicated_span_id for row in found.under_replicated_spans]
    assert len(set(ids)) == len(ids)


def rows_in(found: Outages) -> list[object]:
    return [row for name in OUTAGE_TABLES for row in getattr(found, name)]


def test_lines_that_only_add_to_what_others_tell_make_no_rows() -> None:
    """So a cluster with none but these is spared the replay."""
    events = [event for path in STORIES for event in events_of(path.read_text(encoding="utf-8").split("----")[0])]
    alone = [event for event in events if event.name in DEPENDENT_EVENTS]
    assert {event.name for event in alone} == DEPENDENT_EVENTS
    assert rows_in(find(events))
    assert rows_in(find(alone)) == []

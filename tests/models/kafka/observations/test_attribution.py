"""Lines of clients that name no group: librdkafka's warnings, and kafka-python's."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from models.events import Event, LogPosition, Witness
from models.incidents.line_placement import place_line
from models.kafka.observations.attribution import ClientSighting, Sightings
from models.rows import Rebalance
from parsers.reading.reader import ReadOptions
from pipelines.analysis.in_process import AnalysisResult, AnalyzeOptions, analyze
from pipelines.simulate.wording import START, stamp
from tests.models.kafka.coordinator.driven import Broker

UUID = "00000000-0000-4000-8000-000000000001"
S = 1_000_000

EXCEEDED = (
    "[thrd:main]: Application maximum poll interval (60000ms) exceeded by 212ms "
    "(adjust max.poll.interval.ms for long-running message processing): leaving group"
)
RECONNECTED = '[thrd:main]: Group "orders" changing coordinator -1 -> 1'


def librdkafka(at_ms: int, client: str, text: str = EXCEEDED, facility: str = "MAXPOLL") -> str:
    seconds = (START + timedelta(milliseconds=at_ms)).timestamp()
    return f"%4|{seconds:.3f}|{facility}|{client}| {text}"


def one_leaves(version: str, out: Path) -> tuple[Broker, int]:
    """A group of two, one of which leaves without a word and comes back after a while; and when it left."""
    broker = Broker(version, out, initial_delay_ms=3_000)
    broker.join("a")
    broker.join("b")
    broker.wait(7_000)
    broker.sync("a", "b")
    broker.keep_alive(60, "a", "b")
    at_ms = broker.coordinator.now_ms
    broker.leave("a")
    broker.wait(1_000)
    broker.join("b")
    broker.sync("b")
    broker.keep_alive(9, "b")
    return broker, at_ms


def judged(broker: Broker, *client_log: str) -> Rebalance:
    """The verdict on the last rebalance, from server.log and a client's log."""
    broker.told(requests=False)
    folder = broker.out / "server"
    if client_log:
        (folder / "app.log").write_text("\n".join(client_log) + "\n")
    return list(analyzed(folder, broker.version).rebalances)[-1]


def analyzed(folder: Path, version: str) -> AnalysisResult:
    return analyze([str(folder)], AnalyzeOptions(ReadOptions(log_tz=[(None, "UTC")], kafka_versions=[("*", version)])))


def files_of(row: Rebalance) -> list[str]:
    return [Path(line.file).name for line in row.evidence]


@pytest.mark.parametrize("version", ["2.8.2", "3.1.2", "4.1.1"])
def test_librdkafkas_warning_settles_what_the_broker_leaves_open(version: str, tmp_path: Path) -> None:
    """librdkafka sends no reason with LeaveGroup, so server.log can't tell a poll timeout from a shutdown."""
    alone = judged(one_leaves(version, tmp_path / "alone")[0])
    assert alone.cause == "member_leave"
    assert set(alone.alternatives) == {"poll_timeout"}
    assert alone.settled_by is not None

    broker, at_ms = one_leaves(version, tmp_path / "both")
    row = judged(broker, librdkafka(at_ms, "a#consumer-1"))
    assert (row.cause, [person.client_id for person in row.offenders]) == ("poll_timeout", ["a"])
    assert row.confidence >= 0.95
    assert "app.log" in files_of(row)


def test_the_interval_that_was_exceeded_is_among_the_numbers(tmp_path: Path) -> None:
    broker, at_ms = one_leaves("2.8.2", tmp_path)
    broker.join("a")
    row = judged(broker, librdkafka(at_ms, "a#consumer-1"))
    others = [each for each in analyzed(broker.out / "server", "2.8.2").rebalances if each.cause == "poll_timeout"]
    assert [each.measurements_ms["max_poll_interval_ms"] for each in others] == [60_000]
    assert row.cause in {"member_join", "poll_timeout"}


def test_such_a_line_has_its_place(tmp_path: Path) -> None:
    """What `explain FILE:LINE` says of it."""
    broker, at_ms = one_leaves("2.8.2", tmp_path)
    row = judged(broker, librdkafka(at_ms, "a#consumer-1"))
    rows = list(analyzed(broker.out / "server", "2.8.2").rebalances)
    (file,) = {line.file for line in row.evidence if line.file.endswith("app.log")}
    at_us = row.started_at or 0

    def placed(name: str, line: int, client: str) -> tuple[str, str | None]:
        found = place_line(Event(name, at_us, at_us, LogPosition(file, line, 0), Witness.CLIENT, client_id=client), rows)
        return found.part, found.row.rebalance_id if found.row else None

    assert placed("ClientPollTimedOut", 1, "a") == ("cause", row.rebalance_id)
    assert placed("ClientCommitFailed", 2, "a") == ("effect", row.rebalance_id)
    assert placed("ClientCommitFailed", 2, "c") == ("apart", None)


def test_a_refused_commit_tells_what_is_done_twice(tmp_path: Path) -> None:
    broker, at_ms = one_leaves("2.8.2", tmp_path)
    refused = "[thrd:main]: Offset commit (manual) failed for 1/1 partition(s) in join-state steady: Broker: Unknown member: t[0]@7"
    row = judged(broker, librdkafka(at_ms, "a#consumer-1"), librdkafka(at_ms + 400, "a#consumer-1", refused, "COMMITFAIL"))
    assert row.duplicate_window == pytest.approx(0.4)


def test_a_warning_of_another_client_changes_nothing(tmp_path: Path) -> None:
    broker, at_ms = one_leaves("2.8.2", tmp_path)
    row = judged(broker, librdkafka(at_ms, "somebody-else#consumer-1"))
    assert (row.cause, files_of(row).count("app.log")) == ("member_leave", 0)


def test_lines_of_the_same_client_in_its_log_tell_its_group(tmp_path: Path) -> None:
    """Two clients of one process with one client id: their numbers keep them apart, and debug lines name their groups."""
    broker, at_ms = one_leaves("2.8.2", tmp_path)
    other = librdkafka(at_ms - 50_000, "a#consumer-2", RECONNECTED.replace("orders", "billing"), "CGRPCOORD")
    mine = librdkafka(at_ms - 50_000, "a#consumer-1", RECONNECTED, "CGRPCOORD")
    row = judged(broker, other, mine, librdkafka(at_ms, "a#consumer-1"))
    assert (row.cause, files_of(row).count("app.log")) == ("poll_timeout", 1)
    (broker.out / "server" / "app.log").write_text("\n".join([other, mine, librdkafka(at_ms, "a#consumer-2")]) + "\n")
    last = [each for each in analyzed(broker.out / "server", "2.8.2").rebalances if each.group == "orders"][-1]
    assert (last.cause, files_of(last).count("app.log")) == ("member_leave", 0)


def python(at_ms: int, text: str, level: str = "INFO", logger: str = "kafka.coordinator") -> str:
    return f"{stamp(at_ms)} {level} {logger} {text}"


@pytest.mark.parametrize("named", [True, False], ids=["member id told", "no id told"])
def test_kafka_python_names_neither_group_nor_client(named: bool, tmp_path: Path) -> None:
    """Its lines about joining name the group, and since 2.2 the member id."""
    broker, at_ms = one_leaves("2.8.2", tmp_path)
    member = f"a-{UUID}"
    joined = f"<Generation 1 (member_id: {member}, protocol: range)>" if named else "with generation 1"
    row = judged(
        broker,
        python(at_ms - 60_000, f"Successfully joined group orders {joined}"),
        python(at_ms - 3, "Heartbeat poll expired, leaving group", "WARNING"),
        python(at_ms - 2, "Leaving consumer group (orders)."),
    )
    assert (row.cause, [person.client_id for person in row.offenders]) == ("poll_timeout", ["a"])
    assert row.confidence >= 0.95
    assert any("poll expired" in line.text for line in row.evidence)


def test_a_client_of_several_groups_is_where_it_was_seen_at_the_time() -> None:
    def seen(group: str, first: int, last: int) -> ClientSighting:
        return ClientSighting("server.log", "coordinator", group, None, None, f"app-{UUID}", first * S, last * S)

    def told(at: int) -> list[str]:
        sightings = Sightings()
        for each in (seen("orders", 0, 600), seen("billing", 1_000, 1_600), seen("search", 1_500, 2_000)):
            sightings.note(each)
        place = LogPosition("app.log", 1, 0)
        return list(sightings.attribute([Event("ClientPollTimedOut", at * S, at * S, place, Witness.CLIENT, client_id="app")]))

    assert [told(at) for at in (300, 1_200, 1_550, 1_900, 3_000)] == [["orders"], ["billing"], [], ["search"], []]


def test_a_line_without_time_is_at_home_nowhere() -> None:
    sightings = Sightings()
    sightings.note(ClientSighting("server.log", "coordinator", "orders", None, None, f"app-{UUID}", 0, 600 * S))
    event = Event("ClientPollTimedOut", None, 300 * S, LogPosition("app.log", 1, 0), Witness.CLIENT, client_id="app")
    assert sightings.attribute([event]) == {}


@pytest.mark.parametrize(("second_from", "member"), [(700, "app-2"), (500, None)], ids=["one after the other", "two at a time"])
def test_whose_line_it_is_in_a_log_is_told_where_one_client_follows_the_other(second_from: int, member: str | None) -> None:
    sightings = Sightings()
    for number, (first, last) in enumerate([(0, 600), (second_from, 1_200)], 1):
        sightings.note(ClientSighting("app.log", "client", "orders", None, None, f"app-{number}", first * S, last * S))
    event = Event("ClientPollTimedOut", 800 * S, 800 * S, LogPosition("app.log", 9, 0), Witness.CLIENT)
    ((found,),) = sightings.attribute([event]).values()
    assert (found.group, found.member_id) == ("orders", member)


def test_what_programs_tell_is_of_no_group() -> None:
    sightings = Sightings()
    sightings.note(ClientSighting("app.log", Witness.CLIENT, "orders", None, None, None, 0, 9 * S))
    assert (
        sightings.attribute(
            [Event("ClientErrorReported", 2 * S, 2 * S, LogPosition("app.log", 2, 2), Witness.CLIENT, fields={"trouble": "polled_late"})]
        )
        == {}
    )

"""`groupscope events`: every recognised record, with the place where its bytes stand."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.pipelines.cli.conftest import POLL_TIMEOUT, ROOT, Cli

KEYS = ["file", "line", "byte_offset", "at", "message", "group", "generation", "member_id", "client_id", "fields", "text"]
PLAIN = sorted(
    path.relative_to(ROOT).as_posix()
    for path in ROOT.glob("data_samples/kafka/**/*.log")
    if path.name in ("server.log", "main.log", "kafka-request.log")
)


def found(text: str) -> Iterator[dict[str, Any]]:
    return map(json.loads, text.splitlines())


def test_the_keys_are_those_that_scripts_know(cli: Cli) -> None:
    done = cli("events", POLL_TIMEOUT)
    assert (done.code, done.err) == (0, "")
    for item in found(done.out):
        assert list(item)[: len(KEYS)] == KEYS
        assert item["message"].startswith("kafka.")
        assert isinstance(item["fields"], dict)
        assert item["at"] is None or item["at"].endswith("Z")


@pytest.mark.parametrize("path", PLAIN)
def test_a_place_leads_to_the_bytes_of_the_record(cli: Cli, path: str) -> None:
    content = (ROOT / path).read_bytes()
    items = list(found(cli("events", path).out))
    assert items
    groups: set[tuple[str | None, str | None, bool]] = set()
    for item in items:
        start = item["byte_offset"]
        assert item["file"] == path
        assert content.startswith(item["text"].encode(), start)
        assert content.count(b"\n", 0, start) + 1 == item["line"]
        for name in ("member_id", "client_id"):
            assert item[name] is None or item[name] in item["text"], name
        groups.add((item["group"], item["client_id"], item["group"] is None or item["group"] in item["text"]))
    # A line without a group has that of its client.
    assert all(is_told or (group, client, True) in groups for group, client, is_told in groups)
    assert [item["byte_offset"] for item in items] == sorted({item["byte_offset"] for item in items})


def test_a_place_in_a_compressed_file_counts_what_it_holds(cli: Cli, tmp_path: Path) -> None:
    content = (ROOT / POLL_TIMEOUT / "broker-1" / "server.log").read_bytes()
    (tmp_path / "server.log.1.gz").write_bytes(gzip.compress(content))
    for item in found(cli("events", tmp_path).out):
        assert content.startswith(item["text"].encode(), item["byte_offset"])


CLIENTS = {
    "the only group of the file": (
        "[Sarama] 2030/06/04 19:22:41 client/coordinator coordinator for consumergroup parcels is #1007 (k1:9092)",
        "[Sarama] 2030/06/04 19:23:14 consumergroup/session/sarama-1c9b7be3-9f14-4a03-8a47-3d3c9f6ff0a1/3 heartbeat loop stopped",
        "parcels",
    ),
    "the group of the client": (
        '%7|1883691100.468|CGRPCOORD|rdkafka#consumer-1| [thrd:main]: Group "parcels" changing coordinator -1 -> 3',
        "%4|1883691101.468|MAXPOLL|rdkafka#consumer-1| [thrd:main]: Application maximum poll interval (10000ms) exceeded by 88ms "
        "(adjust max.poll.interval.ms for long-running message processing): leaving group",
        "parcels",
    ),
    "another client of the process": (
        '%7|1883691100.468|CGRPCOORD|rdkafka#consumer-1| [thrd:main]: Group "parcels" changing coordinator -1 -> 3',
        "%4|1883691101.468|MAXPOLL|rdkafka#consumer-2| [thrd:main]: Application maximum poll interval (10000ms) exceeded by 88ms "
        "(adjust max.poll.interval.ms for long-running message processing): leaving group",
        None,
    ),
}


@pytest.mark.parametrize("case", CLIENTS)
def test_lines_of_a_client_without_a_group_get_the_one_that_earlier_lines_name(cli: Cli, tmp_path: Path, case: str) -> None:
    *lines, group = CLIENTS[case]
    (tmp_path / "client.log").write_text("\n".join(map(str, lines)) + "\n", encoding="utf-8")
    assert [item["group"] for item in found(cli("events", tmp_path / "client.log").out)] == ["parcels", group]


COORDINATOR = "o.a.k.c.c.internals.AbstractCoordinator  : [Consumer clientId={client}, groupId={group}] (Re-)joining group"
LISTENER = "essageListenerContainer$ListenerConsumer : partitions revoked: [orders-0]"
THREADS = [
    ("orders-bin", COORDINATOR.format(client="c-2", group="bin"), "bin"),
    ("orders", COORDINATOR.format(client="c-1", group="orders"), "orders"),
    ("orders", LISTENER, "orders"),
    ("other", LISTENER, None),
]


def test_lines_of_a_thread_belong_to_its_group(cli: Cli, tmp_path: Path) -> None:
    """Of a listener that names neither group nor client, in a file of several groups."""
    lines = [f"2028-11-25 13:02:02.37{number}  INFO 19771 --- [{thread}] {text}" for number, (thread, text, _) in enumerate(THREADS)]
    (tmp_path / "app.log").write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert [item["group"] for item in found(cli("events", tmp_path / "app.log").out)] == [group for *_, group in THREADS]


def test_lines_that_a_window_filled_with_blanks_are_read_as_they_were(cli: Cli, tmp_path: Path) -> None:
    """With their logger, and with reasons that end where they ended."""
    plain = (ROOT / POLL_TIMEOUT / "broker-1" / "server.log").read_text(encoding="utf-8")
    told = []
    for name, text in (("plain.log", plain), ("padded.log", "".join(f"{line:<220}\n" for line in plain.splitlines()))):
        (tmp_path / name).write_text(text, encoding="utf-8")
        told.append([(item["line"], item["message"], item["logger"], item["fields"]) for item in found(cli("events", tmp_path / name).out)])
    assert told[0] == told[1]


def test_a_record_with_a_print_of_the_program_behind_it_is_read(cli: Cli, tmp_path: Path) -> None:
    record = '{"group":"parcels","level":"info","msg":"joining group","time":"2029-09-08T07:31:4%dZ"}'
    (tmp_path / "app.log").write_text("\n".join((record % 1, "req: &kmsg.Request{Version:0}", record % 2)) + "\n", encoding="utf-8")
    assert [item["line"] for item in found(cli("events", tmp_path / "app.log").out)] == [1, 3]


def test_only_the_group_that_was_asked_for(cli: Cli) -> None:
    folder = "data_samples/kafka/2.8.2/coordinator-failover"
    groups = {item["group"] for item in found(cli("events", folder, "--group", "audit-trail-i", "--group", "fraud-score-i").out)}
    assert groups == {"audit-trail-i", "fraud-score-i"}


def test_the_order_is_that_of_the_files(cli: Cli) -> None:
    places = [(item["file"], item["byte_offset"]) for item in found(cli("events", POLL_TIMEOUT).out)]
    files = list(dict.fromkeys(file for file, _ in places))
    assert places == sorted(places, key=lambda place: (files.index(place[0]), place[1]))


def test_a_zone_and_a_glob_that_fits_nothing(cli: Cli) -> None:
    plain = next(found(cli("events", POLL_TIMEOUT).out))
    done = cli("events", POLL_TIMEOUT, "--log-tz", "+02:00", "--cluster", "nowhere/*=a")
    assert next(found(done.out))["at"][:13] != plain["at"][:13]
    assert done.err == "warning: no file matches nowhere/*\n"
    assert cli("events", POLL_TIMEOUT, "--cluster", "nowhere/*=a", "--quiet").err == ""


def test_lines_of_a_grpc_client_get_the_group_that_its_id_has_in_others(cli: Cli, tmp_path: Path) -> None:
    layout = "2030-10-14 09:00:04.950 INFO  [7311] [main] [o.a.r.c.j.i.c.PushConsumerImpl#?:?] - "
    service = "Create standard consume service, consumerGroup={}, clientId={}"
    change = "Drop message queue because it is expired, mq=b.t.1, clientId={}"
    lines = [change.format("a@1@0@x"), service.format("billing", "a@1@0@x"), change.format("a@1@0@x"), change.format("b@1@0@x")]
    path = tmp_path / "rocketmq-client.log"
    path.write_text("".join(f"{layout}{line}\n" for line in lines))

    assert [item["group"] for item in found(cli("events", str(path)).out)] == [None, "billing", "billing", None]
    assert [item["line"] for item in found(cli("events", str(path), "--group", "billing").out)] == [2, 3]

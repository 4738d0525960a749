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
    for item in items:
        start = item["byte_offset"]
        assert item["file"] == path
        assert content.startswith(item["text"].encode(), start)
        assert content.count(b"\n", 0, start) + 1 == item["line"]
        for name in ("group", "member_id", "client_id"):
            assert item[name] is None or item[name] in item["text"], name
    assert [item["byte_offset"] for item in items] == sorted({item["byte_offset"] for item in items})


def test_a_place_in_a_compressed_file_counts_what_it_holds(cli: Cli, tmp_path: Path) -> None:
    content = (ROOT / POLL_TIMEOUT / "broker-1" / "server.log").read_bytes()
    (tmp_path / "server.log.1.gz").write_bytes(gzip.compress(content))
    for item in found(cli("events", tmp_path).out):
        assert content.startswith(item["text"].encode(), item["byte_offset"])


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
    assert done.err == "warning: 'nowhere/*' fits no file\n"
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

"""Logs that are followed: each rebalance is told once as it begins and once as it ends, however the bytes arrive."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from parsers.reading.reader import ReadOptions
from pipelines.analysis.in_process import AnalyzeOptions, analyze
from pipelines.cli.answers.news import sources
from pipelines.cli.answers.news.changes import News, NewsKind, Newsroom
from pipelines.cli.answers.news.followed_source import FollowedSource
from pipelines.cli.answers.news.sentences import news_object
from pipelines.cli.answers.news.sources import FollowedFiles
from tests.pipelines.cli.conftest import POLL_TIMEOUT, ROOT, Cli

SERVER_LOG = (ROOT / POLL_TIMEOUT / "broker-1" / "server.log").read_bytes()
CLIENT_LOG = (ROOT / POLL_TIMEOUT / "clients" / "main.log").read_bytes()


@pytest.fixture(autouse=True)
def _searching(monkeypatch: pytest.MonkeyPatch) -> None:
    """New files are looked for in each round."""
    monkeypatch.setattr(sources, "SEARCH_SECONDS", -1.0)


class Stopped(Exception):
    """Ends a test's rounds."""


def told_of(log: Path, steps: list[Any], **options: Any) -> list[tuple[str, Any]]:
    """News of a file, and of what each step does to it; two rounds follow each step."""
    left = iter([step for each in steps for step in (each, None)])

    def wait(_seconds: float) -> None:
        try:
            step = next(left)
        except StopIteration:
            raise Stopped from None
        if step is not None:
            step()

    def settings() -> Any:
        from conf.settings import load_settings

        return load_settings(environment={})

    source = FollowedFiles([str(log)], ReadOptions(), wait=wait)
    since = options.get("since")
    following = FollowedSource(
        settings(), source, AnalyzeOptions(), options.get("groups", []), lambda _: since, lambda _: None, clock=lambda: 0.0
    )
    found: list[tuple[str, Any]] = []
    with contextlib.suppress(Stopped):
        for news in following.changes():
            found += [(each.kind, each.row) for each in news]
    return found


def adding(log: Path, data: bytes) -> Any:
    def add() -> None:
        with log.open("ab") as file:
            file.write(data)

    return add


def verdicts(found: list[tuple[str, Any]]) -> dict[str, tuple[Any, ...]]:
    return {row.rebalance_id: (row.cause, row.outcome, row.generation_after) for kind, row in found if kind != NewsKind.BEGAN}


def pieces(data: bytes, count: int) -> Iterator[bytes]:
    size = len(data) // count + 1
    return (data[start : start + size] for start in range(0, len(data), size))


@pytest.mark.parametrize("count", [1, 3, 17])
def test_pieces_tell_what_the_whole_file_tells(tmp_path: Path, count: int) -> None:
    log = tmp_path / "server.log"
    first, *rest = pieces(SERVER_LOG, count)
    log.write_bytes(first)
    found = told_of(log, [adding(log, piece) for piece in rest])
    (tmp_path / "whole.log").write_bytes(SERVER_LOG)
    whole = told_of(tmp_path / "whole.log", [])

    assert verdicts(found) == verdicts(whole)
    assert len(verdicts(found)) == 4
    assert [kind for kind, _ in found].count(NewsKind.BEGAN) == 4
    assert [kind for kind, _ in found].count(NewsKind.FINISHED) == 4


@pytest.mark.parametrize("count", [1, 7])
@pytest.mark.parametrize(
    "log", ["4.9.7/frozen-consumer/consumer-1/rocketmq_client.log", "5.4.0/broker-restart/consumer-2/rocketmq-client.log"]
)
def test_rocketmq_is_followed_as_kafka_is(tmp_path: Path, log: str, count: int) -> None:
    content = (ROOT / "data_samples" / "rocketmq" / log).read_bytes()
    file = tmp_path / Path(log).name
    first, *rest = pieces(content, count)
    file.write_bytes(first)
    found = told_of(file, [adding(file, piece) for piece in rest])
    whole = {row.rebalance_id: (row.cause, row.outcome, row.generation_after) for row in analyze([str(file)], AnalyzeOptions()).rebalances}

    assert len(whole) >= 4
    assert verdicts(found) == whole
    assert [kind for kind, _ in found].count(NewsKind.BEGAN) == len(whole)


def test_a_rotated_and_an_emptied_file_go_on(tmp_path: Path) -> None:
    log, half = tmp_path / "server.log", SERVER_LOG.index(b"\n", len(SERVER_LOG) // 2) + 1
    log.write_bytes(SERVER_LOG[:half])

    def rotate() -> None:
        os.rename(log, tmp_path / "server.log.1")
        log.write_bytes(SERVER_LOG[half:])

    def empty() -> None:
        log.write_bytes(SERVER_LOG[half:])

    (tmp_path / "whole.log").write_bytes(SERVER_LOG)
    whole = verdicts(told_of(tmp_path / "whole.log", []))
    assert verdicts(told_of(log, [rotate])) == whole

    log.unlink()
    log.write_bytes(SERVER_LOG[:half])
    assert verdicts(told_of(log, [empty])) == whole


def test_a_client_log_that_comes_later_changes_the_verdict(tmp_path: Path) -> None:
    (tmp_path / "server.log").write_bytes(SERVER_LOG)
    (tmp_path / "main.log").write_bytes(CLIENT_LOG.split(b"\n")[0] + b"\n")
    found = told_of(tmp_path, [adding(tmp_path / "main.log", CLIENT_LOG.partition(b"\n")[2])])
    [changed] = [row for kind, row in found if kind == NewsKind.CHANGED and row.generation_before == 1]
    assert changed.cause == "poll_timeout"


def test_only_what_ends_after_a_time_is_told(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    log.write_bytes(SERVER_LOG)
    ends = sorted(row.ended_at for kind, row in told_of(log, []) if kind == NewsKind.FINISHED)
    assert [row.ended_at for kind, row in told_of(log, [], since=ends[-1]) if kind == NewsKind.FINISHED] == ends[-1:]
    assert told_of(log, [], groups=["other*"]) == []


ROWS: list[tuple[list[list[tuple[str, str, str]]], list[list[str]]]] = [
    ([[("a", "open", "unknown")], [("a", "stable", "member_join")]], [[NewsKind.BEGAN], [NewsKind.FINISHED]]),
    ([[("a", "stable", "member_join")], [("a", "stable", "member_join")]], [[NewsKind.BEGAN, NewsKind.FINISHED], []]),
    ([[("a", "stable", "member_join")], [("a", "stable", "poll_timeout")]], [[NewsKind.BEGAN, NewsKind.FINISHED], [NewsKind.CHANGED]]),
    ([[("a", "stable", "member_join")], [("a", "open", "member_join")]], [[NewsKind.BEGAN, NewsKind.FINISHED], [NewsKind.CHANGED]]),
]


@pytest.mark.parametrize(("looks", "kinds"), ROWS)
def test_nothing_is_told_twice(looks: list[list[tuple[str, str, str]]], kinds: list[list[str]]) -> None:
    newsroom = Newsroom()

    def rows(look: list[tuple[str, str, str]]) -> list[dict[str, Any]]:
        return [{"rebalance_id": key, "group": "orders", "started_at": ord(key), "outcome": how, "cause": why} for key, how, why in look]

    assert [[each.kind for each in newsroom.changes(rows(look))] for look in looks] == kinds


def test_a_pipe_is_followed_to_its_end(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    def piped(*arguments: str) -> list[str]:
        reading, writing = os.pipe()
        os.write(writing, SERVER_LOG[: 1 << 15])
        os.close(writing)
        with monkeypatch.context() as patch, os.fdopen(reading) as stdin:
            patch.setattr(sys, "stdin", stdin)
            done = cli(*arguments)
        assert done.code == 0, done.err
        return done.out.splitlines()

    lines = piped("analyze", "--follow")
    assert lines[0].startswith("2026-11-21 09:08:32.114 shipping-e 0 → 1: a rebalance begins; ")
    assert lines[1].startswith("2026-11-21 09:08:38.121 shipping-e 0 → 1: took 6.0 s")
    schema = Draft202012Validator(json.loads(cli("schema", "events/rebalances").out))
    objects = [json.loads(line) for line in piped("analyze", "--follow", "--jsonl")]
    for each in objects:
        schema.validate(each)
    assert [each["event"] for each in objects] == [NewsKind.BEGAN, NewsKind.FINISHED] * 4
    followed = piped("analyze", "--follow", "--jsonl")
    assert piped("events", "--rebalances", "--follow") == [line for line in followed if NewsKind.FINISHED in line]


def test_events_of_rebalances_are_those_that_ended(cli: Cli) -> None:
    schema = Draft202012Validator(json.loads(cli("schema", "events/rebalances").out))
    found = [json.loads(line) for line in cli("events", "--rebalances", POLL_TIMEOUT).out.splitlines()]
    for each in found:
        schema.validate(each)
    assert schema.schema["$id"] == found[0]["schema"]
    assert [each["cause"] for each in found] == ["new_group", "poll_timeout", "member_join", "member_leave"]


WRONG = [
    (("analyze", "--follow", POLL_TIMEOUT, "--json"), "--jsonl"),
    (("analyze", "--follow", POLL_TIMEOUT, "--until", "10:00"), "has no end"),
    (("analyze", "--follow", "--warehouse", "x"), "--follow is for logs"),
    (("events", "--follow", POLL_TIMEOUT), "go with --rebalances"),
    (("analyze", "--follow", "nowhere.log"), "no such file"),
]


@pytest.mark.parametrize(("arguments", "told"), WRONG, ids=[" ".join(arguments) for arguments, _ in WRONG])
def test_what_cannot_be_followed_is_said(cli: Cli, arguments: tuple[str, ...], told: str) -> None:
    done = cli(*arguments)
    assert done.code in (2, 3)
    assert told in done.err


def test_news_of_hostile_text_stay_one_line(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    log.write_bytes(SERVER_LOG.replace(b"shipping-e", b"ship\x1b[31m-e"))
    for kind, row in told_of(log, []):
        assert "\x1b" not in json.dumps(news_object(News(kind, row).kind, row))[1:] or "\\u001b" in json.dumps(news_object(kind, row))


STUCK = [
    "[2026-11-21 10:00:00,000] INFO [GroupCoordinator 1]: Preparing to rebalance group orders in state PreparingRebalance with old "
    "generation 5 (__consumer_offsets-3) (reason: Adding new member app-1-1 with group instance id None; client reason: not provided) "
    "(kafka.coordinator.group.GroupCoordinator)",
    *(
        f"[2026-11-21 10:{at},000] INFO [Log partition=orders-{place}] Rolled new log segment at offset 5 in 9 ms. (kafka.log.Log)"
        for place, at in enumerate(("00:30", "01:30", "05:00", "20:00"))
    ),
]
OVER = (
    "[2026-11-21 10:25:00,000] INFO [GroupCoordinator 1]: Stabilized group orders generation 6 (__consumer_offsets-3) with 2 members "
    "(kafka.coordinator.group.GroupCoordinator)"
)


@pytest.mark.parametrize("count", [1, 2])
def test_a_rebalance_that_does_not_end_is_told_once(tmp_path: Path, count: int) -> None:
    """By lines of whatever kind that show the time; what ends soon is not."""
    log = tmp_path / "server.log"
    log.write_text(f"{STUCK[0]}\n", encoding="utf-8")
    lines = [f"{line}\n".encode() for line in (*STUCK[1:], OVER)]
    steps = [adding(log, b"".join(lines[start : start + count])) for start in range(0, len(lines), count)]

    assert [kind for kind, _ in told_of(log, steps)] == [NewsKind.BEGAN, NewsKind.LASTS]
    log.write_text(f"{STUCK[0]}\n", encoding="utf-8")
    assert [kind for kind, _ in told_of(log, [adding(log, lines[0])])] == [NewsKind.BEGAN]


def test_people_read_that_a_rebalance_lasts_and_programs_keep_their_schema() -> None:
    command = [sys.executable, "-m", "groupscope", "analyze", "--follow"]
    for options, number in (((), 2), (("--jsonl",), 1)):
        text = "".join(f"{line}\n" for line in STUCK)
        done = subprocess.run([*command, *options], cwd=ROOT, input=text, capture_output=True, text=True, check=True)
        assert len(done.stdout.splitlines()) == number
        assert ("orders 5 → ?: not over after" in done.stdout) == (number == 2)

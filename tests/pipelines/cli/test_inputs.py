"""What can be read: standard input and compressed files, told by content; and which part of it is shown."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import subprocess
import sys
import tarfile
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import zstandard

from pipelines.cli.arguments.times import moment, window
from pipelines.errors import UsageError
from tests.pipelines.cli.conftest import POLL_TIMEOUT, ROOT, Cli

FROZEN = "data_samples/kafka/3.9.1/frozen-process"
SERVER_LOG = f"{POLL_TIMEOUT}/broker-1/server.log"
CONTENT = (ROOT / SERVER_LOG).read_bytes()
COMMAND = str(Path(sys.executable).with_name("groupscope"))
PACKED: dict[str, Callable[[bytes], bytes]] = {
    "plain": bytes,
    "gzip": gzip.compress,
    "gzip in parts": lambda data: gzip.compress(data[:4000]) + gzip.compress(data[4000:]),
    "bzip2": bz2.compress,
    "xz": lzma.compress,
    "zstd": zstandard.compress,
}


def rebalances(text: str | bytes) -> list[tuple[Any, ...]]:
    names = ("group", "generation_after", "started_at", "cause", "outcome")
    return [tuple(row[name] for name in names) for row in json.loads(text)["rebalances"]]


@pytest.mark.parametrize("form", PACKED)
def test_standard_input_in_any_form(cli: Cli, form: str) -> None:
    expected = rebalances(cli("rebalances", SERVER_LOG, "--json").out)
    done = subprocess.run([COMMAND, "rebalances", "-", "--json"], input=PACKED[form](CONTENT), capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    assert rebalances(done.stdout) == expected
    assert expected


@pytest.mark.parametrize("form", PACKED)
def test_a_file_whose_name_says_nothing(cli: Cli, tmp_path: Path, form: str) -> None:
    (tmp_path / "evidence").write_bytes(PACKED[form](CONTENT))
    assert rebalances(cli("rebalances", tmp_path, "--json").out) == rebalances(cli("rebalances", SERVER_LOG, "--json").out)


@pytest.mark.parametrize("packed", ["w", "w:gz", "w:xz"])
def test_a_bundle_is_the_folder_that_it_holds(cli: Cli, tmp_path: Path, packed: str) -> None:
    bundle = tmp_path / "bundle"
    with tarfile.open(bundle, packed) as archive:  # type: ignore[call-overload]
        archive.add(ROOT / POLL_TIMEOUT, "logs")
    told = cli("analyze", POLL_TIMEOUT, "--json")
    done = cli("analyze", bundle, "--json")
    piped = subprocess.run([COMMAND, "analyze", "-", "--json"], input=bundle.read_bytes(), capture_output=True, check=True).stdout.decode()

    assert (told.code, done.code) == (0, 0)
    assert rebalances(piped) == rebalances(done.out) == rebalances(told.out)
    lines = [line for row in json.loads(done.out)["rebalances"] for line in row["evidence"]]
    assert lines
    for line in lines:
        content = (ROOT / POLL_TIMEOUT / line["file"].removeprefix(f"{bundle}/logs/")).read_bytes()
        assert content.startswith(line["text"].split("\n")[0].encode(), line["byte_offset"])


def test_events_of_standard_input_have_their_places() -> None:
    done = subprocess.run([COMMAND, "events", "-"], input=CONTENT, capture_output=True, check=True)
    for item in map(json.loads, done.stdout.splitlines()):
        assert item["file"] == "-"
        assert CONTENT.startswith(item["text"].encode(), item["byte_offset"])


def test_empty_standard_input() -> None:
    done = subprocess.run([COMMAND, "analyze", "-"], input=b"", capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (3, b"error: no log could be read; -: empty\n")


WHOLE = [1, 2, 3, 4]
PARTS = [
    ((), WHOLE),
    (("--since", "09:08:50"), [3, 4]),
    (("--until", "09:08:40"), [1]),
    (("--until", "09:30"), WHOLE),
    (("--since", "23:00"), WHOLE),
    (("--since", "2026-11-21T09:08:45Z", "--until", "2026-11-21 09:08:50"), [2]),
    (("--since", "5s"), [3, 4]),
    (("--around", "09:08:46.8/1s"), [2]),
    (("--around", "09:08:46/8s"), [1, 2, 3]),
    (("--around", "2026-11-21 10:08:46+01:00"), WHOLE),
    (("--around", "14:38:46/2s", "--tz", "Asia/Kolkata"), [2]),
    (("--around", "1s/1s"), [3, 4]),
]


@pytest.mark.parametrize(("options", "generations"), PARTS, ids=[" ".join(options) or "all" for options, _ in PARTS])
def test_a_part_of_the_time(cli: Cli, sample_warehouse: Path, options: tuple[str, ...], generations: list[int]) -> None:
    done = cli("rebalances", "--warehouse", sample_warehouse, *options, "--json")
    assert done.code == 0, done.err
    assert [row[1] for row in rebalances(done.out)] == generations


def test_around_reaches_ten_minutes_by_default() -> None:
    start, end = window("2026-03-01T10:00", "UTC")
    middle = moment("2026-03-01T10:00", "UTC", "--around").micros(None)
    assert (middle - start.micros(None), end.micros(None) - middle) == (600_000_000, 600_000_000)


def test_a_time_without_logs_that_have_one() -> None:
    with pytest.raises(UsageError, match="counted from the last record"):
        window("2h", "UTC")[0].micros(None)


NOW = datetime(2026, 3, 29, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "zone", "expected"),
    [
        ("1772359200", "UTC", "2026-03-01T10:00:00+00:00"),
        ("1772359200.5", "Europe/Berlin", "2026-03-01T10:00:00.500000+00:00"),
        ("1772359200123", "UTC", "2026-03-01T10:00:00.123000+00:00"),
        ("now", "UTC", "2026-03-29T12:00:00+00:00"),
        ("now-90m", "Europe/Berlin", "2026-03-29T10:30:00+00:00"),
        ("today", "UTC", "2026-03-29T00:00:00+00:00"),
        ("yesterday 14:03", "UTC", "2026-03-28T14:03:00+00:00"),
        ("yesterday 14:03:07", "Europe/Berlin", "2026-03-28T13:03:07+00:00"),
        ("Today 14:03", "Europe/Berlin", "2026-03-29T12:03:00+00:00"),
        ("yesterday 9:30", "America/New_York", "2026-03-28T13:30:00+00:00"),
    ],
)
def test_times_as_people_and_machines_write_them(text: str, zone: str, expected: str) -> None:
    assert moment(text, zone, "--since", NOW).micros(None) == datetime.fromisoformat(expected).timestamp() * 1_000_000


@pytest.mark.parametrize("text", ["yesterday noon", "now-", "now-soon", "tomorrow", "177235920", "today 25:00"])
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="is no time"):
        moment(text, "UTC", "--since", NOW)


@pytest.mark.parametrize(
    ("names", "found"),
    [(("ord*",), {"orders"}), (("orders", "bil*"), {"orders", "billing"}), (("[ob]*",), {"orders", "billing"})],
)
def test_a_group_may_be_a_glob(cli: Cli, story_warehouse: Path, names: tuple[str, ...], found: set[str]) -> None:
    options = [word for name in names for word in ("--group", name)]
    done = cli("rebalances", "--warehouse", story_warehouse, *options, "--json")
    assert {row["group"] for row in json.loads(done.out)["rebalances"]} == found
    assert cli("rebalances", "--warehouse", story_warehouse, "--group", "x*").code == 2


@pytest.mark.parametrize("paths", [(), ("-",)], ids=["no path", "a dash"])
def test_what_is_piped_in_needs_no_dash(paths: tuple[str, ...]) -> None:
    log = (ROOT / POLL_TIMEOUT / "broker-1" / "server.log").read_bytes()
    start = [sys.executable, "-c", "from pipelines.cli.main import run; run()", "rebalances", *paths, "--json"]
    done = subprocess.run(start, cwd=ROOT, input=log, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    assert len(json.loads(done.stdout)["rebalances"]) == 4


def test_grave_lines_that_nobody_knows_come_before_frequent_ones(cli: Cli, tmp_path: Path) -> None:
    line = "[2026-11-21 09:08:{:02},040] {} [GroupCoordinator 1]: {} of group billing (kafka.coordinator.group.GroupCoordinator)\n"
    frequent = [
        line.format(second, "INFO", f"A thing to come, {kind},") for kind in ("alpha", "beta", "gamma", "delta") for second in range(9)
    ]
    (tmp_path / "server.log").write_text("".join([*frequent, line.format(55, "ERROR", "A broken thing to come")]))
    shown = cli("analyze", str(tmp_path / "server.log")).out.partition("that the catalogue does not know")[2].splitlines()[1:]

    assert shown[0].strip().startswith("1 × ERROR <*>: A broken thing to come of group <*>")


ZONES: list[tuple[str, tuple[str, ...]]] = [
    ("none", ()),
    ("the clients'", ("clients/*=+03:00",)),
    ("the broker's", ("clients/*=UTC", "*broker-1/*=+03:00")),
]
RIGHT_ZONE = "--log-tz=*broker-1/*=Europe/Berlin"
LISTINGS: list[tuple[tuple[str, ...], int, int]] = [
    (("analyze", "--json"), 0, 0),
    (("rebalances",), 0, 0),
    (("rebalances", "--since", "2026-11-21T10:18:16", "--json"), 0, 0),
    (("offenders",), 0, 0),
    (("timeline",), 0, 0),
    (("groups",), 0, 0),
    (("trend",), 0, 0),
    (("compare", "--at", "2026-11-21T09:18:14"), 0, 0),
    (("gate", "--max-rebalances", "9"), 0, 4),
    (("gate", "--max-rebalances", "9", "--json"), 0, 4),
    (("gate", "--max-rebalances", "1"), 1, 1),
]


@pytest.mark.parametrize("zones", [zones for _, zones in ZONES], ids=[name for name, _ in ZONES])
def test_a_wrong_time_zone_names_logs_of_both_sides(cli: Cli, zones: tuple[str, ...]) -> None:
    """Which side's zone was given wrongly, no line tells."""
    done = cli("rebalances", FROZEN, *(f"--log-tz={zone}" for zone in zones))
    assert "in a wrong time zone" in done.err
    assert all(name in done.err for name in ("clients/main.log", "or else the log of the broker", "broker-1/server.log"))


@pytest.mark.parametrize(("command", "right", "wrong"), LISTINGS, ids=[" ".join(case[0]) for case in LISTINGS])
def test_each_listing_warns_of_a_wrong_time_zone(cli: Cli, command: tuple[str, ...], right: int, wrong: int) -> None:
    for zone, code, is_warned in (([RIGHT_ZONE], right, False), ([], wrong, True)):
        done = cli(command[0], FROZEN, *command[1:], *zone)
        assert (done.code, done.err.count("in a wrong time zone")) == (code, is_warned)
        if command[0] == "gate" and "--json" in command:
            assert bool(json.loads(done.out)["doubts"]) == is_warned


def test_the_summary_itself_warns_of_a_wrong_time_zone(cli: Cli) -> None:
    done = cli("analyze", FROZEN)
    assert "in a wrong time zone" in " ".join(done.out.split())
    assert "in a wrong time zone" not in done.err

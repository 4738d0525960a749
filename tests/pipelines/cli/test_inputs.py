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
from pathlib import Path
from typing import Any

import pytest
import zstandard

from pipelines.cli.arguments.times import moment, window
from pipelines.errors import UsageError
from tests.pipelines.cli.conftest import POLL_TIMEOUT, ROOT, Cli

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

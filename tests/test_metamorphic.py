"""What must not change a verdict: the order and cut of files, the names in them, a file seen twice, a broker's clock.

No truth is needed. A changed input may cost confidence; it never makes the analysis sure of something else.
"""

from __future__ import annotations

import gzip
import json
import random
import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path

import pytest

from parsers.reading.reader import ReadOptions
from pipelines.analysis.in_process import AnalyzeOptions, analyze
from tests.conftest import LONG, spread

SURE = 0.9
SAMPLES = ("1.1.1/poll-timeout", "2.8.2/coordinator-failover", "2.8.2/rolling-restart", "3.9.1/frozen-process", "4.1.1/slow-member")
STAMP = re.compile(r"(?:^|(?<=\"log\":\"))\[(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3})\]", re.MULTILINE)
SESSION_TIMEOUT = timedelta(seconds=6)
"""session.timeout.ms of the clients in the samples."""


@dataclass(frozen=True)
class Verdict:
    """What is said of one rebalance, without ids that name files."""

    cause: str
    confidence: float
    offenders: frozenset[str]
    outcome: str


Verdicts = dict[tuple[str, int | None, int | None], Verdict]


def verdicts(folder: Path) -> Verdicts:
    """Verdicts by group and generations; all logs of the folder belong to one cluster."""
    analysis = analyze([str(folder)], AnalyzeOptions(read=ReadOptions(clusters=[(None, "c")])))
    return {
        (row.group, row.generation_before, row.generation_after): Verdict(
            row.cause,
            row.confidence,
            frozenset(person.client_id or person.member_id or "" for person in row.offenders),
            row.outcome,
        )
        for row in analysis.rebalances
    }


@pytest.fixture(params=SAMPLES, ids=[name.rpartition("/")[2] for name in SAMPLES])
def sample(request: pytest.FixtureRequest, samples: Path, tmp_path: Path) -> Path:
    """A copy of one sample that a test may change, unpacked."""
    copy = Path(shutil.copytree(samples / "kafka" / request.param, tmp_path / "logs"))
    for path in copy.rglob("*.gz"):
        path.with_suffix("").write_bytes(gzip.decompress(path.read_bytes()))
        path.unlink()
    return copy


def logs(folder: Path) -> Iterator[Path]:
    return (path for path in sorted(folder.rglob("*")) if path.is_file())


def rewrite(folder: Path, change: Callable[[str], str], name: str = "*.log*") -> None:
    for path in folder.rglob(name):
        path.write_bytes(change(path.read_text(encoding="utf-8")).encode())


def test_a_file_that_is_there_twice_counts_once(sample: Path) -> None:
    before = verdicts(sample)
    for path in list(logs(sample)):
        shutil.copy(path, path.with_name(f"copy-of-{path.name}"))
    assert verdicts(sample) == before


def test_files_may_have_any_name(sample: Path) -> None:
    before = verdicts(sample)
    for number, path in enumerate(reversed(list(logs(sample)))):
        path.rename(path.with_name(f"{number:02d}-{number * 7919 % 1000}.txt"))
    assert verdicts(sample) == before


def test_a_log_may_be_cut_into_rotated_files_between_any_lines(sample: Path) -> None:
    before = verdicts(sample)
    for path in list(logs(sample)):
        lines = path.read_bytes().splitlines(keepends=True)
        heads = [index for index, line in enumerate(lines) if STAMP.match(line.decode(errors="replace"))]
        cuts = heads[len(heads) // 7 :: max(1, len(heads) // 4)]
        bounds = [0, *cuts, len(lines)]
        path.unlink()
        for part, (begin, end) in enumerate(pairwise(bounds)):
            path.with_name(f"{path.name}.{len(bounds) - part}").write_bytes(b"".join(lines[begin:end]))
    assert verdicts(sample) == before


def test_new_names_of_groups_and_clients_only_rename(sample: Path) -> None:
    before = verdicts(sample)
    names = sorted(
        {key[0] for key in before} | {name for verdict in before.values() for name in verdict.offenders if "worker" in name},
        key=len,
        reverse=True,
    )
    new = {name: f"Größe ({index}) 'x' of {len(names)}" for index, name in enumerate(names)}
    pattern = re.compile("|".join(map(re.escape, names)))
    rewrite(sample, lambda text: pattern.sub(lambda found: new[found[0]], text))
    renamed = {
        (new[group], *generations): Verdict(
            verdict.cause, verdict.confidence, frozenset(new.get(name, name) for name in verdict.offenders), verdict.outcome
        )
        for (group, *generations), verdict in before.items()
    }
    assert verdicts(sample) == renamed


@pytest.mark.parametrize("share", [-1 / 3, 1 / 3], ids=["slow", "fast"])
def test_a_clock_that_is_off_makes_nothing_else_sure(sample: Path, share: float) -> None:
    before = verdicts(sample)
    folder = next(path.parent for path in logs(sample) if path.parent.name != "clients")
    shift = SESSION_TIMEOUT * share
    rewrite(folder, lambda text: STAMP.sub(lambda found: shifted(found[1], shift), text))
    changed_minds(before, verdicts(sample))


def shifted(stamp: str, shift: timedelta) -> str:
    at = datetime.strptime(stamp, "%Y-%m-%d %H:%M:%S,%f") + shift
    return f"[{at:%Y-%m-%d %H:%M:%S},{at.microsecond // 1000:03d}]"


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=LONG) for seed in (1, 2))])
def test_a_log_may_be_cut_into_files_at_any_byte(sample: Path, seed: int) -> None:
    """A line that is cut in two may be lost; what it would have said is said by none else."""
    before = verdicts(sample)
    drawn = random.Random(seed)  # noqa: S311 - where it is cut is no secret
    for path in list(logs(sample)):
        data = path.read_bytes()
        cuts = sorted(drawn.sample(range(1, len(data)), 3))
        path.unlink()
        for part, (begin, end) in enumerate(pairwise([0, *cuts, len(data)])):
            path.with_name(f"{path.name}.{4 - part}").write_bytes(data[begin:end])
    changed_minds(before, verdicts(sample))


RECORD = re.compile(r"^\[(?P<at>[^\]]{23})\] (?P<level>[A-Z]+) (?P<text>.*) \((?P<logger>[\w.$]+)\)$", re.MULTILINE)
LAYOUTS: dict[str, Callable[[re.Match[str]], str]] = {
    "logger before the text": lambda m: f"{m['at']} {m['level']:<5} [main] {m['logger']} - {m['text']}",
    "Spring": lambda m: f"{m['at'].replace(',', '.')}  {m['level']:<5} 1 --- [           main] {m['logger']} : {m['text']}",
    "JSON": lambda m: json.dumps(
        {
            "@timestamp": m["at"].replace(" ", "T").replace(",", ".") + "Z",
            "level": m["level"],
            "logger_name": m["logger"],
            "message": m["text"],
        }
    ),
    "syslog": lambda m: f"Nov 21 10:00:00 host kafka[1]: {m[0]}",
}


@pytest.mark.parametrize("layout", spread(LAYOUTS, 2))
def test_another_layout_of_the_same_records_says_the_same(sample: Path, layout: str) -> None:
    before = verdicts(sample)
    rewrite(sample, lambda text: RECORD.sub(LAYOUTS[layout], text))
    assert verdicts(sample) == before


@pytest.mark.parametrize(
    "name", ["1.1.1/poll-timeout", *(pytest.param(name, marks=LONG) for name in ("2.8.2/rolling-restart", "3.9.1/frozen-process"))]
)
def test_no_single_line_of_a_coordinator_changes_a_mind_by_its_absence(samples: Path, tmp_path: Path, name: str) -> None:
    folder = Path(shutil.copytree(samples / "kafka" / name, tmp_path / "logs"))
    before = verdicts(folder)
    path = next(iter(folder.glob("broker-*/server.log")))
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    told = [index for index, line in enumerate(lines) if "GroupCoordinator" in line]
    assert told
    for index in told:
        path.write_text("".join(lines[:index] + lines[index + 1 :]), encoding="utf-8")
        changed_minds(before, verdicts(folder))


@pytest.mark.parametrize("seed", [0, 1, *(pytest.param(seed, marks=LONG) for seed in range(2, 6))])
def test_lost_lines_make_nothing_else_sure(sample: Path, seed: int) -> None:
    before = verdicts(sample)
    drawn = random.Random(seed)  # noqa: S311 - which lines are lost is no secret

    def lose(text: str) -> str:
        lines = text.splitlines(keepends=True)
        lost = set(drawn.sample(range(len(lines)), max(1, len(lines) // 50)))
        return "".join(line for index, line in enumerate(lines) if index not in lost)

    rewrite(sample, lose, "server.log*")
    changed_minds(before, verdicts(sample))


def changed_minds(before: Verdicts, after: Verdicts) -> None:
    """Fail where the analysis is sure now of another cause than it was."""
    changed = {
        key: (before[key].cause, after[key].cause, after[key].confidence)
        for key in before.keys() & after.keys()
        if after[key].cause != before[key].cause and after[key].confidence > SURE and before[key].confidence > SURE
    }
    assert not changed

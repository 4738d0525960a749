"""`python -m tests.corpus.digests [--rewrite] [--jobs N] [--only PART]`: a digest of the rows of each scenario of the corpora, by table.

Says which scenarios and tables have other rows than when the digests were written; ends with 1 where some have. Events have
no digest, since that takes a second pass over the files: all other tables are made of them, and `log_files` counts them.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import multiprocessing
import sys
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from parsers.reading.reader import ReadOptions
from pipelines.analysis.in_process import AnalyzeOptions
from tests.conftest import ROOT, SHARED
from tests.golden_rows import digest, of_analysis

STORED = ROOT / "tests" / "golden" / "corpora.json"
CORPORA = SHARED / "corpora"
LOG_FOLDERS = ("broker-*", "controller-*", "clients", "logs")
Digests = dict[str, dict[str, str]]


def scenarios(corpora: Path, only: Sequence[str] = ()) -> list[str]:
    """Folders that contain folders of logs, labelled or not.

    Twins and what brokers wrote before the first scenario are unlabelled.
    """
    folders = {found.parent for pattern in LOG_FOLDERS for found in corpora.rglob(pattern) if found.is_dir()}
    # RocketMQ has a `broker-*` for each process below `logs`, and one of the corpora is named `clients`.
    names = sorted(folder.relative_to(corpora).as_posix() for folder in folders - {corpora} if folder.name != "logs")
    return [name for name in names if not only or any(part in name for part in only)]


def digests_of(corpora: Path, scenario: str) -> dict[str, str]:
    """Count and digest of one scenario's rows, by non-empty table.

    Paths of files are relative to the scenario's folder.
    """
    folder = corpora / scenario
    with contextlib.chdir(folder):
        rows = of_analysis(["."], AnalyzeOptions(ReadOptions(log_tz=_zones(folder))), events=False)
    # The truth and other files beside the folders of logs are refused, and may change.
    rows["log_files"] = [row for row in rows["log_files"] if row["path"].count("/") > 1]
    return {table: f"{len(each)} {digest(each)}" for table, each in sorted(rows.items()) if each}


def _zones(folder: Path) -> list[tuple[str | None, str]]:
    """Zones according to the truth beside the logs, UTC without one."""
    with contextlib.suppress(FileNotFoundError):
        truth = json.loads((folder / "truth.json").read_text(encoding="utf-8"))
        zone = truth.get("log_timezone") or truth.get("default_client_timezone") or "UTC"
        return [(None, zone), ("clients/*", truth.get("client_log_timezone") or zone)]
    return [(None, "UTC")]


def differences(before: Digests, now: Digests) -> Iterator[str]:
    """Scenarios and tables with changed rows."""
    for name in sorted(before.keys() | now.keys()):
        if name not in now:
            yield f"{name}: is not among the corpora any more"
        elif name not in before:
            yield f"{name}: is not written down yet; --rewrite does so"
        else:
            for table in sorted(before[name].keys() | now[name].keys()):
                golden, found = before[name].get(table, "0 -"), now[name].get(table, "0 -")
                if golden != found:
                    yield f"{name}: {table}: golden {golden}, found {found}"


def stored() -> Digests:
    """The stored digests."""
    found: Digests = json.loads(STORED.read_text(encoding="utf-8"))
    return found


def store(digests: Digests) -> None:
    """Write digests, one scenario per line."""
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(digests[name])}" for name in sorted(digests))
    STORED.write_text(f"{{\n{lines}\n}}\n", encoding="utf-8")


def main() -> int:
    """Compute all digests, and compare or write them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rewrite", action="store_true", help="write the digests as they are now")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="processes side by side (default: 2)")
    parser.add_argument("--only", action="append", default=[], metavar="PART", help="only scenarios whose path holds PART")
    asked = parser.parse_args()
    if not CORPORA.is_dir():
        print(f"skipped: the labelled corpora are not beside this checkout (../{SHARED.name}/{CORPORA.name})")
        return 0
    names = scenarios(CORPORA, asked.only)
    # Spawned, because Arrow's threads do not survive a fork.
    with multiprocessing.get_context("spawn").Pool(asked.jobs) as pool:
        now = dict(zip(names, pool.map(partial(digests_of, CORPORA), names, chunksize=1), strict=True))
    known = stored() if STORED.exists() else {}
    if asked.rewrite:
        store({name: each for name, each in known.items() if asked.only and name not in now} | now)
        print(f"{len(now)} scenarios written")
        return 0
    golden = {name: each for name, each in known.items() if not asked.only or any(part in name for part in asked.only)}
    found = list(differences(golden, now))
    print(*found, f"{len(now)} scenarios, {len(found)} tables with other rows", sep="\n")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())

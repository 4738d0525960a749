"""Several schedules and readers of one warehouse at once, while its log grows."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from deltalake import DeltaTable

from pipelines.errors import JobError
from pipelines.exit_codes import GOOD, SOME_REJECTED, WAREHOUSE_BUSY
from pipelines.schema.tables import TABLES
from pipelines.warehouse.warehouse_reader import WarehouseReader
from tests.conftest import ROOT
from tests.crash.loop import OF_RUNS
from tests.pipelines.site import Site
from tests.reliability.growing_log import GrowingLog

LOG_BYTES_PER_SECOND = 20_000
OPTIONS = ("--input", "logs", "--warehouse", "warehouse", "--conf", "spark.master=local[2]", "--quiet")


@dataclass(slots=True)
class Use:
    """What writers and readers met."""

    codes: Counter[int] = field(default_factory=Counter)
    readings: int = 0
    faults: list[str] = field(default_factory=list)
    seen: dict[str, str] = field(default_factory=dict)
    """Digest of what was read, by the versions of the tables."""
    lock: threading.Lock = field(default_factory=threading.Lock)

    def told(self) -> str:
        """One line with all figures, and the faults."""
        runs = ", ".join(f"{count} with {code}" for code, count in sorted(self.codes.items()))
        head = f"runs that ended: {runs}; {self.readings} readings of {len(self.seen)} states; {len(self.faults)} faults"
        return "\n".join([head, *(f"    {fault}" for fault in self.faults[:20])])

    def fault(self, text: str) -> None:
        """Note a fault."""
        with self.lock:
            self.faults.append(text)


def use(place: Path, writers: int, readers: int, seconds: float) -> Use:
    """Run writers and readers for some seconds, then compare with one undisturbed run."""
    found, over = Use(), threading.Event()
    site = Site(place / "shared")
    with GrowingLog(site.logs, LOG_BYTES_PER_SECOND):
        _write_once(site, found)
        works = [threading.Thread(target=_write, args=(site, found, over)) for _ in range(writers)]
        works += [threading.Thread(target=_read, args=(site, found, over)) for _ in range(readers)]
        for work in works:
            work.start()
        time.sleep(seconds)
        over.set()
        for work in works:
            work.join()
    _write_once(site, found)
    alone = Site(place / "alone")
    shutil.copytree(site.logs, alone.logs)
    _write_once(alone, found)
    wanted, got = alone.content(), site.content()
    found.faults += [
        f"{name} differs from one run over everything" for name in wanted if name not in _NOT_COMPARED and wanted[name] != got[name]
    ]
    found.faults += list(_overlaps(site))
    return found


# Looks hold times of files; an alert or a count of a run is of that run.
_NOT_COMPARED = (*OF_RUNS, "file_inspections", "runs", "alerts")


def _write(site: Site, found: Use, over: threading.Event) -> None:
    while not over.is_set():
        _write_once(site, found)


def _write_once(site: Site, found: Use) -> None:
    command = [sys.executable, "-m", "groupscope", "run", *OPTIONS]
    ended = subprocess.run(command, cwd=site.place, env=os.environ | {"PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=False)
    with found.lock:
        found.codes[ended.returncode] += 1
    if ended.returncode not in (GOOD, SOME_REJECTED, WAREHOUSE_BUSY):
        found.fault(f"a run ended with {ended.returncode}: {ended.stderr[-500:]}")


def _read(site: Site, found: Use, over: threading.Event) -> None:
    while not over.is_set():
        try:
            _look(site, found)
        except JobError as problem:
            found.fault(f"a reader: {problem}")
        except Exception as problem:  # whatever it is, it is a fault
            found.fault(f"a reader: {type(problem).__name__}: {str(problem)[:300]}")


def _look(site: Site, found: Use) -> None:
    """Read related tables, which must fit together and be those that others saw."""
    warehouse = WarehouseReader(str(site.warehouse))
    rebalances = {row.rebalance_id: row for row in warehouse.rebalances}
    strange = {row.rebalance_id for row in warehouse.rebalance_members} - rebalances.keys()
    strange |= {each for row in warehouse.incidents for each in row.rebalance_ids} - rebalances.keys()
    digest = hashlib.sha256(repr(sorted(map(repr, rebalances.values()))).encode()).hexdigest()
    state = repr(sorted(warehouse.versions.items()))
    with found.lock:
        found.readings += 1
        known = found.seen.setdefault(state, digest)
    if strange:
        found.fault(f"rows of {len(strange)} rebalances that are not there")
    if known != digest:
        found.fault("two readers saw different rows of one state")


def _overlaps(site: Site) -> list[str]:
    """Runs that published while another was at work."""
    rows = DeltaTable(str(site.warehouse / TABLES["runs"].path)).to_pyarrow_table().to_pylist()
    spans = sorted((row["started_at"], row["ended_at"], row["run_id"]) for row in rows if row["status"] == "published")
    return [f"run {after} began before {before} ended" for (_, end, before), (begin, _, after) in pairwise(spans) if begin < end]

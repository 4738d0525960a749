"""States of groups within their history: the way from one to the rows is shorter, and the rows are the same."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from parsers.reader import ReadOptions
from pipelines.jobs.run import RunOutcome
from pipelines.jobs.snapshots import SnapshotRules
from pipelines.simulate.run import read_scenario, simulate
from tests.pipelines.site import Site

pytestmark = pytest.mark.spark

RULES = SnapshotRules(events=10, lags_seconds=(660.0, 1500.0))
READ = ReadOptions(clusters=[(None, "c")])
LATE = "clients/orders-1.log"
"""A file that comes last, though most of it is old."""


@pytest.fixture(scope="module")
def day(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three groups, for so long; their coordinators move after 25 minutes."""
    folder = tmp_path_factory.mktemp("day")
    simulate(read_scenario("busy_day", duration="40m"), "3.9.1", 5, folder)
    (folder / "truth.json").unlink()
    return folder


Batch = Callable[[str], RunOutcome]


@pytest.fixture
def site(tmp_path: Path, day: Path) -> Site:
    return Site(tmp_path / "site")


def bring(site: Site, day: Path, until: str, *, without: str = "") -> None:
    """Let the logs have grown until a time of day."""
    for path in sorted(each for each in day.rglob("*") if each.is_file()):
        name = path.relative_to(day)
        if str(name) == without:
            continue
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
        stop = next((index for index, line in enumerate(lines) if line.startswith("[") and line[12:20] > until), len(lines))
        (site.logs / name).parent.mkdir(parents=True, exist_ok=True)
        (site.logs / name).write_text("".join(lines[:stop]), encoding="utf-8")


def rows(site: Site) -> dict[str, list[str]]:
    """All rows but those states: which of them are there depends on when runs were."""
    return {name: lines for name, lines in site.content().items() if name != "group_snapshots"}


def reached(site: Site) -> dict[str, list[str]]:
    """Until when the states of each group reach."""
    found: dict[str, list[str]] = {}
    for row in sorted(site.table("group_snapshots"), key=lambda row: row["upto_at"]):
        found.setdefault(row["group"], []).append(f"{row['upto_at']:%H:%M}")
    return found


def test_groups_go_on_from_their_states_and_the_rows_are_those_of_a_rebuild(spark: object, site: Site, day: Path) -> None:
    def run(until: str, **options: object) -> RunOutcome:
        bring(site, day, until, without=LATE)
        return site.run(read=READ, snapshots=RULES, **options)

    first = run("00:20:00")
    assert first.counts["groups_resumed"] == 0
    taken = reached(site)
    assert taken.keys() == {"orders", "billing", "search"}
    assert all(time <= "00:09" for times in taken.values() for time in times)

    grown = run("00:24:00")
    assert grown.counts["groups_resumed"] == grown.counts["groups_replayed"] > 0

    moved = run("00:40:00")  # the facts of the cluster are other ones, but not those of the time before the states
    assert moved.counts["groups_resumed"] == 3
    assert all(times[-1] > "00:20" for times in reached(site).values())

    shutil.copy(day / LATE, site.logs / LATE)
    late = site.run(read=READ, snapshots=RULES)
    assert (late.counts["groups_replayed"], late.counts["groups_resumed"]) == (1, 0)  # older than each state of its group

    whole = Site(site.place.with_name("whole"))
    bring(whole, day, "00:40:00", without=LATE)
    shutil.copy(day / LATE, whole.logs / LATE)
    whole.run(read=READ, snapshots=SnapshotRules(events=1 << 40))
    assert whole.table("group_snapshots") == []
    assert rows(site) == rows(whole)

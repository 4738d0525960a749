"""What lasts until the logs end grows with them, though no new line is of its group."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.behaviour.test_ends_of_logs import EXPIRES, emptied, heard_until, polled_late
from tests.conftest import LONG
from tests.pipelines.site import Site

STORIES = {"broker": lambda end: emptied(EXPIRES, end), "polled-late": polled_late, "joining": heard_until}
"""Logs that go on until a time, in seconds."""


@LONG
@pytest.mark.spark
def test_groups_that_wait_or_are_empty_last_as_long_as_their_logs(spark: object, tmp_path: Path) -> None:
    site = Site(tmp_path / "grown")
    for end in (20.0, 1200.0):
        write(site, end)
        site.run()
    rebuilt = Site(tmp_path / "rebuilt")
    write(rebuilt, 1200.0)
    rebuilt.run()

    lasting = [row["ended_at"] for row in site.table("incidents") if row["kind"] == "no_members"]
    assert lasting == [None, None]
    assert max(row["at_least_seconds"] or 0.0 for row in site.table("rebalances")) == 1200.0
    assert {table: site.content()[table] for table in ("rebalances", "incidents")} == {
        table: rebuilt.content()[table] for table in ("rebalances", "incidents")
    }


def write(site: Site, end: float) -> None:
    """The logs as they are at a time; what is there does not change."""
    for name, story in STORIES.items():
        log = site.logs / name / "server.log"
        log.parent.mkdir(parents=True, exist_ok=True)
        lines = [(at, text) for at, _, text in sorted(story(1200.0).lines) if at <= end]
        log.write_text("".join(f"{text}\n" for _, text in lines).replace("depot", f"{name}-depot"), encoding="utf-8")

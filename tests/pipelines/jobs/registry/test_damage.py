"""What power cuts, full disks and failing ones leave of a warehouse: mended where nothing is lost, else named with what to do."""

from __future__ import annotations

import errno
import shutil
from collections.abc import Callable
from contextlib import ExitStack
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest

from pipelines.cli.main import main
from pipelines.errors import CannotWrite, DamagedWarehouse
from pipelines.schema.tables import TABLES
from pipelines.warehouse.opening import table_opening
from pipelines.warehouse.writes import direct_commit
from tests.conftest import LONG
from tests.pipelines.jobs.registry.test_full_disk import small_files
from tests.pipelines.site import Site

pytestmark = pytest.mark.spark
Copied = Callable[[Site], Site]
Damage = Callable[[Path], object]
FIRST = "00000000000000000000.json"


def log_of(table: Path) -> Path:
    return table / "_delta_log"


def files_of(folder: Path) -> list[Path]:
    return [path for path in folder.iterdir() if path.is_file()]


def last_commit(table: Path) -> Path:
    return max(log_of(table).glob("*.json"))


def rows_of(table: Path) -> list[Path]:
    return sorted(table.rglob("part-*.parquet"))


def halve(path: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])


def flip(path: Path) -> None:
    content = path.read_bytes()
    half = len(content) // 2
    path.write_bytes(content[:4] + bytes(byte ^ 0xFF for byte in content[4:half]) + content[half:])


def append_commit(table: Path, content: bytes) -> None:
    last = last_commit(table)
    last.with_name(f"{int(last.stem) + 1:020}.json").write_bytes(content)


def tear_checkpoint(table: Path) -> None:
    from deltalake import DeltaTable

    DeltaTable(str(table)).create_checkpoint()
    for path in log_of(table).glob("*.checkpoint.parquet"):
        halve(path)


def without_log(table: Path) -> None:
    for path in files_of(log_of(table)):
        path.unlink()


def without_table(table: Path) -> None:
    shutil.rmtree(table)


def with_folder_only(table: Path) -> None:
    without_table(table)
    table.mkdir()


def with_half_a_commit_beside(table: Path) -> None:
    content = (log_of(table) / FIRST).read_bytes()
    without_log(table)
    (log_of(table) / f".{FIRST}.1d9c.tmp").write_bytes(content[:100])


def with_checksums_only(table: Path) -> None:
    (log_of(table) / FIRST).unlink()


def with_empty_first_commit(table: Path) -> None:
    (log_of(table) / FIRST).write_bytes(b"")


def with_half_a_first_commit(table: Path) -> None:
    halve(log_of(table) / FIRST)


def with_garbage_as_first_commit(table: Path) -> None:
    (log_of(table) / FIRST).write_bytes(b"\x00\xffgarbage\n")


def without_rows(table: Path) -> None:
    for path in rows_of(table):
        path.unlink()


def with_flipped_rows(table: Path) -> None:
    for path in rows_of(table):
        flip(path)


NEVER_MADE: tuple[Damage, ...] = (
    without_table,
    with_folder_only,
    without_log,
    with_half_a_commit_beside,
    with_checksums_only,
    with_empty_first_commit,
    with_half_a_first_commit,
    with_garbage_as_first_commit,
)
"""What the making of a table may leave that stopped before its first commit was whole on the disk."""

MENDED: dict[str, tuple[str, Damage]] = {
    "torn commit": ("rebalances", lambda table: append_commit(table, b'{"add":{"pa')),
    "empty commit": ("incidents", lambda table: append_commit(table, b"")),
    "torn checkpoint": ("events", tear_checkpoint),
    "torn commit of the register": ("runs", lambda table: append_commit(table, b'{"add":{"pa')),
    "torn cache": ("file_inspections", lambda table: last_commit(table).write_bytes(b"garbage")),
}
LOST: dict[str, tuple[str, Damage]] = {
    "garbage in a published commit": ("rebalances", lambda table: last_commit(table).write_bytes(b"\x00garbage")),
    "empty published commit": ("rebalances", lambda table: last_commit(table).write_bytes(b"")),
    "first commit missing": ("rebalances", lambda table: (log_of(table) / FIRST).unlink()),
    "no log": ("rebalances", without_log),
    "no table": ("rebalances", without_table),
    "rows missing": ("rebalances", lambda table: rows_of(table)[0].unlink()),
    "rows by half": ("rebalances", lambda table: halve(rows_of(table)[0])),
    "rows empty": ("rebalances", lambda table: rows_of(table)[0].write_bytes(b"")),
    "rows flipped": ("rebalances", lambda table: flip(rows_of(table)[0])),
    "garbage in the register": ("runs", lambda table: (log_of(table) / FIRST).write_bytes(b"\x00garbage")),
    "no log of the register": ("runs", without_log),
    "entries missing": ("runs", without_rows),
    "entries flipped": ("runs", with_flipped_rows),
}


def damage(site: Site, cases: dict[str, tuple[str, Damage]], *names: str) -> None:
    for name in names or cases:
        table, harm = cases[name]
        harm(site.warehouse / TABLES[table].path)


@pytest.mark.parametrize("query", [["rebalances"], ["sql", "select count(*), max(started_at) from rebalances"]], ids=["list", "sql"])
@pytest.mark.parametrize("case", LOST)
def test_a_question_to_a_broken_table_names_table_and_file_and_what_to_do(
    published: Site, copied: Copied, capsys: pytest.CaptureFixture[str], case: str, query: list[str]
) -> None:
    site = copied(published)
    damage(site, LOST, case)

    assert main([*query, "--warehouse", str(site.warehouse)]) == 74
    said = capsys.readouterr().err
    assert TABLES[LOST[case][0]].path in said
    assert "--rebuild" in said
    assert len(said.splitlines()) == 1


@pytest.mark.parametrize("case", [name for name in MENDED if "commit" in name])
def test_a_question_is_answered_from_the_last_published_run(
    published: Site, copied: Copied, capsys: pytest.CaptureFixture[str], case: str
) -> None:
    site = copied(published)
    assert main(["rebalances", "--warehouse", str(site.warehouse)]) == 0
    before = capsys.readouterr().out
    damage(site, MENDED, case)

    assert main(["rebalances", "--warehouse", str(site.warehouse)]) == 0
    assert capsys.readouterr().out == before


@LONG
def test_tables_whose_making_stopped_half_way_are_made_anew(published: Site, tmp_path: Path) -> None:
    site = Site(tmp_path)
    shutil.copytree(published.logs, site.logs)
    assert Site.empty is not None
    shutil.copytree(Site.empty, site.warehouse)
    for table, harm in zip(TABLES.values(), cycle(NEVER_MADE), strict=False):
        harm(site.warehouse / table.path)
    outcome = site.run()

    assert outcome.exit_code == 0
    assert site.content() == published.content()


def without_room(*_: Any) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


def test_a_first_run_on_a_full_disk_is_completed_once_there_is_room(spark: Any, published: Site, tmp_path: Path) -> None:
    site = Site(tmp_path)
    shutil.copytree(published.logs, site.logs)
    assert Site.empty is not None
    shutil.copytree(Site.empty, site.warehouse)
    shutil.rmtree(site.warehouse / TABLES["coordinator_moves"].path)
    create = table_opening.create
    with pytest.MonkeyPatch.context() as patch, ExitStack() as full:

        def on_a_full_disk(*given: Any, **options: Any) -> None:
            full.enter_context(small_files(spark.sparkContext._gateway.proc.pid, 10))
            patch.setattr(direct_commit, "put_commit", without_room)
            create(*given, **options)

        patch.setattr(table_opening, "create", on_a_full_disk)
        with pytest.raises(CannotWrite):
            site.run()

    assert site.run().exit_code == 0
    assert site.content() == published.content()


@LONG
def test_what_nobody_was_told_of_is_done_anew(published: Site, halfway: Site, copied: Copied) -> None:
    site = copied(halfway)
    shutil.copy(published.logs / "broker-1" / "server.log", site.logs / "broker-1" / "server.log")
    damage(site, MENDED)

    assert site.run().exit_code == 0
    assert site.content() == published.content()
    assert list(site.warehouse.rglob("*.json.damaged"))


def test_what_is_lost_stops_a_run_and_a_rebuild_makes_it_anew(published: Site, halfway: Site, copied: Copied) -> None:
    site = copied(halfway)
    shutil.copy(published.logs / "broker-1" / "server.log", site.logs / "broker-1" / "server.log")
    last_commit(site.warehouse / TABLES["events"].path).write_bytes(b"")
    with pytest.raises(DamagedWarehouse, match=r"silver/events/_delta_log/\d+\.json is empty.*--rebuild"):
        site.run()
    without_rows(site.warehouse / TABLES["log_files"].path)
    damage(site, LOST, "garbage in the register")
    with pytest.raises(DamagedWarehouse, match="ops/runs"):
        site.run()
    outcome = site.run(rebuild=True)

    assert [warning for warning in outcome.warnings if "ops/runs" in warning]
    assert {path.name for path in site.warehouse.glob("*/*.damaged")} == {"runs.damaged", "events.damaged", "log_files.damaged"}
    assert site.content() == published.content()
    assert site.run().was_skipped

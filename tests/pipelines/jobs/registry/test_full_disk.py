"""Nothing can be written any more, in the middle of a run: it says so, and leaves the tables as they were."""

from __future__ import annotations

import resource
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest

from pipelines.errors import CannotWrite
from pipelines.jobs.operations.maintain import MaintainOptions, maintain
from pipelines.jobs.registry.runs import Runs
from pipelines.warehouse.delta import sql as delta
from pipelines.warehouse.warehouse import Warehouse
from tests.conftest import LONG
from tests.pipelines.jobs.test_run import OTHER_GROUP
from tests.pipelines.site import Site

pytestmark = pytest.mark.spark
LIMIT_BYTES = 15_000
"""More than an entry of a run takes, less than the rows of gold."""


@contextmanager
def small_files(process: int, limit_bytes: int = LIMIT_BYTES) -> Iterator[None]:
    """No file that this process writes may be larger than this; what goes on writing gets an error, as on a full disk."""
    before = resource.prlimit(process, resource.RLIMIT_FSIZE)
    resource.prlimit(process, resource.RLIMIT_FSIZE, (limit_bytes, before[1]))
    try:
        yield
    finally:
        resource.prlimit(process, resource.RLIMIT_FSIZE, before)


@LONG
def test_a_run_that_cannot_write_says_so_and_the_next_one_makes_good(
    spark: Any, published: Site, halfway: Site, copied: Callable[[Site], Site]
) -> None:
    site = copied(halfway)
    before = site.content()
    shutil.copy(published.logs / "broker-1" / "server.log", site.logs / "broker-1" / "server.log")
    for path in (site.logs, *site.logs.rglob("*")):  # a run writes nothing there
        path.chmod(0o555 if path.is_dir() else 0o444)

    with (
        small_files(spark.sparkContext._gateway.proc.pid),
        pytest.raises(CannotWrite, match=r"warehouse.*can't be written: a file") as failure,
    ):
        site.run()

    assert failure.value.exit_code == 74
    assert site.content() == before
    assert {row["status"] for row in site.table("runs")} <= {"published", "failed", "running"}
    site.run()
    assert site.content() == published.content()
    for path in (site.logs, *site.logs.rglob("*")):
        path.chmod(0o755)


@LONG
@pytest.mark.parametrize(
    ("owner", "point"),
    [(Warehouse, "open"), (Runs, "_number")],
    ids=["at work", "as it takes the warehouse"],
)
def test_a_run_whose_entry_could_not_be_closed_is_not_in_the_way_of_the_next_one_of_its_process(
    spark: Any, published: Site, copied: Callable[[Site], Site], owner: type, point: str
) -> None:
    site = copied(published)
    log = site.logs / "broker-1" / "server.log"
    log.write_bytes(log.read_bytes() + OTHER_GROUP.encode())
    with pytest.MonkeyPatch.context() as patch, ExitStack() as full:

        def with_a_full_disk(*_: Any) -> None:
            full.enter_context(small_files(spark.sparkContext._gateway.proc.pid, 10))
            spark.range(9).write.parquet(str(site.place / "more"))

        patch.setattr(owner, point, with_a_full_disk)
        with pytest.raises(CannotWrite):
            site.run()
    assert [row["status"] for row in sorted(site.table("runs"), key=lambda row: row["run_number"])] == ["published", "running"]
    outcome = site.run()

    assert outcome.counts["groups_replayed"] == 1
    assert [row["status"] for row in sorted(site.table("runs"), key=lambda row: row["run_number"])] == ["published", "failed", "published"]
    assert site.run().was_skipped


@LONG
def test_upkeep_that_cannot_write_says_so_and_leaves_the_tables_as_they_were(
    spark: Any, published: Site, copied: Callable[[Site], Site]
) -> None:
    site = copied(published)
    with pytest.MonkeyPatch.context() as patch, ExitStack() as full:

        def with_a_full_disk(*_: Any) -> None:
            full.enter_context(small_files(spark.sparkContext._gateway.proc.pid, 10))
            spark.range(9).write.parquet(str(site.place / "more"))

        patch.setattr(delta, "cluster", with_a_full_disk)
        with pytest.raises(CannotWrite, match="mend that and run again"):
            maintain(MaintainOptions(str(site.warehouse)))
    assert not site.run().has_changed
    assert site.content() == published.content()

"""The job on a real cluster whose machines know nothing of us but the packed environment, and one executor is killed."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.cluster.standalone import cluster, kill_executor, pack_environment, submit
from tests.crash.loop import OF_RUNS
from tests.crash.lost_executors import write_logs
from tests.pipelines.site import Site

pytestmark = [
    pytest.mark.spark,
    pytest.mark.skipif(not os.environ.get("GROUPSCOPE_CLUSTER"), reason="six JVMs for minutes: python -m tests.cluster"),
]


def test_a_cluster_gives_the_rows_of_one_machine_although_it_loses_an_executor(tmp_path: Path) -> None:
    here, there = Site(tmp_path / "here"), Site(tmp_path / "there")
    for site in (here, there):
        write_logs(site.logs)
    with cluster(tmp_path / "cluster") as made:
        process = submit(made, pack_environment(tmp_path), there.place, "--input", "logs", "--warehouse", "warehouse", "--json")
        killed = kill_executor(made, process)
        out, said = process.communicate()

    assert process.returncode == 0, said[-4000:]
    assert killed
    assert json.loads(out)["exit_code"] == 0
    assert here.run().exit_code == 0
    expected = {table: lines for table, lines in here.content().items() if table not in OF_RUNS}
    assert {table: lines for table, lines in there.content().items() if table not in OF_RUNS} == expected

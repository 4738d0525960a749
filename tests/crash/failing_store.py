"""Runs on an object store that fails some of the requests: `--failing-store`."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from parsers.sources import filesystems as places
from pipelines.exit_codes import CANNOT_WRITE, GOOD, SOME_REJECTED
from pipelines.storage import object_stores as stores
from tests.cluster.http_proxy import Faults, proxy
from tests.cluster.object_stores import HADOOP_AWS, SDK, class_path, hadoop_settings, jars_of, s3_server
from tests.conftest import ROOT
from tests.crash.loop import LOG, OF_RUNS, SAMPLE
from tests.pipelines.site import Site, content
from tests.servers import free_port

SHARE = 0.05
"""Share of the requests that fail: a third is refused, a third cut, a third carried out and not answered."""
_ALLOWED = (GOOD, SOME_REJECTED, CANNOT_WRITE)
_SPARK = {
    "spark.master": "local[2]",
    "spark.sql.shuffle.partitions": "2",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
}


def cases(folder: Path, count: int) -> Iterator[tuple[str, list[str]]]:
    """Warehouses with a run over a cut log, and one over the whole log, while the store fails.

    If one of them does not succeed, the next one without faults must complete its work.
    """
    folder.mkdir(parents=True)
    site = Site(folder / "site")
    with s3_server(folder / "s3") as endpoint:
        buckets = folder / "s3" / "data"
        (buckets / "lake").mkdir(exist_ok=True)
        port = free_port()
        there = _settings(f"http://127.0.0.1:{port}", folder)
        places.configure(stores.arrow_settings(there))
        _grow(site, 1.0)
        _run(site, "warehouse", _settings(endpoint, folder))
        wanted = {name: rows for name, rows in site.content().items() if name not in OF_RUNS}
        for number in range(count):
            warehouse = f"s3a://lake/{number}"
            faults = Faults(SHARE, number)
            with proxy(port, int(endpoint.rpartition(":")[2]), faults=faults):
                _grow(site, random.Random(number).uniform(0.3, 0.9))  # noqa: S311 - the same logs each time
                codes = [_run(site, warehouse, there)]
                _grow(site, 1.0)
                codes.append(_run(site, warehouse, there))
            said = f"{dict(faults.counts)} requests, runs ended with {[code for code, _ in codes]}"
            wrong = [f"a run ended with {code}: {text[-2000:]}" for code, text in codes if code not in _ALLOWED]
            with proxy(port, int(endpoint.rpartition(":")[2])):
                code, text = _run(site, warehouse, there)
                wrong += [] if code == GOOD else [f"the run after them ended with {code}: {text[-2000:]}"]
                found = content(warehouse, stores.delta_options(warehouse)) if not wrong else wanted
            yield said, wrong + [name for name in wanted if found[name] != wanted[name]]
            shutil.rmtree(buckets / "lake" / str(number), ignore_errors=True)
        places.configure({})


def _settings(endpoint: str, folder: Path) -> dict[str, str]:
    """Settings of a session for this store."""
    jars = jars_of(HADOOP_AWS, folder / "hadoop", SDK)
    return {**_SPARK, **hadoop_settings(endpoint), **class_path(jars, folder)}


def _grow(site: Site, share: float) -> None:
    """Write the logs, of one file only a share."""
    shutil.rmtree(site.logs, ignore_errors=True)
    shutil.copytree(SAMPLE, site.logs)
    text = (SAMPLE / LOG).read_bytes()
    (site.logs / LOG).write_bytes(text[: int(len(text) * share)])


def _run(site: Site, warehouse: str, conf: Mapping[str, str]) -> tuple[int, str]:
    """The command in a process of its own; exit code and errors."""
    settings = [part for key, value in conf.items() for part in ("--conf", f"{key}={value}")]
    command = [sys.executable, "-m", "pipelines.cli.spark_submit", "--input", "logs", "--warehouse", warehouse, *settings]
    done = subprocess.run(command, cwd=site.place, env=os.environ | {"PYTHONPATH": str(ROOT)}, text=True, capture_output=True, check=False)
    return done.returncode, done.stderr

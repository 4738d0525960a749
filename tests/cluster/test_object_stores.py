"""Logs in object stores, read through real servers of each kind; and warehouses there."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from parsers.reading.reader import ReadOptions, find_files, read_file
from parsers.sources import filesystems as places
from parsers.sources.content_checkpoints import checkpoints
from pipelines.schema.tables import TABLES
from pipelines.storage import object_stores as stores
from tests.cluster.object_stores import STORES, ObjectStore, class_path, hadoop_settings, s3_server
from tests.conftest import ROOT
from tests.pipelines.conftest import SETTINGS

pytestmark = [
    pytest.mark.spark,
    pytest.mark.skipif(not os.environ.get("GROUPSCOPE_CLUSTER"), reason="fetches a server and an SDK: python -m tests.cluster"),
]
COMPARED = ("rebalances", "rebalance_members", "group_transitions", "incidents", "events")


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sample") / "kafka"
    shutil.copytree(ROOT / "data_samples" / "kafka" / "1.1.1" / "poll-timeout", folder)
    return folder


@pytest.fixture(scope="module")
def endpoint(sample: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("store")
    with s3_server(folder) as address:
        bucket = folder / "data" / "logs"
        shutil.copytree(sample, bucket / "kafka")
        (bucket / "packed").mkdir()
        (bucket / "packed" / "server.log.gz").write_bytes(gzip.compress((sample / "broker-1" / "server.log").read_bytes()))
        shutil.make_archive(str(bucket / "packed" / "bundle"), "zip", sample)
        places.configure(stores.arrow_settings(hadoop_settings(address)))
        yield address
        places.configure({})


def found(place: str) -> list[tuple[str, str]]:
    return [(source.relative, source.file_id) for source in find_files([place], ReadOptions()).files]


def events(place: str) -> list[list[Any]]:
    """Events of all files, but for the files' names."""
    files = find_files([place], ReadOptions()).files
    files.sort(key=lambda source: source.file_id)  # an archive has an order of its own
    return [[row | {"file": ""} for chunk in read_file(source, ReadOptions()) for row in chunk.events.to_pylist()] for source in files]


def test_files_of_a_store_are_what_they_are_on_disk(endpoint: str, sample: Path) -> None:
    remote, here = "s3a://logs/kafka", str(sample)

    assert found(remote) == found(here)
    assert not find_files([remote], ReadOptions()).skipped
    assert events(remote) == events(here)
    assert found("s3a://logs/kafka/*/server.log") == [each for each in found(here) if each[0] == "broker-1/server.log"]
    assert [digest for _, digest in found("s3a://logs/packed/server.log.gz")] == [
        digest for name, digest in found(here) if "server" in name
    ]
    assert events("s3a://logs/packed/bundle.zip") == events(here)
    for one, two in zip(find_files([remote], ReadOptions()).files, find_files([here], ReadOptions()).files, strict=True):
        assert checkpoints(one, one.size_bytes) == checkpoints(two, two.size_bytes)


def test_what_is_not_there_is_said(endpoint: str) -> None:
    assert find_files(["s3a://logs/nothing", "s3a://no-bucket/x"], ReadOptions()).missing == ["s3a://logs/nothing", "s3a://no-bucket/x"]


def run(place: Path, source: str, warehouse: str, conf: dict[str, str]) -> dict[str, Any]:
    """The command, in a process of its own; its summary."""
    settings = [part for key, value in conf.items() for part in ("--conf", f"{key}={value}")]
    command = [sys.executable, "-m", "pipelines.cli.spark_submit", "--input", source, "--warehouse", warehouse, "--json", *settings]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=place, env=environment, text=True, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    summary: dict[str, Any] = json.loads(done.stdout)
    return summary


def rows(warehouse: str, summary: dict[str, Any], prefix: str) -> dict[str, list[str]]:
    """Rows as text, with files named as below `prefix`."""
    content = {}
    for name in COMPARED:
        uri = f"{warehouse}/{TABLES[name].path}"
        table = DeltaTable(uri, version=summary["table_versions"][name], storage_options=stores.delta_options(uri)).to_pyarrow_table()
        texts = (json.dumps(row | {"run_id": None}, default=str, sort_keys=True) for row in table.to_pylist())
        content[name] = sorted(text.replace(prefix, "LOGS") for text in texts)
    return content


@pytest.fixture(scope="module", params=STORES)
def store(request: pytest.FixtureRequest, sample: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ObjectStore]:
    with STORES[request.param](tmp_path_factory.mktemp(request.param), sample) as served:
        places.configure(stores.arrow_settings(served.settings))
        yield served
        places.configure({})


def test_logs_of_each_store_are_those_on_disk(store: ObjectStore, sample: Path) -> None:
    if not places.has_driver(store.logs):
        pytest.skip("Arrow reads HDFS by Hadoop's native library, which is not here")
    assert found(store.logs) == found(str(sample))
    assert events(store.logs) == events(str(sample))
    nothing = f"{store.logs.rpartition('/')[0]}/nothing"
    assert find_files([nothing], ReadOptions()).missing == [nothing]


def test_the_job_reads_and_writes_each_store(store: ObjectStore, sample: Path, tmp_path: Path) -> None:
    """Also a second run, which finds nothing new without a JVM."""
    conf = {**SETTINGS, **store.settings, **class_path(store.jars(tmp_path / "hadoop"), tmp_path)}
    there = run(tmp_path, store.logs, store.lake, conf)
    here = run(tmp_path, str(sample), str(tmp_path / "warehouse"), SETTINGS)

    assert there["counts"]["rebalances"] > 0
    assert rows(store.lake, there, store.logs) == rows(str(tmp_path / "warehouse"), here, str(sample))
    assert run(tmp_path, store.logs, store.lake, conf)["spared"]

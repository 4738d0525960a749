"""What Spark is told of object stores, as Arrow and delta-rs are told it. Without Spark, and without a store."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from types import SimpleNamespace
from typing import Any

import pytest
from pyarrow import fs
from pyspark.sql import SparkSession

from parsers import places
from pipelines import session, stores, tables
from pipelines.jobs.maintain import MaintainOptions, maintain


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    """What one test says of stores is not known to the next."""
    yield
    places.configure({})


class Enough(Exception):
    """So far a test lets a command go."""


def test_upkeep_knows_of_stores_what_spark_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """delta-rs takes old entries away, which hold names that are hidden by now."""

    def enough(*_: Any) -> None:
        raise Enough

    monkeypatch.setattr(session, "get_session", lambda _: None)
    monkeypatch.setattr(tables, "Warehouse", enough)
    keys = {"spark.hadoop.fs.s3a.access.key": "one", "spark.hadoop.fs.s3a.secret.key": "two"}
    with pytest.raises(Enough):
        maintain(MaintainOptions("s3a://lake/groupscope", spark=keys))

    assert stores.delta_options("s3a://lake/groupscope") == {"aws_access_key_id": "one", "aws_secret_access_key": "two"}


AZURE = "spark.hadoop.fs.azure.account.key.{}.dfs.core.windows.net"
KEYS = {AZURE.format("one"): "a2V5MQ==", AZURE.format("two"): "a2V5Mg=="}


def told(settings: Mapping[str, str], place: str) -> dict[str, Any]:
    """What Arrow is told of the store of a place."""
    places.configure(json.loads(json.dumps(stores.arrow_settings(settings))))
    seen: list[dict[str, Any]] = []
    with pytest.MonkeyPatch.context() as patch:
        for kind in ("S3FileSystem", "AzureFileSystem"):
            patch.setattr(fs, kind, lambda **arguments: seen.append(arguments))
        places._store.__wrapped__(*places._parts(place)[:2])
    return seen[0]


def test_each_account_has_its_own_key() -> None:
    for account, key in (("one", "a2V5MQ=="), ("two", "a2V5Mg==")):
        place = f"abfss://logs@{account}.dfs.core.windows.net/kafka"

        assert told(KEYS, place) == {"account_name": account, "account_key": key}
        assert stores.delta_options(place) == {"azure_storage_account_name": account, "azure_storage_account_key": key}
    assert told(KEYS, "abfss://logs@three.dfs.core.windows.net/kafka") == {"account_name": "three"}
    assert stores.delta_options("abfss://logs@three.dfs.core.windows.net/kafka") is None
    assert stores.delta_options("/folder") is None


def test_a_key_without_an_account_is_for_all_others() -> None:
    settings = {**KEYS, "spark.hadoop.fs.azure.account.key": "a2V5Mw=="}

    assert told(settings, "abfs://logs@three.dfs.core.windows.net/x") == {"account_name": "three", "account_key": "a2V5Mw=="}
    assert told(settings, "abfs://logs@two.dfs.core.windows.net/x")["account_key"] == "a2V5Mg=="


def test_what_a_running_session_says_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also what a program has set as notebooks do, which is for Hadoop itself."""
    name = AZURE.format("two").removeprefix("spark.hadoop.")
    conf = {**KEYS, name: "bmV3", "spark.master": "local", "spark.hadoop.fs.s3a.access.key": "k"}
    running = SimpleNamespace(conf=SimpleNamespace(getAll=conf))
    monkeypatch.setattr(SparkSession, "getActiveSession", lambda: running)
    monkeypatch.setattr(session, "known_settings", lambda _: {AZURE.format("one"): "b2xk"})
    stores.use({})

    assert places.configured() == {
        "s3": {"access_key": "k"},
        "azure/one": {"account_name": "one", "account_key": "a2V5MQ=="},
        "azure/two": {"account_name": "two", "account_key": "bmV3"},
    }

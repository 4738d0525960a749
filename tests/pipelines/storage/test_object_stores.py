"""What Spark is told of object stores, as Arrow and delta-rs are told it. Without Spark, and without a store."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pyarrow import fs
from pyspark.sql import SparkSession

from parsers.reading.reader import ReadOptions, find_files
from parsers.sources import filesystems as places
from pipelines.jobs.operations.maintain import MaintainOptions, maintain
from pipelines.spark import session
from pipelines.storage import object_stores as stores
from pipelines.warehouse import warehouse as tables
from tests.servers import free_port


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
KEYS_OF_S3 = {"spark.hadoop.fs.s3a.access.key": "one", "spark.hadoop.fs.s3a.secret.key": "two"}
KEYS = {AZURE.format("one"): "a2V5MQ==", AZURE.format("two"): "a2V5Mg=="}


def told(settings: Mapping[str, str], place: str) -> dict[str, Any]:
    """What Arrow is told of the store of a place."""
    places.configure(json.loads(json.dumps(stores.arrow_settings(settings))))
    seen: list[dict[str, Any]] = []
    with pytest.MonkeyPatch.context() as patch:
        for kind in ("S3FileSystem", "AzureFileSystem", "GcsFileSystem"):
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


def test_an_azure_server_of_ones_own_has_its_accounts_in_the_path() -> None:
    settings = {**KEYS, "spark.hadoop.fs.azure.abfs.endpoint": "127.0.0.1:10000", "spark.hadoop.fs.azure.always.use.https": "false"}
    endpoint = {f"{service}_storage_authority": "127.0.0.1:10000" for service in ("blob", "dfs")}
    endpoint |= {f"{service}_storage_scheme": "http" for service in ("blob", "dfs")}

    for account, key in (("one", {"account_key": "a2V5MQ=="}), ("three", {})):
        place = f"abfs://logs@{account}.dfs.core.windows.net/kafka"

        assert told(settings, place) == {"account_name": account, **key, **endpoint}
        assert stores.delta_options(place) == {
            "azure_storage_account_name": account,
            **{f"azure_storage_{name}": value for name, value in key.items()},
            "azure_storage_endpoint": f"http://127.0.0.1:10000/{account}",
            "azure_allow_http": "true",
        }


def test_a_google_server_of_ones_own_is_asked_without_an_account() -> None:
    settings = {"spark.hadoop.fs.gs.storage.root.url": "http://127.0.0.1:4443/", "spark.hadoop.fs.gs.auth.type": "UNAUTHENTICATED"}
    seen = told(settings, "gs://logs/kafka")
    patience = seen.pop("retry_time_limit")

    assert seen == {"anonymous": True, "endpoint_override": "127.0.0.1:4443", "scheme": "http"}
    assert patience.total_seconds() < 60
    options = stores.delta_options("gs://logs/kafka")
    account = json.loads(options.pop("google_service_account_key"))
    assert {name: account[name] for name in ("gcs_base_url", "disable_oauth")} == {
        "gcs_base_url": "http://127.0.0.1:4443",
        "disable_oauth": True,
    }
    assert options == {"allow_http": "true"}
    assert not stores.untranslated(settings, ["gs://logs/kafka"])


def test_a_store_that_does_not_answer_takes_no_other_file_away(poll_timeout: Path) -> None:
    settings = {**KEYS_OF_S3, "spark.hadoop.fs.s3a.endpoint": f"http://127.0.0.1:{free_port()}"}
    places.configure(stores.arrow_settings(settings))
    found = find_files(["s3a://logs/kafka", str(poll_timeout)], ReadOptions())

    (skipped,) = [skip for skip in found.skipped if skip.is_named]
    assert skipped.name == "s3a://logs/kafka"
    assert "does not answer or refuses; check its address, the network and the credentials" in skipped.reason
    assert found.files == find_files([str(poll_timeout)], ReadOptions()).files


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

    assert places.configuration() == {
        "s3": {"access_key": "k"},
        "azure/one": {"account_name": "one", "account_key": "a2V5MQ=="},
        "azure/two": {"account_name": "two", "account_key": "bmV3"},
    }


S3A = "spark.hadoop.fs.s3a."


@pytest.mark.parametrize(
    ("endpoint", "region"),
    [
        ("s3.eu-west-1.amazonaws.com", "eu-west-1"),
        ("https://s3-ap-southeast-2.amazonaws.com/", "ap-southeast-2"),
        ("s3.dualstack.us-gov-west-1.amazonaws.com:443", "us-gov-west-1"),
        ("s3.cn-north-1.amazonaws.com.cn", "cn-north-1"),
        ("bucket.vpce-1a2b-3c4d.s3.eu-central-1.vpce.amazonaws.com", "eu-central-1"),
        ("s3.amazonaws.com", "us-east-1"),
        ("minio:9000/", "us-east-1"),
    ],
)
def test_amazon_s_endpoints_name_their_region(endpoint: str, region: str) -> None:
    settings = {f"{S3A}endpoint": endpoint}

    assert told(settings, "s3a://logs/x")["region"] == region
    assert (stores.delta_options("s3a://logs/x") or {})["aws_region"] == region
    assert told({**settings, f"{S3A}endpoint.region": "here"}, "s3a://logs/x")["region"] == "here"


def test_an_endpoint_may_end_with_a_slash() -> None:
    assert told({f"{S3A}endpoint": "http://minio:9000/"}, "s3a://logs/x") == {
        "endpoint_override": "minio:9000",
        "scheme": "http",
        "region": "us-east-1",
        "force_virtual_addressing": True,
    }
    assert (stores.delta_options("s3a://logs/x") or {})["aws_endpoint_url"] == "http://logs.minio:9000"


@pytest.mark.parametrize(
    ("bucket", "address", "paths", "url"),
    [
        ("lake", "s3.eu-west-1.amazonaws.com", "false", "https://lake.s3.eu-west-1.amazonaws.com"),
        ("lake", "minio:9000", "true", "https://minio:9000"),
        ("my.lake", "minio:9000", "false", "https://minio:9000"),
        ("lake", "127.0.0.1:9000", "false", "https://127.0.0.1:9000"),
        ("lake", "[::1]:9000", "false", "https://[::1]:9000"),
    ],
)
def test_delta_rs_is_told_the_host_of_a_bucket(bucket: str, address: str, paths: str, url: str) -> None:
    """It takes what it is told for that, where the bucket is not to be in the path."""
    places.configure(stores.arrow_settings({f"{S3A}endpoint": address, f"{S3A}path.style.access": paths}))
    options = stores.delta_options(f"s3a://{bucket}/x") or {}

    assert options["aws_endpoint_url"] == url
    assert options["aws_virtual_hosted_style_request"] == str(bucket in url).lower()


def test_a_bucket_may_have_settings_of_its_own() -> None:
    settings = {
        f"{S3A}access.key": "all",
        f"{S3A}secret.key": "secret",
        f"{S3A}bucket.my.logs.endpoint": "http://minio:9000",
        f"{S3A}bucket.my.logs.endpoint.region": "here",
        f"{S3A}bucket.my.logs.path.style.access": "true",
        f"{S3A}bucket.lake.access.key": "lake's",
    }

    assert told(settings, "s3a://others/x") == {"access_key": "all", "secret_key": "secret"}
    assert told(settings, "s3a://lake/x") == {"access_key": "lake's", "secret_key": "secret"}
    assert told(settings, "s3a://my.logs/x") == {
        "access_key": "all",
        "secret_key": "secret",
        "endpoint_override": "minio:9000",
        "scheme": "http",
        "region": "here",
        "force_virtual_addressing": False,
    }
    assert stores.delta_options("s3a://lake/x") == {"aws_access_key_id": "lake's", "aws_secret_access_key": "secret"}
    assert (stores.delta_options("s3a://my.logs/x") or {})["aws_endpoint_url"] == "http://minio:9000"


def test_nobody_signs_where_spark_does_not() -> None:
    provider = f"{S3A}bucket.public.aws.credentials.provider"
    anonymous = "org.apache.hadoop.fs.s3a.AnonymousAWSCredentialsProvider"
    keys = {f"{S3A}access.key": "k", f"{S3A}secret.key": "s"}

    assert told({**keys, provider: anonymous}, "s3a://public/x") == {"anonymous": True}
    assert stores.delta_options("s3a://public/x") == {"aws_skip_signature": "true"}
    assert told({**keys, provider: anonymous}, "s3a://lake/x") == {"access_key": "k", "secret_key": "s"}
    both = {provider: f"org.apache.hadoop.fs.s3a.SimpleAWSCredentialsProvider, {anonymous}"}
    assert "anonymous" not in told({**keys, **both}, "s3a://public/x")
    assert told(both, "s3a://public/x") == {"anonymous": True}


def test_arrow_takes_what_it_is_told() -> None:
    """Its file systems look at their arguments when they are made, and ask no store."""
    anonymous = {f"{S3A}aws.credentials.provider": "AnonymousAWSCredentialsProvider", f"{S3A}endpoint": "s3.eu-west-1.amazonaws.com"}
    places.configure(stores.arrow_settings({**KEYS, **anonymous}))

    assert places._store("s3a", "public").region == "eu-west-1"
    assert places.has_driver("abfss://logs@one.dfs.core.windows.net/x")


@pytest.mark.parametrize(
    ("place", "name", "value"),
    [
        ("s3a://logs", "fs.s3a.assumed.role.arn", "hidden"),
        ("s3a://logs", "fs.s3a.bucket.logs.proxy.host", "hidden"),
        ("s3a://logs", "fs.s3a.aws.credentials.provider", "com.corp.HiddenProvider"),
        ("abfss://c@one.dfs.core.windows.net", "fs.azure.account.oauth2.client.secret.one.dfs.core.windows.net", "hidden"),
        ("abfss://c@one.dfs.core.windows.net", "fs.azure.sas.fixed.token.one.dfs.core.windows.net", "hidden"),
        ("gs://logs", "fs.gs.auth.service.account.json.keyfile", "hidden"),
        ("gs://logs", "google.cloud.auth.service.account.json.keyfile", "hidden"),
    ],
)
def test_what_is_not_translated_is_named_once(place: str, name: str, value: str, caplog: pytest.LogCaptureFixture) -> None:
    stores._warn.cache_clear()
    settings = {f"spark.hadoop.{name}": value}
    for _ in range(2):
        stores.use(settings, warehouse=place)

    [record] = caplog.records
    assert record.levelname == "WARNING"
    assert record.getMessage().startswith(f"{name}: ")
    assert "idden" not in record.getMessage()
    assert stores.untranslated(settings, ["hdfs://other", "/folder"]) == []


def test_what_is_translated_or_found_by_everybody_is_not_warned_of() -> None:
    settings = {
        **KEYS,
        f"{S3A}access.key": "k",
        f"{S3A}aws.credentials.provider": "org.apache.hadoop.fs.s3a.SimpleAWSCredentialsProvider",
        f"{S3A}proxy.host": "",
        "spark.hadoop.fs.azure.account.auth.type": "SharedKey",
        "spark.hadoop.fs.gs.auth.type": "COMPUTE_ENGINE",
        "spark.hadoop.google.cloud.auth.service.account.enable": "true",
    }

    assert stores.untranslated(settings, ["gs://logs", "s3a://logs", "abfss://c@one.dfs.core.windows.net"]) == []

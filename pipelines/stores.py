"""Endpoints and keys of object stores: what the Spark session is told of them (`fs.*`), said to Arrow and to delta-rs.

What is not translated is found as the vendors' own tools find it: environment, profiles, roles of the machine.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from parsers import places

if TYPE_CHECKING:
    from deltalake import DeltaTable

_HADOOP = "spark.hadoop."
_S3 = {
    "fs.s3a.access.key": "access_key",
    "fs.s3a.secret.key": "secret_key",
    "fs.s3a.session.token": "session_token",
    "fs.s3a.endpoint.region": "region",
}
_AZURE_KEY = re.compile(r"fs\.azure\.account\.key(?:\.(?P<account>[^.]+)(?:\..+)?)?")
_DELTA = {
    "access_key": "aws_access_key_id",
    "secret_key": "aws_secret_access_key",
    "session_token": "aws_session_token",
    "region": "aws_region",
    "account_name": "azure_storage_account_name",
    "account_key": "azure_storage_account_key",
}


def use(conf: Mapping[str, str], inputs: Sequence[str] = ()) -> None:
    """Tell this process, and the workers of its jobs, what Spark is told of object stores. Inputs for which there is no other
    driver are seen through Spark, which is started for that.
    """
    from pipelines.session import get_session, known_settings

    places.configure(arrow_settings(known_settings(conf) | running_settings()))
    for scheme in {places.scheme_of(place) or "" for place in inputs if not places.has_driver(place)}:
        from pipelines.spark_files import SparkFiles

        spark, before = get_session(conf), places.served(scheme)
        if isinstance(before, SparkFiles) and before.spark is spark:
            before.look_again()
        else:
            places.serve(scheme, SparkFiles(spark))


def open_table(uri: str, version: int | None = None) -> DeltaTable:
    """A table by delta-rs, without Spark."""
    from deltalake import DeltaTable

    return DeltaTable(uri, version=version, storage_options=delta_options(uri))


def running_settings() -> dict[str, str]:
    """What a session that runs already says of object stores."""
    from pyspark.sql import SparkSession

    running = SparkSession.getActiveSession()
    if running is None:
        return {}
    # Programs also set `fs.…` itself, of which Spark tells Hadoop just the same.
    return {name: value for name, value in running.conf.getAll.items() if name.removeprefix(_HADOOP).startswith("fs.")}


def arrow_settings(settings: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    """Arguments of Arrow's file systems, by kind of store, and by account (`azure/ACCOUNT`)."""
    told = _told(settings)
    s3: dict[str, Any] = {ours: told[name] for name, ours in _S3.items() if name in told}
    if told.get("fs.s3a.endpoint"):
        scheme, _, address = told["fs.s3a.endpoint"].rpartition("://")
        secure = told.get("fs.s3a.connection.ssl.enabled", "true").lower() != "false"
        s3 |= {"endpoint_override": address, "scheme": scheme or ("https" if secure else "http")}
        s3.setdefault("region", "us-east-1")  # a store of its own has no regions, and signatures need one
        s3["force_virtual_addressing"] = told.get("fs.s3a.path.style.access", "false").lower() != "true"
    return {kind: values for kind, values in (("s3", s3), *_azure(told)) if values}


def _told(settings: Mapping[str, str]) -> dict[str, str]:
    """Settings as Hadoop has them: what is said to Hadoop itself goes before what Spark is to tell it."""
    names = sorted(settings, key=lambda name: not name.startswith(_HADOOP))
    return {name.removeprefix(_HADOOP): settings[name] for name in names if settings[name]}


def _azure(told: Mapping[str, str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Keys of accounts; one that names no account is for all others."""
    for name, key in sorted(told.items()):
        if found := _AZURE_KEY.fullmatch(name):
            account = found["account"]
            yield (f"azure/{account}", {"account_name": account, "account_key": key}) if account else ("azure", {"account_key": key})


def delta_options(place: str) -> dict[str, str] | None:
    """What delta-rs is to be told of the store of a warehouse; None where it finds all by itself."""
    told = places.settings_of(place) if places.scheme_of(place) else {}
    if not told:
        return None
    options = {theirs: str(told[ours]) for ours, theirs in _DELTA.items() if ours in told}
    if "endpoint_override" in told:
        options["aws_endpoint_url"] = f"{told['scheme']}://{told['endpoint_override']}"
        options["aws_allow_http"] = str(told["scheme"] == "http").lower()
        options["aws_virtual_hosted_style_request"] = str(told["force_virtual_addressing"]).lower()
    return options

"""Endpoints and keys of object stores: what the Spark session is told of them (`fs.*`), said to Arrow and to delta-rs.

What is not translated is found as the vendors' own tools find it: environment, profiles, roles of the machine.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
_AZURE_KEY = "fs.azure.account.key."
_DELTA_S3 = {
    "access_key": "aws_access_key_id",
    "secret_key": "aws_secret_access_key",
    "session_token": "aws_session_token",
    "region": "aws_region",
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
    names = [*_S3, "fs.s3a.endpoint", "fs.s3a.path.style.access", "fs.s3a.connection.ssl.enabled"]
    told = {f"{_HADOOP}{name}": running.conf.get(f"{_HADOOP}{name}", None) for name in names}
    return {name: value for name, value in told.items() if value is not None}


def arrow_settings(settings: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    """Arguments of Arrow's file systems, by kind of store."""
    told = {name.removeprefix(_HADOOP): value for name, value in settings.items() if name.removeprefix(_HADOOP).startswith("fs.")}
    s3: dict[str, Any] = {ours: told[name] for name, ours in _S3.items() if name in told}
    if told.get("fs.s3a.endpoint"):
        scheme, _, address = told["fs.s3a.endpoint"].rpartition("://")
        secure = told.get("fs.s3a.connection.ssl.enabled", "true").lower() != "false"
        s3 |= {"endpoint_override": address, "scheme": scheme or ("https" if secure else "http")}
        s3.setdefault("region", "us-east-1")  # a store of its own has no regions, and signatures need one
        s3["force_virtual_addressing"] = told.get("fs.s3a.path.style.access", "false").lower() != "true"
    azure = {
        part: value
        for name, key in told.items()
        if name.startswith(_AZURE_KEY)
        for part, value in (("account_name", name.removeprefix(_AZURE_KEY).partition(".")[0]), ("account_key", key))
    }
    return {kind: values for kind, values in (("s3", s3), ("azure", azure)) if values}


def delta_options(place: str) -> dict[str, str] | None:
    """What delta-rs is to be told of the store of a warehouse; None where it finds all by itself."""
    s3 = places.configured().get("s3", {})
    if not place.startswith(("s3:", "s3a:")) or not s3:
        return None
    options = {theirs: str(s3[ours]) for ours, theirs in _DELTA_S3.items() if ours in s3}
    if "endpoint_override" in s3:
        options["aws_endpoint_url"] = f"{s3['scheme']}://{s3['endpoint_override']}"
        options["aws_allow_http"] = str(s3["scheme"] == "http").lower()
        options["aws_virtual_hosted_style_request"] = str(s3["force_virtual_addressing"]).lower()
    return options

"""Pass endpoints and keys of object stores from Spark to Arrow and delta-rs.

Spark's settings are the source (`fs.*`). Everything else is found as the vendors' own tools find it: by environment,
profiles, roles of the machine.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from parsers.sources import filesystems as places

if TYPE_CHECKING:
    from deltalake import DeltaTable

_HADOOP = "spark.hadoop."
_S3 = {
    "fs.s3a.access.key": "access_key",
    "fs.s3a.secret.key": "secret_key",
    "fs.s3a.session.token": "session_token",
    "fs.s3a.endpoint.region": "region",
}
_SECURE, _PATH_STYLE, _PROVIDERS = "fs.s3a.connection.ssl.enabled", "fs.s3a.path.style.access", "fs.s3a.aws.credentials.provider"
_OF_BUCKETS = (*_S3, "fs.s3a.endpoint", _SECURE, _PATH_STYLE, _PROVIDERS)
_BUCKET = re.compile(rf"fs\.s3a\.bucket\.(?P<bucket>.+)\.(?P<option>{'|'.join(name.removeprefix('fs.s3a.') for name in _OF_BUCKETS)})")
_AWS_HOST = re.compile(
    r"(?:.+\.)?s3(?:-fips)?(?:\.dualstack)?[.-](?P<region>[a-z]{2}(?:-[a-z]+)+-\d+)(?:\.vpce)?\.amazonaws\.com(?:\.cn)?", re.IGNORECASE
)
_LABEL = re.compile(r"[a-z0-9][a-z0-9-]*")
_NUMERIC = re.compile(r"(?:\d+(?:\.\d+){3}|\[.*\])(?::|$)")
# Ways of access that are not translated, as `name=value`, by kind of store.
_ELSEWHERE = {
    "s3": re.compile(
        r"fs\.s3a\.(?:bucket\..+\.)?(?:(?:assumed\.role\.arn|proxy\.host|security\.credential\.provider\.path)=.+"
        r"|aws\.credentials\.provider=(?!.*(?:Simple|Temporary|Anonymous|Default|Environment|Instance|Profile|Container|WebIdentity)).+)"
    ),
    "azure": re.compile(r"fs\.azure\.(?:account\.(?:oauth|keyprovider)|sas\.).+"),
    "gs": re.compile(
        r"(?:fs\.gs\.(?:auth|proxy)\.(?!type=(?:COMPUTE_ENGINE|APPLICATION_DEFAULT|UNAUTHENTICATED))"
        r"|(?:fs\.gs\.)?google\.cloud\.auth\.service\.account\.(?!enable=)).+"
    ),
}
_AZURE_KEY = re.compile(r"fs\.azure\.account\.key(?:\.(?P<account>[^.]+)(?:\..+)?)?")
# Without a colon, Hadoop's driver ignores the endpoint.
_AZURE_ENDPOINT, _AZURE_SECURE = "fs.azure.abfs.endpoint", "fs.azure.always.use.https"
_GS_ENDPOINT, _GS_ACCESS, _GS_PUBLIC = "fs.gs.storage.root.url", "fs.gs.auth.type", "UNAUTHENTICATED"
_SECRETS = ("access_key", "secret_key", "session_token")
_ANONYMOUS = "AnonymousAWSCredentialsProvider"
_DELTA = {
    "access_key": "aws_access_key_id",
    "secret_key": "aws_secret_access_key",
    "session_token": "aws_session_token",
    "region": "aws_region",
    "account_name": "azure_storage_account_name",
    "account_key": "azure_storage_account_key",
}
_log = logging.getLogger(__name__)


def use(conf: Mapping[str, str], inputs: Sequence[str] = (), warehouse: str = "") -> None:
    """Configure object stores in this process and in the workers of its jobs.

    Inputs without another driver are read through Spark, which is started for that.
    """
    from pipelines.spark.session import get_session, known_settings

    settings = known_settings(conf) | running_settings()
    places.configure(arrow_settings(settings))
    if names := untranslated(settings, [*inputs, warehouse]):
        _warn(*names)
    for scheme in {places.scheme_of(place) or "" for place in inputs if not places.has_driver(place)}:
        from pipelines.spark.filesystem import SparkFiles

        spark, before = get_session(conf), places.registered_filesystem(scheme)
        if isinstance(before, SparkFiles) and before.spark is spark:
            before.refresh()
        else:
            places.register_filesystem(scheme, SparkFiles(spark))


@cache
def _warn(*names: str) -> None:
    """Warn once per process, because a schedule has many runs."""
    _log.warning("%s: not said to Arrow and delta-rs, which look where their vendors' tools look (environment, profiles)", ", ".join(names))


def untranslated(settings: Mapping[str, str], used: Sequence[str]) -> list[str]:
    """Names of settings for these stores that only Spark understands."""
    patterns = [_ELSEWHERE[kind] for kind in {places.kind_of(place) or "" for place in used} if kind in _ELSEWHERE]
    return sorted(
        name for name, value in _hadoop_settings(settings).items() if any(pattern.fullmatch(f"{name}={value}") for pattern in patterns)
    )


def open_table(uri: str, version: int | None = None) -> DeltaTable:
    """Open a table with delta-rs, without Spark."""
    from deltalake import DeltaTable

    return DeltaTable(uri, version=version, storage_options=delta_options(uri))


def running_settings() -> dict[str, str]:
    """Settings about object stores in a running session."""
    from pyspark.sql import SparkSession

    running = SparkSession.getActiveSession()
    if running is None:
        return {}
    # Programs also set `fs.…` without a prefix, which Spark passes to Hadoop all the same.
    return {name: value for name, value in running.conf.getAll.items() if name.removeprefix(_HADOOP).startswith(("fs.", "google."))}


def arrow_settings(settings: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    """Arguments of Arrow's file systems.

    Keyed by kind of store, by bucket (`s3/BUCKET`) and by account (`azure/ACCOUNT`).
    """
    arrow_options = _hadoop_settings(settings)
    stores = [("s3", _s3(arrow_options)), *_azure(arrow_options), ("gs", _gs(arrow_options))]
    settings_by_store: dict[str, dict[str, str]] = {}
    for name, value in arrow_options.items():
        if of := _BUCKET.fullmatch(name):
            settings_by_store.setdefault(of["bucket"], {})[f"fs.s3a.{of['option']}"] = value
    stores += [(f"s3/{bucket}", _s3({**arrow_options, **values})) for bucket, values in settings_by_store.items()]
    return {kind: values for kind, values in stores if values}


def _s3(settings: Mapping[str, str]) -> dict[str, Any]:
    """Arguments for S3 or for one bucket."""
    s3: dict[str, Any] = {option: settings[name] for name, option in _S3.items() if name in settings}
    if "fs.s3a.endpoint" in settings:
        scheme, _, address = settings["fs.s3a.endpoint"].rstrip("/").rpartition("://")
        secure = settings.get(_SECURE, "true").lower() != "false"
        s3 |= {"endpoint_override": address, "scheme": scheme or ("https" if secure else "http")}
        at_aws = _AWS_HOST.fullmatch(address.partition(":")[0])
        # A store outside AWS has no regions, but signatures need one.
        s3.setdefault("region", at_aws["region"].lower() if at_aws else "us-east-1")
        s3["force_virtual_addressing"] = settings.get(_PATH_STYLE, "false").lower() != "true"
    providers = settings.get(_PROVIDERS, "").split(",")
    if _ANONYMOUS in providers[0] or ("access_key" not in s3 and any(_ANONYMOUS in provider for provider in providers)):
        s3 = {name: value for name, value in s3.items() if name not in _SECRETS} | {"anonymous": True}
    return s3


def _hadoop_settings(settings: Mapping[str, str]) -> dict[str, str]:
    """Settings under Hadoop's names.

    Direct settings take precedence over those with Spark's prefix.
    """
    names = sorted(settings, key=lambda name: not name.startswith(_HADOOP))
    return {name.removeprefix(_HADOOP): settings[name] for name in names if settings[name]}


def _azure(settings: Mapping[str, str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Keys of accounts; a key without an account applies to all others."""
    endpoint = _azure_endpoint(settings)
    shared = dict(endpoint)
    for name, key in sorted(settings.items()):
        if match := _AZURE_KEY.fullmatch(name):
            if account := match["account"]:
                yield f"azure/{account}", {"account_name": account, "account_key": key, **endpoint}
            else:
                shared["account_key"] = key
    yield "azure", shared


def _azure_endpoint(settings: Mapping[str, str]) -> dict[str, Any]:
    """Address of a server that has its accounts in the path."""
    address = settings.get(_AZURE_ENDPOINT, "").rstrip("/")
    if ":" not in address:
        return {}
    scheme = "https" if settings.get(_AZURE_SECURE, "true").lower() != "false" else "http"
    of_services = {f"{service}_storage_authority": address for service in ("blob", "dfs")}
    return of_services | {f"{service}_storage_scheme": scheme for service in ("blob", "dfs")}


def _gs(settings: Mapping[str, str]) -> dict[str, Any]:
    """Arguments for Google Cloud Storage."""
    gs: dict[str, Any] = {"anonymous": True} if settings.get(_GS_ACCESS, "").upper() == _GS_PUBLIC else {}
    if address := settings.get(_GS_ENDPOINT, "").rstrip("/"):
        scheme, _, host = address.rpartition("://")
        gs |= {"endpoint_override": host, "scheme": scheme or "https"}
    return gs


def delta_options(place: str) -> dict[str, str] | None:
    """Options of delta-rs for a warehouse's store, None if it needs none."""
    settings = places.settings_of(place) if places.scheme_of(place) else {}
    if not settings:
        return None
    options = {theirs: str(settings[option]) for option, theirs in _DELTA.items() if option in settings}
    return options | _DELTA_ENDPOINTS[places.kind_of(place) or ""](place, settings)


def _delta_s3(place: str, settings: Mapping[str, Any]) -> dict[str, str]:
    options = {"aws_skip_signature": "true"} if settings.get("anonymous") else {}
    if "endpoint_override" in settings:
        address, bucket = settings["endpoint_override"], places.authority_of(place)
        # As in the vendors' SDKs, a bucket with an invalid host name, or a server without a name, is addressed by path.
        in_host = settings["force_virtual_addressing"] and bool(_LABEL.fullmatch(bucket)) and not _NUMERIC.match(address)
        options["aws_endpoint_url"] = f"{settings['scheme']}://{f'{bucket}.' if in_host else ''}{address}"
        options["aws_allow_http"] = str(settings["scheme"] == "http").lower()
        options["aws_virtual_hosted_style_request"] = str(in_host).lower()
    return options


def _delta_azure(place: str, settings: Mapping[str, Any]) -> dict[str, str]:
    if "blob_storage_authority" not in settings:
        return {}
    scheme, account = settings["blob_storage_scheme"], places.account_of(place)
    return {
        "azure_storage_account_name": account,
        "azure_storage_endpoint": f"{scheme}://{settings['blob_storage_authority']}/{account}",
        "azure_allow_http": str(scheme == "http").lower(),
    }


_GOOGLE = "https://storage.googleapis.com"


def _delta_gs(_: str, settings: Mapping[str, Any]) -> dict[str, str]:
    has_endpoint = "endpoint_override" in settings
    url = f"{settings['scheme']}://{settings['endpoint_override']}" if has_endpoint else _GOOGLE
    options = {"allow_http": str(settings["scheme"] == "http").lower()} if has_endpoint else {}
    if settings.get("anonymous"):  # unlike `google_skip_signature`, an account without OAuth may write too
        account = {"gcs_base_url": url, "disable_oauth": True, "client_email": "", "private_key": "", "private_key_id": ""}
        return options | {"google_service_account_key": json.dumps(account)}
    return options | ({"google_base_url": url} if has_endpoint else {})


_DELTA_ENDPOINTS = {"s3": _delta_s3, "azure": _delta_azure, "gs": _delta_gs}

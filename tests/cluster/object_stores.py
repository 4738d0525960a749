"""Real servers that speak as stores do: S3Proxy, Azurite, fake-gcs-server and a small HDFS.

They come from Maven Central, npm and the Go proxy; a test is skipped where one can't be fetched.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from http import HTTPStatus
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlencode, urlsplit
from xml.sax.saxutils import unescape

import pytest
from pyarrow import fs

from pipelines.spark.session import delta_settings, find_delta_jars
from tests.cluster.http_proxy import Answer, Request, Translation, proxy
from tests.servers import free_port, serving, wait_until

S3PROXY, HADOOP_AWS = "org.gaul:s3proxy:3.1.0", "org.apache.hadoop:hadoop-aws:3.5.0"
AZURITE, HADOOP_AZURE = "azurite@3.37.0", "org.apache.hadoop:hadoop-azure:3.5.0"
FAKE_GCS, GCS_CONNECTOR = "github.com/fsouza/fake-gcs-server@v1.56.1", "com.google.cloud.bigdataoss:gcs-connector:3.1.3:shaded"
MINI_HDFS, JUNIT = "org.apache.hadoop:hadoop-client-minicluster:3.5.0", "org.junit.jupiter:junit-jupiter-api:5.13.4"
# Spark lacks these for s3a: hadoop-aws, and the SDK in one jar.
SDK = "hadoop-aws,bundle,analyticsaccelerator-s3,wildfly-openssl"
IDENTITY, SECRET = "local", "local-secret"
AZURE_ACCOUNT, AZURE_KEY = "local", base64.b64encode(b"local-secret-local-secret").decode()
WAIT_SECONDS = 60.0
_LISTED = re.compile(rb"<Contents><Key>(.*?)</Key>.*?</Contents>")
_POM = """<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>local</groupId><artifactId>jars</artifactId><version>1</version>
<dependencies><dependency><groupId>{}</groupId><artifactId>{}</artifactId><version>{}</version>{}</dependency></dependencies></project>"""


def class_path(jars: Sequence[Path], folder: Path) -> dict[str, str]:
    """Settings of a session that finds these jars and Delta's."""
    delta = find_delta_jars()
    if delta:
        return {"spark.jars": ",".join(map(str, [*jars, *delta]))}
    return {**delta_settings({}, folder), **({"spark.jars": ",".join(map(str, jars))} if jars else {})}


def jars_of(artifact: str, folder: Path, only: str = "") -> list[Path]:
    """An artifact, fetched and cached by Maven, with its dependencies unless it has them inside and says so (`:shaded`).

    Skips the test if Maven fails.
    """
    if shutil.which("mvn") is None:
        pytest.skip("no Maven")
    folder.mkdir(parents=True, exist_ok=True)
    *place, classifier = [*artifact.split(":"), ""][:4]
    classified = f"<classifier>{classifier}</classifier>" if classifier else ""
    (folder / "pom.xml").write_text(_POM.format(*place, classified), encoding="utf-8")
    chosen = [f"-DincludeArtifactIds={only}"] if only else ["-DexcludeTransitive=true"] if classifier else []
    command = ["mvn", "-q", "-B", "dependency:copy-dependencies", "-DincludeScope=runtime", f"-DoutputDirectory={folder / 'jars'}", *chosen]
    if subprocess.run(command, cwd=folder, capture_output=True, check=False).returncode:
        pytest.skip(f"{artifact} can't be fetched")
    return sorted((folder / "jars").glob("*.jar"))


@dataclass(frozen=True, slots=True)
class ObjectStore:
    """A server with logs in it, and what a session needs to reach it."""

    logs: str
    """URI of the logs."""
    lake: str
    """URI of warehouses."""
    settings: Mapping[str, str]
    artifact: str | None = None
    """Maven artifact of Spark's driver; None where Spark has it."""
    only: str = ""
    """Its jars that Spark lacks; all if empty."""

    def jars(self, folder: Path) -> list[Path]:
        """Jars of the driver."""
        return jars_of(self.artifact, folder, self.only) if self.artifact else []


@contextlib.contextmanager
def s3(folder: Path, sample: Path) -> Iterator[ObjectStore]:
    """S3Proxy over a folder."""
    with s3_server(folder) as endpoint:
        shutil.copytree(sample, folder / "data" / "logs" / "kafka")
        (folder / "data" / "lake").mkdir()
        yield ObjectStore("s3a://logs/kafka", "s3a://lake/groupscope", hadoop_settings(endpoint), HADOOP_AWS, SDK)


@contextlib.contextmanager
def azure(folder: Path, sample: Path) -> Iterator[ObjectStore]:
    """Azurite, whose containers are in its memory."""
    program = _npm(AZURITE, folder / "azurite") / "azurite-blob"
    port = free_port()
    command = [
        str(program),
        "--blobPort",
        str(port),
        "--inMemoryPersistence",
        "--skipApiVersionCheck",
        "--disableProductStyleUrl",
        "--silent",
    ]
    environment = os.environ | {"AZURITE_ACCOUNTS": f"{AZURE_ACCOUNT}:{AZURE_KEY}"}
    with serving(command, port, folder / "azurite.log", wait_seconds=WAIT_SECONDS, environment=environment):
        address = {f"{service}_storage_authority": f"127.0.0.1:{port}" for service in ("blob", "dfs")}
        schemes = {f"{service}_storage_scheme": "http" for service in ("blob", "dfs")}
        store = fs.AzureFileSystem(AZURE_ACCOUNT, account_key=AZURE_KEY, **address, **schemes)
        store.create_dir("lake", recursive=True)
        _upload(store, sample, "logs/kafka")
        settings = {
            **{f"account.key.{AZURE_ACCOUNT}.{service}.core.windows.net": AZURE_KEY for service in ("dfs", "blob")},
            "abfs.endpoint": f"127.0.0.1:{port}",
            "always.use.https": "false",
            "account.hns.enabled": "false",
            "fns.account.service.type": "BLOB",
            "networking.library": "JDK_HTTP_URL_CONNECTION",
        }
        host = f"{AZURE_ACCOUNT}.dfs.core.windows.net"
        of_hadoop = {f"spark.hadoop.fs.azure.{name}": value for name, value in settings.items()}
        yield ObjectStore(f"abfs://logs@{host}/kafka", f"abfs://lake@{host}/groupscope", of_hadoop, HADOOP_AZURE)


@contextlib.contextmanager
def google(folder: Path, sample: Path) -> Iterator[ObjectStore]:
    """Server of Google Cloud Storage's interface."""
    program = _go(FAKE_GCS, folder / "gcs")
    server, port = free_port(), free_port()
    shutil.copytree(sample, folder / "seed" / "logs" / "kafka")
    (folder / "seed" / "lake").mkdir()
    address = f"127.0.0.1:{port}"
    options = {"scheme": "http", "host": "127.0.0.1", "port": str(server), "backend": "memory", "data": str(folder / "seed")}
    options |= {"public-host": address, "external-url": f"http://{address}"}
    command = [str(program), *(part for name, value in options.items() for part in (f"-{name}", value))]
    with serving(command, server, folder / "gcs.log", wait_seconds=WAIT_SECONDS), proxy(port, server, XmlInterface()):
        settings = {
            "impl": "com.google.cloud.hadoop.fs.gcs.GoogleHadoopFileSystem",
            "storage.root.url": f"http://{address}/",
            "auth.type": "UNAUTHENTICATED",
            "project.id": "local",
            # Hadoop 3.5 has defaults with units, and another interface for reading ranges.
            "block.size": str(64 << 20),
            "inputstream.inplace.seek.limit": str(8 << 20),
        }
        of_hadoop = {f"spark.hadoop.fs.gs.{name}": value for name, value in settings.items()}
        of_hadoop["spark.hadoop.parquet.hadoop.vectored.io.enabled"] = "false"
        yield ObjectStore("gs://logs/kafka", "gs://lake/groupscope", of_hadoop, GCS_CONNECTOR)


class XmlInterface(Translation):
    """What fake-gcs-server lacks of the XML interface, which delta-rs uses.

    Its uploads are those of the JSON interface, and its lists ignore where to start.
    """

    def request(self, request: Request) -> Request:
        """An upload, if it is one, as the other interface wants it."""
        if not self._is_upload(request):
            return request
        bucket, name = self._target(request)
        generation = next((value for header, value in request.headers.items() if header.lower() == "x-goog-if-generation-match"), None)
        query = {"uploadType": "media", "name": name} | ({} if generation is None else {"ifGenerationMatch": generation})
        return replace(request, method="POST", path=f"/upload/storage/v1/b/{bucket}/o?{urlencode(query)}")

    def answer(self, request: Request, answer: Answer) -> Answer:
        """An upload's with headers for the fields of its JSON, a list's from its start."""
        if answer.status != HTTPStatus.OK:
            return answer
        if not self._is_upload(request):
            return self._list_from_start(request, answer)
        fields = json.loads(answer.body)
        return replace(answer, headers={**answer.headers, "ETag": fields["etag"], "x-goog-generation": str(fields["generation"])})

    def _list_from_start(self, request: Request, answer: Answer) -> Answer:
        (start,) = parse_qs(urlsplit(request.path).query).get("start-after", [""])
        return replace(answer, body=_LISTED.sub(lambda entry: entry[0] if unescape(entry[1].decode()) > start else b"", answer.body))

    def _is_upload(self, request: Request) -> bool:
        bucket, name = self._target(request)
        return request.method == "PUT" and bool(name) and bucket not in {"storage", "upload"}

    def _target(self, request: Request) -> tuple[str, str]:
        bucket, _, name = unquote(urlsplit(request.path).path).lstrip("/").partition("/")
        return bucket, name


@contextlib.contextmanager
def hdfs(folder: Path, sample: Path) -> Iterator[ObjectStore]:
    """Name node with one data node, in one process."""
    jars = [*jars_of(MINI_HDFS, folder / "hdfs"), *jars_of(JUNIT, folder / "junit")]
    port = free_port()
    (folder / "core-site.xml").write_text("<configuration/>", encoding="utf-8")  # the shell ends without one
    classes = ":".join(map(str, [folder, *jars]))
    command = ["java", "-XX:TieredStopAtLevel=1", "-cp", classes, "org.apache.hadoop.test.MiniDFSClusterManager"]
    details = folder / "started.json"  # written when the data node has registered
    command += ["-nnport", str(port), "-datanodes", "1", "-format", "-writeDetails", str(details)]
    with serving(command, port, folder / "hdfs.log", wait_seconds=WAIT_SECONDS):
        wait_until(details.exists, WAIT_SECONDS)
        root = f"hdfs://127.0.0.1:{port}"
        for arguments in (["-mkdir", "-p", f"{root}/logs"], ["-put", str(sample), f"{root}/logs/kafka"]):
            subprocess.run(
                ["java", "-cp", classes, "org.apache.hadoop.fs.FsShell", *arguments], cwd=folder, capture_output=True, check=True
            )
        yield ObjectStore(f"{root}/logs/kafka", f"{root}/lake/groupscope", {})


STORES: Mapping[str, Callable[[Path, Path], contextlib.AbstractContextManager[ObjectStore]]] = {
    "s3": s3,
    "azure": azure,
    "google": google,
    "hdfs": hdfs,
}


def _upload(store: fs.FileSystem, sample: Path, into: str) -> None:
    """Copy a folder's files into a store."""
    store.create_dir(into.partition("/")[0], recursive=True)
    for path in sorted(each for each in sample.rglob("*") if each.is_file()):
        with store.open_output_stream(f"{into}/{path.relative_to(sample)}") as file:
            file.write(path.read_bytes())


def _npm(package: str, folder: Path) -> Path:
    """Install a package; the folder of its programs."""
    _installed(["npm", "install", "--no-audit", "--no-fund", "--prefix", str(folder), package], package)
    return folder / "node_modules" / ".bin"


def _go(package: str, folder: Path) -> Path:
    """Build a program."""
    _installed(["go", "install", package], package, {"GOBIN": str(folder)})
    return folder / package.partition("@")[0].rpartition("/")[2]


def _installed(command: Sequence[str], package: str, environment: Mapping[str, str] | None = None) -> None:
    """Run an installer; skips the test if it is missing or fails."""
    if shutil.which(command[0]) is None:
        pytest.skip(f"no {command[0]}")
    if subprocess.run(command, env={**os.environ, **(environment or {})}, capture_output=True, check=False).returncode:
        pytest.skip(f"{package} can't be fetched")


@contextlib.contextmanager
def s3_server(folder: Path) -> Iterator[str]:
    """Start S3Proxy over `data` in a folder; yield its endpoint."""
    jars = jars_of(S3PROXY, folder / "s3proxy")
    port = free_port()
    data = folder / "data"
    data.mkdir()
    lines = {
        "s3proxy.endpoint": f"http://127.0.0.1:{port}",
        "s3proxy.authorization": "aws-v2-or-v4",
        "s3proxy.identity": IDENTITY,
        "s3proxy.credential": SECRET,
        "jclouds.provider": "filesystem",  # nio2 lists folders without a size, which delta-rs does not read
        "jclouds.filesystem.basedir": str(data),
    }
    logging = folder / "logback.xml"  # without it each request is logged in a hundred lines
    logging.write_text('<configuration><root level="ERROR"/></configuration>', encoding="utf-8")
    told = folder / "s3proxy.properties"
    told.write_text("".join(f"{name}={value}\n" for name, value in lines.items()), encoding="utf-8")
    java = ["java", "-XX:TieredStopAtLevel=1", f"-Dlogback.configurationFile={logging}", "-cp", ":".join(map(str, jars))]
    command = [*java, "org.gaul.s3proxy.Main", "--properties", str(told)]
    with serving(command, port, folder / "s3proxy.log", wait_seconds=WAIT_SECONDS):
        yield f"http://127.0.0.1:{port}"


def hadoop_settings(endpoint: str) -> Mapping[str, str]:
    """Settings of a session for the server."""
    return {
        "spark.hadoop.fs.s3a.endpoint": endpoint,
        "spark.hadoop.fs.s3a.access.key": IDENTITY,
        "spark.hadoop.fs.s3a.secret.key": SECRET,
        "spark.hadoop.fs.s3a.path.style.access": "true",
        "spark.hadoop.fs.s3a.connection.ssl.enabled": "false",
        "spark.hadoop.fs.s3a.endpoint.region": "us-east-1",
    }

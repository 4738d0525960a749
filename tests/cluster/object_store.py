"""A real S3-compatible server, S3Proxy, with its files in a folder.

Its jars come from Maven Central.
"""

from __future__ import annotations

import contextlib
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.servers import free_port, serving

S3PROXY, HADOOP_AWS = "org.gaul:s3proxy:3.1.0", "org.apache.hadoop:hadoop-aws:3.5.0"
# Spark lacks these for s3a: hadoop-aws, and the SDK in one jar.
SDK = "hadoop-aws,bundle,analyticsaccelerator-s3,wildfly-openssl"
IDENTITY, SECRET = "local", "local-secret"
WAIT_SECONDS = 60.0
_POM = """<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>local</groupId><artifactId>jars</artifactId><version>1</version>
<dependencies><dependency><groupId>{}</groupId><artifactId>{}</artifactId><version>{}</version></dependency></dependencies></project>"""


def jars_of(artifact: str, folder: Path, only: str = "") -> list[Path]:
    """An artifact with its dependencies, fetched and cached by Maven.

    Skips the test if Maven fails.
    """
    if shutil.which("mvn") is None:
        pytest.skip("no Maven")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "pom.xml").write_text(_POM.format(*artifact.split(":")), encoding="utf-8")
    chosen = [f"-DincludeArtifactIds={only}"] if only else []
    command = ["mvn", "-q", "-B", "dependency:copy-dependencies", "-DincludeScope=runtime", f"-DoutputDirectory={folder / 'jars'}", *chosen]
    if subprocess.run(command, cwd=folder, capture_output=True, check=False).returncode:
        pytest.skip(f"{artifact} can't be fetched")
    return sorted((folder / "jars").glob("*.jar"))


@contextlib.contextmanager
def object_store(folder: Path) -> Iterator[str]:
    """Start the server; yield its endpoint."""
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

"""Record a released coordinator under random heartbeats: `python -m tests.recording share 4.4.0 --out FILE`.

Needs Java 17 and Maven, which fetches the released jars. The same version, seed and number of steps give the same trace,
but for the choices that Kafka leaves to hash order. `python -m tests.conformance FILE` compares it with the model.
"""

from __future__ import annotations

import argparse
import gzip
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import gettempdir

SOURCE = Path(__file__).with_name("Recorder.java")
ARTIFACTS = ("group-coordinator", "metadata", "server-common")
LOGGING = "org.slf4j:slf4j-simple:1.7.36"
"""Writes the lines that are recorded; the version goes with the slf4j of Kafka 4."""
PROJECT = """<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>recording</groupId><artifactId>recording</artifactId><version>1</version><dependencies>{}</dependencies></project>
"""
DEPENDENCY = "<dependency><groupId>{}</groupId><artifactId>{}</artifactId><version>{}</version></dependency>"


def fetch(version: str, folder: Path) -> str:
    """Fetch the jars of a version once; return their class path."""
    jars = folder / "jars"
    if not jars.exists():
        folder.mkdir(parents=True, exist_ok=True)
        wanted = [f"org.apache.kafka:kafka-{artifact}:{version}" for artifact in ARTIFACTS] + [LOGGING]
        text = "".join(DEPENDENCY.format(*each.split(":")) for each in wanted)
        (folder / "pom.xml").write_text(PROJECT.format(text), encoding="utf-8")
        command = ["mvn", "-q", "-B", "dependency:copy-dependencies", f"-DoutputDirectory={jars}", "-DincludeScope=runtime"]
        subprocess.run(command, cwd=folder, check=True)
    return os.pathsep.join(str(jar) for jar in sorted(jars.glob("*.jar")))


def record(protocol: str, version: str, first: int, count: int, steps: int, work: Path) -> bytes:
    """Traces of one version, a line each."""
    folder = work / version
    classes = fetch(version, folder)
    subprocess.run(["javac", "-nowarn", "-cp", classes, "-d", str(folder), str(SOURCE)], check=True)
    logging = ["-Dorg.slf4j.simpleLogger.defaultLogLevel=info", "-Dorg.slf4j.simpleLogger.showThreadName=false"]
    command = ["java", *logging, "-cp", os.pathsep.join([str(folder), classes]), "Recorder"]
    return subprocess.run([*command, protocol, version, str(first), str(count), str(steps)], check=True, stdout=subprocess.PIPE).stdout


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.recording", description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("protocol", choices=["share", "streams"])
    parser.add_argument("version", help="a released version of Kafka, 4.1.0 or later")
    parser.add_argument("--out", type=Path, required=True, help="file to write, compressed if it ends in .gz")
    parser.add_argument("--first", type=int, default=1, help="first seed (default: 1)")
    parser.add_argument("--count", type=int, default=14, help="traces (default: 14)")
    parser.add_argument("--steps", type=int, default=60, help="operations of a trace (default: 60)")
    parser.add_argument("--work", type=Path, default=Path(gettempdir()) / "groupscope-recording", help="folder for jars and classes")
    options = parser.parse_args(arguments)
    traces = record(options.protocol, options.version, options.first, options.count, options.steps, options.work)
    packed = options.out.suffix == ".gz"
    options.out.write_bytes(gzip.compress(traces, 9, mtime=0) if packed else traces)
    return 0


if __name__ == "__main__":
    sys.exit(main())

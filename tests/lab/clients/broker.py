"""A broker of Kafka on this machine, from its released jars, and what its command-line tools do."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from tempfile import mkdtemp
from threading import Event, Thread

from tests.lab.ports import HOST, await_port

VERSION = "4.3.1"
PORT = 21092
CONTROLLER_PORT = 21093
ADDRESS = f"{HOST}:{PORT}"
ARTIFACTS = ("org.apache.kafka:kafka_2.13:{}", "org.apache.kafka:kafka-tools:{}", "org.slf4j:slf4j-simple:1.7.36")
"""slf4j-simple writes the broker's log; its version goes with the slf4j of Kafka 3 and 4."""
PROJECT = """<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>lab</groupId><artifactId>broker</artifactId><version>1</version><dependencies>{}</dependencies></project>
"""
DEPENDENCY = "<dependency><groupId>{}</groupId><artifactId>{}</artifactId><version>{}</version></dependency>"
LOGGING = tuple(
    f"-Dorg.slf4j.simpleLogger.{name}"
    for name in ("showDateTime=true", "dateTimeFormat=[yyyy-MM-dd'T'HH:mm:ss.SSS'Z']", "defaultLogLevel=info", "showThreadName=false")
)
SETTINGS = {
    "node.id": "1",
    "process.roles": "broker,controller",
    "controller.listener.names": "CONTROLLER",
    "listeners": f"PLAINTEXT://{ADDRESS},CONTROLLER://{HOST}:{CONTROLLER_PORT}",
    "controller.quorum.voters": f"1@{HOST}:{CONTROLLER_PORT}",
    "offsets.topic.num.partitions": "4",
    "offsets.topic.replication.factor": "1",
    "group.initial.rebalance.delay.ms": "500",
    "group.min.session.timeout.ms": "3000",
    "auto.create.topics.enable": "false",
}


def fetch(folder: Path, version: str = VERSION) -> str:
    """Fetch the jars once; return their class path."""
    jars = folder / ("broker" if version == VERSION else f"broker-{version}")
    if not jars.exists():
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "pom.xml").write_text(PROJECT.format("".join(DEPENDENCY.format(*each.format(version).split(":")) for each in ARTIFACTS)))
        command = ["mvn", "-q", "-B", "dependency:copy-dependencies", f"-DoutputDirectory={jars}", "-DincludeScope=runtime"]
        subprocess.run(command, cwd=folder, check=True)
        for other in jars.glob("slf4j-reload4j-*"):
            other.unlink()
    return f"{jars}/*"


@dataclass
class Broker:
    """A broker with its controller in one process, which ends with the `with`."""

    class_path: str
    tools: str
    """The class path of its command-line tools, which may be newer than itself."""
    log: Path

    def __enter__(self) -> Broker:
        home = Path(mkdtemp(prefix="lab-broker-"))
        config = home / "server.properties"
        config.write_text("".join(f"{name}={value}\n" for name, value in {**SETTINGS, "log.dirs": f"{home}/data"}.items()))
        self._tool(self.class_path, "kafka.tools.StorageTool", "format", "-t", "AAAAAAAAQACAAAAAAAAAAQ", "-c", str(config))
        command = self._java(self.class_path, "kafka.Kafka", str(config), heap="512m", logging=LOGGING)
        self.process = subprocess.Popen(command, stdout=self.log.open("wb"), stderr=subprocess.STDOUT, cwd=home)
        await_port(PORT)
        self.written = Event()
        return self

    def __exit__(self, *_: object) -> None:
        self.written.set()
        self.process.kill()
        self.process.wait()

    def topic(self, name: str, partitions: int) -> None:
        """Make a topic."""
        made = ("--create", "--topic", name, "--partitions", str(partitions))
        self._tool(self.tools, "org.apache.kafka.tools.TopicCommand", "--bootstrap-server", ADDRESS, *made)

    def write(self, topic: str, every_seconds: float) -> None:
        """Write records to a topic from now on."""
        sizes = ("--producer-property", "batch.size=1", "--producer-property", "linger.ms=0")
        command = self._java(
            self.tools, "org.apache.kafka.tools.ConsoleProducer", "--bootstrap-server", ADDRESS, "--topic", topic, *sizes, heap="64m"
        )
        producer = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        Thread(target=self._write, args=(producer, every_seconds), daemon=True).start()

    def _write(self, producer: subprocess.Popen[bytes], every_seconds: float) -> None:
        assert producer.stdin is not None
        while not self.written.wait(every_seconds):
            producer.stdin.write(b"record\n")
            producer.stdin.flush()
        producer.kill()

    def _tool(self, class_path: str, main: str, *arguments: str) -> None:
        subprocess.run(
            self._java(class_path, main, *arguments, heap="128m"), check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )

    def _java(self, class_path: str, main: str, *arguments: str, heap: str, logging: tuple[str, ...] = ()) -> list[str]:
        return ["java", f"-Xmx{heap}", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", *logging, "-cp", class_path, main, *arguments]


def environment(**values: str) -> dict[str, str]:
    """What a member's process gets: the address of the broker, and no other zone than UTC."""
    return {**os.environ, "TZ": "UTC", "BOOTSTRAP": ADDRESS, **values}

"""A name server, brokers and proxies of RocketMQ on this machine, from their released jars."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path

from tests.lab.ports import HOST, await_port

NAME_SERVER = 19876
BROKERS = {"broker-a": 19910, "broker-b": 19920}
PROXY_GRPC = 19081
OPENED = ("java.base/java.lang", "java.base/java.nio", "java.base/sun.nio.ch", "java.base/java.util")


@dataclass
class Lab:
    """A folder with processes; what is done to them is written down with its time."""

    folder: Path
    server_jars: Path
    client_jars: Path
    classes: Path
    running: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def note(self, what: str, who: str) -> None:
        """Write down what was done."""
        with (self.folder / "deeds.jsonl").open("a") as file:
            file.write(json.dumps({"at": int(time.time() * 1000), "what": what, "who": who}) + "\n")

    def java(self, name: str, jars: str, heap: str, main: str, *arguments: str) -> None:
        """Start a Java process whose home is a folder of its own."""
        home = self.folder / name
        home.mkdir(parents=True, exist_ok=True)
        opened = [part for each in OPENED for part in ("--add-opens", f"{each}=ALL-UNNAMED")]
        command = ["java", f"-Xmx{heap}", *opened, f"-Duser.home={home}", f"-Drocketmq.log.root={home}/logs", "-cp", jars, main, *arguments]
        with (home / "console.txt").open("ab") as console:
            self.running[name] = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=console, stderr=console, cwd=home, env={**os.environ, "ROCKETMQ_HOME": str(home)}
            )
        self.note("start", name)

    def kill(self, name: str, how: signal.Signals = signal.SIGKILL) -> None:
        """End a process, in good order or not."""
        self.note("kill" if how is signal.SIGKILL else "stop", name)
        process = self.running.pop(name)
        process.send_signal(how)
        process.wait()
        self.note("ended", name)

    def hold(self, name: str, seconds: float) -> None:
        """Stop a process from running for some time."""
        self.note("pause", name)
        self.running[name].send_signal(signal.SIGSTOP)
        time.sleep(seconds)
        self.running[name].send_signal(signal.SIGCONT)
        self.note("resume", name)

    # -- servers ----------------------------------------------------------------------------------------------------

    def name_server(self) -> None:
        """Start the name server."""
        config = self._file("namesrv", f"listenPort={NAME_SERVER}\nrocketmqHome={self.folder / 'namesrv'}\n")
        self.java("namesrv", f"{self.server_jars}/*", "192m", "org.apache.rocketmq.namesrv.NamesrvStartup", "-c", config)
        await_port(NAME_SERVER)

    def broker(self, name: str) -> None:
        """Start a broker."""
        lines = {
            "brokerClusterName": "lab",
            "brokerName": name,
            "brokerId": "0",
            "listenPort": str(BROKERS[name]),
            "brokerIP1": HOST,
            "namesrvAddr": f"{HOST}:{NAME_SERVER}",
            "storePathRootDir": str(self.folder / name / "store"),
            "mappedFileSizeCommitLog": str(16 << 20),
            "mappedFileSizeConsumeQueue": "600000",
            "diskMaxUsedSpaceRatio": "99",
            "mappedFileSizeTimerLog": str(16 << 20),
            "autoCreateTopicEnable": "false",
            "popResponseReturnActualRetryTopic": "true",
        }
        config = self._file(name, "".join(f"{key}={value}\n" for key, value in lines.items()))
        self.java(name, f"{self.server_jars}/*", "512m", "org.apache.rocketmq.broker.BrokerStartup", "-c", config)
        await_port(BROKERS[name])

    def proxy(self, number: int) -> None:
        """Start a proxy of the cluster."""
        config = {
            "rocketMQClusterName": "lab",
            "namesrvAddr": f"{HOST}:{NAME_SERVER}",
            "proxyMode": "CLUSTER",
            "grpcServerPort": PROXY_GRPC + 100 * number,
            "remotingListenPort": PROXY_GRPC + 100 * number + 1,
            "proxyName": f"proxy-{number}",
            "localServeAddr": HOST,
            "useEndpointPortFromRequest": True,
        }
        path = self._file(f"proxy-{number}", json.dumps(config))
        self.java(f"proxy-{number}", f"{self.server_jars}/*", "384m", "org.apache.rocketmq.proxy.ProxyStartup", "-pc", path)
        await_port(PROXY_GRPC + 100 * number)

    def admin(self, *arguments: str) -> None:
        """Run an administrator's command."""
        jars = f"{self.server_jars}/*"
        java = ["java", "-Xmx96m", f"-Duser.home={self.folder / 'admin'}", "-cp", jars, "org.apache.rocketmq.tools.command.MQAdminStartup"]
        done = subprocess.run(
            [*java, *arguments, "-n", f"{HOST}:{NAME_SERVER}"],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        self.note("admin", " ".join(arguments) + f" = {done.returncode} {done.stdout[-200:]!r}")

    def topic(self, name: str, queues: int, broker: str, permission: int = 6) -> None:
        """Create a topic on a broker, or change its queues."""
        address = f"{HOST}:{BROKERS[broker]}"
        self.admin("updateTopic", "-b", address, "-t", name, "-r", str(queues), "-w", str(queues), "-p", str(permission))

    def group(self, name: str, broker: str, *, fifo: bool) -> None:
        """Create a group on a broker, with messages in order or not."""
        self.admin("updateSubGroup", "-b", f"{HOST}:{BROKERS[broker]}", "-g", name, "-o", str(fifo).lower())

    # -- members ----------------------------------------------------------------------------------------------------

    def member(self, name: str, group: str, *topics: str, proxy: int = 0, takes: int = 5) -> None:
        """Start a consumer."""
        home = self.folder / name
        home.mkdir(parents=True, exist_ok=True)
        endpoints = f"{HOST}:{PROXY_GRPC + 100 * proxy}"
        jars = f"{self.client_jars}/*:{self.classes}"
        self.java(name, jars, "96m", "Member", endpoints, group, str(home / "truth.jsonl"), str(takes), *topics)

    def leave(self, name: str) -> None:
        """Let a consumer end in good order."""
        self.note("leave", name)
        process = self.running.pop(name)
        assert process.stdin is not None
        process.stdin.close()
        process.wait(timeout=60)
        self.note("ended", name)

    def end(self) -> None:
        """End all that runs."""
        for name in [*self.running][::-1]:
            self.kill(name)

    def _file(self, name: str, text: str) -> str:
        home = self.folder / name
        home.mkdir(parents=True, exist_ok=True)
        path = home / "config"
        path.write_text(text)
        return str(path)

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
REPLICAS = {"broker-a-1": 19930, "broker-a-2": 19940}
"""Brokers of one set, whose controllers say which is its master."""
CONTROLLERS = {"controller-0": 19850, "controller-1": 19860, "controller-2": 19870}
PROXY_GRPC = 19081
LAYOUTS = {
    name: f"rmq.{part}.logback.xml"
    for name, part in {
        "NamesrvStartup": "namesrv",
        "ControllerStartup": "controller",
        "BrokerStartup": "broker",
        "ProxyStartup": "proxy",
        "Ordered": "client",
    }.items()
}
"""How each main class logs, as the scripts of the release set it: the jars of all stand on one class path."""
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
        layout = LAYOUTS.get(main.rpartition(".")[2])
        options = [*opened, f"-Duser.home={home}", f"-Drocketmq.log.root={home}/logs"]
        options += [f"-Drmq.logback.configurationFile={layout}"] if layout is not None else []
        command = ["java", f"-Xmx{heap}", *options, "-cp", jars, main, *arguments]
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

    def controller(self, name: str) -> None:
        """Start one of the controllers, which elect a leader among themselves."""
        lines = {
            "controllerDLegerGroup": "lab",
            "controllerDLegerPeers": ";".join(f"n{number}-{HOST}:{port}" for number, port in enumerate(CONTROLLERS.values())),
            "controllerDLegerSelfId": f"n{[*CONTROLLERS].index(name)}",
            "controllerStorePath": str(self.folder / name / "store"),
            "mappedFileSize": str(16 << 20),
        }
        config = self._file(name, "".join(f"{key}={value}\n" for key, value in lines.items()))
        self.java(name, f"{self.server_jars}/*", "192m", "org.apache.rocketmq.controller.ControllerStartup", "-c", config)
        await_port(CONTROLLERS[name])

    def replica(self, name: str) -> None:
        """Start a broker of a set, whose role the controllers say."""
        controllers = ";".join(f"{HOST}:{port}" for port in CONTROLLERS.values())
        mode = {"brokerName": "broker-a", "enableControllerMode": "true", "controllerAddr": controllers, "brokerId": "-1"}
        self._broker(name, REPLICAS[name], mode)

    def broker(self, name: str) -> None:
        """Start a broker."""
        self._broker(name, BROKERS[name], {"brokerName": name, "brokerId": "0"})

    def _broker(self, name: str, port: int, mode: dict[str, str]) -> None:
        lines = {
            "brokerClusterName": "lab",
            "listenPort": str(port),
            "brokerIP1": HOST,
            "namesrvAddr": f"{HOST}:{NAME_SERVER}",
            "storePathRootDir": str(self.folder / name / "store"),
            "mappedFileSizeCommitLog": str(16 << 20),
            "mappedFileSizeConsumeQueue": "600000",
            "diskMaxUsedSpaceRatio": "99",
            "mappedFileSizeTimerLog": str(16 << 20),
            "autoCreateTopicEnable": "false",
            "popResponseReturnActualRetryTopic": "true",
            **mode,
        }
        config = self._file(name, "".join(f"{key}={value}\n" for key, value in lines.items()))
        self.java(name, f"{self.server_jars}/*", "512m", "org.apache.rocketmq.broker.BrokerStartup", "-c", config)
        await_port(port)

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

    def admin(self, *arguments: str) -> str:
        """Run an administrator's command; return what it prints."""
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
        return done.stdout

    def topic(self, name: str, queues: int, broker: str, permission: int = 6) -> None:
        """Create a topic on a broker, or change its queues."""
        address = f"{HOST}:{BROKERS[broker]}"
        self.admin("updateTopic", "-b", address, "-t", name, "-r", str(queues), "-w", str(queues), "-p", str(permission))

    def group(self, name: str, broker: str, *, fifo: bool) -> None:
        """Create a group on a broker, with messages in order or not."""
        self.admin("updateSubGroup", "-b", f"{HOST}:{BROKERS[broker]}", "-g", name, "-o", str(fifo).lower())

    def leading_controller(self) -> str:
        """Which controller leads, as those that run say."""
        told = self._ask_controllers("getControllerMetaData")
        return _named(told, "#ControllerLeaderAddress", CONTROLLERS)

    def master(self, broker_set: str) -> str:
        """Which broker of a set is its master, as the controllers say."""
        told = self._ask_controllers("getSyncStateSet", "-b", broker_set)
        name = _named(told, "#MasterAddr", REPLICAS)
        self.note("master", name)
        return name

    def _ask_controllers(self, what: str, *arguments: str) -> str:
        name = next(name for name in CONTROLLERS if name in self.running)
        return self.admin(what, "-a", f"{HOST}:{CONTROLLERS[name]}", *arguments)

    # -- members ----------------------------------------------------------------------------------------------------

    def member(self, name: str, group: str, *topics: str, proxy: int = 0, takes: int = 5) -> None:
        """Start a consumer."""
        home = self.folder / name
        home.mkdir(parents=True, exist_ok=True)
        endpoints = f"{HOST}:{PROXY_GRPC + 100 * proxy}"
        jars = f"{self.client_jars}/*:{self.classes}"
        self.java(name, jars, "96m", "Member", endpoints, group, str(home / "truth.jsonl"), str(takes), *topics)

    def ordered(self, name: str, group: str, *topics: str) -> None:
        """Start a consumer in order that asks brokers themselves."""
        home = self.folder / name
        home.mkdir(parents=True, exist_ok=True)
        jars = f"{self.server_jars}/*:{self.classes}"
        self.java(name, jars, "96m", "Ordered", f"{HOST}:{NAME_SERVER}", group, str(home / "truth.jsonl"), name, *topics)

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


def _named(told: str, label: str, ports: dict[str, int]) -> str:
    """The process at the address that an administrator's command prints behind a label."""
    address = next(line.split()[1] for line in told.splitlines() if line.startswith(label))
    return next(name for name, port in ports.items() if address.endswith(f":{port}"))

"""Run two members of a library in a group and keep what each writes: `python -m tests.lab.clients.scenarios WORK OUT [LIBRARY...]`.

OUT/LIBRARY holds one log per member and `deeds.jsonl` (what was done, with its time); OUT/broker.log is the broker's own log.
`samples.py` cuts both to samples.
"""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from string import Template
from threading import Thread

import yaml

from tests.lab.clients.broker import VERSION, Broker, environment, fetch

HERE = Path(__file__).parent
LIBRARIES = yaml.safe_load((HERE / "libraries.yaml").read_text(encoding="utf-8"))
TOPIC = "orders"
PARTITIONS = 4
STALL_SECONDS = 14
"""Longer than each library's poll interval (8 s) and session timeout (6 s)."""
SETTLED_SECONDS = 15
EVICTED_SECONDS = 20


@dataclass
class Group:
    """Members of one library in one group, and what was done to them."""

    library: str
    work: Path
    folder: Path
    running: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def note(self, deed: str, member: str) -> None:
        """Write down what was done, and how much the members had logged by then."""
        sizes = {log.stem: log.stat().st_size for log in sorted(self.folder.glob("*.log"))}
        with (self.folder / "deeds.jsonl").open("a") as file:
            file.write(json.dumps({"at": int(time.time() * 1000), "deed": deed, "member": member, "sizes": sizes}) + "\n")

    def start(self, member: str) -> None:
        """Start a process; it writes where the one before it with this name wrote."""
        told = LIBRARIES[self.library]
        names = {"GROUP": f"{self.library}-app", "TOPIC": TOPIC, "CLIENT": f"{self.library}-{member}", "STALL": str(self._stall(member))}
        given = environment(**names, HERE=str(HERE / "members"), **told.get("environment", {}))
        command = shlex.split(Template(told["run"]).safe_substitute(given))
        self.note("start", member)
        with (self.folder / f"{member}.log").open("ab") as log:
            self.running[member] = subprocess.Popen(command, stdout=log, stderr=log, cwd=self.work / told["home"], env=given)

    def stall(self, member: str) -> None:
        """Let a member take its time over the next record."""
        self.note("stall", member)
        self._stall(member).write_text(str(STALL_SECONDS))

    def end(self, member: str, how: signal.Signals) -> None:
        """Close a member in good order, or kill it."""
        self.note("kill" if how is signal.SIGKILL else "close", member)
        process = self.running.pop(member)
        process.send_signal(how)
        try:
            process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            self.note("kill", member)
            process.kill()
        self.note("ended", member)

    def play(self) -> None:
        """Start, join, slow poll, close, return, kill, and an end in good order."""
        for deed, member, seconds in (
            (self.start, "one", SETTLED_SECONDS),
            (self.start, "two", SETTLED_SECONDS),
            (self.stall, "two", STALL_SECONDS + SETTLED_SECONDS),
            (self.close, "two", SETTLED_SECONDS),
            (self.start, "two", SETTLED_SECONDS),
            (self.kill, "two", EVICTED_SECONDS),
            (self.close, "one", 0),
        ):
            deed(member)
            time.sleep(seconds)

    def close(self, member: str) -> None:
        """Close a member in good order."""
        self.end(member, signal.SIGTERM)

    def kill(self, member: str) -> None:
        """Kill a member."""
        self.end(member, signal.SIGKILL)

    def _stall(self, member: str) -> Path:
        return self.folder.resolve() / f"{member}.stall"


def build(library: str, work: Path) -> None:
    """Build a library's program, once."""
    told = LIBRARIES[library]
    home = work / told["home"]
    if not home.exists():
        home.mkdir(parents=True)
        subprocess.run(["bash", "-ec", told["build"]], cwd=home, check=True, env={**os.environ, "HERE": str(HERE / "members")})


def broker_of(library: str) -> str:
    """The version of the broker that a library is run with."""
    return str(LIBRARIES[library].get("broker", VERSION))


def main(work: Path, out: Path, libraries: list[str]) -> None:
    """Run the scenario with each library, all at the same broker."""
    (version,) = {broker_of(library) for library in libraries}
    for library in libraries:
        build(library, work)
    out.mkdir(parents=True)
    with Broker(fetch(work, version), fetch(work), out / "broker.log") as broker:
        broker.topic(TOPIC, PARTITIONS)
        broker.write(TOPIC, every_seconds=0.2)
        groups = [Group(library, work, out / library) for library in libraries]
        for group in groups:
            group.folder.mkdir()
        threads = [Thread(target=group.play) for group in groups]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:] or list(LIBRARIES))

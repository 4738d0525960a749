"""The lease of a warehouse: who holds it, and whether it still does."""

from __future__ import annotations

import json
import os
import socket
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

_LOOK_AGAIN_SECONDS = 0.2

_at_work: set[str] = set()
"""Runs in progress in this process.

Entries that it left open, for example because the disk was full, are not among them.
"""


@dataclass(frozen=True, slots=True)
class Owner:
    """A process.

    `born` distinguishes it from a later process with the same number, if the system provides it. `jvm` is the number of
    its Spark driver's JVM, which may outlive it for a moment and still write. Numbers are only valid on one machine
    since its start (`boot`) and in one namespace of processes (`namespace`), for example a container; None if the
    system has no such concept.
    """

    host: str
    process: int
    born: str | None
    jvm: int | None = None
    jvm_born: str | None = None
    boot: str | None = None
    namespace: str | None = None

    @classmethod
    def this_process(cls, host: str | None = None) -> Owner:
        """This process.

        `host` replaces the name of this machine if it is redacted.
        """
        jvm = _own_jvm()
        process_id = os.getpid()
        return cls(
            host or socket.gethostname(), process_id, _born(process_id), jvm, None if jvm is None else _born(jvm), _boot(), _namespace()
        )

    def text(self) -> str:
        return json.dumps({name: getattr(self, name) for name in sorted(self.__dataclass_fields__)})

    @classmethod
    def read(cls, text: str) -> Owner:
        values = json.loads(text)
        later = (values.get(name) for name in ("jvm", "jvm_born", "boot", "namespace"))
        return cls(values["host"], values["process"], values["born"], *later)

    def lives(self, host: str | None = None) -> bool | None:
        """Whether the process is alive, None if that is unknown.

        Unknown are processes of other hosts, containers, and starts of the host. `host` may replace this host's name.
        """
        return _lives(self.process, self.born) if self._is_near(host) else None

    def is_this(self, host: str | None = None) -> bool:
        """Whether it is this process."""
        process_id = os.getpid()
        return self._is_near(host) and (self.process, self.born) == (process_id, _born(process_id))

    def _is_near(self, host: str | None) -> bool:
        """Whether its process numbers are valid in this process.

        Older versions stored the host only.
        """
        is_same_machine = self.boot in {None, _boot()} and self.namespace in {None, _namespace()}
        return self.host in {socket.gethostname(), host} and is_same_machine

    def wait_for_jvm(self, seconds: float) -> bool:
        """Wait until the JVM of a dead process ends.

        Returns False on timeout.
        """
        end = time.monotonic() + seconds
        while self.jvm is not None and _lives(self.jvm, self.jvm_born):
            if time.monotonic() > end:
                return False
            time.sleep(_LOOK_AGAIN_SECONDS)
        return True


def _own_jvm() -> int | None:
    """The JVM started by this process, if any."""
    from pyspark import SparkContext

    process = getattr(SparkContext._gateway, "proc", None)
    return getattr(process, "pid", None)


def _boot() -> str | None:
    """Unique id of this machine's current start."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip() or None
    except (OSError, ValueError):
        return None


def _namespace() -> str | None:
    """Namespace of this process's number."""
    try:
        return os.readlink("/proc/self/ns/pid")
    except OSError:
        return None


def _lives(process: int, born: str | None) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    state = _stat(process)
    # A zombie process (Z), not yet collected by its parent, does nothing more.
    return state is None or (state[0] != "Z" and (born is None or born == state[19]))


def _born(process: int) -> str | None:
    """Start time of a process by the kernel's count (field 22 of /proc/PID/stat).

    None without /proc.
    """
    state = _stat(process)
    return state[19] if state else None


def _stat(process: int) -> list[str] | None:
    """Fields of /proc/PID/stat from the third one on."""
    try:
        text = Path(f"/proc/{process}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    return text.rpartition(")")[2].split()


def work_begins(run_id: str) -> None:
    """Mark a run as in progress in this process, until `work_ends`."""
    _at_work.add(run_id)


def work_ends(run_id: str) -> None:
    """Mark a run as ended in this process, whatever its entry says."""
    _at_work.discard(run_id)


def is_alive(row: Mapping[str, Any], stale_after: timedelta, host: str | None = None) -> bool:
    """Whether the process of a `running` entry seems to be alive."""
    owner = Owner.read(row["owner"])
    if owner.is_this(host):
        return row["run_id"] in _at_work
    lives = owner.lives(host)
    return lives if lives is not None else datetime.now(UTC) - row["seen_at"] < stale_after


def busy_message(row: Mapping[str, Any]) -> str:
    """Message about an entry that holds the warehouse."""
    owner = Owner.read(row["owner"])
    since = row["seen_at"].isoformat(timespec="seconds")
    return (
        f"another run holds the warehouse: {row['run_id']}, process {owner.process} on {owner.host}, last seen {since}; wait for it to end"
    )

"""The process that holds a warehouse, and whether it still lives."""

from __future__ import annotations

import json
import os
import socket
import time
from dataclasses import dataclass
from pathlib import Path

_LOOK_AGAIN_SECONDS = 0.2


@dataclass(frozen=True, slots=True)
class Owner:
    """A process. `born` tells it from a later process of the same number, where the system says; `jvm` is the number of its
    Spark driver's JVM, which may outlive it for a moment, and may still be writing. Numbers mean something only where they were
    given: on one machine from its start on (`boot`), in one namespace of processes (`namespace`), such as a container; None where
    the system has no such thing."""

    host: str
    process: int
    born: str | None
    jvm: int | None = None
    jvm_born: str | None = None
    boot: str | None = None
    namespace: str | None = None

    @classmethod
    def here(cls, host: str | None = None) -> Owner:
        """This process. `host` stands for the name of this machine where that is not to be told."""
        jvm = _own_jvm()
        own = os.getpid()
        return cls(host or socket.gethostname(), own, _born(own), jvm, None if jvm is None else _born(jvm), _boot(), _namespace())

    def text(self) -> str:
        return json.dumps({name: getattr(self, name) for name in sorted(self.__dataclass_fields__)})

    @classmethod
    def read(cls, text: str) -> Owner:
        values = json.loads(text)
        later = (values.get(name) for name in ("jvm", "jvm_born", "boot", "namespace"))
        return cls(values["host"], values["process"], values["born"], *later)

    def lives(self, here: str | None = None) -> bool | None:
        """Whether the process is still there; None for one that can't be seen from here: of another host, or of another container
        or another start of a host of the same name. `here` may stand for the name of this one."""
        return _lives(self.process, self.born) if self._is_near(here) else None

    def is_this(self, here: str | None = None) -> bool:
        """Whether it is the process that asks."""
        own = os.getpid()
        return self._is_near(here) and (self.process, self.born) == (own, _born(own))

    def _is_near(self, here: str | None) -> bool:
        """Whether numbers of processes mean the same to it and to the process that asks. Older versions told the host only."""
        told = self.boot in {None, _boot()} and self.namespace in {None, _namespace()}
        return self.host in {socket.gethostname(), here} and told

    def wait_for_jvm(self, seconds: float) -> bool:
        """Wait until the JVM of a process that is gone is gone too; false where it is not."""
        end = time.monotonic() + seconds
        while self.jvm is not None and _lives(self.jvm, self.jvm_born):
            if time.monotonic() > end:
                return False
            time.sleep(_LOOK_AGAIN_SECONDS)
        return True


def _own_jvm() -> int | None:
    """The JVM that this process has started, if it has."""
    from pyspark import SparkContext

    process = getattr(SparkContext._gateway, "proc", None)
    return getattr(process, "pid", None)


def _boot() -> str | None:
    """What tells one start of this machine from another, and from other machines."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip() or None
    except (OSError, ValueError):
        return None


def _namespace() -> str | None:
    """The namespace that this process has its number in."""
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
    # A process that ended and was not yet asked for by its parent (Z) does nothing more.
    return state is None or (state[0] != "Z" and (born is None or born == state[19]))


def _born(process: int) -> str | None:
    """When a process was started, as the kernel counts (field 22 of /proc/PID/stat); None where there is no /proc."""
    state = _stat(process)
    return state[19] if state else None


def _stat(process: int) -> list[str] | None:
    """Fields of /proc/PID/stat from the third one on."""
    try:
        text = Path(f"/proc/{process}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    return text.rpartition(")")[2].split()

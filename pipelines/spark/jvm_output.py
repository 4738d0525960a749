"""Pass errors printed by a JVM of this process to standard error.

Standard output is data, and Delta's VACUUM prints. Spark's own greeting is set aside by configuration; what Java and Ivy
print at each start, whatever is configured, is left out on its way.
"""

from __future__ import annotations

import atexit
import os
import re
import select
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

LOG_OPTIONS = "SPARK_SUBMIT_OPTS"
_CONFIGURATION = Path(__file__).with_name("log4j2.properties")
_EXPECTED = re.compile(
    rb"WARNING: Using incubator modules: jdk\.incubator\.vector"
    rb"|:: (?:loading settings|resolving dependencies|resolution report|retrieving) :: .*"
    rb"|Ivy Default Cache set to: .*|The jars for the packages stored in: .*|\S+#\S+ added as a dependency"
    rb"|\tconfs: \[.*\]|\tfound \S+;\S+ in .*|downloading .* \.\.\.|\t\[SUCCESSFUL \] .*"
    rb"|\t:: modules in use:|\t\S+;\S+ from \S+ in \[.*\]|\t-+|\t\|.*\||\t\d+ artifacts copied, .*"
)
"""Lines printed at each start.

By Java, whom Spark asks for these modules, and by Ivy, which finds Delta's jars or fetches them once.
"""
_MORE_SECONDS = 0.05
"""Wait for the rest of a line, which Java may write in parts."""
_LOOK_SECONDS = 0.005
"""Wait between looks at the thread that copies, as this process ends."""


def quiet_environment(environment: Mapping[str, str], conf_dir: Path) -> dict[str, str]:
    """Variables for a local JVM, without those that the user has set.

    The address avoids a warning with the names of host and interface.
    """
    wanted = {"SPARK_LOCAL_IP": "127.0.0.1"}
    if _CONFIGURATION.is_file() and not any(conf_dir.glob("log4j2*")):
        wanted[LOG_OPTIONS] = f"-Dlog4j2.configurationFile={_CONFIGURATION.as_uri()}"
    return {name: value for name, value in wanted.items() if name not in environment}


@contextmanager
def jvm_talks_to_stderr() -> Iterator[None]:
    """Make a JVM started inside the block print to standard error only."""
    sys.stdout.flush()
    try:
        kept = [os.dup(1), os.dup(2)]
    except OSError:  # one of them is closed
        yield
        return
    read, write = os.pipe()
    os.dup2(write, 1)
    os.dup2(write, 2)
    os.close(write)
    copying = threading.Lock()
    thread = threading.Thread(target=_pass_on, args=(read, os.dup(kept[1]), copying), name="jvm-output", daemon=True)
    thread.start()
    atexit.register(_drain, read, thread, copying)
    try:
        yield
    finally:
        sys.stderr.flush()
        for number, descriptor in enumerate(kept, start=1):
            os.dup2(descriptor, number)
            os.close(descriptor)


def _drain(source: int, thread: threading.Thread, copying: threading.Lock) -> None:
    """Let the copying thread finish what has been printed so far."""
    with suppress(OSError, ValueError):  # closed by the thread
        while thread.is_alive():
            with copying:
                if not select.select([source], [], [], 0)[0]:
                    return
            thread.join(_LOOK_SECONDS)


def _pass_on(source: int, target: int, copying: threading.Lock) -> None:
    """Copy lines as they come until the last writer is gone."""
    with open(source, "rb", buffering=0) as lines, open(target, "wb", buffering=0) as out:
        rest = b""
        while True:
            is_ready = select.select([source], [], [], _MORE_SECONDS if rest else None)[0]
            with copying:
                data = lines.read(1 << 16) if is_ready else b""
                *whole, rest = (rest + data).split(b"\n") if data else [rest, b""]
                kept = b"".join(line + b"\n" for line in whole if not _EXPECTED.fullmatch(line.rstrip()))
                with suppress(OSError):  # a closed standard error must not block the JVM
                    out.write(kept if data else kept.removesuffix(b"\n"))
            if is_ready and not data:
                return

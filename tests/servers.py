"""Real servers, started by tests as separate processes."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path


def free_port() -> int:
    """Return a free port of this machine."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])


@contextlib.contextmanager
def serving(
    command: Sequence[str], port: int, log: Path, *, wait_seconds: float, environment: Mapping[str, str] | None = None
) -> Iterator[None]:
    """Start a server and wait until it listens on `port`.

    Its log is in `folder`. Raises RuntimeError with the end of the log if it does not start.
    """
    with log.open("wb") as out:
        process = subprocess.Popen(command, cwd=log.parent, env=environment, stdout=out, stderr=subprocess.STDOUT)
    try:
        _wait(process, port, log, wait_seconds)
        yield
    finally:
        end([process])


def _wait(process: subprocess.Popen[bytes], port: int, log: Path, seconds: float) -> None:
    if not wait_until_listening(port, seconds, lambda: process.poll() is None):
        raise RuntimeError(f"the server did not start: {log.read_text(encoding='utf-8', errors='replace')[-2000:]}")


def wait_until_listening(port: int, seconds: float, is_alive: Callable[[], bool] = lambda: True) -> bool:
    """Wait until a server listens on a port; False on timeout or if it is dead."""

    def is_listening() -> bool:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return True
        return False

    return wait_until(is_listening, seconds, is_alive)


def wait_until(holds: Callable[[], bool], seconds: float, is_alive: Callable[[], bool] = lambda: True) -> bool:
    """Wait until a condition holds; False on timeout or if the server is dead."""
    until = time.monotonic() + seconds
    while time.monotonic() < until and is_alive():
        if holds():
            return True
        time.sleep(0.1)
    return False


def end(processes: Iterable[subprocess.Popen[bytes]], patience_seconds: float = 20) -> None:
    """Terminate processes, and kill those that do not end."""
    asked = list(processes)
    for process in asked:
        process.terminate()
    for process in asked:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(patience_seconds)
        process.kill()
        process.wait()

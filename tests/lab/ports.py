"""Ports of the servers that a lab starts."""

from __future__ import annotations

import time
from socket import create_connection

HOST = "127.0.0.1"
UP_SECONDS = 60


def await_port(port: int) -> None:
    """Wait until a server listens on a port of this machine.

    Raises TimeoutError after `UP_SECONDS`.
    """
    until = time.monotonic() + UP_SECONDS
    while time.monotonic() < until:
        try:
            create_connection((HOST, port), 1).close()
            return
        except OSError:
            time.sleep(0.2)
    raise TimeoutError(f"nothing listens on {port}")

"""A server that passes requests on to another, changed or with faults."""

from __future__ import annotations

import contextlib
import http.client
import random
import socket
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

_OF_ONE_CONNECTION = frozenset({"connection", "keep-alive", "transfer-encoding"})
_SLOW_DOWN = b"<Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>"


class Fault(Enum):
    """What happens to a request."""

    REFUSED = "refused"
    """It is answered with 503."""
    CUT = "cut"
    """The connection is closed before the request is passed on."""
    UNANSWERED = "unanswered"
    """The connection is closed after the server has done what was requested."""


@dataclass(frozen=True, slots=True)
class Request:
    """One request, with its whole body."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes


Change = Callable[[Request], Request]


@dataclass(slots=True)
class Faults:
    """Random faults of a share of all requests, counted by kind."""

    share: float
    seed: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    _draw: random.Random = field(init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self._draw = random.Random(self.seed)  # noqa: S311 - the same faults each time

    def next(self) -> Fault | None:
        """Draw whether the next request meets a fault."""
        with self._lock:
            fault = self._draw.choice(list(Fault)) if self._draw.random() < self.share else None
            self.counts[fault.value if fault is not None else "passed"] += 1
            return fault


@contextlib.contextmanager
def proxy(port: int, target: int, change: Change | None = None, faults: Faults | None = None) -> Iterator[None]:
    """Serve on a port of this machine what another one serves."""
    handler = type(
        "Handler", (_Handler,), {"target": target, "change": staticmethod(change or _unchanged), "faults": faults or Faults(0.0)}
    )
    server = ThreadingHTTPServer(("127.0.0.1", port), handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()


def _unchanged(request: Request) -> Request:
    return request


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    target: int
    change: Change
    faults: Faults

    def _pass_on(self) -> None:
        request = Request(self.command, self.path, dict(self.headers.items()), self._body())
        fault = self.faults.next()
        if fault is Fault.CUT:
            self._cut()
        elif fault is Fault.REFUSED:
            self._answer(503, {"Content-Type": "application/xml"}, _SLOW_DOWN)
        else:
            status, headers, body = self._ask(type(self).change(request))
            if fault is Fault.UNANSWERED:
                self._cut()
            else:
                self._answer(status, headers, body)

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = do_PATCH = _pass_on

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        parts = []
        while size := int(self.rfile.readline().split(b";")[0], 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        while self.rfile.readline().strip():
            pass
        return b"".join(parts)

    def _ask(self, request: Request) -> tuple[int, Mapping[str, str], bytes]:
        connection = http.client.HTTPConnection("127.0.0.1", self.target, timeout=60)
        with contextlib.closing(connection):
            headers = {name: value for name, value in request.headers.items() if name.lower() not in {*_OF_ONE_CONNECTION, "expect"}}
            length = {"Content-Length": str(len(request.body))} if request.body or request.method in {"PUT", "POST"} else {}
            kept = {name: value for name, value in headers.items() if name.lower() != "content-length"} | length
            connection.putrequest(request.method, request.path, skip_host=True, skip_accept_encoding=True)
            for name, value in kept.items():
                connection.putheader(name, value)
            connection.endheaders(request.body or None)
            answer = connection.getresponse()
            return answer.status, dict(answer.getheaders()), answer.read()

    def _answer(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        self.send_response_only(status)
        for name, value in headers.items():
            if name.lower() not in {*_OF_ONE_CONNECTION, *(() if self.command == "HEAD" else ("content-length",))}:
                self.send_header(name, value)
        if self.command != "HEAD" and status not in {204, 304}:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def _cut(self) -> None:
        self.close_connection = True
        with contextlib.suppress(OSError):
            self.connection.shutdown(socket.SHUT_RDWR)

    def log_message(self, *_: object) -> None:
        """Say nothing."""

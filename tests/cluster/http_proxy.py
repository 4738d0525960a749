"""A server that passes requests on to another, changed or with faults."""

from __future__ import annotations

import contextlib
import http.client
import json
import multiprocessing
import random
import socket
import threading
import urllib.request
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from tests.servers import wait_until_listening

_COUNTS, _WAIT_SECONDS = "/-/faults", 60.0
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


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to a request, with its whole body."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Translation:
    """What a proxy changes: nothing, here."""

    def request(self, request: Request) -> Request:
        """The request that the server gets."""
        return request

    def answer(self, request: Request, answer: Answer) -> Answer:  # noqa: ARG002 - others need the request
        """The answer that the client gets to its request."""
        return answer


@dataclass(slots=True)
class Faults:
    """Random faults of a share of all requests, counted by kind."""

    share: float = 0.0
    seed: int = 0
    counts: Counter[str] = field(default_factory=Counter)


@contextlib.contextmanager
def proxy(port: int, target: int, translation: Translation | None = None, faults: Faults | None = None) -> Iterator[None]:
    """Serve on a port of this machine what another one serves.

    In a process of its own, because a client in this one may hold Python's lock while it waits.
    """
    process = multiprocessing.get_context("spawn").Process(
        target=_serve, args=(port, target, translation or Translation(), faults or Faults())
    )
    process.start()
    try:
        wait_until_listening(port, _WAIT_SECONDS)
        yield
        if faults is not None:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}{_COUNTS}") as answer:
                faults.counts.update(json.load(answer))
    finally:
        process.kill()
        process.join()


def _serve(port: int, target: int, translation: Translation, faults: Faults) -> None:
    members = {"target": target, "translation": translation, "draw": _Draw(faults)}
    ThreadingHTTPServer(("127.0.0.1", port), type("Handler", (_Handler,), members)).serve_forever()


class _Draw:
    def __init__(self, faults: Faults) -> None:
        self.counts = Counter[str]()
        self._share, self._lock = faults.share, threading.Lock()
        self._random = random.Random(faults.seed)  # noqa: S311 - the same faults each time

    def next(self) -> Fault | None:
        """Draw whether the next request meets a fault."""
        with self._lock:
            fault = self._random.choice(list(Fault)) if self._random.random() < self._share else None
            self.counts[fault.value if fault is not None else "passed"] += 1
            return fault


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    target: int
    translation: Translation
    draw: _Draw

    def _pass_on(self) -> None:
        if self.path == _COUNTS:
            self._answer(Answer(200, {}, json.dumps(self.draw.counts).encode()))
            return
        request = Request(self.command, self.path, dict(self.headers.items()), self._body())
        fault = self.draw.next()
        if fault is Fault.CUT:
            self._cut()
        elif fault is Fault.REFUSED:
            self._answer(Answer(503, {"Content-Type": "application/xml"}, _SLOW_DOWN))
        else:
            answer = self._ask(self.translation.request(request))
            if fault is Fault.UNANSWERED:
                self._cut()
            else:
                self._answer(self.translation.answer(request, answer))

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

    def _ask(self, request: Request) -> Answer:
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
            return Answer(answer.status, dict(answer.getheaders()), answer.read())

    def _answer(self, answer: Answer) -> None:
        is_head = self.command == "HEAD"
        self.send_response_only(answer.status)
        for name, value in answer.headers.items():
            if name.lower() not in {*_OF_ONE_CONNECTION, *(() if is_head else ("content-length",))}:
                self.send_header(name, value)
        if not is_head and answer.status not in {204, 304}:
            self.send_header("Content-Length", str(len(answer.body)))
        self.end_headers()
        if not is_head:
            self.wfile.write(answer.body)

    def _cut(self) -> None:
        self.close_connection = True
        with contextlib.suppress(OSError):
            self.connection.shutdown(socket.SHUT_RDWR)

    def log_message(self, *_: object) -> None:
        """Say nothing."""

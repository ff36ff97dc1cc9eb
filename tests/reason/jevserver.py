"""A real HTTP server on loopback that speaks Jev's wire, well or badly."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

KEY = "loopback-key-5f1c09"
JSON = "application/json"
Behaviour = Callable[["Exchange"], None]


class Exchange(BaseHTTPRequestHandler):
    """One request, answered as the server was told to."""

    protocol_version = "HTTP/1.1"
    server: Server

    def do_POST(self) -> None:  # http.server's name
        self.body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.exchanges.append(self)
        number = len(self.server.exchanges) - 1
        behaviours = self.server.behaviours
        # A client that has given up closes its end while the server still writes.
        with suppress(OSError):
            behaviours[min(number, len(behaviours) - 1)](self)

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def send(
        self, status: int, data: bytes = b"", content_type: str = JSON, **headers: str
    ) -> None:
        """Send a response; `length=` overrides what it says of its length."""
        length = headers.pop("length", str(len(data)))
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", length)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)


class Server(ThreadingHTTPServer):
    """Behaves for each request in turn as its list says, then as the last."""

    daemon_threads = True
    block_on_close = False

    def __init__(self, *behaviours: Behaviour) -> None:
        super().__init__(("127.0.0.1", 0), Exchange)
        self.behaviours = behaviours
        self.exchanges: list[Exchange] = []
        self.over = threading.Event()

    def handle_error(self, *_: object) -> None:
        """Say nothing of clients that went away."""

    @property
    def url(self) -> str:
        """Return the address."""
        return f"http://127.0.0.1:{self.server_address[1]}"

    @property
    def environ(self) -> dict[str, str]:
        """Return the settings that lead here."""
        return {"TYPESAFE_API_KEY": KEY, "TYPESAFE_BASE_URL": self.url}


@contextmanager
def serving(*behaviours: Behaviour) -> Iterator[Server]:
    """Serve while the block runs."""
    server = Server(*behaviours)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.over.set()
        server.shutdown()
        thread.join()
        server.server_close()


def says(body: object, status: int = 200, **headers: str) -> Behaviour:
    """Answer with JSON."""
    return lambda exchange: exchange.send(status, json.dumps(body).encode(), **headers)


def sends(data: bytes, content_type: str = JSON, **headers: str) -> Behaviour:
    """Answer 200 with these bytes."""
    return lambda exchange: exchange.send(200, data, content_type, **headers)


def fails(status: int, error_type: Any = None) -> Behaviour:
    """Answer with a failure as Jev words it, repeating what it was sent."""

    def behave(exchange: Exchange) -> None:
        told = {"error_type": error_type, "message": f"you sent {exchange.headers.as_string()}"}
        exchange.send(status, json.dumps({"detail": told}).encode())

    return behave


def hangs(exchange: Exchange) -> None:
    """Accept, and say nothing until the test is over."""
    exchange.server.over.wait(60)


def drips(exchange: Exchange) -> None:
    """Send a body of a thousand bytes, one every 20 ms."""
    exchange.send(200, length="1000")
    while not exchange.server.over.wait(0.02):
        exchange.wfile.write(b" ")


def floods(exchange: Exchange) -> None:
    """Send ten megabytes."""
    exchange.send(200, b" " * 10_000_000)


def truncates(exchange: Exchange) -> None:
    """Promise more than is sent, then close."""
    exchange.send(200, b'{"model": "jev-1.13.0", "answ', length="500")
    exchange.close_connection = True


def closes(exchange: Exchange) -> None:
    """Close without a word."""
    exchange.close_connection = True

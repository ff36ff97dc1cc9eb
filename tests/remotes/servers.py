"""Real servers on loopback for tests: git over smart HTTP."""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote


@contextmanager
def http_server(root: Path) -> Iterator[str]:
    """Serve the repositories in a folder through `git http-backend`; yield the address.

    Everybody may push: whoever asks is signed in as `tester`.
    """

    class Handler(BaseHTTPRequestHandler):
        """One request, handed to git as CGI (gitprotocol-http(5), RFC 3875)."""

        def do_GET(self) -> None:
            """Answer what is asked before a fetch or a push."""
            self._answer()

        def do_POST(self) -> None:
            """Answer a fetch or a push."""
            self._answer()

        def log_message(self, *_: object) -> None:
            """Say nothing."""

        def _answer(self) -> None:
            path, _, query = self.path.partition("?")
            environ = {
                "PATH": os.environ.get("PATH", ""),
                "GIT_PROJECT_ROOT": str(root),
                "GIT_HTTP_EXPORT_ALL": "1",
                "GIT_CONFIG_NOSYSTEM": "1",
                "HOME": str(root),
                "REQUEST_METHOD": self.command,
                "PATH_INFO": unquote(path),
                "QUERY_STRING": query,
                "CONTENT_TYPE": self.headers.get("Content-Type", ""),
                "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
                "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
                "REMOTE_USER": "tester",
            }
            done = subprocess.run(
                ["git", "http-backend"],
                env=environ,
                input=self._body(),
                capture_output=True,
                check=False,
            )
            head, _, body = done.stdout.partition(b"\r\n\r\n")
            fields = [line.split(": ", 1) for line in head.decode("latin-1").split("\r\n")]
            status = next((value for name, value in fields if name == "Status"), "200 OK")
            self.send_response(int(status.split(" ")[0]))
            for name, value in fields:
                if name != "Status":
                    self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def _body(self) -> bytes:
            if self.headers.get("Transfer-Encoding") != "chunked":
                return self.rfile.read(int(self.headers.get("Content-Length") or 0))
            body = b""
            while size := int(self.rfile.readline(), 16):
                body += self.rfile.read(size)
                self.rfile.readline()
            return body

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()

"""Real servers on loopback for tests: git over smart HTTP, git and ssh, and bad ones."""

from __future__ import annotations

import os
import shutil
import socket
import socketserver
import subprocess
import sys
import threading
from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote


def cgi(method: str, target: str, root: Path) -> dict[str, str]:
    """Return the environment of one request (RFC 3875)."""
    path, _, query = target.partition("?")
    return {
        "PATH": os.environ.get("PATH", ""),
        "GIT_PROJECT_ROOT": str(root),
        "GIT_HTTP_EXPORT_ALL": "1",
        "GIT_CONFIG_NOSYSTEM": "1",
        "HOME": str(root),
        "REQUEST_METHOD": method,
        "PATH_INFO": unquote(path),
        "QUERY_STRING": query,
        "REMOTE_USER": "tester",
    }


def parsed(output: bytes) -> tuple[int, dict[str, str], bytes]:
    """Return status, headers and body of what a CGI program wrote."""
    head, _, body = output.partition(b"\r\n\r\n")
    fields = dict(line.split(": ", 1) for line in head.decode("latin-1").split("\r\n"))
    return int(fields.pop("Status", "200 OK").split(" ")[0]), fields, body


@contextmanager
def http_server(root: Path, password: str | None = None) -> Iterator[str]:
    """Serve the repositories in a folder through `git http-backend`; yield the address.

    Args:
        root: The folder.
        password: What `tester` has to sign in with; without one everybody may push, as
            whoever asks is signed in as `tester`.
    """
    wanted = "Basic " + b64encode(f"tester:{password}".encode()).decode()

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
            if password is not None and self.headers.get("Authorization") != wanted:
                self._body()
                self.send_response(401)
                self.send_header("WWW-Authenticate", 'Basic realm="test"')
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            environ = cgi(self.command, self.path, root) | {
                "CONTENT_TYPE": self.headers.get("Content-Type", ""),
                "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
                "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
            }
            done = subprocess.run(
                ["git", "http-backend"],
                env=environ,
                input=self._body(),
                capture_output=True,
                check=False,
            )
            status, fields, body = parsed(done.stdout)
            self.send_response(status)
            for name, value in fields.items():
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


def free_port() -> int:
    """Return a port that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    """Wait until a server that was started listens."""
    while True:
        assert process.poll() is None, process.stderr and process.stderr.read()
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return


@contextmanager
def started(words: list[str], port: int, environ: dict[str, str]) -> Iterator[None]:
    """Run a server in the foreground until the block is done."""
    process = subprocess.Popen(words, env=environ, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
    try:
        wait_for(port, process)
        yield
    finally:
        process.terminate()
        process.communicate()


@contextmanager
def daemon(root: Path) -> Iterator[str]:
    """Serve the repositories in a folder by `git daemon`, for reading and writing."""
    port = free_port()
    environ = {"PATH": os.environ["PATH"], "HOME": str(root), "GIT_CONFIG_NOSYSTEM": "1"}
    program = Path(
        subprocess.run(
            ["git", "--exec-path"], capture_output=True, text=True, check=True
        ).stdout.strip()
    )
    words = [
        str(program / "git-daemon"),
        f"--base-path={root}",
        "--listen=127.0.0.1",
        f"--port={port}",
        "--export-all",
        "--enable=receive-pack",
    ]
    with started(words, port, environ):
        yield f"git://127.0.0.1:{port}"


def no_sshd() -> str:
    """Return why no ssh server can be started here; empty when one can."""
    program = sshd_program()
    if program is None or shutil.which("ssh-keygen") is None:
        return "no sshd here: install openssh-server to run this"
    if sys.platform != "win32" and os.geteuid() == 0 and not Path("/run/sshd").is_dir():
        return "sshd started by root needs /run/sshd"
    return ""


def sshd_program() -> str | None:
    """Return where sshd is: outside of most people's PATH."""
    return shutil.which("sshd", path=os.environ.get("PATH", "") + ":/usr/sbin:/usr/local/sbin")


@contextmanager
def ssh_server(folder: Path) -> Iterator[tuple[str, str]]:
    """Run an ssh server; yield its address and the command that may sign in there."""
    folder.mkdir()
    port = free_port()
    for name in ("host", "client"):
        words = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)]
        subprocess.run(words, check=True)
    config = folder / "sshd_config"
    config.write_text(
        f"Port {port}\nListenAddress 127.0.0.1\nHostKey {folder / 'host'}\n"
        f"AuthorizedKeysFile {folder / 'client.pub'}\nStrictModes no\nUsePAM no\n"
        f"PidFile none\nPermitRootLogin yes\nPasswordAuthentication no\nAcceptEnv GIT_PROTOCOL\n"
    )
    key = (folder / "host.pub").read_text().split()
    known = folder / "known_hosts"
    known.write_text(f"[127.0.0.1]:{port} {key[0]} {key[1]}\n")
    program = sshd_program()
    assert program is not None
    command = f"ssh -F none -i {folder / 'client'} -o UserKnownHostsFile={known}"
    with started([program, "-D", "-e", "-f", str(config)], port, dict(os.environ)):
        yield f"ssh://127.0.0.1:{port}", command


@contextmanager
def answering(answer: Callable[[socket.socket], None]) -> Iterator[int]:
    """Run a server that does one thing with every connection; yield its port."""

    class Handler(socketserver.BaseRequestHandler):
        """One connection."""

        def handle(self) -> None:
            """Do the one thing."""
            answer(self.request)

    class Server(socketserver.ThreadingTCPServer):
        """Threads that end with the process."""

        daemon_threads = True
        allow_reuse_address = True

    with Server(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield int(server.server_address[1])
        finally:
            server.shutdown()
            thread.join()

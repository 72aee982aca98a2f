"""A chat endpoint on this machine that answers with given bodies and keeps what it is asked.

Each case has an address of its own, so that a tool that asks twice, or several cases at once, mixes
nothing up.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import orjson

MAX_REQUEST_BYTES = 64_000_000
_CASE = re.compile(r"/case/([0-9]{1,6})/")


@dataclass(frozen=True, slots=True)
class Loopback:
    """The endpoint while it runs."""

    url: str
    """The case N is asked at `URL/case/N/v1/chat/completions`."""
    requests: list[list[dict[str, Any]]]  # Any: JSON
    """The bodies of the requests about each case."""


@contextmanager
def run_loopback(answers: Sequence[Mapping[str, Any]]) -> Generator[Loopback]:  # Any: JSON
    """Answer each case on a free port of 127.0.0.1 until the block ends."""
    bodies = [orjson.dumps(answer) for answer in answers]
    requests: list[list[dict[str, Any]]] = [[] for _ in answers]

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_POST(self) -> None:
            size, match = int(self.headers.get("Content-Length") or 0), _CASE.search(self.path)
            case = int(match.group(1)) if match else len(bodies)
            if size > MAX_REQUEST_BYTES or case >= len(bodies):
                self._answer(404, b'{"error": {"message": "no such case"}}')
                return
            requests[case].append(orjson.loads(self.rfile.read(size)))
            self._answer(200, bodies[case])

        def _answer(self, status: int, body: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(
        target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True
    )
    thread.start()
    try:
        yield Loopback(f"http://127.0.0.1:{server.server_address[1]}", requests)
    finally:
        server.shutdown()
        server.server_close()
        thread.join()

"""A chat endpoint on this machine that answers with given bodies and keeps what it is asked.

Each case has an address of its own, so that a tool that asks twice, or several cases at once, mixes
nothing up.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import orjson

MAX_REQUEST_BYTES = 64_000_000
_CASE = re.compile(r"/case/([0-9]{1,6})/")


class Loopback:
    """The endpoint while it runs.

    Args:
        answers: The body that answers each case.
    """

    def __init__(self, answers: Sequence[Mapping[str, Any]]) -> None:  # Any: JSON
        self._answers = [orjson.dumps(answer) for answer in answers]
        self._asked: list[list[dict[str, Any]]] = [[] for _ in answers]
        self._lock = threading.Lock()
        self.url = ""
        """The case N is asked at `URL/case/N/v1/chat/completions`."""

    def asked(self, case: int) -> list[dict[str, Any]]:  # Any: JSON
        """Return the bodies of the requests about a case."""
        with self._lock:
            return list(self._asked[case])

    def answer(self, path: str, raw: bytes) -> bytes | None:
        """Keep a request and return what answers it; None where it is about no case."""
        match = _CASE.search(path)
        case = int(match.group(1)) if match else -1
        if not 0 <= case < len(self._answers):
            return None
        try:
            body: dict[str, Any] = dict(orjson.loads(raw))
        except (orjson.JSONDecodeError, TypeError, ValueError):
            return None
        with self._lock:
            self._asked[case].append(body)
        return self._answers[case]


@contextmanager
def run_loopback(answers: Sequence[Mapping[str, Any]]) -> Generator[Loopback]:
    """Run the endpoint on a free port of 127.0.0.1 until the block ends."""
    loopback = Loopback(answers)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_POST(self) -> None:
            size = int(self.headers.get("Content-Length") or 0)
            answer = (
                None
                if size > MAX_REQUEST_BYTES
                else loopback.answer(self.path, self.rfile.read(size))
            )
            body = b'{"error": {"message": "no such case"}}' if answer is None else answer
            self.send_response(200 if answer is not None else 404)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    loopback.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(
        target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True
    )
    thread.start()
    try:
        yield loopback
    finally:
        server.shutdown()
        server.server_close()
        thread.join()

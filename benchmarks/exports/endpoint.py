"""An endpoint that keeps every request as it came over the wire, and answers each case with its own
body.
"""

from __future__ import annotations

import json
import threading
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Wire = dict[int, list[dict[str, Any]]]
"""The requests about each case."""


@contextmanager
def recording(answers: Sequence[dict[str, Any]]) -> Iterator[tuple[str, Wire]]:
    """Serve at `URL/case/N/v1` until the block ends."""
    wire: Wire = defaultdict(list)
    lock = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_POST(self) -> None:
            raw = self.rfile.read(int(self.headers["Content-Length"]))
            parts = self.path.split("/")
            known = parts[1:2] == ["case"] and self.path.partition("?")[0].endswith(
                "/chat/completions"
            )
            case = int(parts[2]) if known else -1
            if known:
                with lock:
                    wire[case].append(json.loads(raw))
            body = json.dumps(
                answers[case] if known else {"error": {"message": "not found"}}
            ).encode()
            self.send_response(200 if known else 404)
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
        yield f"http://127.0.0.1:{server.server_address[1]}", wire
    finally:
        server.shutdown()
        server.server_close()
        thread.join()

"""A System One server of thirty lines, and a chat model beside it, on one free port.

It knows the labels, and answers with a distribution that a hash of the state moves off them: far
where the question is as it was, little where it has the words that mend it.
"""

import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

MENDS = "Compare each number with the source."
"""What a question must say for the server to see numbers."""
ANCHORS = "0: It does not.\n1: A small part.\n2: Most of it.\n3: All of it."


class DecisionServer(ThreadingHTTPServer):
    """Answers `/v1/systemone`, and `/v1/chat/completions` with what `write` returns."""

    daemon_threads = True

    def __init__(self, rows: Path) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        lines = map(json.loads, rows.read_text(encoding="utf-8").splitlines())
        self.labels = {line["statement"]: float(line["label"]) for line in lines}
        self.decided: list[str] = []
        """Each body as it came, as JSON."""
        self.written: list[str] = []
        """What each request to the chat model says."""
        self.url = f"http://127.0.0.1:{self.server_port}/v1"

    def decide(self, body: dict[str, Any]) -> dict[str, Any]:
        """Return the answer to the question `q0`, graded 0 to 3."""
        text = body["state"]["statement"]
        mended = MENDS in body["questions"]["q0"]["instructions"]
        dice = int(hashlib.blake2b(text.encode(), digest_size=4).hexdigest(), 16) / 2**32
        shift = (0.1 if mended else 0.9) * dice
        good = abs(self.labels[text] - shift)
        shares = [(1 - good) * 0.75, (1 - good) * 0.25, good * 0.25, good * 0.75]
        return {
            "type": "score",
            "score": 0.0,
            "probabilities": {str(grade): share for grade, share in enumerate(shares)},
        }

    def reply(self, text: str) -> str:
        """Return what the chat model writes."""
        return write(text)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: DecisionServer

    def log_message(self, *_: Any) -> None:
        """Say nothing."""

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if self.path == "/v1/systemone":
            self.server.decided.append(json.dumps(body, sort_keys=True))
            usage = {"input_tokens": 200, "output_tokens": 0}
            reply = {"model": "one-1.0", "answers": {"q0": self.server.decide(body)}}
        else:
            text = "\n".join(message["content"] for message in body["messages"])
            self.server.written.append(text)
            usage = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}
            message = {"role": "assistant", "content": self.server.reply(text)}
            reply = {"model": "chat", "choices": [{"message": message, "finish_reason": "stop"}]}
        content = json.dumps(reply | {"usage": usage}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


def write(text: str) -> str:
    """Return the words that mend the question, between the tags that a text is asked for in."""
    new = f"Does the source support the statement? {MENDS}"
    if "<CRITERIA>...</CRITERIA>" in text:
        new = f"<CRITERIA>{new}</CRITERIA>\n<ANCHORS>{ANCHORS}</ANCHORS>"
    return f"<IMPROVED_VARIABLE>{new}</IMPROVED_VARIABLE>"


@contextmanager
def decision_server(
    rows: Path, models: Path, kind: type[DecisionServer] = DecisionServer
) -> Iterator[DecisionServer]:
    """Serve, and name the two models `one` and `chat` in a `models.yaml`."""
    with kind(rows) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        models.write_text(
            f"one: {{base_url: {server.url!r}, model: one-1.0, api: systemone,"
            " price: {input: 0.04, output: 0}}\n"
            f"chat: {{base_url: {server.url!r}, model: chat, price: {{input: 1, output: 2}}}}\n"
        )
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()

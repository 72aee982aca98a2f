"""Decision models with a planted way of answering, in this process or behind a loopback server of
System One.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

from judgewright.judges import Client, Completion, Request
from judgewright.judges.models import CallRecord, ModelSettings
from judgewright.judges.models.decision_wire import read_answers
from judgewright.judges.models.question import Option, Question, State, read_request

Json = Mapping[str, Any]  # Any: JSON
Shares = Callable[[Question, State], Sequence[float] | None]
"""Returns the probability of each option of a question; None for no answer."""
BUILD = "planted-1.2"


def answer_body(question: Question, shares: Sequence[float] | None) -> Json | None:
    """Return an answer as System One writes it."""
    if shares is None:
        return None
    if question.kind == "yes_no":
        return {"type": "noul", "noul": shares[1]}
    names = [option.name for option in question.options]
    if question.kind == "score":
        names = [str(index) for index in range(len(names))]
    return {"type": question.kind, "probabilities": dict(zip(names, shares, strict=True))}


class PlantedModel:
    """Answers in this process."""

    name, endpoint, simulated = "planted", "http://planted.invalid/v1", False

    def __init__(self, shares: Shares) -> None:
        self._shares = shares

    async def complete(
        self, request: Request, *, unsupported_parameters: frozenset[str] = frozenset()
    ) -> Completion:
        """See `Model.complete`."""
        question, state = read_request(request)
        answers = {"q0": answer_body(question, self._shares(question, state))}
        body = {"model": BUILD, "answers": answers, "usage": {"input_tokens": 9}}
        return read_answers("systemone", json.dumps(body).encode(), [question], state)[0]

    async def close(self) -> None:
        """See `Model.close`."""


def planted_client(shares: Shares, record: CallRecord | None = None) -> Client:
    """Return a client of such a model."""
    return Client(PlantedModel(shares), settings=ModelSettings(api="systemone"), record=record)


def _question(body: Json) -> Question:
    criteria = body.get("criteria") or ()
    if body["type"] == "score":
        options = tuple(Option(str(i), text) for i, text in enumerate(criteria))
        return Question(kind="score", instructions=body["instructions"], options=options)
    if body["type"] == "choice":
        options = tuple(Option(name, text or "") for name, text in dict(criteria).items())
        return Question(kind="choice", instructions=body["instructions"], options=options)
    no_yes = Option("no"), Option("yes")
    return Question(kind="yes_no", instructions=body["instructions"], options=no_yes)


@contextmanager
def served(shares: Shares) -> Iterator[tuple[str, list[Json]]]:
    """Serve such a model; yields its base URL, and the bodies that it was sent."""
    sent: list[Json] = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *_: object) -> None:
            """Say nothing."""

        def do_POST(self) -> None:
            """Answer every question of a request."""
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            sent.append(body)
            answers = {}
            for name, one in body["questions"].items():
                question = _question(one)
                answers[name] = answer_body(question, shares(question, body["state"]))
            usage = {"input_tokens": 100, "output_tokens": 3}
            reply = json.dumps({"model": BUILD, "answers": answers, "usage": usage}).encode()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(reply)))
            self.end_headers()
            self.wfile.write(reply)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1", sent
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def named_model(folder: Path, base_url: str) -> str:
    """Write a `models.yaml` that names such a server `planted`; return its path."""
    path = folder / "models.yaml"
    entry = f"base_url: {base_url}, model: planted, api: systemone"
    path.write_text(f"planted: {{{entry}, price: {{input: 1, output: 1}}}}\n")
    return str(path)

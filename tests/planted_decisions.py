"""Decision models with a planted way of answering, in this process or behind a server."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx

from judgewright.judges import Client, Completion, Request
from judgewright.judges.models import ModelSettings
from judgewright.judges.models.decision_wire import read_answers
from judgewright.judges.models.question import Question, State, read_request
from judgewright.judges.simulated import DecisionService, Server
from judgewright.judges.simulated.decision_server import Answers
from judgewright.judges.simulated.decisions import write_answer, write_answers

Shares = Callable[[Question, State], Sequence[float]]
"""Returns the probability of each option of a question; nothing for no answer."""
BUILD = "planted-other"


class PlantedModel:
    """Answers in this process."""

    name, endpoint, simulated = "planted", "http://planted.invalid/v1", False

    def __init__(self, shares: Shares) -> None:
        self._shares = shares

    async def complete(
        self, request: Request, *, unsupported_parameters: frozenset[str] = frozenset()
    ) -> Completion:
        """See `Model.complete`."""
        (question,), state = read_request(request)
        shares = self._shares(question, state)
        if question.kind == "score":  # System One knows levels by their places
            places = (replace(one, name=str(i)) for i, one in enumerate(question.options))
            question = replace(question, options=tuple(places))
        answers = [("q0", write_answer("systemone", question, shares, shares))] if shares else []
        body = json.dumps(write_answers("systemone", BUILD, answers, 9)).encode()
        return read_answers("systemone", body, [question], state)[0]

    async def close(self) -> None:
        """See `Model.close`."""


def planted_client(shares: Shares) -> Client:
    """Return a client of such a model."""
    return Client(PlantedModel(shares), settings=ModelSettings(api="systemone"))


class _OtherBuild(DecisionService):
    """Serves such a model, and names the build that answered."""

    def body(self, answers: Answers, tokens: int, fault: str | None) -> Any:
        """See `DecisionService.body`."""
        return super().body(answers, tokens, fault) | {"model": BUILD}


@contextmanager
def served(shares: Shares, folder: Path) -> Iterator[Server]:
    """Serve such a model, which a `models.yaml` in the folder names `planted`."""
    with Server(_OtherBuild("systemone", shares, model="planted").app()) as server:
        entry = f"base_url: {server.base_url}, api: systemone, price: {{input: 1, output: 1}}"
        (folder / "models.yaml").write_text(f"planted: {{{entry}}}\n")
        yield server


def requests_to(server: Server) -> int:
    """Return how many requests came."""
    base = server.base_url.removesuffix("/v1")
    return httpx.get(f"{base}/stats", trust_env=False).json()["requests"]

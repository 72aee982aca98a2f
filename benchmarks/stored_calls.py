"""CPU of judging recorded rows: a decision model's answers beside a chat model's replies.

    python benchmarks/stored_calls.py [--rows 2000] [--rounds 9]

They take turns within a round, warm, over one workspace; a figure is the median over rounds of
the ratio to the chat model in the same round. Nothing is sent.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from pathlib import Path

from judgewright.judges import Client, Completion, Dataset, Registry, Request, Row, judge
from judgewright.judges.models import ModelSettings
from judgewright.judges.models.decision_wire import read_answers
from judgewright.judges.models.question import INTERFACES, DecisionApi, read_request
from judgewright.runs.store import Workspace, create_run
from judgewright.runs.store.calls import CallStore

PROMPT = Registry().get("groundedness")
REPLY = '{"criterion": "the length", "evidence": "240 metres", "score": 2, "confidence": 0.85}'
SHARES = (0.1, 0.2, 0.3, 0.4)
BY_PLACE = {str(i): share for i, share in enumerate(SHARES)}
ANSWERS = {
    "decisions": [
        {
            "type": "score",
            "probabilities": [
                {"value": i, "label": str(i), "probability": share}
                for i, share in enumerate(SHARES)
            ],
        }
    ],
    "systemone": {"q0": {"type": "score", "probabilities": BY_PLACE}},
    "sglang": {"q0": {"type": "score", "probabilities": BY_PLACE, "label_mass": 0.94}},
}


class Answering:
    """Says the same of every row."""

    name, endpoint, simulated = "m", "http://127.0.0.1:9/v1", False

    def __init__(self, api: DecisionApi | None) -> None:
        self._api: DecisionApi | None = api

    async def complete(
        self, request: Request, *, unsupported_parameters: frozenset[str] = frozenset()
    ) -> Completion:
        """See `Model.complete`."""
        if self._api is None:
            return Completion(text=REPLY, tokens_in=700, tokens_out=40)
        (question,), state = read_request(request)
        body = json.dumps({"model": "m", "answers": ANSWERS[self._api]}).encode()
        return read_answers(self._api, body, [question], state)[0]

    async def close(self) -> None:
        """See `Model.close`."""


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=9)
    asked = parser.parse_args()
    text = "The harbour of the town was built in 1911 and is 240 metres long. " * 10
    rows = Dataset.of(
        (
            Row(id=f"r{i}", inputs={"source": f"{i} {text}", "statement": f"It is {i} metres."})
            for i in range(asked.rows)
        ),
        labels=PROMPT.scale,
    )
    apis: dict[str, DecisionApi | None] = {"chat": None, **{api: api for api in INTERFACES}}
    seconds: dict[str, list[float]] = {name: [] for name in apis}
    with tempfile.TemporaryDirectory() as folder, Workspace(Path(folder) / "work") as workspace:
        clients: dict[str, Client] = {}
        for name, api in apis.items():
            record = CallStore(workspace.database, create_run(workspace.database, "bench", {}))
            clients[name] = Client(Answering(api), settings=ModelSettings(api=api), record=record)
            judge(PROMPT, rows, clients[name])
        for _ in range(asked.rounds):
            for name, client in clients.items():
                begun = time.process_time()
                judge(PROMPT, rows, client)
                seconds[name].append(time.process_time() - begun)
    for name, each in seconds.items():
        ratio = statistics.median(a / b for a, b in zip(each, seconds["chat"], strict=True))
        micro = statistics.median(each) / asked.rows * 1e6
        print(f"{name}: {micro:.0f} microseconds a row, {ratio:.2f} of chat")


if __name__ == "__main__":
    main()

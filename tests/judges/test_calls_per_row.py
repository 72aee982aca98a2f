"""How many calls of functions a judged row costs: asked for the first time, and found in the call
record.
"""

from collections.abc import Callable

import pytest

from judgewright.judges import BINARY, Client, Completion, Dataset, Registry, Request, Row, judge
from judgewright.judges.models import ModelSettings
from judgewright.judges.models.decision_endpoint import DecisionEndpoint
from judgewright.judges.models.question import DecisionApi, Question
from judgewright.judges.simulated import DecisionService, Server

from ..function_calls import count_calls


class Instant:
    """A model that says the same of every row at once, so that only what is ours is counted."""

    name, endpoint, simulated = "instant", "instant", False

    async def complete(
        self, request: Request, *, unsupported_parameters: frozenset[str] = frozenset()
    ) -> Completion:
        """Answer."""
        return Completion(
            text='{"reasoning": "It says so.", "score": 1}', tokens_in=100, tokens_out=10
        )

    async def close(self) -> None:
        """Nothing is open."""


def made(rows: int) -> Dataset:
    """Rows, no two alike."""
    inputs = [
        {"source": f"Sky {i} is blue.", "statement": f"Sky {i} is green."} for i in range(rows)
    ]
    return Dataset.of(
        tuple(Row(id=f"r{i}", inputs=one, label=i % 2) for i, one in enumerate(inputs)),
        labels=BINARY,
    )


@pytest.mark.parametrize(("known", "most"), [(False, 325), (True, 135)], ids=["asked", "found"])
def test_a_judged_row_costs_no_more_calls(
    known: bool, most: int, request: pytest.FixtureRequest, measured: Callable[[str], None]
) -> None:
    """What four hundred rows more cost, by the row; whoever makes it dearer raises the number here,
    and says why.
    """
    prompt = Registry().get("groundedness")

    def work(rows: int) -> int:
        dataset = made(rows)
        with Client(Instant()) as client:
            if known:
                judge(prompt, dataset, client)
            return count_calls(lambda: judge(prompt, dataset, client))

    work(10)  # what is imported and made once
    few, many = work(200), work(600)
    per_row = (many - few) / 400
    measured(
        f"{per_row:.0f} calls of functions a judged row, {request.node.callspec.id}; at most {most}"
    )
    assert most / 2 < per_row <= most


@pytest.mark.parametrize("api", ["decisions", "systemone", "sglang"])
def test_a_stored_decision_costs_little_more_than_a_stored_reply(api: DecisionApi) -> None:
    """At most 1.3 times the calls of functions; `benchmarks/stored_calls.py` measures the CPU."""
    prompt, dataset = Registry().get("groundedness"), made(200)

    def shares(question: Question, _: object) -> list[float]:
        return [1.0 / len(question.options)] * len(question.options)

    counts: list[int] = []
    app = DecisionService(api, shares, model="m").app()
    with Server(app) as server:
        address = {"name": "m", "base_url": server.base_url, "api_key": None, "transport": "plain"}
        decides = DecisionEndpoint(api=api, **address)
        for model, kind in ((Instant(), None), (decides, api)):
            with Client(model, settings=ModelSettings(api=kind)) as client:
                for _ in range(2):
                    judge(prompt, dataset, client)
                counts.append(count_calls(lambda: judge(prompt, dataset, client)))
    assert counts[1] <= 1.3 * counts[0]

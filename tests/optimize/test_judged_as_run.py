"""A judge is optimized as it is run: by claim, or with confidences of its tokens, at every step."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from judgewright.judges import (
    Client,
    Dataset,
    JudgedDataset,
    JudgeSettings,
    Registry,
    Row,
    SealedRows,
    Simulated,
    Unscored,
    judge,
    load_dataset,
    measure,
    split_dataset,
)
from judgewright.judges.claims import ClaimSettings, judge_as, judge_claims
from judgewright.judges.models import Budget, Completion, Request, Spending
from judgewright.optimize import (
    Event,
    HumanEdit,
    Objective,
    RunSettings,
    Services,
    optimize,
)
from judgewright.runs.demo import write_demo_rows

from .in_memory import MemoryJournal, MemoryLedger

PROMPT = Registry().get("groundedness")
EDIT = PROMPT.edited(
    criteria=PROMPT.criteria + "\nNumbers and dates must match the source exactly."
)
OBJECTIVE = Objective(text="precision", target="precision", direction="fp")
BY_CLAIM = ClaimSettings(trivial="none")


class Watched:
    """The simulated model, with a note of every request."""

    def __init__(self) -> None:
        self.inner, self.asked = Simulated(), list[Request]()
        self.name, self.endpoint, self.simulated = self.inner.name, self.inner.endpoint, True

    async def complete(
        self, request: Request, *, unsupported_parameters: frozenset[str] = frozenset()
    ) -> Completion:
        """Note, then answer."""
        self.asked.append(request)
        return await self.inner.complete(request, unsupported_parameters=unsupported_parameters)

    async def close(self) -> None:
        """Close the inner model."""
        await self.inner.close()


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    """Made-up rows, two of one source put together, so that a response has two claims; it holds if
    both do.
    """
    path = tmp_path_factory.mktemp("rows") / "rows.jsonl"
    write_demo_rows(path, documents=150)
    dataset = load_dataset(path, inputs=PROMPT.inputs, scale=PROMPT.scale)
    by_source: dict[str, list[Row]] = {}
    for row in dataset.rows:
        by_source.setdefault(row.inputs["source"], []).append(row)
    rows: list[Row] = []
    for shared in by_source.values():
        for first, second in zip(shared[::2], shared[1::2], strict=False):
            statement = f"{first.inputs['statement']} {second.inputs['statement']}"
            label = min(first.label or 0.0, second.label or 0.0)
            rows.append(
                replace(first, inputs={**first.inputs, "statement": statement}, label=label)
            )
    return Dataset.of(rows, labels=dataset.labels)


def run(data: Dataset, model: Watched, **settings: Any) -> tuple[Event, ...]:
    """Run one step with a person's edit, and return the events."""
    journal = MemoryJournal()
    with Client(model) as client:
        services = Services(
            judge_client=client,
            optimizer_client=client,
            proposers=(HumanEdit(edit=EDIT),),
            journal=journal,
            ledger=MemoryLedger(),
            run_id="r",
        )
        optimize(
            PROMPT,
            data,
            OBJECTIVE,
            services,
            RunSettings(steps=1, slice="all", gate_anyway=True, **settings),
        )
    return journal.events()


def opened(part: SealedRows) -> Dataset:
    """Open a sealed part with its own hash."""

    class Permit:
        holdout = part.content_hash

    return part.open(Permit())


def of(events: tuple[Event, ...], kind: str) -> Any:
    """The payload of the event of a kind."""
    return next(event.payload for event in events if event.kind == kind)


def test_a_judge_is_benchmarked_searched_and_gated_by_claim(data: Dataset) -> None:
    """The run's table is that of `bench --by-claim`, and so are both sides of the gate."""
    model = Watched()
    events = run(data, model, claims=BY_CLAIM)
    parts = split_dataset(data)
    rows = Dataset.of((*parts.train.rows, *parts.validation.rows), labels=data.labels)
    with Client(Simulated()) as client:
        whole = judge_claims(PROMPT, rows, client, ClaimSettings(trivial="none")).judged
        before, after = (
            judge_as(text, opened(parts.holdout), client, BY_CLAIM) for text in (PROMPT, EDIT)
        )
    assert of(events, "benchmark")["metrics"] == measure(whole).to_json()["metrics"]
    assert "by claim" in of(events, "benchmark")["judge"]
    decision = of(events, "decision")
    if decision["target"] is not None:
        values = [measure(side).metrics["precision"].value for side in (before, after)]
        assert [decision["target"]["before"], decision["target"]["after"]] == pytest.approx(values)


def test_a_judge_is_gated_with_the_confidences_of_its_tokens(data: Dataset) -> None:
    """Every verdict that the run asks for has its log-probabilities, as with `bench --confidence
    tok`.
    """
    model = Watched()
    settings = JudgeSettings(confidence="tok")
    events = run(data, model, judge=settings)
    judging = [request for request in model.asked if request.purpose == "judge"]
    assert judging
    assert all(request.top_logprobs for request in judging)
    parts = split_dataset(data)
    rows = Dataset.of((*parts.train.rows, *parts.validation.rows), labels=data.labels)
    with Client(Simulated()) as client:
        table: JudgedDataset = judge(PROMPT, rows, client, settings=settings)
    assert of(events, "benchmark")["metrics"] == measure(table).to_json()["metrics"]
    assert of(events, "decision")["outcome"] in ("accepted", "refused", "undecided")


def test_no_response_is_decided_on_the_claims_that_were_paid_for(data: Dataset) -> None:
    """Where the budget ends among a response's claims it is unscored, so that the run stops there
    and can go on.
    """
    with Client(Simulated(), budget=Budget(money=None, tokens=60_000, spent=Spending())) as client:
        claimed = judge_claims(PROMPT, data, client, ClaimSettings(trivial="none"))
    with Client(Simulated(), budget=Budget(money=None, tokens=60_000, spent=Spending())) as client:
        judged = judge_as(PROMPT, data, client, BY_CLAIM)
    covered = 0
    for response, answer in zip(claimed.responses, judged.answers, strict=True):
        claims = [claim.answer for claim in response.claims]
        unpaid = any(isinstance(claim, Unscored) and claim.reason == "budget" for claim in claims)
        assert (isinstance(answer, Unscored) and answer.reason == "budget") == unpaid
        covered += not unpaid
    assert 0 < covered < len(data)

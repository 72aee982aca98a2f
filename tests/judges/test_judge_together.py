"""Several judges of one decision model: one request a row, and every answer under its own key."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace

import numpy as np
import pytest

from judgewright.judges import (
    BudgetSpent,
    Client,
    Dataset,
    JudgedDataset,
    Registry,
    Row,
    Verdict,
    judge,
    judge_together,
)
from judgewright.judges.models import Budget, MemoryRecord, ModelSettings, Spending
from judgewright.judges.models.decision_endpoint import DecisionEndpoint
from judgewright.judges.models.question import DecisionApi, Question, State
from judgewright.judges.simulated import Server

from ..planted_decisions import requests_to
from ..scripted_decisions import ScriptedDecisions

TRIAD = [Registry().get(name) for name in ("context_relevance", "groundedness", "answer_relevance")]
INPUTS = ("query", "passage", "source", "statement", "answer")
APIS: tuple[DecisionApi, ...] = ("decisions", "systemone", "sglang")


def answer(question: Question, state: State) -> list[float]:
    """Return a distribution that a hash of the question and the state draws."""
    told = json.dumps([question.instructions, state]).encode()
    rng = np.random.default_rng(list(hashlib.blake2b(told).digest()))
    return np.round(rng.dirichlet([1.0] * len(question.options)), 3).tolist()


def rows_of(n: int) -> Dataset:
    """Return rows with the inputs of all three."""
    rows = (
        Row(id=f"r{i}", inputs={name: f"{name} {i}" for name in INPUTS}, label=float(i % 4))
        for i in range(n)
    )
    return Dataset.of(rows, labels=TRIAD[0].scale)


def served(api: DecisionApi, script: tuple[str | None, ...] = ()) -> Server:
    """Return such a server."""
    return Server(ScriptedDecisions(api, answer, model="m", script=script).app())


def client_of(
    server: Server, api: DecisionApi, record: MemoryRecord, tokens: int | None = None
) -> Client:
    """Return a client of it, which waits for nothing between tries."""
    model = DecisionEndpoint(
        api=api, name="m", base_url=server.base_url, api_key=None, transport="plain"
    )
    budget = Budget(money=None, tokens=tokens, spent=Spending())
    return Client(model, settings=ModelSettings(api=api), record=record, budget=budget)


def scores(judged: JudgedDataset) -> list[float | None]:
    """Return the score of each row; None without a verdict."""
    return [one.score if isinstance(one, Verdict) else None for one in judged.answers]


@pytest.mark.parametrize("api", APIS)
def test_the_rag_triad_over_fifty_rows_is_fifty_requests(api: DecisionApi) -> None:
    """Each judge gets the answer to its own question, tokens are counted once a request, and asking
    all again sends nothing.
    """
    record, rows = MemoryRecord(), rows_of(50)
    with served(api) as server, client_of(server, api, record) as client:
        together = judge_together(TRIAD, rows, client)
        assert requests_to(server) == 50
        assert client.stats.calls == 50
        billed = [one.tokens_in for judged in together for one in judged.answers]
        assert sum(tokens > 0 for tokens in billed) == 50
        assert [judged.judge for judged in together] == [f"{p.name}@{p.version}" for p in TRIAD]
        assert [scores(one) for one in judge_together(TRIAD, rows, client)] == [
            scores(one) for one in together
        ]
        assert requests_to(server) == 50
    assert len({tuple(scores(judged)) for judged in together}) == 3


@pytest.mark.parametrize("api", APIS)
def test_judges_of_the_same_inputs_share_their_answers_with_bench(api: DecisionApi) -> None:
    """The state is each judge's own, so that judging with one of them later sends nothing."""
    one = TRIAD[1]
    other = replace(one, criteria="Is the statement free of numbers?", name="numbers")
    record, rows = MemoryRecord(), rows_of(20)
    with served(api) as server, client_of(server, api, record) as client:
        together = judge_together([one, other], rows, client)
        alone = [judge(prompt, rows, client) for prompt in (one, other)]
        assert requests_to(server) == 20
    assert [scores(judged) for judged in alone] == [scores(judged) for judged in together]


def test_rows_that_all_judges_answered_are_not_asked_together_again() -> None:
    """Only the rows that one of the judges has not answered are asked; the answers that were there
    stay.
    """
    one = TRIAD[1]
    other = replace(one, criteria="Is the statement free of numbers?", name="numbers")
    record, rows = MemoryRecord(), rows_of(10)
    some = replace(rows, rows=rows.rows[:4])
    with (
        served("systemone") as server,
        client_of(server, "systemone", record) as client,
    ):
        first = [judge(one, rows, client), judge(other, some, client)]
        together = judge_together([one, other], rows, client)
        assert requests_to(server) == 10 + 4 + 6
        again = [judge(one, rows, client), judge(other, some, client)]
        assert requests_to(server) == 20
    assert [scores(judged) for judged in again] == [scores(judged) for judged in first]
    assert scores(together[0]) == scores(first[0])


def test_failed_requests_are_sent_again_and_many_questions_that_are_refused_singly() -> None:
    """A 503 is tried again for all; where a server refuses several questions each goes alone."""
    rows = rows_of(4)
    with served("systemone") as plain, client_of(plain, "systemone", MemoryRecord()) as client:
        expected = [scores(judged) for judged in judge_together(TRIAD, rows, client)]
    script = ("503 after 0", "422", None, "503 after 0")
    with (
        served("systemone", script) as server,
        client_of(server, "systemone", MemoryRecord()) as client,
    ):
        together = judge_together(TRIAD, rows, client)
        # Two 503 are sent again; the row that got the 422 makes four requests at most.
        assert 4 + 2 < requests_to(server) <= 4 + 3 + 2
    assert [scores(judged) for judged in together] == expected


class InstantClock:
    """A clock whose sleeps take no time and move it on."""

    time = 0.0

    def now(self) -> float:
        """See `Clock.now`."""
        return self.time

    async def sleep(self, seconds: float) -> None:
        """See `Clock.sleep`."""
        self.time += seconds


def test_a_rate_counts_requests_and_not_questions() -> None:
    """Thirty rows at sixty requests a minute take half a minute, whatever is asked about each."""
    clock = InstantClock()
    settings = ModelSettings(api="systemone", requests_per_minute=60)
    with served("systemone") as server:
        model = DecisionEndpoint(
            api="systemone", name="m", base_url=server.base_url, api_key=None, transport="plain"
        )
        with Client(model, settings=settings, clock=clock) as client:
            judge_together(TRIAD, rows_of(30), client)
    assert 28 <= clock.time <= 31


def test_a_budget_that_ends_is_said_and_keeps_what_was_answered() -> None:
    """The same rows with more of it ask only what is left."""
    record, rows, requests = MemoryRecord(), rows_of(20), 0
    with served("systemone") as server:
        with client_of(server, "systemone", record, tokens=9_000) as client:
            with pytest.raises(BudgetSpent):
                judge_together(TRIAD, rows, client)
            requests = requests_to(server)
        assert 0 < requests < 20
        with client_of(server, "systemone", record) as client:
            judge_together(TRIAD, rows, client)
        assert requests_to(server) == 20

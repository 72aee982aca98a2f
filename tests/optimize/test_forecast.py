"""The bound holds for every run that was tried, is not far above the worst of them, and spends
nothing.
"""

import random
from collections.abc import Collection
from dataclasses import replace
from typing import Any

import pytest

from judgewright.judges import Dataset, Registry, Row, split_dataset
from judgewright.judges.files import load_dataset
from judgewright.judges.models import Client, ClientStats, Completion, Model, Request
from judgewright.judges.simulated import Simulated
from judgewright.optimize import (
    ASKED_AGAIN,
    Asked,
    PlannedRun,
    RunSettings,
    Services,
    TextGrad,
    bound_run,
    optimize,
    read_objective,
)
from judgewright.optimize.proposers import (
    Gepa,
    HumanEdit,
    Mipro,
    Proposer,
    Rewrite,
    ShowCases,
    StepBound,
)
from judgewright.runs.demo import write_demo_rows

from .in_memory import MemoryJournal, MemoryLedger

PROMPT = Registry().get("groundedness")
OBJECTIVES = (
    "raise precision; recall may fall by 10 points",
    "raise recall",
    "raise f1",
    "raise accuracy",
)


class Optimizer:
    """An optimizer model with a temper: it writes as the simulated one, nonsense, or a new text
    after a bad one.
    """

    name, endpoint, simulated = "temper", "simulated:temper", True

    def __init__(self, temper: str) -> None:
        self.temper = temper
        self.inner = Simulated()
        self.asked = 0

    async def complete(
        self, request: Request, *, unsupported_parameters: frozenset[str] = frozenset()
    ) -> Completion:
        """Answer."""
        self.asked += 1
        if self.temper == "simulated" or (
            self.temper == "mixed" and random.Random(self.asked).random() < 0.5
        ):
            return await self.inner.complete(request, unsupported_parameters=unsupported_parameters)
        text = "I would rather talk about the weather."
        most = 4 * (request.max_tokens or 0)
        if self.temper == "long":
            text = ("Numbers are overlooked. " * 400)[:most]
            if "could not be used" in request.messages[-1].content:
                text = (
                    f"<IMPROVED_VARIABLE>{PROMPT.criteria} Rule {self.asked}: see the"
                    " text.</IMPROVED_VARIABLE>"
                )
        return Completion(text=text, tokens_in=1, tokens_out=len(text) // 4)

    async def close(self) -> None:
        """See `Model.close`."""


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    """Made-up rows in files of 40 documents."""
    path = tmp_path_factory.mktemp("rows") / "rows.jsonl"
    write_demo_rows(path, documents=40)
    return load_dataset(path, inputs=PROMPT.inputs, scale=PROMPT.scale)


def made(rows: Dataset, seed: int, proposer: Proposer | None = None, **changes: Any) -> PlannedRun:
    """A run drawn at random."""
    rng = random.Random(seed)
    some = replace(rows, rows=rows.rows[: rng.randint(40, len(rows))])
    settings = RunSettings(
        steps=rng.randint(0, 4),
        batch=rng.choice((1, 12, 256)),
        slice=rng.choice(["auto", "all"]),
        shares=rng.choice([(30, 20, 30, 20), (25, 25, 25, 25), (40, 30, 30, 0), (20, 50, 20, 10)]),
        seed=seed,
        unguided=rng.random() < 0.2,
    )
    settings = replace(settings, **changes)
    own: Proposer = TextGrad(retries=rng.randint(0, 3))
    return PlannedRun(
        prompt=PROMPT,
        dataset=some,
        parts=split_dataset(some, shares=settings.shares),
        proposers=(proposer or own,),
        settings=settings,
        objective=read_objective(rng.choice(OBJECTIVES)),
    )


def carry_out(
    run: PlannedRun, judge: Model, optimizer: Model
) -> tuple[ClientStats, ClientStats, list[str]]:
    """Carry it out; return what both clients did, and what became of each step."""
    journal = MemoryJournal()
    with Client(judge) as asked, Client(optimizer) as writer:
        services = Services(
            judge_client=asked,
            optimizer_client=writer,
            proposers=run.proposers,
            journal=journal,
            ledger=MemoryLedger(),
            run_id="r",
        )
        optimize(run.prompt, run.dataset, run.objective, services, run.settings)
        steps = [event.payload["result"] for event in journal.events() if event.kind == "step"]
        return asked.stats, writer.stats, steps


def most(lines: tuple[Asked, ...], who: str) -> int:
    """Calls of one side, those that may be either's included."""
    return sum(line.calls for line in lines if line.who in (who, "either"))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(40))
def test_no_run_asks_more_than_its_bound(rows: Dataset, seed: int) -> None:
    """In random configurations, for both models."""
    run = made(rows, seed)
    lines = bound_run(run)
    assert lines is not None
    temper = ("simulated", "long", "nonsense", "mixed")[seed % 4]
    judge, optimizer, _ = carry_out(run, Simulated(), Optimizer(temper))
    assert judge.calls <= most(lines, "judge")
    assert optimizer.calls <= most(lines, "optimizer")
    assert all(line.likely <= line.calls for line in lines)


@pytest.mark.parametrize("calls", [20, 45])
@pytest.mark.parametrize("kind", [Rewrite, ShowCases, Gepa, Mipro, HumanEdit])
def test_every_proposer_has_a_bound_that_holds(rows: Dataset, kind: type, calls: int) -> None:
    """Whatever proposes, both models together are asked no more often than the bound says."""
    edit = PROMPT.edited(criteria=PROMPT.criteria + "\nNumbers must agree.")
    proposer = (
        HumanEdit(edit=edit)
        if kind is HumanEdit
        else kind()
        if kind in (Rewrite, ShowCases)
        else kind(calls=calls)
    )
    run = made(rows, calls, proposer, steps=1 if kind is HumanEdit else 2, shares=(30, 20, 30, 20))
    lines = bound_run(run)
    assert lines is not None
    judge, optimizer, _ = carry_out(run, Simulated(), Simulated())
    assert judge.calls <= most(lines, "judge")
    assert optimizer.calls <= most(lines, "optimizer")
    assert judge.calls + optimizer.calls <= sum(line.calls for line in lines)


def test_a_proposer_nobody_counted_has_no_bound(rows: Dataset) -> None:
    """A plan that knew no bound would be no plan: it says so by None, not by a number."""

    class Unknown:
        name, parts = "unknown", ("criteria",)

    run = made(rows, 0, Unknown())  # type: ignore[arg-type]  # that is the point
    assert (bound_run(run), run.step(run.proposers[0])) == (None, None)


def test_an_unguided_run_asks_for_no_loss_and_one_without_steps_for_no_text(rows: Dataset) -> None:
    """The lines of the bound are those of the run that is planned."""
    plain = made(rows, 5, steps=0, unguided=True)
    lines = bound_run(plain)
    assert lines is not None
    assert [line.what for line in lines] == ["benchmark of the open rows"]
    assert lines[0].calls == len(plain.parts.train) + len(plain.parts.validation)
    assert plain.step(HumanEdit(edit=PROMPT)) == StepBound()


class Improving:
    """A judge that is right on more rows with every rule that its criteria have."""

    name, endpoint, simulated = "improving", "simulated:improving", True

    def __init__(self, rows: Dataset, *, read: Collection[Row] = ()) -> None:
        self.label = {row.inputs["statement"]: int(rows.positive(row)) for row in rows.rows}
        known = {row.id for row in read or rows.rows}
        self.unreadable = {row.inputs["statement"] for row in rows.rows if row.id not in known}

    async def complete(
        self, request: Request, *, unsupported_parameters: frozenset[str] = frozenset()
    ) -> Completion:
        """Answer with the label, or the other one."""
        user = request.messages[-1].content
        statement = next(text for text in self.label if f"\n{text}\n" in user)
        skill = 0.5 + 0.06 * request.messages[0].content.count("Rule ")
        if statement in self.unreadable:
            return Completion(text="Who knows?", tokens_in=9)
        right = random.Random(statement).random() < skill
        positive = self.label[statement] if right else 1 - self.label[statement]
        return Completion(
            text=f'{{"reasons": "seen", "score": {3 * positive}, "confidence": 0.9}}', tokens_in=9
        )

    async def close(self) -> None:
        """See `Model.close`."""


class Slow:
    """An optimizer that gives a usable text as late as it may, and always a better one."""

    name, endpoint, simulated = "slow", "simulated:slow", True

    async def complete(
        self, request: Request, *, unsupported_parameters: frozenset[str] = frozenset()
    ) -> Completion:
        """Answer a request for a loss badly; for a text badly, badly in another way, then well."""
        system, user = (message.content for message in request.messages)
        if "write a loss" in system:
            return Completion(text=f"no loss {user.count('refused')}")
        if "gradient (feedback) engine" in system:
            return Completion(text="More rules are needed.")
        if "could not be used" not in user:
            return Completion(text="Certainly.")
        if "has no" in user.rsplit("could not be used", 1)[1]:
            return Completion(text="<IMPROVED_VARIABLE> cut off")
        rules = max(user.count(f"Rule {i}:") > 0 and i for i in range(20))
        text = "\n".join(
            [PROMPT.criteria.strip(), *(f"Rule {i}: read it." for i in range(1, rules + 3))]
        )
        return Completion(text=f"<IMPROVED_VARIABLE>{text}</IMPROVED_VARIABLE>")

    async def close(self) -> None:
        """See `Model.close`."""


GUIDED: dict[str, Any] = {"unguided": False, "shares": (30, 20, 30, 20)}


def test_a_judge_that_answers_no_sealed_row_is_asked_again_within_the_bound(rows: Dataset) -> None:
    """Every holdout row on both sides, three times more: exactly what the bound has for it."""
    run = made(
        rows, 1, TextGrad(), steps=3, batch=28, slice="all", unguided=False, shares=(30, 20, 30, 20),  # noqa: E501
        gate_anyway=True,
    )  # fmt: skip
    parts = split_dataset(rows, shares=run.settings.shares)
    run = replace(run, dataset=rows, parts=parts, objective=read_objective("raise accuracy"))
    open_alone = Improving(rows, read=(*parts.train.rows, *parts.validation.rows))
    judge, _, steps = carry_out(run, open_alone, Slow())
    assert steps == ["judged"] * 9
    lines = bound_run(run)
    assert lines is not None
    (again,) = (line for line in lines if line.what == ASKED_AGAIN)
    assert again.calls == 2 * 3 * len(parts.holdout)
    answered = tuple(line for line in lines if line.what != ASKED_AGAIN)
    bound = most(answered, "judge") - 2 * len(parts.final)
    # Both folds write the same texts here, and what was asked once is not asked again.
    assert 0.45 * bound <= judge.calls - again.calls <= bound

"""The steps: every proposer runs to the end, sees only what it may, and its candidates pass the
same door.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from judgewright.judges import (
    Case,
    CaseBank,
    Cases,
    Dataset,
    JudgePrompt,
    LossError,
    ModelError,
    Registry,
    load_dataset,
    split_dataset,
)
from judgewright.judges.models import Client, Completion, Request
from judgewright.judges.simulated import Simulated
from judgewright.optimize import (
    PARTS,
    Brief,
    Gepa,
    HumanEdit,
    Mipro,
    NoProposal,
    Outcome,
    Proposal,
    Proposer,
    Rewrite,
    RunSettings,
    Services,
    ShowCases,
    TextGrad,
    Workbench,
    optimize,
    parse_loss,
    read_objective,
)
from judgewright.optimize.proposers import Part
from judgewright.runs.demo import write_demo_rows

from .in_memory import MemoryJournal, MemoryLedger

OBJECTIVE = "Precision matters most: do not call unsupported statements grounded."
PROMPT = Registry().get("groundedness")
EDIT = PROMPT.edited(
    criteria=PROMPT.criteria + "\nNumbers and dates must match the source exactly."
)
PROPOSERS: dict[str, Proposer] = {
    "textgrad": TextGrad(),
    "textgrad of all parts": TextGrad(parts=PARTS),
    "textgrad of all rows": TextGrad(view="all", parts=("criteria", "anchors")),
    "rewrite": Rewrite(),
    "cases": ShowCases(),
    "gepa": Gepa(calls=80),
    "mipro": Mipro(calls=80),
    "human": HumanEdit(edit=EDIT),
}


class Overheard:
    """The simulated model, with a note of every request; requests of an optimizer can be made to
    fail.
    """

    def __init__(self, *, failing: bool = False) -> None:
        self.inner, self.failing = Simulated(), failing
        self.name, self.endpoint, self.simulated = self.inner.name, self.inner.endpoint, True
        self.heard: list[Request] = []

    async def complete(
        self, request: Request, *, unsupported_parameters: frozenset[str] = frozenset()
    ) -> Completion:
        """Note, then answer."""
        self.heard.append(request)
        if self.failing and request.purpose == "optimizer":
            raise ModelError("the request is too long", status=400)
        return await self.inner.complete(request, unsupported_parameters=unsupported_parameters)

    async def close(self) -> None:
        """Close the inner model."""
        await self.inner.close()


@dataclass(frozen=True, kw_only=True)
class Fixed:
    """Proposes a prompt that the test made out of the current one and the bench."""

    make: Any
    parts: tuple[Part, ...] = ("criteria",)
    name: str = "fixed"
    benches: list[Workbench] = field(default_factory=list)

    def propose(
        self, prompt: JudgePrompt, brief: Brief, bench: Workbench, *, step: int
    ) -> Proposal | NoProposal:
        """Propose it."""
        self.benches.append(bench)
        made = self.make(prompt, bench)
        return (
            made
            if isinstance(made, NoProposal)
            else Proposal(prompt=made, gradient="made by the test")
        )


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    """About three hundred made-up labelled rows."""
    path = tmp_path_factory.mktemp("rows") / "rows.jsonl"
    write_demo_rows(path, documents=90)
    return load_dataset(path, inputs=PROMPT.inputs, scale=PROMPT.scale)


@pytest.fixture(scope="module")
def data(plain: Dataset) -> Dataset:
    """The same rows, each with a canary that tells it apart."""
    rows = tuple(
        replace(row, inputs={name: f"CANARY<{row.id}> {text}" for name, text in row.inputs.items()})
        for row in plain.rows
    )
    return replace(plain, rows=rows, content_hash="marked")


def run_with(
    data: Dataset, proposer: Proposer, model: Overheard, **settings: Any
) -> tuple[Outcome, list[Mapping[str, Any]]]:
    """Run, and return the outcome with what the steps found."""
    journal = MemoryJournal()
    with Client(model) as client:
        services = Services(
            judge_client=client,
            optimizer_client=client,
            proposers=(proposer,),
            journal=journal,
            ledger=MemoryLedger(),
            run_id="r",
        )
        outcome = optimize(
            PROMPT,
            data,
            read_objective(OBJECTIVE, judge=PROMPT, target="precision"),
            services,
            RunSettings(**{"steps": 2, **settings}),
        )
    return outcome, [event.payload for event in journal.events() if event.kind == "step"]


@pytest.mark.slow
@pytest.mark.parametrize("name", PROPOSERS)
def test_every_proposer_runs_to_a_decision_and_shows_no_row_it_may_not(
    name: str, data: Dataset
) -> None:
    """Sealed rows reach no optimizer, nor any request as a demonstration."""
    model = Overheard()
    noted = tuple(
        replace(row, meta={**row.meta, "note": "A number or a name is another one."})
        for row in data.rows
    )
    outcome, steps = run_with(replace(data, rows=noted), PROPOSERS[name], model, steps=4)
    written = [step for step in steps if step.get("fold") is not None or name == "human"]
    # A person's text and a bank are one step each; the others take four in each of two folds.
    assert len(written) == {"human": 1, "cases": 2}.get(name, 8)
    assert all(step["result"] for step in steps)
    assert any("version" in step for step in steps), steps
    assert outcome.before == PROMPT
    parts = split_dataset(data, shares=(30, 20, 30, 20))
    training = {f"CANARY<{row.id}>" for row in (*parts.train.rows, *parts.validation.rows)}
    said = "\n".join(m.content for r in model.heard if r.purpose == "optimizer" for m in r.messages)
    shown = "\n".join(
        m.content for r in model.heard if r.purpose == "judge" for m in r.messages[:-1]
    )
    others = {f"CANARY<{row.id}>" for row in data.rows} - training
    assert len(others) > 90
    assert [mark for mark in others if mark in said or mark in shown] == []


def test_a_journal_run_again_is_the_same(data: Dataset) -> None:
    """MIPROv2, the most random of them: a second run finds the same steps."""
    first, second = (run_with(data, PROPOSERS["mipro"], Overheard())[1] for _ in range(2))
    assert first == second


def test_a_persons_edit_meets_the_invariants_and_the_gate(data: Dataset) -> None:
    """A good edit is validated; one with another scale is refused under its name; there is no
    second step.
    """
    _, steps = run_with(data, HumanEdit(edit=EDIT), Overheard())
    assert steps[0]["version"] == EDIT.version
    assert "loss" in steps[0]
    assert len(steps) == 1
    wider = replace(EDIT, scale=replace(EDIT.scale, high=5))
    _, steps = run_with(data, HumanEdit(edit=wider), Overheard(), steps=1)
    assert steps[0]["result"] == "breaks a rule"
    assert [violation["name"] for violation in steps[0]["violations"]] == ["scale_changed"]


def test_a_case_of_a_row_that_is_not_open_is_refused(data: Dataset) -> None:
    """However it came by the row; the journal does not tell which one it is."""
    parts = split_dataset(data, shares=(30, 20, 30, 20))
    known = {row.id for row in (*parts.train.rows, *parts.validation.rows)}
    row = next(row for row in data.rows if row.id not in known)
    bank = CaseBank(cases=(Case(inputs=row.inputs, label=0),))
    foreign = Fixed(
        make=lambda prompt, bench: replace(prompt, cases=Cases(bank=bank)), parts=("cases",)
    )
    _, steps = run_with(data, foreign, Overheard(), steps=1)
    assert [violation["name"] for violation in steps[0]["violations"]] == ["case_not_training"]
    assert row.id not in json.dumps(steps[0]["violations"])


def test_a_request_that_fails_alone_ends_the_step_and_not_the_run(data: Dataset) -> None:
    """A prompt too long for the optimizer model is a step without a proposal."""
    _, steps = run_with(data, Rewrite(), Overheard(failing=True))
    assert [step["result"] for step in steps] == ["failed"] * 4
    assert "the optimizer model failed" in steps[0]["reason"]
    assert "too long" in steps[0]["reason"]
    assert "--brief-tokens under 12,000" in steps[0]["reason"]


def test_the_bench_has_the_targets_training_rows_and_refuses_others(data: Dataset) -> None:
    """Rows of the slice alone, with verdicts and losses; a prompt cannot be tried on a row that it
    is judged on.
    """
    fixed = Fixed(make=lambda prompt, bench: NoProposal("looked"))
    _, steps = run_with(data, fixed, Overheard(), steps=1, slice="channel = pdf")
    bench, other = fixed.benches
    assert 0 < len(bench.rows) < len(steps[0]["rows"])
    assert {row.id for row in bench.rows} <= set(steps[0]["rows"])
    assert len(bench.train.losses) == len(bench.train.judged.scored) == len(bench.rows)
    assert bench.scale == PROMPT.scale
    with pytest.raises(ValueError, match="training rows only"):
        bench.try_out(PROMPT, other.rows[:1])


def test_the_bench_knows_what_the_current_prompt_said_last(plain: Dataset) -> None:
    """After an edit, the rows of later minibatches carry its verdicts."""
    fixed = Fixed(
        make=lambda prompt, bench: (
            EDIT if prompt.version == PROMPT.version else NoProposal("kept it")
        )
    )
    _, steps = run_with(plain, fixed, Overheard(), steps=3, batch=32)
    assert steps[0]["result"] == "judged"
    first, third = fixed.benches[0].train, fixed.benches[4].train
    drawn = {id_ for step in steps if step["step"] > 1 for id_ in step["rows"]}
    assert all(len(step["rows"]) <= 32 for step in steps if step["step"] > 1)
    moved = {
        a.row_id
        for a, b in zip(first.judged.answers, third.judged.answers, strict=True)
        if getattr(a, "score", None) != getattr(b, "score", None)
    }
    assert moved
    assert moved <= drawn


def test_unguided_draws_from_all_training_rows_by_a_plain_loss(data: Dataset) -> None:
    """No slice, no written loss: right and wrong alone."""
    model, journal = Overheard(), MemoryJournal()
    with Client(model) as client:
        services = Services(
            judge_client=client,
            optimizer_client=client,
            proposers=(Fixed(make=lambda prompt, bench: NoProposal("looked")),),
            journal=journal,
            ledger=MemoryLedger(),
            run_id="r",
        )
        settings = RunSettings(steps=3, unguided=True)
        optimize(
            PROMPT,
            data,
            read_objective(OBJECTIVE, judge=PROMPT, target="precision"),
            services,
            settings,
        )
    found = {event.kind: event.payload for event in journal.events()}
    assert found["slice"]["name"] == "all rows"
    assert (found["loss"]["expression"], found["loss"]["written_by"]) == ("1 - correct", "plain")
    assert not [request for request in model.heard if request.purpose == "loss"]
    shares = [event.payload["batch_loss"] for event in journal.events() if event.kind == "step"]
    errors = found["validation"]["loss"]
    assert abs(sum(shares) / len(shares) - errors) < 0.1


def events_of(data: Dataset, slice_: str) -> dict[str, Mapping[str, Any]]:
    """The events of a run without a proposal, by kind."""
    journal = MemoryJournal()
    with Client(Overheard()) as client:
        services = Services(
            judge_client=client,
            optimizer_client=client,
            proposers=(Fixed(make=lambda prompt, bench: NoProposal("looked")),),
            journal=journal,
            ledger=MemoryLedger(),
            run_id="r",
        )
        optimize(
            PROMPT,
            data,
            read_objective(OBJECTIVE, judge=PROMPT, target="precision"),
            services,
            RunSettings(steps=1, slice=slice_),
        )
    return {event.kind: event.payload for event in journal.events()}


def test_with_all_rows_for_a_target_no_cost_is_of_a_slice(plain: Dataset) -> None:
    """Every row is in the target, so the table of costs has one place; with a slice it has two."""
    assert {row["place"] for row in events_of(plain, "all")["loss"]["cost_table"]} == {"all rows"}
    costs = events_of(plain, "channel = pdf")["loss"]["cost_table"]
    assert {row["place"] for row in costs} == {"in slice target", "in no slice"}


def test_the_event_of_the_slice_holds_reasons_and_outputs(plain: Dataset) -> None:
    """Each slice that is no target says why, and a judge's output among the columns is kept
    apart.
    """
    rows = tuple(
        replace(row, meta={**row.meta, "old_score": i % 4}) for i, row in enumerate(plain.rows)
    )
    event = events_of(replace(plain, rows=rows, content_hash="scored"), "auto")["slice"]
    assert all((s["why_no_target"] is None) == s["prompt_target"] for s in event["found"])
    assert "--keep" in event["left_out"]["old_score"]
    assert {"judge.score", "old_score"} <= {output["column"] for output in event["judge_outputs"]}
    assert event["metric"] == "precision"
    named = events_of(replace(plain, rows=rows, content_hash="scored"), "old_score = 1")["slice"]
    assert (named["name"], len(named["notes"])) == ("old_score = 1", 1)


def test_a_text_tried_before_is_not_validated_again(data: Dataset) -> None:
    """The same prompt a second time costs nothing."""
    worse = PROMPT.edited(criteria="Every statement is grounded.")
    _, steps = run_with(data, Fixed(make=lambda prompt, bench: worse), Overheard())
    assert [step["result"] for step in steps[:4]] == ["judged"] * 2 + ["tried before"] * 2


LOSS = '{"expression": "0.9 * fp + 0.4 * fn", "declares": {"fp_costs_more_than_fn": true}}'


def test_a_persons_edit_is_judged_on_every_labelled_open_row(plain: Dataset) -> None:
    """Rows without a label say nothing of it."""
    splits = split_dataset(plain, shares=(30, 20, 30, 20))
    unlabelled = splits.validation.rows[0].id
    rows = tuple(replace(row, label=None) if row.id == unlabelled else row for row in plain.rows)
    data = replace(plain, rows=rows, content_hash="one label less")
    same = PROMPT.edited(criteria=f"{PROMPT.criteria}\nWrite calmly.")
    loss = parse_loss(LOSS, written_by="person")
    _, (step,) = run_with(data, HumanEdit(edit=same), Overheard(), steps=1, loss=loss)
    assert step["validation_rows"] == len(splits.train) + len(splits.validation) - 1
    assert "loss" in step
    assert step["result"] == "judged"


class Mute(Overheard):
    """Answers a judge whose criteria ask for it with prose that holds no verdict."""

    async def complete(
        self, request: Request, *, unsupported_parameters: frozenset[str] = frozenset()
    ) -> Completion:
        """Note, then answer."""
        completion = await super().complete(request, unsupported_parameters=unsupported_parameters)
        if request.purpose == "judge" and "in your own words" in request.messages[0].content:
            return replace(completion, text="That is hard to say.")
        return completion


def test_a_candidate_that_answers_far_fewer_rows_is_dropped_for_that(plain: Dataset) -> None:
    """Its loss would be over the easy rows."""
    silent = PROMPT.edited(criteria=f"{PROMPT.criteria}\nAnswer in your own words.")
    proposer = Fixed(make=lambda prompt, bench: silent)
    _, (step, _) = run_with(plain, proposer, Mute(), steps=1, shares=(40, 5, 35, 20))
    assert "loss" not in step
    assert step["result"] == "leaves more rows unscored than the present prompt"


class Unpriced(Overheard):
    """Answers a judge whose criteria ask for it with the one confidence at which `SPIKED` leaves
    [0, 1].
    """

    async def complete(
        self, request: Request, *, unsupported_parameters: frozenset[str] = frozenset()
    ) -> Completion:
        """Note, then answer."""
        completion = await super().complete(request, unsupported_parameters=unsupported_parameters)
        if (
            request.purpose == "judge"
            and "a seventh of the confidence" in request.messages[0].content
        ):
            reply = json.dumps({"criterion": "c", "evidence": "e", "score": 3, "confidence": 1 / 7})
            return replace(completion, text=reply)
        return completion


SPIKED = (
    '{"expression": "0.8 * fp + 0.4 * fn + max(0, 1 - 1000000 * abs(7 * confidence - 1))",'
    ' "declares": {"fp_costs_more_than_fn": true}}'
)


def test_a_candidate_that_the_loss_cannot_price_is_told_and_not_tried_again(data: Dataset) -> None:
    unpriced = PROMPT.edited(criteria=f"{PROMPT.criteria}\nName a seventh of the confidence.")
    loss = parse_loss(SPIKED, written_by="person")
    fixed = Fixed(make=lambda prompt, bench: unpriced)
    _, steps = run_with(data, fixed, Unpriced(), loss=loss)
    assert steps[0]["version"] == unpriced.version
    assert steps[0]["result"].startswith("no loss: the loss is outside [0, 1]")
    assert steps[2]["result"] == "tried before"


def test_a_persons_loss_is_checked_and_no_model_is_asked_for_one(data: Dataset) -> None:
    """A good one is frozen as theirs; one that does not declare the objective's direction ends the
    run.
    """
    mine = parse_loss(
        '{"expression": "fp + 0.3 * fn", "declares": {"fp_costs_more_than_fn": true}}',
        written_by="person",
    )
    model = Overheard()
    outcome, _ = run_with(
        data, Fixed(make=lambda prompt, bench: NoProposal("none")), model, steps=1, loss=mine
    )
    assert outcome.loss == mine
    assert not any(request.purpose == "loss" for request in model.heard)
    silent = parse_loss('{"expression": "fp + 0.3 * fn"}')
    with pytest.raises(LossError, match="declares"):
        run_with(
            data,
            Fixed(make=lambda prompt, bench: NoProposal("none")),
            Overheard(),
            steps=1,
            loss=silent,
        )

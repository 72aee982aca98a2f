"""Folds: whole groups, near-duplicates together; no prompt is judged on a row that it was written
from, and every open row counts once.
"""

import json
import zlib
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judgewright.judges import (
    BINARY,
    Dataset,
    JudgedDataset,
    JudgePrompt,
    Registry,
    Row,
    Verdict,
    split_dataset,
)
from judgewright.judges.models import Client, Completion, Request
from judgewright.judges.simulated import Simulated
from judgewright.optimize import (
    Branch,
    Brief,
    Goal,
    NoProposal,
    Proposal,
    RunContext,
    RunSettings,
    Services,
    Target,
    Workbench,
    default_loss,
    open_rows,
    optimize,
    read_objective,
)
from judgewright.optimize.folds import Fold, deal_folds, open_fold
from judgewright.runs.demo import demo_rows

from .in_memory import MemoryJournal, MemoryLedger

PROMPT = Registry().get("groundedness")
OBJECTIVE = read_objective("", target="precision", guards=("recall:-0.1",))


class ByHeart:
    """The simulated model as a judge that knows the label of every row that its prompt was written
    from; elsewhere it judges as ever.
    """

    name, endpoint, simulated = "by heart", "simulated:by-heart", True

    def __init__(self) -> None:
        self.inner = Simulated()
        self.memory: dict[str, dict[str, float]] = {}
        """By the mark of a prompt: labels by statement."""

    async def complete(self, request: Request, **options: Any) -> Completion:
        """Answer by heart, or as the simulated model."""
        completion = await self.inner.complete(request, **options)
        system, user = request.messages[0].content, request.messages[-1].content
        for mark, labels in self.memory.items() if request.purpose == "judge" else ():
            if mark in system:
                for statement, label in labels.items():
                    if f"\n{statement}\n" in user:
                        grade = 3 if label else 0
                        reply = {"criterion": "c", "evidence": "e", "score": grade}
                        text = json.dumps(reply | {"confidence": 0.9})
                        return replace(completion, text=text)
        return completion

    async def close(self) -> None:
        """See `Model.close`."""


class Learner:
    """Writes the ids of the rows that it was shown into the criteria, as a model might by heart."""

    parts = ("criteria",)

    def __init__(self, name: str = "learner", *, model: ByHeart | None = None) -> None:
        self.name, self.model = name, model
        self.shown: dict[str, set[str]] = {}
        """By version of what it wrote: the groups it has read."""

    def propose(
        self, prompt: JudgePrompt, brief: Brief, bench: Workbench, *, step: int
    ) -> Proposal | NoProposal:
        """Write a rule whose text depends on the rows."""
        groups = {row.group_key for row in bench.rows}
        mark = f"Rule {zlib.crc32(' '.join(sorted(groups)).encode())} of {self.name}, step {step}."
        rule = f"Numbers and dates must match the source. {mark}"
        new = prompt.edited(criteria=f"{prompt.criteria}\n{rule}")
        if self.model is not None:
            labels = {row.inputs["statement"]: row.label or 0.0 for row in bench.rows}
            self.model.memory[mark] = labels
        self.shown[new.version] = groups | self.shown.get(prompt.version, set())
        return Proposal(prompt=new, gradient="learnt")


def made_rows(documents: int = 60) -> Dataset:
    """Made-up rows."""
    rows = tuple(
        Row(
            id=str(row["id"]),
            inputs={name: str(row[name]) for name in PROMPT.inputs},
            label=float(row["label"]),
            group=str(row["id"]).rsplit("-", 1)[0],
            meta={"channel": row["channel"]},
        )
        for row in demo_rows(documents=documents)
    )
    return Dataset.of(rows, labels=BINARY, name="rows")


def run_arms(data: Dataset, *arms: Any, model: Any = None, **chosen: Any) -> tuple[Any, list[Any]]:
    """Run, and return the outcome and the events."""
    journal = MemoryJournal()
    with Client(model or Simulated()) as client:
        services = Services(
            judge_client=client,
            optimizer_client=client,
            proposers=arms,
            journal=journal,
            ledger=MemoryLedger(),
            run_id="r",
        )
        settings = RunSettings(**{"steps": 2, "slice": "all", "gate_anyway": True, **chosen})
        outcome = optimize(PROMPT, data, OBJECTIVE, services, settings)
    return outcome, list(journal.events())


def folds_of(rows: list[Row], count: int, *, seed: int = 0) -> tuple[list[Fold], Dataset]:
    """The folds of a run over these rows."""
    data = Dataset.of(tuple(rows), labels=BINARY, name="rows")
    parts = split_dataset(data, shares=(40, 20, 40, 0))
    opened = open_rows(parts)
    answers = tuple(Verdict(row_id=row.id, score=3.0, positive=True) for row in opened.rows)
    baseline = JudgedDataset(dataset=opened, answers=answers, scale=PROMPT.scale)
    loss = default_loss(OBJECTIVE)
    goal = Goal(objective=OBJECTIVE, target=Target(predicate=None, why="all"), loss=loss)
    with Client(Simulated()) as client:
        services = Services(
            judge_client=client,
            optimizer_client=client,
            proposers=(),
            journal=MemoryJournal(),
            ledger=MemoryLedger(),
            run_id="r",
        )
        chosen = RunSettings(folds=count, slice="all", loss=loss, seed=seed)
        run = RunContext(prompt=PROMPT, parts=parts, goal=goal, services=services, settings=chosen)
        return deal_folds(open_fold(run, baseline), baseline), opened


@settings(max_examples=30, deadline=None)
@given(
    st.integers(2, 4),
    st.integers(0, 99),
    st.lists(st.tuples(st.integers(0, 14), st.booleans()), min_size=60, max_size=120),
)
def test_whole_groups_are_dealt_and_every_labelled_open_row_is_judged_once(
    count: int, seed: int, drawn: list[tuple[int, bool]]
) -> None:
    """No group stands on both sides of a fold; the same seed deals the same."""
    rows = [
        Row(id=f"r{i}", inputs={"source": f"text {i}", "statement": f"claim {i * 7} of {i}"},
            label=float(yes), group=f"g{group}")
        for i, (group, yes) in enumerate([*((g, g % 2 == 0) for g in range(15)), *drawn])
    ]  # fmt: skip
    folds, opened = folds_of(rows, count, seed=seed)
    held = [row.id for fold in folds for row in fold.held.dataset.rows]
    assert sorted(held) == sorted(row.id for row in opened.rows)
    for fold in folds:
        written = {row.group_key for row in fold.train.dataset.rows}
        assert written.isdisjoint(row.group_key for row in fold.held.dataset.rows)
        assert len(fold.train.dataset) + len(fold.held.dataset) == len(opened)
    again, _ = folds_of(rows, count, seed=seed)
    assert [fold.places for fold in again] == [fold.places for fold in folds]


def test_folds_are_alike_in_labels_and_data_sets() -> None:
    """Each has its share of each kind."""
    rows = [
        Row(id=f"r{i}", inputs={"source": f"s{i}", "statement": f"c{i}"}, label=float(i % 3 == 0),
            group=f"g{i}", meta={"dataset": "ab"[i % 2]})
        for i in range(240)
    ]  # fmt: skip
    folds, opened = folds_of(rows, 2)
    for dataset in "ab":
        for label in (0.0, 1.0):
            of = [r.id for r in opened.rows if r.meta["dataset"] == dataset and r.label == label]
            first = {row.id for row in folds[0].held.dataset.rows}
            assert abs(sum(id_ in first for id_ in of) - len(of) / 2) <= 1


def test_near_duplicates_of_other_groups_stay_in_one_fold() -> None:
    """A copy with another id and group would tell its label."""
    words = "a reservoir in the north of the town was opened by the mayor after long repairs"
    rows = [
        Row(id=f"r{i}", inputs={"source": f"{words} in the year {i // 2 + 1300}, and then closed"
            f" again on day {i // 2}", "statement": f"It was opened in {i // 2 * 37}."},
            label=float(i % 4 < 2), group=f"g{i}")
        for i in range(160)
    ]  # fmt: skip
    folds, _ = folds_of(rows, 2)
    assert folds[0].run.parts.merged > 0
    first = {int(row.id[1:]) // 2 for row in folds[0].held.dataset.rows}
    second = {int(row.id[1:]) // 2 for row in folds[1].held.dataset.rows}
    assert first.isdisjoint(second)


def test_with_one_fold_a_half_is_judged_by_what_the_other_half_taught() -> None:
    rows = made_rows()
    folds, opened = folds_of(list(rows.rows), 1)
    (fold,) = folds
    assert len(fold.train.dataset) + len(fold.held.dataset) == len(opened)
    assert abs(len(fold.held.dataset) - len(opened) / 2) < len(opened) / 8


def test_no_prompt_is_judged_for_its_figures_on_a_group_that_it_was_written_from() -> None:
    """Whatever an arm learns by heart, its figures are of rows that it has not read."""
    data, learner = made_rows(), Learner()
    outcome, events = run_arms(data, learner, steps=2)
    steps = [event.payload for event in events if event.kind == "step"]
    groups = {row.id: row.group_key for row in data.rows}
    opened = sum(events[1 - 1].payload["rows"][part] for part in ("train", "validation"))
    by_fold = [step for step in steps if step.get("fold") and step["step"] == 1]
    assert sum(step["validation_rows"] for step in by_fold) == opened
    for step in by_fold:
        assert learner.shown[step["version"]] <= {groups[id_] for id_ in step["rows"]}
        assert len(step["rows"]) + step["validation_rows"] == opened
    chance = next(event.payload for event in events if event.kind == "chance")
    assert chance["rows"] == opened
    assert chance["folds"] == 2
    finals = [step for step in steps if step.get("fold") is None]
    assert finals
    assert len(finals[0]["rows"]) == opened
    assert outcome.after is not None
    assert outcome.after.version == finals[-1]["version"]


def test_of_a_finalist_what_it_knows_by_heart_is_taken_off() -> None:
    """It is nearly always right on the open rows, which it was written from; believed is what the
    prompts of the folds gained on rows that were new to them.
    """
    model = ByHeart()
    learner = Learner(model=model)
    _, events = run_arms(made_rows(90), learner, model=model, steps=1)
    chance = next(event.payload for event in events if event.kind == "chance")
    best = chance["candidates"][chance["chosen"]]
    assert best["arm"] == "learner"
    own, heart = chance["own"], chance["optimism"]["precision"]
    assert own["measured"]["precision"] > best["measured"]["precision"] + 0.2
    assert heart > 0.2
    left = own["measured"]["precision"] - heart
    assert left == pytest.approx(best["measured"]["precision"], abs=0.05)
    assert own["expected"]["precision"] < left + 0.01


def test_every_arm_is_told_with_what_it_would_have_given() -> None:
    """Each after each step; the finalist is of the chosen one."""
    data = made_rows()
    _, events = run_arms(data, Learner("one"), Learner("two"), steps=2)
    chance = next(event.payload for event in events if event.kind == "chance")
    told = {(one["arm"], one["steps"]) for one in chance["candidates"] if one["rule"] is None}
    assert told == {(arm, steps) for arm in ("one", "two") for steps in (1, 2)}
    assert all(one["version"] is None for one in chance["candidates"] if one["steps"])
    best = chance["candidates"][chance["chosen"]]
    finals = [e.payload for e in events if e.kind == "step" and e.payload.get("fold") is None]
    assert best["arm"] in {step["arm"] for step in finals}
    assert set(chance["writing"]) == {"precision", "recall"}


def test_a_run_again_finds_the_same_and_asks_for_nothing_new() -> None:
    """It is a function of its arguments and of the answers."""
    data = made_rows(40)
    first, second = (
        [(event.kind, event.payload) for event in run_arms(data, Learner())[1]] for _ in range(2)
    )
    assert first == second


def test_a_branch_goes_on_from_what_it_wrote_and_remembers_what_is_of_no_use() -> None:
    rows = made_rows()
    folds, _ = folds_of(list(rows.rows), 2)
    branch = Branch.start(Learner(), folds[0])
    stays = branch.stays("abc")
    assert (stays.prompt, stays.useless, len(stays.prompts)) == (PROMPT, {"abc"}, 2)
    new = PROMPT.edited(criteria="Be strict.")
    half = folds[0].train.only(np.arange(5))
    lower = replace(half, answers=tuple(replace(a, score=0.0) for a in half.answers))
    after = stays.goes_on(new, folds[0].held, lower)
    assert after.prompt is new
    scores = [answer.score for answer in after.train.answers]
    assert scores[:5] == [0.0] * 5
    assert set(scores[5:]) == {3.0}

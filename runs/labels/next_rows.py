"""What to label next: rows whose labels tell most about what is open, drawn with probabilities that
are known.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from ...judges import BoolArray, Dataset, InputError, JudgedDataset, OutputScale, Verdict
from ...judges.reliability import likely_label_errors
from ...optimize.events import DecisionRecord
from ..actions.run_summary import RunSummary, read_run
from ..store.journal import list_runs
from ..store.workspace import Workspace
from .listed import UNEVEN, drawn_order
from .questions import QUESTIONS, Question

MOSTLY = 0.9
"""Share of the rows that are drawn where they tell most; the others keep the rest of the file in
sight.
"""
NEAR = 0.15
"""How far from the threshold a probability counts as next to it."""
JUDGE_FIRST = (
    "judgewright bench JUDGE ROWS --out verdicts.jsonl judges rows without a label too, where"
    " others have one; then --verdicts verdicts.jsonl"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenQuestion:
    """What a run left open."""

    question: Question
    why: str
    """In a sentence."""
    metric: str = ""
    """Of the guard, where it is about one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NextRows:
    """Rows to label for a question, in the order to ask."""

    ids: tuple[str, ...]
    probability: Mapping[str, float]
    """With which each was drawn, where that is below 1."""
    inside: int
    """How many of them tell most about the question."""


def find_run_to_label_for(workspace: Workspace, name: str | None) -> RunSummary | None:
    """Return the run that is named, or the last one that decided something; None where there is
    none yet.

    Raises:
        InputError: There is no such run.
    """
    if name is not None:
        return read_run(workspace, name)
    deciding = (
        list_runs(workspace.database, "optimize", "gate", "recheck") if workspace.exists else ()
    )
    return read_run(workspace, deciding[-1].run_id) if deciding else None


def open_question(run: RunSummary | None) -> OpenQuestion:
    """Say what a run left open: a guard or the gain of an undecided gate, else a slice that is not
    confirmed.
    """
    if run is None:
        return OpenQuestion(question="gain", why="nothing was decided in this workspace yet")
    decision = decision_of(run)
    if decision is not None and decision.outcome == "undecided" and decision.evidence is not None:
        for guard in decision.evidence.guards:
            if guard.state == "undecided":
                why = (
                    f"run {run.run_id} could not show that {guard.metric} falls by less than"
                    f" {guard.margin:g}"
                )
                return OpenQuestion(question="guard", why=why, metric=guard.metric)
        return OpenQuestion(
            question="gain", why=f"run {run.run_id} could not show that the new prompt is better"
        )
    if run.slice is not None and run.slice.predicate is not None:
        chosen = [one for one in run.slice.slices if one["predicate"] == run.slice.name]
        if chosen and not chosen[0]["confirmed"]:
            why = f"run {run.run_id} could not confirm the slice {run.slice.name}"
            return OpenQuestion(question="slice", why=why)
    return OpenQuestion(
        question="gain", why=f"run {run.run_id} left nothing open: more labels show smaller gains"
    )


def named_question(name: str, run: RunSummary | None) -> OpenQuestion:
    """Return the question that a person names; a guard is the first one of the run.

    Raises:
        InputError: There is no such question, or no guard.
    """
    for question, meaning in QUESTIONS.items():
        if question != name:
            continue
        metric = ""
        if question == "guard":
            decision = None if run is None else decision_of(run)
            guards = decision.evidence.guards if decision and decision.evidence else ()
            if not guards:
                raise InputError("no run has a guard to label for", hint="name one with --run RUN")
            metric = guards[0].metric
        return OpenQuestion(question=question, why=meaning, metric=metric)
    raise InputError(f"--for {name!r} is no question", hint=f"it can be {', '.join(QUESTIONS)}")


def decision_of(run: RunSummary) -> DecisionRecord | None:
    """Return what the gate said in a run, of whatever kind."""
    return run.decision or (run.answer.decision if run.answer else None)


def draw_rows(
    aim: OpenQuestion,
    dataset: Dataset,
    count: int,
    *,
    run: RunSummary | None,
    verdicts: JudgedDataset | None,
    seed: int = 0,
) -> NextRows:
    """Draw rows to label, mostly where they tell most.

    Args:
        aim: The question.
        dataset: The rows of a file; those that have a label are asked about only where labels are
            in doubt.
        count: How many rows.
        run: The run whose slice is meant.
        verdicts: A judge's verdicts on the rows, for questions about a guard, a threshold or
            doubted labels.
        seed: Of the draw.

    Raises:
        InputError: There is no row to ask about, or the question needs a slice or verdicts that are
            not there.
    """
    if aim.question == "doubts":
        return _doubted(dataset, count, verdicts)
    rows = [row for row in dataset.rows if row.label is None]
    if not rows:
        raise InputError("every row has a label", hint="name a file with rows that have none")
    unlabelled = replace(dataset, rows=tuple(rows))
    if aim.question == "gain":
        # Every row alike: such labels are a fair sample, and may go to any part.
        return NextRows(
            ids=drawn_order(rows, seed=seed)[:count], probability={}, inside=min(count, len(rows))
        )
    inside = _telling(aim, unlabelled, run, verdicts)
    if not inside.any():
        raise InputError(
            f"no row without a label tells about this: {aim.why}",
            hint="--for gain draws any rows",
        )
    telling = [row for row, tells in zip(rows, inside, strict=True) if tells]
    others = [row for row, tells in zip(rows, inside, strict=True) if not tells]
    n_telling = min(len(telling), max(count - len(others), math.ceil(MOSTLY * count)))
    n_others = min(len(others), count - n_telling)
    drawn = [
        *drawn_order(telling, seed=seed)[:n_telling],
        *drawn_order(others, seed=seed)[:n_others],
    ]
    probability = dict.fromkeys(drawn[:n_telling], min(n_telling / len(telling), UNEVEN))
    probability |= dict.fromkeys(drawn[n_telling:], min(n_others / max(len(others), 1), UNEVEN))
    drawn_ids = set(drawn)
    order = drawn_order([row for row in rows if row.id in drawn_ids], seed=seed + 1)
    return NextRows(ids=order, probability=probability, inside=n_telling)


def _telling(
    aim: OpenQuestion, dataset: Dataset, run: RunSummary | None, verdicts: JudgedDataset | None
) -> BoolArray:
    """Return which rows tell most about a question; shape (rows,)."""
    if aim.question == "slice":
        predicate = run.slice.predicate if run and run.slice else None
        if predicate is None:
            raise InputError("no run has a slice to label for", hint="name one with --run RUN")
        return predicate.mask(dataset.rows)
    if verdicts is None:
        raise InputError(
            f"which rows tell about the {aim.question} depends on what the judge says of them",
            hint=JUDGE_FIRST,
        )
    scored = {answer.row_id: answer for answer in verdicts.answers if isinstance(answer, Verdict)}
    inside = np.zeros(len(dataset), np.bool_)
    for i, row in enumerate(dataset.rows):
        verdict = scored.get(row.id)
        if verdict is None:
            continue
        if aim.question == "threshold":
            inside[i] = _is_next_to_threshold(verdict.score, verdicts.scale)
        else:
            # Precision counts the rows that are called positive, and most of the positive rows are
            # among them.
            inside[i] = verdict.positive != (aim.metric == "specificity")
    return inside


def _is_next_to_threshold(score: float, scale: OutputScale) -> bool:
    """Whether a score would be the first to change sides if the threshold moved."""
    if scale.kind == "probability":
        return abs(score - scale.threshold) <= NEAR
    return scale.threshold - 1 <= score < scale.threshold + 1


def _doubted(dataset: Dataset, count: int, verdicts: JudgedDataset | None) -> NextRows:
    """Return the labelled rows whose label is the likeliest to be wrong, to be asked about
    again.
    """
    if verdicts is None:
        raise InputError(
            "a label is doubted where a judge contradicts it, and there are no verdicts",
            hint=JUDGE_FIRST,
        )
    ids_of_file = {row.id for row in dataset.rows}
    suspects = likely_label_errors(verdicts, limit=count).suspects
    ids = tuple(suspect.row.id for suspect in suspects if suspect.row.id in ids_of_file)
    if not ids:
        raise InputError("the judge contradicts no label of these rows")
    return NextRows(ids=ids, probability=dict.fromkeys(ids, UNEVEN), inside=len(ids))

"""Which gain a gate could tell from none, by what was measured of the judge or is assumed."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from ...judges import (
    BINARY,
    PROBABILITY_METRICS,
    Dataset,
    Estimate,
    InputError,
    IntArray,
    JudgedDataset,
    JudgePrompt,
    OutputScale,
    Verdict,
)
from ...judges.reliability import CHURN
from ...optimize.events import JudgeMeasured, read_as
from ...optimize.forecast import PlannedRun
from ...optimize.holdout.floors import FloorNeed, floor_needs
from ...optimize.holdout.ledger import Look, seen_rows
from ...optimize.holdout.look_counting import LookRequest, requested_look
from ...optimize.holdout.power import GuardNeed, guard_needs, perfect_gain, smallest_gain
from ..store.journal import RunJournal
from ..store.workspace import Workspace

ASSUMED_SKILL = 0.8
"""Precision and recall that a judge is taken to have where nobody has asked it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MinimumDetectableEffect:
    """The smallest gain that the gate's next look can tell from none with 80 % power."""

    metric: str
    size: float | None
    """None where there is none, or it cannot be known; see `reason`."""
    rows: int
    """Of the holdout."""
    groups: int
    look: int
    alpha: float
    spent: tuple[str, ...] = ()
    """Which earlier looks and measurements are counted, in words."""
    basis: str
    """Where the judge's errors come from, and the share that another wording swaps for new ones."""
    guards: tuple[GuardNeed, ...] = ()
    """How many rows each guard wants."""
    floors: tuple[FloorNeed, ...] = ()
    """How many rows each floor wants."""
    reason: str = ""
    """Why there is no size."""
    known: str = ""
    """What was measured of the judge before; empty where its errors are assumed."""

    def to_json(self) -> dict[str, Any]:  # Any: JSON
        """Return the gain with what it rests on."""
        churn = Estimate(value=CHURN, low=None, high=None, n=0, reason="assumed, not measured")
        body = asdict(self) | {"churn": churn.to_json(), "assumed_churn": CHURN}
        body |= {"holdout_rows": body.pop("rows"), "holdout_groups": body.pop("groups")}
        return body


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredBefore:
    """What a benchmark in the workspace says of a judge."""

    run_id: str
    n: int
    precision: float
    recall: float

    def __str__(self) -> str:
        return (
            f"bench {self.run_id} found precision {self.precision:.2f} and recall {self.recall:.2f}"
            f" of this judge on {self.n:,} rows"
        )


def measured_before(workspace: Workspace, judge: str, model: str) -> MeasuredBefore | None:
    """Return what the last benchmark of a judge says; None where there is none, or it found no yes.

    Args:
        judge: `name@version`.
    """
    for record in reversed(workspace.runs("bench")):
        if record.config.get("model") != model:
            continue
        events = RunJournal(workspace.database, record.run_id).events()
        found = [read_as(JudgeMeasured, e.payload) for e in events if e.kind == JudgeMeasured.kind]
        if not found or found[-1].judge != judge:
            continue
        body = found[-1].benchmark
        figures = (body["metrics"].get(name, {}) for name in ("precision", "recall"))
        precision, recall = (figure.get("value") for figure in figures)
        if precision and recall:
            return MeasuredBefore(
                run_id=record.run_id, n=body["n"], precision=precision, recall=recall
            )
    return None


def assumed_judge(
    dataset: Dataset,
    prompt: JudgePrompt,
    *,
    confidence: bool = False,
    measured: MeasuredBefore | None = None,
) -> JudgedDataset:
    """Return made-up verdicts on labelled rows, with the precision and recall that were measured;
    with assumed ones they stand for a judge nobody asked.

    Of a choice each class has this recall.

    Args:
        confidence: Whether each verdict has a confidence, which is then the skill.
        measured: What is known of the judge; not read of a choice.
    """
    rng, skill = np.random.default_rng(0), ASSUMED_SKILL
    precision, recall = (
        (skill, skill) if measured is None else (measured.precision, measured.recall)
    )
    rows = [row for row in dataset.rows if row.label is not None]
    chooses = prompt.scale.kind == "choice"
    classes = len(prompt.scale.labels) if chooses else 2
    label = np.array([row.label if chooses else dataset.positive(row) for row in rows], np.int64)
    verdict = label.copy()
    # Yes before no: how many are called yes wrongly follows from how many are called so rightly.
    for code in range(classes) if chooses else (1, 0):
        members = np.flatnonzero(label == code)
        missed = round((1 - (skill if chooses else recall)) * len(members))
        if not chooses and code == 0:
            hits = int(verdict.sum())
            missed = min(round((1 - precision) / precision * hits), len(members))
        wrong = rng.choice(members, missed, replace=False) if len(members) else members
        verdict[wrong] = (code + rng.integers(1, classes, len(wrong))) % classes
    return judged_as(
        replace(dataset, rows=tuple(rows)),
        verdict,
        prompt.scale if chooses else BINARY,
        confidence=skill if confidence and not chooses else None,
    )


def judged_as(
    dataset: Dataset, codes: IntArray, scale: OutputScale, *, confidence: float | None = None
) -> JudgedDataset:
    """Return rows with made-up verdicts: a class of a choice, or yes and no as 1 and 0."""
    answers = tuple(
        Verdict(
            row_id=row.id,
            score=float(code),
            positive=scale.kind == "binary" and code == 1,
            confidence=confidence,
        )
        for row, code in zip(dataset.rows, codes.tolist(), strict=True)
    )
    return JudgedDataset(dataset=dataset, answers=answers, scale=scale, model="assumed")


def minimum_detectable_gain(
    workspace: Workspace, planned: PlannedRun, measured: MeasuredBefore | None = None
) -> MinimumDetectableEffect:
    """Return the smallest gain that the gate's next look could tell from none on as many rows as
    the holdout has.

    The sealed rows are not looked at: the standard error is carried over from open rows by their
    number.

    Args:
        workspace: Whose ledger says which look is the next.
        measured: What an earlier benchmark says of the judge's errors, which are assumed without.
    """
    metric, holdout = planned.objective.target, planned.parts.holdout
    look = _next_look(workspace, planned)
    opened = (*planned.parts.train.rows, *planned.parts.validation.rows)
    judged = assumed_judge(
        replace(planned.dataset, rows=opened),
        planned.prompt,
        confidence=metric in PROBABILITY_METRICS,
        measured=measured,
    )
    chooses = judged.scale.kind == "choice"
    skill = "every class's recall" if chooses else "precision and recall"
    basis = f"assumed: a judge with {skill} {ASSUMED_SKILL:.0%} and a churn of {CHURN:.0%}"
    known = "" if measured is None or chooses else str(measured)
    size, reason = None, ""
    rows, groups = len(holdout), holdout.groups
    try:
        size = smallest_gain(
            metric, judged, churn=CHURN, alpha=look.alpha, rows=rows, groups=groups
        )
        if size is None:
            perfect = perfect_gain(metric, judged, alpha=look.alpha, rows=rows, groups=groups)
            reason = f"on {rows:,} rows {_only_shown(perfect)}"
    except InputError as error:
        reason = str(error)
    return MinimumDetectableEffect(
        metric=metric,
        size=size,
        rows=rows,
        groups=groups,
        look=look.number,
        alpha=look.alpha,
        spent=look.spent,
        basis=f"{known}, and an assumed churn of {CHURN:.0%}" if known else basis,
        guards=guard_needs(planned.objective.guards, judged, churn=CHURN),
        floors=floor_needs(planned.objective.floors, judged),
        reason=reason,
        known=known,
    )


def _next_look(workspace: Workspace, planned: PlannedRun) -> Look:
    history = workspace.history()
    history = replace(history, memories=(*history.memories, seen_rows("plan", planned.parts)))
    request = LookRequest(
        holdout=planned.parts.holdout.content_hash,
        run_id="plan",
        before=planned.prompt.version,
        after="planned",
        purpose="gate",
        line="",
    )
    return requested_look(history, request)


def _only_shown(perfect: float | None) -> str:
    if perfect is None:
        return "not even an edit that mends every wrong verdict would be shown"
    return (
        "only an edit that mends nearly every wrong verdict and breaks none would be shown (a gain"
        f" of {100 * perfect:.1f} points)"
    )

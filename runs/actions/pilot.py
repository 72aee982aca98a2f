"""Which gain a gate could tell from none: from a pilot of open rows judged in two wordings, or from
assumptions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from ...judges import (
    BINARY,
    PROBABILITY_METRICS,
    BudgetSpent,
    Client,
    Dataset,
    Estimate,
    InputError,
    JudgedDataset,
    JudgePrompt,
    Progress,
    Splits,
    Unscored,
    Verdict,
)
from ...judges.claims import judge_as
from ...judges.judge import require_answers
from ...judges.judged_dataset import group_codes
from ...judges.models import ask_together
from ...judges.reliability import CHURN, mean_over_rows
from ...optimize.events import JudgeMeasured, read_as
from ...optimize.forecast import PlannedRun
from ...optimize.holdout.floors import FloorNeed, floor_needs
from ...optimize.holdout.ledger import History, seen_rows
from ...optimize.holdout.look_counting import LookRequest, requested_look
from ...optimize.holdout.power import GuardNeed, guard_needs, perfect_gain, smallest_gain
from ...optimize.hunks import cut_sentences
from ..config.environment import Environment
from ..store.journal import RunJournal, list_runs
from ..store.ledger import HoldoutLedger
from ..store.run_clients import start_run_client
from ..store.run_config import RunConfig
from ..store.workspace import Workspace

PILOT_ROWS = 200
ASSUMED_SKILL = 0.8
"""Precision and recall that a judge is taken to have where nobody has asked it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MinimumDetectableEffect:
    """The smallest gain that the gate's next look can tell from none with 80 % power."""

    metric: str
    size: float | None
    """None where there is none, or it cannot be known; see `reason`."""
    churn: Estimate
    """Share of the wrong verdicts that another wording mends while it breaks as many right ones."""
    rows: int
    """Of the holdout."""
    groups: int
    look: int
    alpha: float
    spent: tuple[str, ...] = ()
    """Which earlier looks and measurements are counted, in words."""
    basis: str
    """Where the churn and the judge's errors come from."""
    guards: tuple[GuardNeed, ...] = ()
    """How many rows each guard wants."""
    floors: tuple[FloorNeed, ...] = ()
    """How many rows each floor wants."""
    reason: str = ""
    """Why there is no size."""
    known: str = ""
    """What was measured of the judge before; empty where its errors are assumed, or a pilot's."""

    def to_json(self) -> dict[str, Any]:  # Any: JSON
        """Return the gain with what it rests on."""
        body = asdict(self) | {"churn": self.churn.to_json(), "assumed_churn": CHURN}
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
        workspace: Where it was measured.
        judge: `name@version`.
        model: Who was asked.
    """
    for record in reversed(list_runs(workspace.database, "bench") if workspace.exists else ()):
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Pilot:
    """What the judge and a rewording of it said about the same open rows, and what that took."""

    before: JudgedDataset
    reworded: JudgedDataset
    calls: int
    recorded: int
    tokens_out: float
    """Of one verdict, on average."""
    cost: float | None
    run_id: str

    def to_json(self) -> dict[str, Any]:  # Any: JSON
        """Return what the pilot took."""
        names = {"run": "run_id", "calls": "calls", "recorded": "recorded", "cost": "cost"}
        return {key: getattr(self, name) for key, name in names.items()}


def reworded(prompt: JudgePrompt) -> JudgePrompt:
    """Return the judge with the same criteria, sentence by sentence as a list: another wording, the
    same meaning.
    """
    points = [sentence.text.strip().lstrip("-* ") for sentence in cut_sentences(prompt.criteria)]
    text = "Decide by these points:\n" + "\n".join(f"- {point}" for point in points)
    return prompt.edited(criteria=text, note="reworded for a pilot")


def pilot_rows(parts: Splits) -> Dataset:
    """Return the first open rows of training and validation, which stand in an order drawn by the
    split's seed.
    """
    train, validation = parts.train.rows, parts.validation.rows
    n = min(PILOT_ROWS, len(train) + len(validation))
    of_train = round(n * len(train) / (len(train) + len(validation)))
    return replace(parts.train, rows=(*train[:of_train], *validation[: n - of_train]))


def run_pilot(
    workspace: Workspace,
    planned: PlannedRun,
    config: RunConfig,
    environment: Environment,
    *,
    watch: Callable[[str, Progress], None],
) -> Pilot:
    """Judge open rows in both wordings, in a run of its own; the planned run finds the judge's
    answers cached.

    Raises:
        WorldError: The endpoint or the budget stopped it.
    """
    body = {"judge": planned.prompt.name, "version": planned.prompt.version, "model": config.model}
    rows = pilot_rows(planned.parts)
    with start_run_client(workspace, "plan", body, config, environment) as (run_id, client):
        wordings = (planned.prompt, reworded(planned.prompt))
        progress = partial(watch, "pilot")
        before, after = ask_together(
            [partial(_judge, text, rows, planned, client, progress) for text in wordings]
        )
    stats = client.stats
    out = stats.tokens_out / stats.calls if stats.calls else 0.0
    cost = stats.cost if stats.price_known else None
    return Pilot(
        before=before,
        reworded=after,
        calls=stats.calls,
        recorded=stats.recorded,
        tokens_out=out,
        cost=cost,
        run_id=run_id,
    )


def _judge(
    prompt: JudgePrompt,
    rows: Dataset,
    planned: PlannedRun,
    client: Client,
    progress: Callable[[Progress], None],
) -> JudgedDataset:
    settings = planned.settings
    judged = judge_as(
        prompt,
        rows,
        client,
        settings.claims,
        settings=settings.judge,
        rule=settings.rule,
        progress=progress,
    )
    unpaid = sum(
        isinstance(answer, Unscored) and answer.reason == "budget" for answer in judged.answers
    )
    if unpaid:
        raise BudgetSpent(
            f"the budget ended in the pilot: {unpaid} of {len(rows)} rows are left",
            hint="raise --budget",
        )
    require_answers(judged.answers)
    return judged


def measure_churn(before: JudgedDataset, after: JudgedDataset) -> Estimate:
    """Return the churn: decisions that differ between two wordings, halved, as a share of the first
    one's wrong ones.

    A wording that mends a share of the wrong verdicts and breaks as many right ones flips twice
    that share. The interval is that of the flips (over groups); the wrong verdicts are taken as
    counted.
    """
    common = np.intersect1d(before.scored, after.scored)
    a, b = before.only(common), after.only(common)
    wrong = int(a.wrong.sum())
    if wrong == 0:
        return Estimate.undefined(len(common), "the judge made no error on the pilot's rows")
    changed = a.score != b.score if a.scale.kind == "choice" else a.predicted != b.predicted
    flips = mean_over_rows(
        changed.astype(np.float64), group_codes(a.rows), missing="no row was answered twice"
    )
    scale = len(common) / (2.0 * wrong)
    value, low, high = (
        None if x is None else min(x * scale, 1.0) for x in (flips.value, flips.low, flips.high)
    )
    return Estimate(value=value, low=low, high=high, n=len(common), reason=flips.reason)


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
        dataset: The rows.
        prompt: The judge.
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
    answers = tuple(
        Verdict(
            row_id=row.id,
            score=float(code),
            positive=bool(code) and not chooses,
            confidence=skill if confidence and not chooses else None,
        )
        for row, code in zip(rows, verdict, strict=True)
    )
    return JudgedDataset(
        dataset=replace(dataset, rows=tuple(rows)),
        answers=answers,
        scale=prompt.scale if chooses else BINARY,
        judge=prompt.name,
        model="assumed",
    )


def minimum_detectable_gain(
    workspace: Workspace,
    planned: PlannedRun,
    seen: Pilot | None,
    measured: MeasuredBefore | None = None,
) -> MinimumDetectableEffect:
    """Return the smallest gain that the gate's next look could tell from none on as many rows as
    the holdout has.

    The sealed rows are not looked at: the standard error is carried over from open rows by their
    number.

    Args:
        workspace: Whose ledger says which look is the next.
        planned: The run.
        seen: The pilot; where there is none, the churn is assumed.
        measured: What an earlier benchmark says of the judge's errors; where there is neither, they
            are assumed too.
    """
    metric, holdout = planned.objective.target, planned.parts.holdout
    history = HoldoutLedger(workspace.database).history() if workspace.exists else History()
    history = replace(history, memories=(*history.memories, seen_rows("plan", planned.parts)))
    version = planned.prompt.version
    request = LookRequest(
        holdout=holdout.content_hash,
        run_id="plan",
        before=version,
        after="planned",
        purpose="gate",
        line="",
    )
    look = requested_look(history, request)
    known = ""
    if seen is None:
        rows = replace(
            planned.dataset, rows=(*planned.parts.train.rows, *planned.parts.validation.rows)
        )
        judged = assumed_judge(
            rows,
            planned.prompt,
            confidence=metric in PROBABILITY_METRICS,
            measured=measured,
        )
        churn = Estimate(value=CHURN, low=None, high=None, n=0, reason="assumed, not measured")
        skill = "every class's recall" if judged.scale.kind == "choice" else "precision and recall"
        basis = f"assumed: a judge with {skill} {ASSUMED_SKILL:.0%} and a churn of {CHURN:.0%}"
        if measured is not None and judged.scale.kind != "choice":
            known = str(measured)
            basis = f"{known}, and an assumed churn of {CHURN:.0%}"
    else:
        judged, churn = seen.before, measure_churn(seen.before, seen.reworded)
        basis = f"a pilot of {churn.n:,} open rows, judged by the prompt and by a rewording of it"
    size, reason = None, churn.reason if churn.value is None else ""
    sealed = {"alpha": look.alpha, "rows": len(holdout), "groups": holdout.groups}
    try:
        if churn.value is not None:
            size = smallest_gain(metric, judged, churn=churn.value, **sealed)
        perfect = perfect_gain(metric, judged, **sealed)
    except InputError as error:
        reason, perfect = str(error), None
    if size is None and not reason:
        only = "not even an edit that mends every wrong verdict would be shown"
        if perfect is not None:
            only = (
                "only an edit that mends nearly every wrong verdict and breaks none would be shown"
                f" (a gain of {100 * perfect:.1f} points)"
            )
        reason = f"on {len(holdout):,} rows {only}"
    share = CHURN if churn.value is None else churn.value
    return MinimumDetectableEffect(
        metric=metric,
        size=size,
        churn=churn,
        rows=len(holdout),
        groups=holdout.groups,
        look=look.number,
        alpha=look.alpha,
        spent=look.spent,
        basis=basis,
        guards=guard_needs(planned.objective.guards, judged, churn=share),
        floors=floor_needs(planned.objective.floors, judged),
        reason=reason,
        known=known,
    )

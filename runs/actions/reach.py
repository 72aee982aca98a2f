"""Which gain the gate could show with the labels that there are, and how many more would do: from a
benchmark's figures, so that nothing sealed is read and nothing is asked.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...judges import (
    BINARY,
    Dataset,
    InputError,
    IntArray,
    JudgedDataset,
    OutputScale,
    Row,
    Verdict,
)
from ...judges.reliability import CHURN
from ...judges.splits.parts import DEFAULT_SHARES, FEW_LABELS, FEW_SHARES
from ...optimize import Guard
from ...optimize.events import RowsSplit, StatedObjective
from ...optimize.holdout.guards import MIN_GROUPS
from ...optimize.holdout.ledger import alpha_of_look
from ...optimize.holdout.power import GuardNeed, guard_needs, perfect_gain, smallest_gain
from .run_summary import RunSummary

GOAL = 0.10
"""A gain that a new prompt may well bring: labels that cannot show it are few."""
TIMES, ROUND = (1.5, 2, 3, 5, 10), (100, 200, 400)
"""So many times the labels are tried, and these numbers."""
MUCH = 0.8
"""A gain is much smaller that is so much of another."""
MOST_ROWS = 1_000
"""Labels beyond which they are not few, and it takes long to reckon with them."""
Z = 1.959964
Json = Mapping[str, Any]  # Any: JSON


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """What a gate could show of a metric with the labels there are."""

    metric: str
    now: Json
    """The judge's figure, with its interval."""
    labelled: int
    holdout: int
    """Rows that the gate would have, sealed to it."""
    size: float | None
    """The smallest gain that it shows in four of five cases, by prompts that also make new errors;
    None where it shows none of these.
    """
    perfect: float | None
    """Where it shows none: the gain of a prompt that mends every error and makes none; None where
    not even that is shown.
    """
    steps: tuple[tuple[int, float], ...]
    """Labels more, and the smallest gain with them: the first number that changes much, and where
    that is not yet so the first that shows `GOAL`; empty where ten times as many change little.
    """
    most: int
    """The most labels that were reckoned with."""
    guards: tuple[GuardNeed, ...]
    """Guards that want more sealed rows than there are, to hold where nothing is lost."""
    unlabelled: int
    """Rows of the file without a label, as far as they were read."""


def sealed_of(labelled: int) -> int:
    """Return how many rows a run would seal to the gate of so many labelled ones."""
    return round(labelled * (FEW_SHARES if labelled < FEW_LABELS else DEFAULT_SHARES)[2] / 100)


def reach_of(
    body: Json,
    metric: str | None = None,
    *,
    labelled: int | None = None,
    holdout: int | None = None,
    alpha: float | None = None,
    guards: Sequence[Guard] = (),
) -> Reach | None:
    """Return what a gate could show; None where the labels are not few, or it is not known of the
    metric.

    Args:
        body: A benchmark of the judge, as `Benchmark.to_json` writes it.
        metric: What is to gain; unless given what the judge is poorer in, precision or recall, or
            accuracy of a choice.
        labelled: Labelled rows; those of the benchmark unless given.
        holdout: Rows that are sealed; those that a run would seal unless given.
        alpha: What the look may spend; what a first one may unless given.
        guards: What must not get worse.
    """
    labelled = int(body["n"]) if labelled is None else labelled
    # Where a run seals its own share of the rows, it seals that of more rows too.
    share = None if holdout is None or _is_usual(holdout, labelled) else holdout / labelled
    holdout = sealed_of(labelled) if holdout is None else holdout
    cells = body["confusion"]
    if metric is None:
        metric = "precision" if cells["fp"] >= cells["fn"] else "recall"
        metric = metric if metric in body["metrics"] else "accuracy_grades"
    now = body["metrics"].get(metric)
    if now is None or now["value"] is None or not 0 < labelled <= MOST_ROWS:
        return None
    judged, alpha = _alike(body), alpha or alpha_of_look(1)
    effect = _design_effect(body, now)

    def gain_on(rows: int, gain: Callable[..., float | None], **more: float) -> float | None:
        independent = round(rows / effect)
        if independent < MIN_GROUPS or judged is None:
            return None
        return gain(metric, judged, alpha=alpha, rows=independent, groups=independent, **more)

    try:
        size = gain_on(holdout, smallest_gain, churn=CHURN)
        lacking = [] if judged is None else _lacking(guards, judged, round(holdout / effect))
        if (size is not None and size <= GOAL and not lacking) or now["value"] == 1:
            return None
        perfect = gain_on(holdout, perfect_gain) if size is None else None
        numbers = sorted({*(math.ceil(times * labelled) for times in TIMES), *ROUND})
        steps: list[tuple[int, float]] = []
        for many in numbers:
            rows = sealed_of(many) if share is None else round(share * many)
            shown = gain_on(rows, smallest_gain, churn=CHURN) if many > labelled else None
            if shown is None or (size is not None and shown > MUCH * size):
                continue
            if not steps or shown <= GOAL:
                steps.append((_rounded(many - labelled), shown))
            if shown <= GOAL:
                break
    except InputError:
        return None
    return Reach(
        metric=metric,
        now=now,
        labelled=labelled,
        holdout=holdout,
        size=size,
        perfect=perfect,
        steps=tuple(steps),
        most=numbers[-1],
        guards=tuple(replace(need, rows=round(rows * effect)) for need, rows in lacking),
        unlabelled=body["unlabelled"],
    )


def reach_in_run(body: Json, split: RowsSplit, objective: StatedObjective) -> Reach | None:
    """Return what the gate of a run could show, once its judge has been measured on open rows."""
    return reach_of(
        body,
        objective.target,
        labelled=sum(split.rows.values()),
        holdout=split.rows["holdout"],
        alpha=(split.next_look or {}).get("alpha"),
        guards=objective.guards,
    )


def reach_of_run(run: RunSummary) -> Reach | None:
    """Return what the gate of a run could show; None before its benchmark, or after an accept."""
    accepted = run.decision is not None and run.decision.accepted
    if run.benchmark is None or run.split is None or run.started is None or accepted:
        return None
    return reach_in_run(run.benchmark, run.split, run.started.objective)


def _lacking(
    guards: Sequence[Guard], judged: JudgedDataset, rows: int
) -> list[tuple[GuardNeed, int]]:
    """Return the guards that want more rows, with how many."""
    needs = guard_needs(guards, judged, churn=CHURN)
    return [(need, need.rows) for need in needs if need.rows is not None and need.rows > rows]


def _is_usual(holdout: int, labelled: int) -> bool:
    return abs(holdout - sealed_of(labelled)) <= max(3, 0.1 * holdout)


def _rounded(count: int) -> int:
    """Round up to two digits, as more would promise what is not there."""
    digit = 10 ** max(0, len(str(count)) - 2)
    return math.ceil(count / digit) * digit


def _alike(body: Json) -> JudgedDataset | None:
    """Return made-up rows with the labels and verdicts that were counted, each a group of its own;
    None where they were not, or there is none.
    """
    if "precision" in body["metrics"]:
        cells = body["confusion"]
        counts = np.array([[cells["tn"], cells["fp"]], [cells["fn"], cells["tp"]]], np.int64)
        scale = BINARY
    elif body.get("grades"):
        counts = np.array(body["grades"]["counts"], np.int64)
        names = tuple(f"class {i}" for i in range(len(counts)))
        scale = OutputScale(kind="choice", labels=names)
    else:
        return None
    return _table(counts, scale) if counts.sum() else None


def _table(counts: IntArray, scale: OutputScale) -> JudgedDataset:
    codes = np.repeat(np.arange(counts.size), counts.ravel())
    label, score = np.divmod(codes, len(counts))
    rows: list[Row] = []
    answers: list[Verdict] = []
    for i, (people, judge) in enumerate(zip(label.tolist(), score.tolist(), strict=True)):
        rows.append(Row(id=str(i), inputs={}, label=float(people)))
        positive = scale.kind == "binary" and judge == 1
        answers.append(Verdict(row_id=str(i), score=float(judge), positive=positive))
    return JudgedDataset(
        dataset=Dataset.of(rows, labels=scale), answers=tuple(answers), scale=scale
    )


def _design_effect(body: Json, now: Json) -> float:
    """Return how many rows that err together weigh as much as one that errs alone, by the interval
    of the metric.
    """
    value, low, high = now["value"], now["low"], now["high"]
    if body["groups"] >= body["n"] or low is None or not 0 < value < 1:
        return 1.0
    alone = value * (1 - value) / max(now["n"], 1)
    return min(max(1.0, ((high - low) / 2 / Z) ** 2 / alone), body["n"] / body["groups"])

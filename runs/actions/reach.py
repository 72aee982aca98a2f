"""Which gain the gate could show with the labels that there are, and how many more would do: from a
benchmark's figures, so that nothing sealed is read and nothing is asked.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...judges import BINARY, Dataset, InputError, JudgedDataset, OutputScale, Row
from ...judges.reliability import CHURN
from ...judges.splits.parts import DEFAULT_SHARES, FEW_LABELS, FEW_SHARES
from ...optimize import Guard
from ...optimize.events import Json, RowsSplit, StatedObjective
from ...optimize.holdout.ledger import alpha_of_look
from ...optimize.holdout.power import GuardNeed, guard_needs, perfect_gain, smallest_gain
from .detectable_gain import judged_as
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
    """
    labelled = int(body["n"]) if labelled is None else labelled
    holdout = sealed_of(labelled) if holdout is None else holdout
    metric, judged = metric or _poorest(body), _alike(body)
    now = body["metrics"].get(metric)
    few = 0 < labelled <= MOST_ROWS
    if judged is None or now is None or now["value"] in (None, 1) or not few:
        return None
    alpha, together = alpha or alpha_of_look(1), _design_effect(body, now)

    def smallest(rows: int) -> float | None:
        alone = round(rows / together)
        return smallest_gain(metric, judged, churn=CHURN, alpha=alpha, rows=alone)

    try:
        size, perfect = smallest(holdout), None
    except InputError:  # of this metric no gain is known
        return None
    alone = round(holdout / together)
    if size is None:
        perfect = perfect_gain(metric, judged, alpha=alpha, rows=alone)
    needs = guard_needs(guards, judged, churn=CHURN)
    lacking = [(need, need.rows) for need in needs if need.rows and need.rows > alone]
    if size is not None and size <= GOAL and not lacking:
        return None
    return Reach(
        metric=metric,
        now=now,
        labelled=labelled,
        holdout=holdout,
        size=size,
        perfect=perfect,
        steps=_steps(smallest, labelled, holdout, size),
        most=max(math.ceil(TIMES[-1] * labelled), ROUND[-1]),
        guards=tuple(replace(need, rows=round(rows * together)) for need, rows in lacking),
        unlabelled=body["unlabelled"],
    )


def _poorest(body: Json) -> str:
    cells = body["confusion"]
    metric = "precision" if cells["fp"] >= cells["fn"] else "recall"
    return metric if metric in body["metrics"] else "accuracy_grades"


def _steps(
    smallest: Callable[[int], float | None], labelled: int, holdout: int, size: float | None
) -> tuple[tuple[int, float], ...]:
    # Where a run seals its own share of the rows, it seals that of more rows too.
    is_usual = abs(holdout - sealed_of(labelled)) <= max(3, 0.1 * holdout)
    steps: list[tuple[int, float]] = []
    for labels in sorted({*(math.ceil(times * labelled) for times in TIMES), *ROUND}):
        sealed = sealed_of(labels) if is_usual else round(holdout / labelled * labels)
        shown = smallest(sealed) if labels > labelled else None
        if shown is None or (size is not None and shown > MUCH * size):
            continue
        if not steps or shown <= GOAL:
            # Rounded up to two digits, as more would promise what is not there.
            digit = 10 ** max(0, len(str(labels - labelled)) - 2)
            steps.append((math.ceil((labels - labelled) / digit) * digit, shown))
        if shown <= GOAL:
            break
    return tuple(steps)


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


def _alike(body: Json) -> JudgedDataset | None:
    """Return made-up rows with the labels and verdicts that were counted, each a group of its own;
    None where they were not, or there is none.
    """
    cells, scale = body["confusion"], BINARY
    counts = [[cells["tn"], cells["fp"]], [cells["fn"], cells["tp"]]]
    if "precision" not in body["metrics"]:
        counts = (body.get("grades") or {"counts": ((0, 0), (0, 0))})["counts"]
        names = tuple(f"class {i}" for i in range(len(counts)))
        scale = OutputScale(kind="choice", labels=names)
    labels, scores = np.divmod(np.repeat(np.arange(np.size(counts)), np.ravel(counts)), len(counts))
    rows = [Row(id=str(i), inputs={}, label=float(label)) for i, label in enumerate(labels)]
    return judged_as(Dataset.of(rows, labels=scale), scores, scale) if rows else None


def _design_effect(body: Json, now: Json) -> float:
    """Return how many rows that err together weigh as much as one that errs alone, by the interval
    of the metric.
    """
    value, low, high = now["value"], now["low"], now["high"]
    if body["groups"] >= body["n"] or low is None or not 0 < value < 1:
        return 1.0
    alone = value * (1 - value) / max(now["n"], 1)
    return min(max(1.0, ((high - low) / 2 / Z) ** 2 / alone), body["n"] / body["groups"])

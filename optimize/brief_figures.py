"""The figures of a brief in words: what is wanted, where the judge stands, and what the loss
charges.
"""

from __future__ import annotations

import re

from ..judges import JudgedDataset, JudgePrompt, point
from ..judges.metrics.catalog import LOWER_IS_BETTER
from .goal import Goal
from .losses.costs import cost_table
from .losses.expression import CLASS_NAMES, NAMES
from .losses.grid import Grades
from .losses.loss import Loss
from .losses.outcomes import PLACES


def describe_goal(goal: Goal, prompt: JudgePrompt) -> str:
    """Say what a person wants of the judge, in their words and as it was read."""
    return (
        f"# What is wanted\n{describe_wish(goal)}\nThe judge {prompt.name!r} reads"
        f" {', '.join(prompt.inputs)} and answers with {prompt.scale.describe()}.\nThe rows to"
        f" improve on, the slice: {goal.target.name}."
    )


def describe_wish(goal: Goal) -> str:
    """Say the objective in the person's words, and as it was read."""
    wish = " ".join(goal.objective.text.split())
    read = goal.objective.describe()
    return (
        f"Objective, in the person's words: {wish}\nRead as: {read}"
        if wish
        else f"Objective: {read}"
    )


def describe_metrics(
    judged: JudgedDataset, goal: Goal, in_use: JudgedDataset | None = None
) -> list[str]:
    """Say what each metric of the objective is on these rows, and what it must keep to.

    Args:
        judged: Training rows with the prompt's verdicts.
        goal: What the run works towards.
        in_use: As in `describe_standing`.
    """
    objective = goal.objective
    lines: list[str] = []
    margins = {guard.metric: guard.margin for guard in objective.guards}
    floors = {floor.metric: floor.value for floor in objective.floors}
    rows = {row.id for row in judged.rows}
    same_rows = in_use and in_use.only(
        [i for i, row in enumerate(in_use.dataset.rows) if row.id in rows]
    )
    for metric in objective.metrics:
        now = point(metric, *judged.compared(metric)) if len(judged.rows) else None
        line = f"{metric} is {'not defined' if now is None else f'{now:.3f}'} on these rows"
        if metric == objective.target:
            line += f"; it is to {'fall' if metric in LOWER_IS_BETTER else 'rise'}"
        if metric in margins:
            line += _guarded(metric, margins[metric], same_rows)
        if metric in floors:
            line += f"; it must be at least {floors[metric]:g}"
        lines.append(f"{line}.")
    return lines


def _guarded(metric: str, margin: float, in_use: JudgedDataset | None) -> str:
    """Say what a guard allows: as a value where the prompt in use has one on the same rows."""
    rises = metric in LOWER_IS_BETTER
    before = point(metric, *in_use.compared(metric)) if in_use and len(in_use.rows) else None
    if before is not None:
        limit = before + margin if rises else before - margin
        bound = "most" if rises else "least"
        return (
            f"; the prompt in use has {before:.3f}, and a new one has to have {limit:.3f} at"
            f" {bound}"
        )
    if rises:
        return f"; under a new prompt it may be at most {margin:g} higher"
    return f"; a new prompt may lose at most {100 * margin:g} points of it"


def describe_loss(loss: Loss, judged: JudgedDataset, *, whole: bool) -> str:
    """Say what a row costs: the expression, the names in it, and what each outcome comes to.

    Args:
        loss: The loss.
        judged: Rows; only their scales are read.
        whole: Whether the slice is all of them.
    """
    expression = str(loss.expression)
    choice = judged.scale.kind == "choice"
    names = CLASS_NAMES if choice else NAMES
    words = set(re.findall(r"\w+", expression))
    used = [f"{name}: {meaning}" for name, meaning in names.items() if name in words]
    lines = [f"A row costs {expression}, from 0 to 1; lower is better."]
    if used:
        lines.append("; ".join(used) + ".")
    if loss.reason:
        lines.append(f"Why: {loss.reason}")
    if not choice and judged.scale.levels:
        for row in cost_table(loss.expression, Grades.of(judged.scale, judged.dataset.labels)):
            if row.confidence > 0.5 and not (whole and row.place == PLACES[0]):
                lines.append(
                    f"At confidence {row.confidence:g}, {row.place}: a false positive costs "
                    f"{_span(row.fp_near, row.fp)}, a false negative {_span(row.fn_near, row.fn)}, "
                    f"a right positive {row.tp:.2f}, a right negative {row.tn:.2f}."
                )
    return "\n".join(lines)


def _span(near: float, far: float) -> str:
    low, high = f"{min(near, far):.2f}", f"{max(near, far):.2f}"
    return low if low == high else f"{low} to {high}"

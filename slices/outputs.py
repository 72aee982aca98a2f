"""How a metric moves with what judges said of the rows: calibration, not a cause.

Where a judge is less sure it errs more. A slice such as `confidence < 0.9` says so and nothing
else: no prompt can be written for the rows in it, since which rows they are is known only once the
judge has answered. So columns that hold outputs, of this judge or of another one, are left out of
the search (`features.py`), and the metric at their values is shown by itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ..judges import FloatArray
from .column import Codes, Column, encode
from .features import OutputColumn
from .outcomes import Outcomes
from .search_result import JudgeOutput, OutputLevel
from .slice import Condition, Predicate, join
from .target import Target, estimate_on

OWN = "judge."
"""What the names of this judge's own score and confidence begin with, among the outputs."""
LEVELS = 5
"""Ranges that a number's values are shown in; of a category, the most frequent values."""
OF_VERDICTS = ("precision", "accuracy", "off_by_one", "brier", "ece")
"""Metrics that say something among rows with one and the same verdict; recall is 0 or 1 there."""


def describe_outputs(
    columns: Sequence[OutputColumn],
    outcomes: Outcomes,
    own: Mapping[str, FloatArray],
    target: Target,
) -> tuple[JudgeOutput, ...]:
    """Measure a metric at the values of each output, this judge's own first.

    Args:
        columns: Columns of the rows that hold outputs.
        outcomes: What people and judge decided.
        own: This judge's score and confidence; shape (n,) each.
        target: The metric.
    """
    candidates: list[OutputColumn] = []
    for name, values in own.items():
        column = encode(f"{OWN}{name}", values.tolist())
        candidates.append(OutputColumn(column=column, reason=f"this judge's {name}"))
    candidates += columns
    inside, _ = target.losses(outcomes)
    outputs: list[JudgeOutput] = []
    seen: set[bytes] = set()
    for output in candidates:
        codes = output.column.codes
        levels = []
        for condition, level_codes in _levels(output.column):
            member = np.isin(codes, level_codes)
            n = int((member & inside).sum())
            if n:
                value = estimate_on(target, outcomes, member, n=n)
                levels.append(OutputLevel(predicate=Predicate([condition]), value=value))
        # Verdicts have one value where precision looks; bins of what is listed say nothing new.
        partition = np.unique(codes, return_inverse=True)[1].tobytes()
        if len(levels) > 1 and partition not in seen and _says_something(codes, outcomes, target):
            outputs.append(
                JudgeOutput(column=output.column.name, reason=output.reason, levels=tuple(levels))
            )
        seen.add(partition)
    return tuple(outputs)


def _says_something(codes: Codes, outcomes: Outcomes, target: Target) -> bool:
    """Whether a metric can be read at the values of an output: not where each holds one verdict and
    it needs both.
    """
    if target.name in OF_VERDICTS:
        return True
    verdicts = np.unique(np.stack([codes, outcomes.predicted], axis=1), axis=0)
    return len(verdicts) > len(np.unique(codes))


def _levels(column: Column) -> list[tuple[Condition, list[int]]]:
    """Return a few conditions of a column, each with its codes: joined intervals, else the most
    frequent values.
    """
    levels: list[tuple[Condition, list[int]]] = []
    if column.ordered:
        for codes in np.array_split(np.arange(column.ordered), min(LEVELS, column.ordered)):
            first, last = column.conditions[codes[0]], column.conditions[codes[-1]]
            if first is not None and last is not None:
                levels.append((join(first, last), codes.tolist()))
    for code in range(column.ordered, len(column.conditions)):
        condition = column.conditions[code]
        if condition is not None and len(levels) < LEVELS:
            levels.append((condition, [code]))
    if column.ordered:
        return levels
    return sorted(levels, key=lambda level: str(level[0]))

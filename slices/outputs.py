"""What judges said of the rows, kept apart from what the rows are: outputs are calibration, not a cause.

Where a judge is less sure it errs more. A slice such as `confidence < 0.9` says so and nothing else: no prompt can be
written for the rows in it, since which rows they are is known only once the judge has answered. So columns that hold
outputs, of this judge or of another one beside it, are no columns to slice by; the metric at their values is shown by
itself. Which columns these are is known from the file (`Judged.outputs`), seen in the data (bins of this judge's own
score or confidence), and guessed from the name where nothing else is known; only the guess can be wrong, so only that
can be taken back.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

import numpy as np

from ..judges import FloatArray, JudgedDataset
from .column import Codes, Column, encode
from .inspect_slice import estimate_inside
from .leaks import LABEL_NAMES, VERDICT_NAMES
from .outcomes import Outcomes
from .search_result import JudgeOutput, OutputLevel
from .slice import Condition, Interval, Predicate
from .target import Target

KNOWN_REASON = "what a judge said: it stands beside the score in the file"
BY_NAME = "its name says that a judge gave it"
NAME_REASON = f"{BY_NAME}; --keep COLUMN searches it all the same"
OWN = "judge."
"""What the names of this judge's own score and confidence begin with, among the outputs."""
LEVELS = 5
"""Ranges that a number's values are shown in; of a category, the most frequent values."""
MIN_KNOWN = 0.9
"""Share of the rows that must have a score or confidence before a column is taken for bins of it."""
MIN_ROWS = 30
"""Rows that must have one."""

OF_VERDICTS = ("precision", "accuracy", "off_by_one", "brier", "ece")
"""Metrics that say something among rows with one and the same verdict; recall is 0 or 1 there."""

_OUTPUT_WORDS = frozenset(
    (
        *("confidence", "confidences", "certainty", "probability", "probabilities", "prob", "probs", "logprob"),
        *("logprobs", "score", "scores", "verdict", "verdicts", "prediction", "predictions", "predicted", "pred"),
        *("judgement", "judgment", "judgements", "judgments", "guess"),
    )
)
"""Words that name an output of a judge."""
_DERIVED_WORDS = frozenset(
    (
        *("bin", "bins", "binned", "bucket", "buckets", "band", "range", "level", "decile", "deciles", "quartile"),
        *("quintile", "quantile", "percentile", "rank", "raw", "token", "tokens", "calibrated", "normalized"),
        *("normalised", "norm", "scaled", "rounded", "mean", "avg", "max", "min", "std", "pct", "percent", "value"),
    )
)
"""Words behind such a one that make it nothing else: `confidence_bin`, and not `score_type`."""
_PARTS = re.compile(r"[^\W\d_]+|\d+")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputColumn:
    """A column that holds what a judge said, and how that is known."""

    column: Column
    reason: str


def names_an_output(name: str) -> bool:
    """Whether a column's name alone says that a judge gave its values.

    The last word counts, but for words such as `bin`: `gpt4_score` and `confidence_bin` are outputs; `score_type` and
    `confidence_of_source` are not. So is everything inside an object of that name, such as `verdicts.gpt4`.
    """
    parts = name.split(".")
    lower = [part.lower() for part in parts]
    if any(fnmatchcase(part, pattern) for part in lower for pattern in LABEL_NAMES):
        return False
    if any(fnmatchcase(part, pattern) for part in lower for pattern in VERDICT_NAMES):
        return True
    if any(part in _OUTPUT_WORDS for part in lower[:-1]):
        return True
    words = [word.lower() for word in _PARTS.findall(_CAMEL.sub("_", parts[-1]))]
    while len(words) > 1 and (words[-1] in _DERIVED_WORDS or words[-1].isdecimal()):
        words.pop()
    return bool(words) and words[-1] in _OUTPUT_WORDS


def named_outputs(predicate: Predicate) -> tuple[str, ...]:
    """Return the columns of a slice whose names say that a judge gave them."""
    return tuple(column for column in predicate.columns if names_an_output(column))


def own_outputs(judged: JudgedDataset) -> dict[str, FloatArray]:
    """Return this judge's score and confidence on the scored rows, where it gave them; shape (n,) each."""
    outputs = {"score": judged.score, "confidence": judged.confidence}
    return {name: values for name, values in outputs.items() if np.isfinite(values).any()}


def bins_reason(codes: Codes, own: Mapping[str, FloatArray]) -> str | None:
    """Say of which output of this judge a column holds bins; None where it does of none.

    Bins are ranges that do not overlap: in the order of the output each value of the column comes up in one stretch.
    Nothing that was not made of the output does so on thirty rows.

    Args:
        codes: The column's values as codes; shape (n,).
        own: This judge's outputs by name; shape (n,) each.
    """
    for name, values in own.items():
        known = np.isfinite(values)
        if known.sum() < MIN_ROWS or known.mean() < MIN_KNOWN:
            continue
        pairs = np.unique(np.stack([values[known], codes[known].astype(np.float64)], axis=1), axis=0)
        stretches = 1 + np.count_nonzero(np.diff(pairs[:, 1]))
        one_each = len(np.unique(pairs[:, 0])) == len(pairs)
        if one_each and stretches == len(np.unique(pairs[:, 1])) > 1:
            return f"what the judge said: its values are ranges of this judge's {name}"
    return None


def describe_outputs(
    columns: Sequence[OutputColumn], outcomes: Outcomes, own: Mapping[str, FloatArray], target: Target
) -> tuple[JudgeOutput, ...]:
    """Measure a metric at the values of each output, this judge's own first.

    Args:
        columns: Columns of the rows that hold outputs.
        outcomes: What people and judge said.
        own: This judge's score and confidence; shape (n,) each.
        target: The metric.
    """
    mine = [
        OutputColumn(column=encode(f"{OWN}{name}", values.tolist()), reason=f"this judge's {name}")
        for name, values in own.items()
    ]
    inside, _ = target.losses(outcomes)
    outputs: list[JudgeOutput] = []
    seen: set[bytes] = set()
    for output in (*mine, *columns):
        levels = []
        for condition, codes in _levels(output.column):
            member = np.isin(output.column.codes, codes)
            value = estimate_inside(target, outcomes, member, inside)
            if value.n:
                levels.append(OutputLevel(predicate=Predicate([condition]), value=value))
        # Verdicts alone have one value where precision looks; bins of what is listed already say nothing new.
        same = np.unique(output.column.codes, return_inverse=True)[1].tobytes()
        if len(levels) > 1 and same not in seen and _says_something(output.column.codes, outcomes, target):
            outputs.append(JudgeOutput(column=output.column.name, reason=output.reason, levels=tuple(levels)))
        seen.add(same)
    return tuple(outputs)


def _says_something(codes: Codes, outcomes: Outcomes, target: Target) -> bool:
    """Whether a metric can be read at the values of an output: not where each holds one verdict and it needs both."""
    verdicts = np.unique(np.stack([codes, outcomes.predicted], axis=1), axis=0)
    return target.name in OF_VERDICTS or len(verdicts) > len(np.unique(codes))


def _levels(column: Column) -> list[tuple[Condition, list[int]]]:
    """Return a few conditions of a column, each with its codes: joined intervals, else the most frequent values."""
    ranges = np.array_split(np.arange(column.ordered), min(LEVELS, column.ordered)) if column.ordered else []
    levels: list[tuple[Condition, list[int]]] = []
    for codes in ranges:
        first, last = column.conditions[codes[0]], column.conditions[codes[-1]]
        if isinstance(first, Interval) and isinstance(last, Interval):
            levels.append((Interval(column=column.name, low=first.low, high=last.high), codes.tolist()))
    for code in range(column.ordered, len(column.conditions)):
        condition = column.conditions[code]
        if condition is not None and len(levels) < LEVELS:
            levels.append((condition, [code]))
    return levels if column.ordered else sorted(levels, key=lambda level: str(level[0]))

"""Rules: how one figure of a verdict file is computed, as an entry of a file of expectations states
it.

Rules for files that others released ship as data, in `rules.yaml`, keyed by file and figure. They
hold for these alone.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Annotated

import numpy as np
import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from ..errors import InputError
from ..files.verdict_columns import VerdictColumns
from ..files.verdict_items import Aggregate
from ..scale import OutputScale, parse_label_scale


def refuse_truth(value: object) -> object:
    """Refuse what only looks like a number to Python: true is not 1 here."""
    if isinstance(value, bool):
        raise ValueError("a number is needed, not true or false")  # noqa: TRY004  # pydantic reports a ValueError
    return value


def _scale(value: object) -> object:
    """Read `0..3`, or the two ends as a list."""
    ends = [str(end) for end in value] if isinstance(value, list) and len(value) == 2 else None
    text = "..".join(ends) if ends else value
    if not isinstance(text, str):
        raise ValueError("a scale is LOW..HIGH, binary or probability")  # noqa: TRY004  # pydantic reports a ValueError
    try:
        return parse_label_scale(text)
    except InputError as error:
        raise ValueError(str(error)) from None


Number = Annotated[float, BeforeValidator(refuse_truth), Field(allow_inf_nan=False)]
Column = Annotated[str, Field(min_length=1)]


class Rule(BaseModel):
    """How a figure is computed; most keys are the options of `judgewright score`, with their
    defaults.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, arbitrary_types_allowed=True)

    metric: Column
    """A metric of `score`, or one of those that `compute` adds."""
    label: Column = "label"
    """The column of the human label; a list of numbers in it, one an annotator, stands for its
    mean.
    """
    score: Column = "score"
    """The column of the judge's score; of a matrix `verdicts.NAME`, or `verdicts.*` beside `judge`.
    """
    judge: Column | None = None
    """Which judge of a matrix, where `score` has a star."""
    confidence: Column | None = None
    uncertain: Column | None = None
    threshold: Number | None = None
    """What label and score must reach to be positive; a side of 0 and 1 stays as it is."""
    label_threshold: Number | None = None
    """What the label must reach, where that differs."""
    above: bool = False
    """Whether they must lie strictly above it."""
    scale: Annotated[OutputScale, BeforeValidator(_scale)] | None = None
    clip: bool = False
    aggregate: Aggregate | None = None
    by: Annotated[
        tuple[Column, ...],
        BeforeValidator(lambda value: (value,) if isinstance(value, str) else value),
    ] = ()
    """With `aggregate` the columns that name an item; else the column over whose values a macro
    metric is a mean.
    """
    group: Column | None = None
    label_map: Mapping[str, Number | None] = {}
    score_map: Mapping[str, Number | None] = {}
    times: Number = 1.0
    """100 where the figure was printed as a percentage."""

    @property
    def name(self) -> str:
        """The metric as `measure` calls it."""
        return self.metric.strip().casefold().replace(" ", "_").replace("-", "_")

    def columns(self) -> VerdictColumns:
        """Return how the file is read.

        Raises:
            InputError: Keys that need each other do not stand together.
        """
        if self.above and self.threshold is None and self.label_threshold is None:
            raise InputError("'above' needs a 'threshold' to be above")
        return VerdictColumns(
            label=self.label,
            score=self.score,
            confidence=self.confidence,
            threshold=self._cut(self.threshold),
            label_threshold=self._cut(self.label_threshold),
            group=self.group,
            label_map={cell.casefold(): grade for cell, grade in self.label_map.items()},
            score_map={cell.casefold(): grade for cell, grade in self.score_map.items()},
            scale=self.scale,
            clip=self.clip,
            aggregate=self.aggregate,
            by=self.by if self.aggregate else (),
            mean_labels=True,
        )

    def _cut(self, threshold: float | None) -> float | None:
        # What is strictly above a number is at or above the next float.
        return (
            float(np.nextafter(threshold, math.inf))
            if self.above and threshold is not None
            else threshold
        )

    def to_json(self) -> dict[str, object]:
        """Return the keys that were stated."""
        stated = {name: getattr(self, name) for name in self.model_fields_set}
        if self.scale is not None:
            stated["scale"] = self.scale.describe()
        return dict(sorted(stated.items()))


def explain(error: ValidationError) -> str:
    """Say in a line what is wrong with an object that was read: the key, its value, and why."""
    fault = error.errors()[0]
    # Where a value may be of several kinds, their names stand among the keys.
    key = ".".join(part for part in map(str, fault["loc"]) if part.isidentifier())
    if fault["type"] == "extra_forbidden":
        return f"there is no key {key!r}; there are {', '.join(Rule.model_fields)}"
    reason = fault["msg"].removeprefix("Value error, ")
    return f"{key or 'the entry'} is {fault['input']!r:.60}: {reason}"


def shipped_rule(file: str, figure: str) -> Rule | None:
    """Return our own rule for a figure of a released file; None for every other figure and file."""
    return shipped_rules().get(file, {}).get(figure.strip().casefold())


@cache
def shipped_rules() -> Mapping[str, Mapping[str, Rule]]:
    """Return the rules of `rules.yaml` by file, and by the figure's name in lower case."""
    text = files("judgewright.judges.published").joinpath("rules.yaml").read_text(encoding="utf-8")
    by_file: dict[str, dict[str, Rule]] = {}
    for sheet in yaml.safe_load(text)["sheets"]:
        rules: dict[str, Rule] = {}
        for judge in sheet.get("judges", [None]):
            for figure, keys in sheet["figures"].items():
                keys = {**sheet["every"], **keys}
                if judge is None:
                    rules[figure.casefold()] = Rule(**keys)
                else:
                    rules[f"{judge}: {figure}".casefold()] = Rule(**keys, judge=judge)
        by_file |= dict.fromkeys(sheet["files"], rules)
    return by_file

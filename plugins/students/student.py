"""A student: a logistic regression on features of two texts, with a decision rule, kept as JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import numpy as np

from ...judges.errors import DataError, InputError
from ...judges.files.small_file import read_small_text
from ...judges.files.write_beside import write_beside
from ...judges.judged_dataset import FloatArray, JudgedDataset
from ...judges.rows import Dataset, Scalar
from ...judges.scale import PROBABILITY, DecisionRule
from ...judges.verdict import Answer, Unscored, Verdict, apply_rule
from .text_features import FEATURES, TextPair, WordWeights

FORMAT = 1
DIGITS = 9
"""Probabilities are rounded, so that the same student says the same on every machine."""


@dataclass(frozen=True, kw_only=True)
class Student:
    """What a teacher's verdicts taught; call it with a row as a dict, or `judge` a data set."""

    inputs: tuple[str, str]
    """The input that should bear the other out, and the other: `source` and `statement`."""
    words: WordWeights
    centre: FloatArray
    """Of each feature; shape (F,)."""
    spread: FloatArray
    weights: FloatArray
    intercept: float
    rule: DecisionRule
    """Calibrates the regression's probability, and decides."""
    teacher: str
    simulated: bool
    """Whether the teacher was simulated."""
    rows: int
    """It was trained on."""

    @property
    def name(self) -> str:
        """What its verdicts are called."""
        return f"student of {self.teacher}"

    def probabilities(self, pairs: Sequence[TextPair]) -> FloatArray:
        """Return the regression's probability that the teacher says yes, not calibrated; shape
        (n,).
        """
        scaled = (self.words.features(pairs) - self.centre) / self.spread
        # Bounded, so that a text unlike all others overflows nothing.
        logits = np.clip(scaled @ self.weights + self.intercept, -30.0, 30.0)
        return np.round(1.0 / (1.0 + np.exp(-logits)), DIGITS)

    def judge(self, dataset: Dataset) -> JudgedDataset:
        """Judge rows; one that lacks an input is unscored."""
        long, short = self.inputs
        there = [
            row
            for row in dataset.rows
            if row.inputs.get(long) is not None and row.inputs.get(short) is not None
        ]
        pairs = [TextPair.of(row.inputs[long], row.inputs[short]) for row in there]
        probability_of = dict(
            zip((row.id for row in there), self.probabilities(pairs).tolist(), strict=True)
        )
        answers: list[Answer] = []
        for row in dataset.rows:
            if row.id in probability_of:
                answers.append(verdict_of(row.id, probability_of[row.id], self.rule))
            else:
                answers.append(
                    Unscored(row_id=row.id, reason="parse", detail=f"no {long} or no {short}")
                )
        return JudgedDataset(
            dataset=dataset,
            answers=tuple(answers),
            scale=replace(PROBABILITY, threshold=self.rule.threshold),
            judge=self.name,
            model="student",
            simulated=self.simulated,
            rule=self.rule,
        )

    def __call__(self, row: Mapping[str, Scalar]) -> bool | None:
        """Decide about a row, as a judge that is a Python function does."""
        texts = [row.get(name) for name in self.inputs]
        if any(text is None for text in texts):
            return None
        raw = float(self.probabilities([TextPair.of(*(str(text) for text in texts))])[0])
        answer = verdict_of("", raw, self.rule)
        return answer.positive if isinstance(answer, Verdict) else None

    def to_json(self) -> dict[str, Any]:  # Any: JSON
        """Return everything it needs."""
        return {
            "format": FORMAT,
            "kind": "student",
            "teacher": self.teacher,
            "simulated": self.simulated,
            "rows": self.rows,
            "inputs": list(self.inputs),
            "rule": self.rule.to_json(),
            "intercept": self.intercept,
            "features": {
                name: {"centre": float(centre), "spread": float(spread), "weight": float(weight)}
                for name, centre, spread, weight in zip(
                    FEATURES, self.centre, self.spread, self.weights, strict=True
                )
            },
            "rarest": self.words.rarest,
            "idf": dict(self.words.idf),
        }


def verdict_of(row_id: str, probability: float, rule: DecisionRule) -> Answer:
    """Return the verdict of a raw probability under a rule."""
    raw = Verdict(
        row_id=row_id,
        score=probability,
        positive=PROBABILITY.positive(probability),
        parser="student",
    )
    return apply_rule(raw, PROBABILITY, rule)


def write_student(student: Student, path: Path) -> None:
    """Write a student as JSON."""
    write_beside(path, json.dumps(student.to_json(), ensure_ascii=False, indent=1) + "\n")


def read_student(path: Path) -> Student:
    """Read what `write_student` wrote.

    Raises:
        DataError: The file is none, or is damaged.
    """
    try:
        read: Any = json.loads(read_small_text(path))  # Any: JSON
    except OSError as error:
        raise DataError(
            f"cannot read the student {str(path)!r}: {error.strerror or error}"
        ) from None
    except ValueError as error:
        raise DataError(f"{path}: not valid JSON: {error}") from None
    body = cast("dict[str, Any]", read) if isinstance(read, dict) else {}  # Any: JSON
    if body.get("kind") != "student":
        raise DataError(f"{path} is no student", hint="`student train --out` writes one")
    if body.get("format") != FORMAT:
        raise DataError(
            f"{path}: its format is {body.get('format')!r}, not {FORMAT}", hint="train it anew"
        )
    try:
        features = [body["features"][name] for name in FEATURES]
        columns = {
            key: _numbers(one[key] for one in features) for key in ("centre", "spread", "weight")
        }
        long, short = (str(name) for name in body["inputs"])
        idf = {str(word): float(value) for word, value in body["idf"].items()}
        rarest, intercept, rows = float(body["rarest"]), float(body["intercept"]), int(body["rows"])
        rule = DecisionRule.from_json(body["rule"])
    except (KeyError, TypeError, ValueError, AttributeError, InputError) as error:
        raise DataError(f"{path} is damaged: {error}", hint="train it anew") from None
    if not (np.all(columns["spread"] > 0) and math.isfinite(intercept)):
        raise DataError(f"{path}, field 'features': a spread is not above 0", hint="train it anew")
    return Student(
        inputs=(long, short),
        words=WordWeights(idf=idf, rarest=rarest),
        centre=columns["centre"],
        spread=columns["spread"],
        weights=columns["weight"],
        intercept=intercept,
        rule=rule,
        teacher=str(body.get("teacher", "")),
        simulated=body.get("simulated") is True,
        rows=rows,
    )


def _numbers(values: Any) -> FloatArray:  # Any: JSON
    numbers = np.array([float(value) for value in values], np.float64)
    if not np.isfinite(numbers).all():
        raise ValueError("a number is not finite")
    return numbers

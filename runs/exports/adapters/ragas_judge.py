"""The judge in `judge.json` as a metric of Ragas."""

import asyncio
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from openai import OpenAI
from ragas.metrics.base import SimpleBaseMetric
from ragas.metrics.result import MetricResult
from ragas.metrics.validators import DiscreteValidator, NumericValidator

sys.path.append(str(Path(__file__).parent))
from judgewright_judge import judge_beside

JUDGE = judge_beside(__file__)
Validator = DiscreteValidator if JUDGE.chooses else NumericValidator


def allowed_values():
    """Return what Ragas checks a value by: the labels, or the lowest and the highest grade."""
    return JUDGE.labels if JUDGE.chooses else (JUDGE.low, JUDGE.high)


@dataclass(repr=False)
class Judge(SimpleBaseMetric, Validator):
    """A metric whose result has the judge's label or grade as its value, and None where the reply
    has none.
    """

    name: str = JUDGE.name
    allowed_values: Any = field(default_factory=allowed_values)
    model: str = ""
    client: OpenAI | None = None
    """Its base_url may be any endpoint that speaks the OpenAI protocol."""
    parameters: dict = field(default_factory=dict)
    """What the request says otherwise than the judge does; None leaves a part of it out."""

    def score(self, **row):
        """Judge one row: its inputs by name; other names are ignored."""
        try:
            grade, reasons = JUDGE.ask(self.client or OpenAI(), self.model, row, self.parameters)
        except ValueError as problem:
            return MetricResult(value=None, reason=f"unscored: {problem}")
        return MetricResult(value=JUDGE.label(grade) if JUDGE.chooses else grade, reason=reasons)

    async def ascore(self, **row):
        """Judge one row in a thread of its own."""
        return await asyncio.to_thread(self.score, **row)


def positive(result):
    """Return the decision for a result; None where it has no grade."""
    return None if result.value is None or JUDGE.chooses else JUDGE.positive(result.value)

"""Ragas: a metric that sends the judge's own messages."""

from __future__ import annotations

from string import Template

from .judge_module import calibration_difference, fill_module, literal, prose_difference, stem
from .target import ExportContext, ExportedFiles, Refused, ScoreMap, Target

_MODULE = Template('''\
"""$origin

A Ragas metric written by Judgewright. $decision.
"""

import asyncio
import hashlib
import json
import re
from dataclasses import dataclass, field
from typing import Any

from openai import OpenAI
from ragas.metrics.base import SimpleBaseMetric
from ragas.metrics.result import MetricResult
from ragas.metrics.validators import $validator

$user_text

$messages

$reading

@dataclass(repr=False)
class Judge(SimpleBaseMetric, $validator):
    """The judge as a Ragas metric; the value of its result is the judge's $value_is, None where there is none."""

    name: str = NAME
    allowed_values: Any = $allowed
    model: str = ""
    client: OpenAI | None = None
    """Its base_url may be any endpoint that speaks the OpenAI protocol."""
    parameters: dict = field(default_factory=lambda: {"temperature": 0.0})
    """What else the request says, such as seed or response_format."""

    def score(self, **row):
        """Judge one row: its inputs by name; other names are ignored."""
        client = self.client or OpenAI()
        answer = client.chat.completions.create(model=self.model, messages=messages(row), **self.parameters)
        try:
            if answer.choices[0].finish_reason in ("length", "content_filter"):
                raise ValueError(f"the reply ended by {answer.choices[0].finish_reason}")
            grade, reasons = read_reply(answer.choices[0].message.content or "")
        except ValueError as problem:
            return MetricResult(value=None, reason=f"unscored: {problem}")
        return MetricResult(value=$value, reason=reasons)

    async def ascore(self, **row):
        """Judge one row in a thread of its own."""
        return await asyncio.to_thread(self.score, **row)
$positive''')

_POSITIVE = '''

def positive(result):
    """Return the decision for a result; None where it has no value."""
    return None if result.value is None else result.value >= THRESHOLD
'''


def write(handover: ExportContext) -> ExportedFiles:
    """Write the metric.

    Raises:
        Refused: A field is `self`.
    """
    prompt, scale = handover.prompt, handover.prompt.scale
    if "self" in prompt.inputs:
        raise Refused("a field 'self' cannot be given to Ragas' score()")
    name, choice = f"{stem(prompt)}_ragas", scale.kind == "choice"
    module = fill_module(
        _MODULE,
        handover,
        validator="DiscreteValidator" if choice else "NumericValidator",
        value_is="label" if choice else "grade",
        allowed=f"field(default_factory=lambda: list({literal(scale.labels)}))"
        if choice
        else f"({scale.low}, {scale.high})",
        value=f"{literal(scale.labels)}[int(grade)]" if choice else "grade",
        positive="" if choice else _POSITIVE,
    )
    how = "its label; our grade is the place in the list" if choice else "the judge's grade, unaltered"
    fields = ", ".join(f"{field}=..." for field in prompt.inputs)
    return ExportedFiles(
        files={f"{name}.py": module},
        exact=True,
        calibrated=True,
        own_fences=True,
        differences=(*calibration_difference(handover), *prose_difference(prompt)),
        scores=ScoreMap(low=float(scale.low), high=float(scale.high), how=f"The value of the result is {how}."),
        usage=(
            f"from openai import OpenAI\nfrom {name} import Judge\n"
            f"result = Judge(model=MODEL, client=OpenAI(base_url=URL)).score({fields})"
        ),
    )


TARGET = Target(
    name="ragas",
    tool="Ragas 0.4",
    write=write,
    probe="ragas.py",
    requires=("ragas==0.4.3", "langchain-community<0.4"),
)

"""Ragas: a metric that sends the judge's own messages, and the judge as a NumericMetric or DiscreteMetric to load."""

from __future__ import annotations

from string import Template

import orjson

from ...judges import JudgePrompt
from .judge_module import calibration_difference, fill_module, literal, prose_difference, stem
from .target import ExportContext, ExportedFiles, Refused, ScoreMap, Target
from .template_parts import TemplatePart, template_messages
from .template_syntaxes import f_string

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
    """Write the metric, and beside it the JSON that Ragas' own metric classes load.

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
    files = {f"{name}.py": module}
    differences = [*calibration_difference(handover), *prose_difference(prompt)]
    if prompt.examples:
        differences.append(
            "There is no file for Ragas' own metric classes: they send one user message and have no place for the "
            "judge's demonstrations as turns of a chat."
        )
    else:
        files[f"{name}.json"] = orjson.dumps(_metric(prompt), option=orjson.OPT_INDENT_2).decode() + "\n"
        differences.append(
            f"{name}.json is the second-best form: there Ragas sends system and user text as one user message, asks "
            "through structured output for its own fields `reason` and `value` in place of the judge's reply, and "
            "knows no threshold."
        )
    how = "its label; our grade is the place in the list" if choice else "the judge's grade, unaltered"
    fields = ", ".join(f"{field}=..." for field in prompt.inputs)
    return ExportedFiles(
        files=files,
        exact=True,
        calibrated=True,
        own_fences=True,
        differences=tuple(differences),
        scores=ScoreMap(low=float(scale.low), high=float(scale.high), how=f"The value of the result is {how}."),
        usage=(
            f"from openai import OpenAI\nfrom {name} import Judge\n"
            f"result = Judge(model=MODEL, client=OpenAI(base_url=URL)).score({fields})"
        ),
    )


def _metric(prompt: JudgePrompt) -> dict[str, object]:
    scale = prompt.scale
    discrete = scale.kind == "choice" or (scale.kind == "binary" and bool(scale.labels))
    segments: list[TemplatePart] = []
    for message in template_messages(prompt):
        segments += [*(["\n\n"] if segments else []), *message.segments]
    return {
        "format_version": "1.0",
        "metric_type": "DiscreteMetric" if discrete else "NumericMetric",
        "name": prompt.name,
        "prompt": {"type": "Prompt", "instruction": f_string(segments), "examples": []},
        "config": {"allowed_values": list(scale.labels) if discrete else [scale.low, scale.high]},
        "response_model_info": None,
    }


TARGET = Target(
    name="ragas",
    tool="Ragas 0.4",
    write=write,
    probe="ragas.py",
    requires=("ragas==0.4.3", "langchain-community<0.4"),
)

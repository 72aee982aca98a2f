"""Ragas: a metric that sends the judge's own messages."""

from __future__ import annotations

from string import Template

from .message_templates import example_row, fill_module, module_differences, stem
from .source_text import literal
from .target import ExportContext, ExportedFiles, Refused, ScoreMap, Target

_MODULE = Template('''\
"""$origin

A Ragas metric written by Judgewright. $decision.
"""

import asyncio
$imports
from dataclasses import field

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
    parameters: dict = field(default_factory=dict)
    """What the request says otherwise than REQUEST; None leaves a part of it out."""

    def score(self, **row):
        """Judge one row: its inputs by name; other names are ignored."""
        client = self.client or OpenAI()
        completion = client.chat.completions.create(
            model=self.model, messages=messages(row), **settings(**self.parameters)
        )
        try:
            grade, reasons = read_completion(completion)
        except ValueError as problem:
            return MetricResult(value=None, reason=f"unscored: {problem}")
        return MetricResult(value=$value, reason=reasons)

    async def ascore(self, **row):
        """Judge one row in a thread of its own."""
        return await asyncio.to_thread(self.score, **row)
$positive''')  # noqa: E501

_POSITIVE = '''

def positive(result):
    """Return the decision for a result; None where it has no value."""
    return None if result.value is None else result.value >= THRESHOLD
'''


def write(context: ExportContext) -> ExportedFiles:
    """Write the metric.

    Raises:
        Refused: A field is `self`.
    """
    prompt, scale = context.prompt, context.prompt.scale
    if "self" in prompt.inputs:
        raise Refused("a field 'self' cannot be given to Ragas' score()")
    name = f"{stem(prompt)}_ragas"
    if scale.kind == "choice":
        labels = literal(scale.labels)
        parts = {
            "validator": "DiscreteValidator",
            "value_is": "label",
            "allowed": f"field(default_factory=lambda: list({labels}))",
            "value": f"{labels}[int(grade)]",
            "positive": "",
        }
        how = "The value of the result is its label; our grade is the place in the list."
    else:
        parts = {
            "validator": "NumericValidator",
            "value_is": "grade",
            "allowed": f"({scale.low}, {scale.high})",
            "value": "grade",
            "positive": _POSITIVE,
        }
        how = "The value of the result is the judge's grade, unaltered."
    return ExportedFiles(
        files={f"{name}.py": fill_module(_MODULE, context, **parts)},
        own_fences=True,
        differences=module_differences(context),
        scores=ScoreMap.of_grades(context, how),
        usage=(
            f"from openai import OpenAI\nfrom {name} import Judge\n"
            f'result = Judge(model="{context.model}",'
            f" client=OpenAI()).score(**{example_row(prompt.inputs)})"
        ),
    )


TARGET = Target(
    name="ragas",
    tool="Ragas 0.4",
    write=write,
    check="ragas.py",
    requires=("ragas>=0.4.3,<0.5", "langchain-community<0.4"),
)

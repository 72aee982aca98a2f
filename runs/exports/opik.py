"""Opik: a metric that sends the judge's own messages, and a chat prompt for the prompt library."""

from __future__ import annotations

from string import Template

from .message_templates import example_row, fill_module, module_differences, stem
from .source_text import json_text, literal
from .target import ExportContext, ExportedFiles, Refused, ScoreMap, Target
from .template_parts import template_messages
from .template_syntaxes import chat_messages, jinja

_MODULE = Template('''\
"""$origin

An Opik metric written by Judgewright. $decision.
"""

$imports
from pathlib import Path

import opik
from opik.evaluation.metrics import base_metric, score_result
from opik.evaluation.models import OpikBaseModel, base_model, models_factory
from opik.exceptions import MetricComputationError

$user_text

$messages

$reading

LOW, HIGH = $low, $high
"""$ends"""


class Judge(base_metric.BaseMetric):
    """The judge as an Opik metric; a reply without a grade fails, as Opik's own metrics do, and is no zero."""

    def __init__(self, model=None, name=NAME, track=True, project_name=None, **parameters):
        """Take a model of Opik's kind, or a name that Opik hands to LiteLLM with the parameters.

        Args:
            parameters: What LiteLLM takes besides, such as api_base; what the request says otherwise than REQUEST,
                where None leaves a part of it out.
        """
        super().__init__(name=name, track=track, project_name=project_name)
        self.model = model if isinstance(model, OpikBaseModel) else models_factory.get(model, track=track)
        self.parameters = settings(**parameters)

    def score(self, **row):
        """Judge one row: its inputs by name; other names are ignored."""
        if missing := [name for name in INPUTS if name not in row]:
            raise MetricComputationError(f"{NAME} needs {', '.join(missing)}")
        asked = {"messages": messages(row), **self.parameters}
        with base_model.get_provider_response(model_provider=self.model, **asked) as completion:
            return self._result(completion)

    async def ascore(self, **row):
        """Judge one row with the model's own asynchronous call."""
        if missing := [name for name in INPUTS if name not in row]:
            raise MetricComputationError(f"{NAME} needs {', '.join(missing)}")
        asked = {"messages": messages(row), **self.parameters}
        async with base_model.aget_provider_response(model_provider=self.model, **asked) as completion:
            return self._result(completion)

    def _result(self, completion):
        try:
            grade, reasons = read_completion(completion)
        except ValueError as problem:
            raise MetricComputationError(str(problem)) from problem
        return score_result.ScoreResult(name=self.name, value=$value, reason=reasons, $details)


def push(client=None, *, name=NAME, **options):
    """Store the chat prompt that lies beside this file in Opik's prompt library, for people to read and try.

    Args:
        client: An opik.Opik(); made from the Opik configuration unless given.
        options: What else create_chat_prompt takes, such as tags or project_name.
    """
    body = json.loads(Path(__file__).with_name("$prompt_file").read_text(encoding="utf-8"))
    return (client or opik.Opik()).create_chat_prompt(
        name=name,
        messages=body,
        type=opik.PromptType.JINJA2,
        metadata={"judgewright": VERSION, "threshold": THRESHOLD, "request": REQUEST, "origin": $origin_text},
        **options,
    )
''')  # noqa: E501


def write(context: ExportContext) -> ExportedFiles:
    """Write the metric, and the chat prompt it can store.

    Raises:
        Refused: A field is `self`.
    """
    prompt, scale = context.prompt, context.prompt.scale
    if "self" in prompt.inputs:
        raise Refused("a field 'self' cannot be given to Opik's score()")
    name = f"{stem(prompt)}_opik"
    differences = [
        *module_differences(context),
        (
            f"{name}.json, which push() stores in Opik's prompt library, has fixed tags as fences;"
            " the metric has the judge's own. Opik shows a template that fails to render as it is,"
            " without an error."
        ),
    ]
    if scale.kind == "choice":
        parts = {
            "ends": "The places of the first and the last label; a score is the label's place.",
            "value": "grade",
            "details": f"category_name={literal(scale.labels)}[int(grade)]",
        }
        how = "The value is the place of the label, which stands in category_name."
        scores = ScoreMap.of_grades(context, how)
        differences.append(
            "The value of a score is the place of the label in the judge's list, which has no"
            " order: read category_name, and do not average values."
        )
    else:
        parts = {
            "ends": "The judge's lowest and highest grade; scores run from 0 to 1 between them.",
            "value": "(grade - LOW) / (HIGH - LOW)",
            "details": 'metadata={"grade": grade, "positive": grade >= THRESHOLD}',
        }
        how = (
            "Scores run from 0 at the lowest grade to 1 at the highest; metadata hold the grade and"
            " the decision."
        )
        scores = ScoreMap.of_shares(context, how)
    module = fill_module(
        _MODULE,
        context,
        low=str(scale.low),
        high=str(scale.high),
        prompt_file=f"{name}.json",
        origin_text=repr(context.origin),
        **parts,
    )
    messages = chat_messages(template_messages(prompt), jinja)
    return ExportedFiles(
        files={f"{name}.py": module, f"{name}.json": json_text(messages)},
        own_fences=True,
        differences=tuple(differences),
        scores=scores,
        usage=(
            f"from {name} import Judge\nresult ="
            f' Judge("openai/{context.model}").score(**{example_row(prompt.inputs)})'
        ),
    )


TARGET = Target(
    name="opik",
    tool="Opik 2.2",
    write=write,
    check="opik.py",
    requires=("opik>=2.2.100,<2.3",),
    push="import opik\nfrom STEM_opik import push\nprint(push(opik.Opik(host=uri)).commit)",
)

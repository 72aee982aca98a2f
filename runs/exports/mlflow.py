"""MLflow: a scorer that sends our messages, and the prompt for its registry."""

from __future__ import annotations

from pprint import pformat
from string import Template
from typing import Any

import orjson

from ...judges import JudgePrompt, OutputScale, response_format
from .judge_module import (
    calibration_difference,
    fill_module,
    literal,
    prose_difference,
    stem,
)
from .python_text import plain
from .target import ExportContext, ExportedFiles, Refused, ScoreMap, Target
from .template_parts import DIFFERENCE, template_messages
from .template_syntaxes import double_brace, jinja

REGISTRY = "prompt.json"
_MODULE = Template('''\
"""The judge $title for MLflow 3.17.

$origin.
$decision.
Written by Judgewright.
"""

import hashlib
import json
import re
from pathlib import Path

import mlflow
from mlflow.entities import AssessmentSource, Feedback
from mlflow.genai.scorers import scorer
from mlflow.metrics.genai.model_utils import _call_llm_provider_api

$user_text

$messages

RESPONSE_FORMAT = $response_format

$reading

$value

def row_of(inputs, outputs, expectations):
    """Return the judge's fields from a row of MLflow: by name from its dictionaries, `$last` from plain outputs."""
    row = {}
    for part in (expectations, inputs, outputs):
        row |= part if isinstance(part, dict) else {}
    if outputs is not None and not isinstance(outputs, dict):
        row["$last"] = str(outputs)
    return {name: row[name] for name in INPUTS}


def make_scorer(model, *, base_url=None, parameters=None, structured=True):
    """Return the judge as a scorer for `mlflow.genai.evaluate`.

    Args:
        model: As MLflow names it, such as openai:/gpt-4o; its key is in the environment.
        base_url: The whole address of the chat endpoint, https://host/v1/chat/completions; the provider's unless given.
        parameters: Sent with each request; {"temperature": 0.0} unless given.
        structured: Whether to ask for the reply's JSON schema, as Judgewright does.
    """
    provider, _, name = model.partition(":/")

    @scorer(name=NAME$pass_if)
    def judge(inputs=None, outputs=None, expectations=None):
        # MLflow's public judges wrap the prompt in words of their own; this is what they call in the end.
        reply = _call_llm_provider_api(
            provider,
            name,
            messages=messages(row_of(inputs, outputs, expectations)),
            eval_parameters={"temperature": 0.0} if parameters is None else parameters,
            proxy_url=base_url,
            response_format=RESPONSE_FORMAT if structured else None,
        )
        grade, reason = read_reply(reply)
        return Feedback(
            name=NAME,
            value=value_of(grade),
            rationale=reason,
            source=AssessmentSource(source_type="LLM_JUDGE", source_id=model),
            metadata={"judge": f"{NAME}@{VERSION}"},
        )

    return judge


def push(bundle, tracking_uri, *, alias=None):
    """Register the prompt at an MLflow server and return its address, such as prompts:/$title/1.

    Args:
        bundle: The folder with $registry.
        tracking_uri: Such as http://localhost:5000 or sqlite:///mlflow.db.
        alias: An alias to set on it, such as staging; none unless given.
    """
    entry = json.loads((Path(bundle) / "$registry").read_text(encoding="utf-8"))
    mlflow.set_tracking_uri(tracking_uri)
    prompt = mlflow.genai.register_prompt(**entry)
    if alias is not None:
        mlflow.genai.set_prompt_alias(NAME, alias=alias, version=prompt.version)
    return prompt.uri
''')

_POSITIVE = '''\
def value_of(grade):
    """Return the value of MLflow's feedback: {what}."""
    return {value}


def positive(value):
    """Whether a feedback's value counts as positive."""
    return value >= THRESHOLD
'''
_LABEL = '''\
LABELS = {labels}


def value_of(grade):
    """Return the value of MLflow's feedback: the label."""
    return LABELS[int(grade)]
'''

_REGISTRY_DIFFERENCE = (
    f"{REGISTRY}: {DIFFERENCE} MLflow's format() puts one field after the other, so a row whose text holds the "
    "{{name}} of a later field has that filled in as well; the scorer in this export does not."
)
_JINJA_DIFFERENCE = (
    f"{REGISTRY}: {DIFFERENCE} The prompt's own text holds braces that MLflow would read, so it is written as a Jinja "
    "prompt, in which MLflow leaves a missing field empty without an error."
)


def _write(handover: ExportContext) -> ExportedFiles:
    prompt = handover.prompt
    if taken := next((name for name in prompt.inputs if name in ("self", "prompt")), None):
        raise Refused(f"a field {taken!r} cannot be given to MLflow's format(); rename it")
    name = f"{stem(prompt)}_mlflow.py"
    registry, registry_difference = _registry(handover)
    files = {name: _module(handover), REGISTRY: registry}
    told = [registry_difference, *calibration_difference(handover), *prose_difference(prompt)]
    if prompt.scale.kind == "choice":
        told.append("The scorer's value is a label, which MLflow counts; labels have no order, so it sets no pass_if.")
    module = name.removesuffix(".py")
    return ExportedFiles(
        files=files,
        exact=True,
        own_fences=True,
        calibrated=True,
        differences=tuple(told),
        scores=_scores(prompt.scale),
        usage=f"import {module}\n"
        f'judge = {module}.make_scorer("openai:/MODEL")\n'
        f"mlflow.genai.evaluate(data=[{_row(prompt)}], scorers=[judge])",
    )


def _scores(scale: OutputScale) -> ScoreMap:
    how = {
        "graded": "The feedback's value is the grade itself.",
        "probability": "The feedback's value is the probability itself.",
        "binary": "The feedback's value is True for the positive label and False for the other, counted as 1 and 0.",
        "choice": "The feedback's value is the label; the number is its place in the judge's list.",
    }[scale.kind]
    return ScoreMap(low=float(scale.low), high=float(scale.high), how=how)


def _row(prompt: JudgePrompt) -> str:
    *first, last = prompt.inputs
    inputs = ", ".join(f'"{name}": ...' for name in first)
    return f'{{"inputs": {{{inputs}}}, "outputs": ...}}' if first else f'{{"inputs": {{"{last}": ...}}}}'


def _module(handover: ExportContext) -> str:
    prompt, scale = handover.prompt, handover.prompt.scale
    if scale.kind == "choice":
        value = _LABEL.format(labels=literal(scale.labels))
    else:
        what, written = {
            "graded": ("the grade", "int(grade)"),
            "probability": ("the probability", "grade"),
            "binary": ("True or False", "bool(grade)"),
        }[scale.kind]
        value = _POSITIVE.format(what=what, value=written)
    return fill_module(
        _MODULE,
        handover,
        title=prompt.name,
        response_format=pformat(response_format(prompt), sort_dicts=False, width=110),
        value=value,
        pass_if="" if scale.kind == "choice" else ", pass_if=positive",
        last=prompt.inputs[-1],
        registry=REGISTRY,
    )


def _registry(handover: ExportContext) -> tuple[str, str]:
    """The arguments of `register_prompt`, and how what it renders differs."""
    prompt = handover.prompt
    messages, difference = _template(prompt)
    schema = response_format(prompt)
    body: dict[str, Any] = {  # Any: JSON
        "name": prompt.name,
        "template": messages,
        "commit_message": plain(handover.origin),
        "tags": {
            "judgewright.version": prompt.version,
            "judgewright.rule": orjson.dumps(handover.rule.to_json()).decode(),
            "judgewright.simulated": str(handover.simulated).lower(),
        },
        "model_config": {"temperature": 0.0},
    }
    if schema is not None:
        body["response_format"] = schema["json_schema"]["schema"]
    return orjson.dumps(body, option=orjson.OPT_INDENT_2).decode() + "\n", difference


def _template(prompt: JudgePrompt) -> tuple[list[dict[str, str]], str]:
    """The messages as MLflow reads them: `{{name}}` by pattern, or Jinja as soon as `{%` and `%}` stand in one."""
    messages = template_messages(prompt)
    try:
        written = [{"role": m.role, "content": double_brace(m.segments)} for m in messages]
        if not any("{%" in m["content"] and "%}" in m["content"] for m in written):
            return written, _REGISTRY_DIFFERENCE
    except Refused:
        pass
    written = [{"role": m.role, "content": jinja(m.segments)} for m in messages]
    written[0]["content"] = f'{{% set judge = "{prompt.name}@{prompt.version}" %}}' + written[0]["content"]
    return written, _JINJA_DIFFERENCE


_PUSH = "from STEM_mlflow import push\nprint(push('.', uri))"
TARGET = Target(
    name="mlflow",
    tool="MLflow 3.17",
    write=_write,
    probe="mlflow.py",
    requires=("mlflow==3.17.2",),
    push=_PUSH,
)

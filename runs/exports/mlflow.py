"""MLflow: a scorer that sends our messages, and the prompt for its registry."""

from __future__ import annotations

from string import Template
from typing import Any

import orjson

from ...judges import JudgePrompt, response_format
from .message_templates import fill_module, module_differences, stem
from .source_text import comment_text, json_text, literal
from .target import ExportContext, ExportedFiles, Refused, ScoreMap, Target
from .template_parts import FENCE_DIFFERENCE, template_messages
from .template_syntaxes import chat_messages, double_brace, jinja

REGISTRY = "prompt.json"
_MODULE = Template('''\
"""The judge $title for MLflow 3.

$origin.
$decision.
Written by Judgewright.
"""

$imports
from pathlib import Path

import mlflow
from mlflow.entities import AssessmentSource, Feedback
from mlflow.genai.scorers import scorer
from openai import OpenAI

$user_text

$messages

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


def make_scorer(model, *, base_url=None, client=None, parameters=None):
    """Return the judge as a scorer for `mlflow.genai.evaluate`.

    Args:
        model: Its name at an endpoint that speaks OpenAI's protocol, or as MLflow writes it, openai:/your-model.
        base_url: The endpoint's address, such as https://host/v1; the client's own unless given.
        client: An OpenAI client; made from base_url and OPENAI_API_KEY unless given.
        parameters: What the request says otherwise than REQUEST; None leaves a part of it out.
    """
    name = model.removeprefix("openai:/")
    if ":/" in name:
        raise ValueError(f"{model}: name an endpoint of this provider that speaks OpenAI's protocol, with base_url")
    asking = client or OpenAI(base_url=base_url)

    @scorer(name=NAME$pass_if)
    def judge(inputs=None, outputs=None, expectations=None):
        # MLflow's own judges wrap the prompt in words of theirs and lose how a reply ended.
        asked = {"messages": messages(row_of(inputs, outputs, expectations)), **settings(**(parameters or {}))}
        grade, reason = read_completion(asking.chat.completions.create(model=name, **asked))
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
''')  # noqa: E501

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
    f"{REGISTRY}: {FENCE_DIFFERENCE} MLflow's format() puts one field after the other, so a row"
    " whose text holds the {{name}} of a later field has that filled in as well; the scorer in"
    " this export does not."
)
_JINJA_DIFFERENCE = (
    f"{REGISTRY}: {FENCE_DIFFERENCE} The prompt's own text holds braces that MLflow would read, so"
    " it is written as a Jinja prompt, in which MLflow leaves a missing field empty without an"
    " error."
)


def write(context: ExportContext) -> ExportedFiles:
    """Write the scorer, and the prompt for MLflow's registry.

    Raises:
        Refused: A field has a name that MLflow's format() takes itself.
    """
    prompt = context.prompt
    for field in prompt.inputs:
        if field in ("self", "prompt"):
            raise Refused(f"a field {field!r} cannot be given to MLflow's format(); rename it")
    module = f"{stem(prompt)}_mlflow"
    messages, registry_difference = _registry_messages(prompt)
    differences = [registry_difference, *module_differences(context)]
    if prompt.scale.kind == "choice":
        differences.append(
            "The scorer's value is a label, which MLflow counts; labels have no order, so it sets"
            " no pass_if."
        )
    return ExportedFiles(
        files={f"{module}.py": _module(context), REGISTRY: _registry_entry(context, messages)},
        own_fences=True,
        differences=tuple(differences),
        scores=ScoreMap.of_grades(
            context, _TURNED if prompt.scale.low_is_good else _HOW_SCORED[prompt.scale.kind]
        ),
        usage=f"import mlflow\nimport {module}\n"
        f'judge = {module}.make_scorer("openai:/{context.model}")\n'
        f"mlflow.genai.evaluate(data=[{_example_row(prompt)}], scorers=[judge])",
    )


_HOW_SCORED = {
    "graded": "The feedback's value is the grade itself.",
    "probability": "The feedback's value is the probability itself.",
    "binary": (
        "The feedback's value is True for the positive label and False for the other, counted as 1"
        " and 0."
    ),
    "choice": "The feedback's value is the label; the number is its place in the judge's list.",
}
_TURNED = "The feedback's value is one minus the judge's own number, of which low is good."


def _example_row(prompt: JudgePrompt) -> str:
    """Return a row as the usage shows it: MLflow keeps inputs apart from the output, here the last
    field.
    """
    *first, last = prompt.inputs
    if not first:
        return f'{{"inputs": {{"{last}": "..."}}}}'
    inputs = ", ".join(f'"{name}": "..."' for name in first)
    return f'{{"inputs": {{{inputs}}}, "outputs": "..."}}'


def _module(context: ExportContext) -> str:
    prompt, scale = context.prompt, context.prompt.scale
    if scale.kind == "choice":
        value_of = _LABEL.format(labels=literal(scale.labels))
        passing = ""
    else:
        what, value = {
            "graded": ("the grade", "int(grade)"),
            "probability": ("the probability", "grade"),
            "binary": ("True or False", "bool(grade)"),
        }[scale.kind]
        if scale.low_is_good:
            what = "1 minus the judge's number, of which low is good"
        value_of = _POSITIVE.format(what=what, value=value)
        passing = ", pass_if=positive"
    return fill_module(
        _MODULE,
        context,
        title=prompt.name,
        value=value_of,
        pass_if=passing,
        last=prompt.inputs[-1],
        registry=REGISTRY,
    )


def _registry_entry(context: ExportContext, messages: list[dict[str, str]]) -> str:
    prompt = context.prompt
    body: dict[str, Any] = {  # Any: JSON
        "name": prompt.name,
        "template": messages,
        "commit_message": comment_text(context.origin),
        "tags": {
            "judgewright.version": prompt.version,
            "judgewright.rule": orjson.dumps(context.rule.to_json()).decode(),
            "judgewright.simulated": str(context.simulated).lower(),
        },
        "model_config": _model_config(context),
    }
    schema = response_format(prompt)
    if schema is not None:
        body["response_format"] = schema["json_schema"]["schema"]
    return json_text(body)


def _model_config(context: ExportContext) -> dict[str, Any]:  # Any: JSON
    """Return of the request what MLflow's registry has a place for."""
    known = ("temperature", "max_tokens", "top_p", "top_k", "frequency_penalty", "presence_penalty")
    given = {name: value for name, value in context.request.items() if name in known}
    others = {
        name: value
        for name, value in context.request.items()
        if name not in (*known, "response_format")
    }
    return {**given, "extra_params": others} if others else given


def _registry_messages(prompt: JudgePrompt) -> tuple[list[dict[str, str]], str]:
    """Return the registry's messages, and how what MLflow renders from them differs.

    MLflow replaces `{{name}}` by pattern, but reads all messages as Jinja as soon as `{%` and `%}`
    stand in one.
    """
    template = template_messages(prompt)
    try:
        messages = chat_messages(template, double_brace)
        if not any("{%" in m["content"] and "%}" in m["content"] for m in messages):
            return messages, _REGISTRY_DIFFERENCE
    except Refused:
        pass  # braces that a pattern would read can be written in Jinja
    messages = chat_messages(template, jinja)
    messages[0]["content"] = (
        f'{{% set judge = "{prompt.name}@{prompt.version}" %}}' + messages[0]["content"]
    )
    return messages, _JINJA_DIFFERENCE


_PUSH = "from STEM_mlflow import push\nprint(push('.', uri))"
TARGET = Target(
    name="mlflow",
    tool="MLflow 3",
    write=write,
    check="mlflow.py",
    requires=("mlflow>=3.16,<3.18", "openai>=2.20,<4"),
    push=_PUSH,
)

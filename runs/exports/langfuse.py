"""Langfuse: the chat prompt and the evaluator as its API takes them, and a module that pushes
them.
"""

from __future__ import annotations

from string import Template
from typing import Any

from ...judges import JudgePrompt
from .message_templates import example_row, fill_module, module_differences, stem
from .source_text import json_text, literal
from .target import ExportContext, ExportedFiles, Refused, ScoreMap, Target
from .template_parts import template_messages
from .template_syntaxes import chat_messages, double_brace

_REFERENCE = "@@@langfusePrompt:"
"""What the server replaces by another prompt."""

_HOW_SCORED = (
    "Langfuse stores the prompt and reads no reply; `read_reply` of the module gives the judge's"
    " own grade, to be sent as a score with `create_score`."
)
_EVALUATOR_DIFFERENCE = (
    "The evaluator in the second file is another judge: Langfuse adds its own request for a score"
    " and its reasoning to the messages, whatever form of reply they ask for, and knows no"
    " threshold; it runs on Langfuse's server only and was checked against the API's schema, not"
    " run."
)

_NOT_TURNED = "The evaluator's score is the judge's own number: low ones are good there."
_MODULE = Template('''\
"""$origin

$decision. Written by Judgewright for Langfuse; the prompt and the evaluator stand in JSON files beside this module.
"""

$imports
from pathlib import Path

NAME = $name
PROMPT_FILE = Path(__file__).with_name($prompt_file)
EVALUATOR_FILE = Path(__file__).with_name($evaluator_file)

$reading

def push(client, *, labels=()):
    """Create a version of the prompt and return it; it serves nobody until it gets a label such as `production`.

    Args:
        client: A `Langfuse`, with its own host and keys.
    """
    told = json.loads(PROMPT_FILE.read_text(encoding="utf-8"))
    return client.create_prompt(
        name=told["name"],
        prompt=told["prompt"],
        type=told["type"],
        config=told["config"],
        tags=told["tags"],
        commit_message=told["commitMessage"],
        labels=list(labels),
    )


def push_evaluator(client, sources):
    """Create the evaluator and return it; no data is scored before a rule names it.

    Args:
        client: A `Langfuse`, with its own host and keys.
        sources: Where each field comes from: `input`, `output`, `metadata`, `expected_output`, or a pair of one of
            these and a JSONPath such as `$$.question`.
    """
    from langfuse.api import CreateEvaluatorRequest_LlmAsJudge
    from langfuse.api.core.pydantic_utilities import parse_obj_as

    told = json.loads(EVALUATOR_FILE.read_text(encoding="utf-8"))
    told["variableMapping"] = [
        {"variable": name, "source": source}
        if isinstance(source, str)
        else {"variable": name, "source": source[0], "jsonPath": source[1]}
        for name, source in sources.items()
    ]
    return client.api.evaluators.create(request=parse_obj_as(CreateEvaluatorRequest_LlmAsJudge, told))
''')  # noqa: E501


def write(context: ExportContext) -> ExportedFiles:
    """Write the chat prompt, the evaluator and the module.

    Raises:
        Refused: The prompt's own text holds what Langfuse reads as a place or as another prompt, or
            a field is `self`.
    """
    prompt, module = context.prompt, f"{stem(context.prompt)}_langfuse"
    if "self" in prompt.inputs:
        raise Refused("a field 'self' cannot be given to Langfuse's compile()")
    prompt_file, evaluator_file = (
        f"{prompt.name}.langfuse.json",
        f"{prompt.name}.langfuse-evaluator.json",
    )
    module_text = fill_module(
        _MODULE,
        context,
        name=literal(prompt.name),
        prompt_file=literal(prompt_file),
        evaluator_file=literal(evaluator_file),
    )
    parts = [part for message in template_messages(prompt) for part in message.parts]
    if any(isinstance(part, str) and _REFERENCE in part for part in parts):
        raise Refused(
            f"the prompt's own text holds {_REFERENCE!r}, where Langfuse puts another prompt"
        )
    messages = chat_messages(template_messages(prompt), double_brace)
    not_turned = (_NOT_TURNED,) if prompt.scale.low_is_good else ()
    return ExportedFiles(
        files={
            prompt_file: json_text(_prompt(context, messages)),
            f"{module}.py": module_text,
            evaluator_file: json_text(_evaluator(prompt, messages)),
        },
        differences=(_EVALUATOR_DIFFERENCE, *not_turned, *module_differences(context)),
        scores=ScoreMap.of_grades(context, _HOW_SCORED),
        usage=(
            f"from langfuse import Langfuse\nfrom openai import OpenAI\nfrom {module} import push,"
            " read_completion\n"
            f"push(Langfuse())  # once\n"
            f'prompt = Langfuse().get_prompt("{prompt.name}", type="chat", label="latest")\n'
            f"messages = prompt.compile(**{example_row(prompt.inputs)})\n"
            f'completion = OpenAI().chat.completions.create(model="{context.model}",'
            " messages=messages, "
            f'**prompt.config["request"])\n'
            f"grade, reasons = read_completion(completion)"
        ),
    )


def _prompt(context: ExportContext, messages: list[dict[str, str]]) -> dict[str, Any]:  # Any: JSON
    """The body of `POST /api/public/v2/prompts`; without labels, so that it replaces nothing."""
    prompt, scale = context.prompt, context.prompt.scale
    told: dict[str, Any] = {
        "kind": scale.kind,
        "low": scale.low,
        "high": scale.high,
        "labels": list(scale.labels),
    }
    if scale.low_is_good:
        told["low_is_good"] = True
    return {
        "type": "chat",
        "name": prompt.name,
        "prompt": messages,
        "labels": [],
        "tags": ["judgewright"],
        "config": {
            "request": context.request,
            "judgewright": {
                "version": prompt.version,
                "origin": context.origin,
                "scale": told,
                "threshold": context.raw_threshold,
                "rule": context.rule.to_json(),
            },
        },
        "commitMessage": context.origin,
    }


def _evaluator(prompt: JudgePrompt, messages: list[dict[str, str]]) -> dict[str, Any]:  # Any: JSON
    """The body of `POST /api/public/evaluators`, all but where the fields come from."""
    scale = prompt.scale
    output: dict[str, Any] = {"dataType": "NUMERIC", "minValue": scale.low, "maxValue": scale.high}
    if scale.labels:
        output = {
            "dataType": "CATEGORICAL",
            "categories": list(scale.labels),
            "shouldAllowMultipleMatches": False,
        }
    return {
        "type": "llm_as_judge",
        "name": prompt.name,
        "description": f"{prompt.name}@{prompt.version}",
        "prompt": messages,
        "outputDefinition": output,
    }


_PUSH = (
    "from langfuse import Langfuse\nfrom STEM_langfuse import"
    " push\nprint(push(Langfuse(host=uri)).version)"
)
TARGET = Target(
    name="langfuse",
    tool="Langfuse 5.0",
    write=write,
    check="langfuse.py",
    requires=("langfuse>=5,<6", "openai>=2.20,<4"),
    push=_PUSH,
)

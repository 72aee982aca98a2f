"""Prompts and judges that a tool saved as JSON or that its configuration holds: LangChain, Ragas,
MLflow, promptfoo.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml

from ...judges import InputError, OutputScale
from ...runs.exports import Field, TemplateMessage, TemplatePart, join_literals
from ...runs.imports import (
    ForeignJudge,
    Parts,
    PromptReader,
    foreign,
    read_double_brace,
    read_f_string,
    read_messages,
    read_parts,
    read_text,
)
from .langchain import read_langchain

Body = Mapping[str, Any]  # Any: JSON or YAML
_GRADED_BY_MODEL = ("llm-rubric", "g-eval", "model-graded-closedqa", "factuality")
ASKED_BY_TOOL = (
    "How to answer stands in words of Judgewright: {} adds its own only when it asks.".format
)


def read_file(path: Path, text: str, string: str | None) -> list[ForeignJudge]:
    """Read an object that a tool saved in a file, or its configuration; empty where it is none.

    Raises:
        InputError: It holds what no prompt of ours can, or nothing of that name.
    """
    try:
        body: Any = json.loads(text) if path.suffix == ".json" else yaml.safe_load(text)
    except (ValueError, yaml.YAMLError):
        return []  # what reads any file says what is wrong with it
    judges = read_saved_object(path, body) if isinstance(body, Mapping) else []
    if string is None or not judges:
        return judges
    named = [judge for judge in judges if judge.string == string]
    if not named:
        names = ", ".join(judge.string for judge in judges if judge.string) or "none"
        raise InputError(f"there is no string {string!r} in it", hint=f"its strings: {names}")
    return named[:1]


def read_saved_object(path: Path, body: Body) -> list[ForeignJudge]:
    """Read an object that a tool saved, or its configuration; empty where it is none.

    Raises:
        InputError: It holds what no prompt of ours can.
    """
    if body.get("type") == "constructor":
        return [_langchain(path, body)]
    if "metric_type" in body or {"prompt", "config", "response_model_info"} <= body.keys():
        return [_ragas(path, body)]
    if isinstance(aligned := body.get("memory_augmented_judge_data"), Mapping):
        return [_mlflow_aligned(path, aligned)]
    if isinstance(judge := body.get("instructions_judge_pydantic_data"), Mapping):
        return [_mlflow(path, judge)]
    if {"prompts", "tests", "providers", "defaultTest"} & body.keys() and (
        "assert" in json.dumps(body, default=str) or "rubricPrompt" in json.dumps(body, default=str)
    ):
        return _promptfoo(path, body)
    return []


def _langchain(path: Path, body: Body) -> ForeignJudge:
    """Read a prompt of LangChain; of a structured one its schema says how to answer."""
    messages = read_langchain(body)
    schema = body["kwargs"].get("schema_")
    has_schema = isinstance(schema, Mapping) and isinstance(schema.get("properties"), Mapping)
    notes = (ASKED_BY_TOOL("LangChain"),) if has_schema else ()
    return foreign("LangChain", path.name, messages, notes=notes)


def _ragas(path: Path, body: Body) -> ForeignJudge:
    """Read a metric as Ragas saves it: its instruction, and the allowed values as its labels."""
    prompt = body.get("prompt")
    instruction = prompt.get("instruction") if isinstance(prompt, Mapping) else prompt
    if not isinstance(instruction, str):
        raise InputError("the Ragas metric has no prompt.instruction")
    if isinstance(prompt, Mapping) and prompt.get("examples"):
        raise InputError(
            "the Ragas metric has examples, which are not read",
            hint="write them into its instruction",
        )
    allowed = (body.get("config") or {}).get("allowed_values") or ()
    messages = (TemplateMessage(role="user", parts=read_f_string(instruction)),)
    more: dict[str, Any] = {}
    if body.get("metric_type") == "NumericMetric" and len(allowed) == 2:
        more["scale"] = _scale_of_numbers(float(allowed[0]), float(allowed[1]))
    else:
        more["labels"] = tuple(map(str, allowed))
    return foreign("Ragas", path.name, messages, notes=(ASKED_BY_TOOL("Ragas"),), **more)


def _scale_of_numbers(low: float, high: float) -> OutputScale:
    """Return the scale between two numbers, positive from its middle on."""
    if (low, high) == (0.0, 1.0) or not (low.is_integer() and high.is_integer()):
        return OutputScale(kind="probability", threshold=0.5)
    return OutputScale(low=int(low), high=int(high), threshold=float(-(-(low + high) // 2)))


def mlflow_messages(instructions: str) -> tuple[TemplateMessage, TemplateMessage]:
    """Return the messages as MLflow makes them: the instructions name the fields, which it sends
    after them.
    """
    parts = read_double_brace(instructions.strip())
    names = dict.fromkeys(part.name for part in parts if isinstance(part, Field))
    text = "".join(part.name if isinstance(part, Field) else part for part in parts)
    row: list[TemplatePart] = []
    for name in names:
        row += [f"\n\n{name}:\n" if row else f"{name}:\n", Field(name)]
    system = TemplateMessage(role="system", parts=(text,))
    return system, TemplateMessage(role="user", parts=tuple(row))


def _mlflow_aligned(path: Path, judge: Body) -> ForeignJudge:
    """Read a judge that MLflow aligned by memory: the judge it began with, and guidelines behind
    its instructions.
    """
    inner = (judge.get("base_judge") or {}).get("instructions_judge_pydantic_data") or {}
    rules = [f"- {guideline['guideline_text']}" for guideline in judge.get("semantic_memory") or ()]
    if rules and "instructions" in inner:
        lines = [inner["instructions"].rstrip(), "", "Guidelines:", *rules]
        inner = {**inner, "instructions": "\n".join(lines)}
    base = _mlflow(path, inner)
    if not judge.get("episodic_trace_ids"):
        return base
    note = "The examples that MLflow looks up for each row are not here."
    return replace(base, notes=(*base.notes, note))


def _mlflow(path: Path, judge: Body) -> ForeignJudge:
    """Read a judge as MLflow dumps it."""
    instructions, values = judge.get("instructions"), judge.get("feedback_value_type")
    if not isinstance(instructions, str):
        raise InputError("the MLflow judge has no instructions")
    values = values if isinstance(values, Mapping) else {}
    labels = tuple(map(str, values.get("enum") or ()))
    return mlflow_judge(path.name, instructions, labels, truth=values.get("type") == "boolean")


def mlflow_judge(
    location: str, instructions: str, labels: tuple[str, ...], *, truth: bool
) -> ForeignJudge:
    """Return a judge of MLflow: all instructions are criteria, and it asks for a result."""
    messages = mlflow_messages(instructions)
    scale = OutputScale(kind="binary", labels=("false", "true"), threshold=1.0) if truth else None
    return foreign(
        "MLflow",
        location,
        messages,
        criteria=messages[0].text({}),
        labels=labels,
        scale=scale,
        reply_schema={"result": "score", "rationale": "text"},
        notes=(ASKED_BY_TOOL("MLflow"),),
    )


def _promptfoo(path: Path, body: Body) -> list[ForeignJudge]:
    """Read the model-graded assertions of a promptfoo configuration, else the prompts it tests.

    The grader's prompt is `rubricPrompt`, of the assertion or of `defaultTest.options`;
    `{{rubric}}` in it is the assertion's value, and a field of the row where several assertions
    share the prompt.
    """
    default = _mapping(body.get("defaultTest"))
    shared = _mapping(default.get("options")).get("rubricPrompt")
    graded: dict[str, Body] = {}
    for test in (default, *_mappings(body.get("tests"))):
        for assertion in _mappings(test.get("assert")):
            if assertion.get("type") in _GRADED_BY_MODEL:
                key = json.dumps([assertion.get("value"), assertion.get("rubricPrompt")])
                graded[key] = assertion
    own = any(assertion.get("rubricPrompt") for assertion in graded.values())
    assertions = list(graded.values())
    if shared and not own and len(assertions) != 1:
        assertions = [{}]
    judges = [_graded(path, assertion, shared) for assertion in assertions]
    if not judges:
        return _tested_prompts(path, body)
    if len(judges) == 1:
        return judges
    return [replace(judge, string=f"assert {at}") for at, judge in enumerate(judges, start=1)]


def _graded(path: Path, assertion: Body, shared: Any) -> ForeignJudge:  # Any: YAML
    prompt = assertion.get("rubricPrompt") or shared
    value, threshold = assertion.get("value"), assertion.get("threshold")
    stated = isinstance(threshold, int | float)
    rubric = _jinja(value) if isinstance(value, str) else ()
    notes: tuple[str, ...] = ()
    if not stated:
        notes = ("Without a threshold promptfoo passes every reply it can read; here it is 0.5.",)
    if prompt:
        messages = [_with_rubric(message, rubric) for message in _chat(path, prompt)]
    else:
        parts = join_literals([*rubric, "\n\nOutput:\n", Field("output")])
        messages = [TemplateMessage(role="user", parts=parts)]
        notes += ("promptfoo's own words round the rubric stand in no file and are not here.",)
    return foreign(
        "promptfoo",
        path.name,
        messages,
        scale=None
        if prompt and not stated
        else OutputScale(kind="probability", threshold=float(threshold or 0.5)),
        reply_schema=None if prompt else {"reason": "text", "score": "score"},
        criteria=value.strip() if isinstance(value, str) and "{{" not in value else "",
        notes=notes,
    )


def _tested_prompts(path: Path, body: Body) -> list[ForeignJudge]:
    """Return the prompts that a configuration without a graded assertion tests, by their labels."""
    listed = body.get("prompts")
    judges: list[ForeignJudge] = []
    for at, prompt in enumerate(listed if isinstance(listed, list) else (), start=1):
        entry = _mapping(prompt)
        keys = ("raw", "content", "template", "file", "id")
        words = next((entry[key] for key in keys if entry.get(key)), prompt)
        name = str(entry.get("label") or entry.get("id") or f"prompt {at}")
        judges.append(foreign("promptfoo", path.name, _chat(path, words), string=name))
    return judges


def _chat(path: Path, prompt: Any) -> tuple[TemplateMessage, ...]:  # Any: YAML
    """Return the messages of a prompt: given in place or in a file, as text or as a list of
    messages.
    """
    if isinstance(prompt, str) and prompt.startswith("file://"):
        file = (path.parent / prompt.removeprefix("file://")).resolve()
        if not file.is_relative_to(path.parent.resolve()):
            raise InputError(f"{prompt!r} lies outside the folder of {path.name}")
        prompt = read_text(file)
    if isinstance(prompt, str) and prompt.lstrip().startswith(("[", "- role")):
        with suppress(yaml.YAMLError):
            prompt = yaml.safe_load(prompt)
    if isinstance(prompt, str):
        return (TemplateMessage(role="user", parts=_jinja(prompt)),)
    return read_messages(prompt, _jinja)


def _jinja(text: str) -> Parts:
    return read_parts(text, [])


def _with_rubric(message: TemplateMessage, rubric: Parts) -> TemplateMessage:
    parts: list[TemplatePart] = []
    for part in message.parts:
        parts += rubric if rubric and part == Field("rubric") else (part,)
    return TemplateMessage(role=message.role, parts=join_literals(parts))


def _mapping(value: Any) -> Body:  # Any: YAML
    return value if isinstance(value, Mapping) else {}


def _mappings(value: Any) -> list[Body]:  # Any: YAML
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list) else []


READER = PromptReader(suffixes=(".json", ".yaml", ".yml"), read=read_file)
"""Reads what tools save and what configures them."""

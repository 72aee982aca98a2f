"""A prompt of the user's own, in whatever file it is: text, chat, YAML, code, or an object that a tool saved."""

from __future__ import annotations

import ast
import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml

from ...judges import InputError, OutputScale
from ..exports.template_parts import Field, TemplateMessage, TemplatePart, join_literals
from .body_facts import facts_of
from .code_judges import mlflow_messages, read_code_judge
from .code_strings import fixed_arguments, read_javascript, read_python
from .file_facts import FileFacts
from .foreign_judge import ForeignJudge
from .javascript_facts import javascript_facts
from .messages import ROLES, read_langchain, read_messages, text_of
from .other_code import TEXTS, notebook_code, read_string
from .placeholders import read_parts, read_unusual
from .prompt_files import read_promptfoo, read_text
from .python_facts import python_facts
from .stated_answer import read_answer
from .template_syntaxes import read_f_string

_PYTHON = (".py",)
_JAVASCRIPT = (".js", ".mjs", ".cjs", ".ts", ".mts", ".jsx", ".tsx")
_SYSTEM_KEYS = (
    *("system", "system_prompt", "system_message", "systemPrompt", "instructions", "developer"),
    *("system_instruction", "systemInstruction", "instruction"),
)
_USER_KEYS = (
    "user",
    "prompt",
    "template",
    "user_prompt",
    "user_message",
    "prefix_user",
    "prompt_template",
    "promptTemplate",
    "userPrompt",
    "text",
    "content",
)
_WITH_SETTINGS = r"\A---\n([\s\S]*?\n)---\n([\s\S]*)"
_ROLE_LINE = (
    r"(?m)^[ \t]*(?:#?[ \t]*(?=\w+:[ \t]*$)|\{\{role \"(?=\w+\"\}\}))(system|user|assistant|developer|model)"
    r"(?::[ \t]*$|\"\}\})"
)
"""A line over a message: `system:` of Prompty, `{{role "system"}}` of Dotprompt."""
_ABOUT = re.compile(r"desc|comment|note|name|owner|version|title|example|rationale|changelog|^id$", re.IGNORECASE)
"""Keys of texts on the prompt, which are no part of it."""
Body = Mapping[str, Any]  # Any: JSON or YAML


def read_own_prompt(path: Path, string: str | None = None) -> ForeignJudge:
    """Read a person's prompt; where it has no field in a usual syntax, what stands where a field would is one.

    Args:
        path: The file; what it is follows from its name and content.
        string: Which string of a source file is the prompt.

    Raises:
        InputError: It holds no prompt, several, or one that computes something.
    """
    judge = _read(path, string)
    if any(isinstance(part, Field) for message in judge.messages for part in message.parts):
        return judge
    *before, last = judge.messages
    return replace(judge, messages=(*before, replace(last, parts=read_unusual(last.text({})))))


def _read(path: Path, string: str | None) -> ForeignJudge:
    data = path.suffix in (".yaml", ".yml", ".json", ".toml")
    if string is not None and not data and path.suffix not in (*_PYTHON, *_JAVASCRIPT):
        raise InputError(f"--string names a string in code, YAML, TOML or JSON, and {path.name} is none of them")
    text = re.sub(r"\r\n?", "\n", read_text(path))
    try:
        if path.suffix in _PYTHON:
            return _from_python(path, text, string)
        if path.suffix == ".ipynb":
            return _from_python(path, notebook_code(text), string)
        if path.suffix in _JAVASCRIPT:
            messages = read_javascript(text, string)
            return _judge(path, "a JavaScript file", messages, beside=javascript_facts(text))
        if re.match(_WITH_SETTINGS, text):
            return _prompty(path, text)
        if path.suffix == ".toml":
            return _from_body(path, *_chosen(tomllib.loads(text), text, string))
        if path.suffix in (".yaml", ".yml"):
            return _from_body(path, *_chosen(_loaded(text), text, string))
        if path.suffix == ".json" or text.lstrip().startswith(("[{", "[\n", "{\n", '{"')):
            try:
                return _from_body(path, *_chosen(json.loads(text), text, string))
            except ValueError:
                if path.suffix == ".json":
                    raise
        notes: list[str] = []
        if path.suffix.lower() not in (*TEXTS, ".jsonl"):
            text = read_string(text)
        message = TemplateMessage(role="user", parts=read_parts(text, notes))
        return _judge(path, "a text", (message,), notes=tuple(notes))
    except InputError as error:
        raise InputError(f"{path.name}: {error}", hint=error.hint) from None
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path.name}: it is no JSON: {error}") from None


def _from_python(path: Path, text: str, string: str | None) -> ForeignJudge:
    """Read the judge that a Python file builds as an object of a tool, else the prompt among its strings."""
    try:
        ast.parse(text)
    except SyntaxError as error:
        raise InputError(f"line {error.lineno}: it is no Python: {error.msg}") from None
    facts = python_facts(text)
    if (built := read_code_judge(text, string)) is not None:
        return ForeignJudge(
            tool=built.tool,
            name=path.stem,
            location=path.name,
            syntax="as written",
            messages=built.messages,
            criteria=built.criteria,
            scale=built.scale,
            threshold_open=built.threshold_open,
            labels=built.labels,
            reply_schema=built.reply_schema,
            notes=built.notes,
            beside=facts,
        )
    return _judge(path, "a Python file", read_python(text, string), beside=facts, fills=fixed_arguments(text))


def _prompty(path: Path, text: str) -> ForeignJudge:
    """Read settings between lines of dashes, and the text after them: Prompty and Dotprompt name its roles."""
    head, body = re.findall(_WITH_SETTINGS, text)[0]
    turns = re.split(_ROLE_LINE, body)
    if len(turns) < 3:
        turns = ["", "user", body]
    notes: list[str] = []
    messages = [
        TemplateMessage(role=ROLES[role], parts=read_parts(words.strip("\n"), notes))
        for role, words in zip(turns[1::2], turns[2::2], strict=True)
        if words.strip()
    ]
    if messages[-1].role == "system":
        messages[-1] = TemplateMessage(role="user", parts=messages[-1].parts)
    settings = _loaded(head)
    facts = facts_of(settings, head) if isinstance(settings, Mapping) else FileFacts()
    return _judge(path, "a text with settings", tuple(messages), notes=tuple(notes), beside=facts)


def _loaded(text: str) -> Any:  # Any: YAML
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise InputError(f"it is no YAML: {str(error).splitlines()[0]}") from None


def _chosen(body: Any, text: str, name: str | None) -> tuple[Any, str]:  # Any: JSON or YAML
    """Return what stands at a path of keys such as `judges.tone`, with its text; all of it without a path.

    Raises:
        InputError: There is no such key.
    """
    if name is None:
        return body, text
    for key in name.split("."):
        inner = body.get(key) if isinstance(body, Mapping) else None
        if inner is None:
            raise InputError(f"there is no {name!r} in it", hint=f"its prompts: {', '.join(_prompts(body)) or 'none'}")
        body = inner
    return (body, body) if isinstance(body, str) else (body, json.dumps(body))


def _prompts(body: Any, path: str = "") -> list[str]:  # Any: JSON or YAML
    """Return the paths of keys under which prompts stand, each one with text or messages of its own."""
    if not isinstance(body, Mapping):
        return []
    if path and any(isinstance(body.get(key), str | list) and body[key] for key in (*_USER_KEYS[:4], "messages")):
        return [path]
    inner = ((f"{path}.{key}" if path else str(key), value) for key, value in body.items())
    return [found for name, value in inner for found in _prompts(value, name)]


def _judge(path: Path, tool: str, messages: tuple[TemplateMessage, ...], **more: Any) -> ForeignJudge:
    """Make a judge of messages."""
    return ForeignJudge(tool=tool, name=path.stem, location=path.name, syntax="as written", messages=messages, **more)


def _from_body(path: Path, body: Any, text: str) -> ForeignJudge:  # Any: JSON or YAML
    if isinstance(body, list):
        return _judge(path, "a chat", read_messages(body, read_parts))
    if not isinstance(body, Mapping):
        return _judge(path, "a text", (TemplateMessage(role="user", parts=read_parts(text)),))
    if body.get("type") == "constructor":
        return _langchain(path, body, text)
    if (prompts := _inline_prompts(body, text)) and len(prompts) == 1:
        return _judge(path, "a promptfoo config", (TemplateMessage(role="user", parts=read_parts(prompts[0])),))
    if "defaultTest" in body or "tests" in body or "providers" in body:
        return read_promptfoo(path, rubric_alone=True)
    if "metric_type" in body or ("prompt" in body and "config" in body and "response_model_info" in body):
        return _ragas(path, body)
    if isinstance(augmented := body.get("memory_augmented_judge_data"), Mapping):
        return _mlflow_memory(path, augmented)
    if isinstance(body.get("instructions_judge_pydantic_data"), Mapping):
        return _mlflow(path, body["instructions_judge_pydantic_data"])
    if isinstance(body.get("prompt"), Mapping):  # LangSmith, Langfuse and others keep the prompt one level down
        return _with_outer(_from_body(path, body["prompt"], json.dumps(body["prompt"])), body, text)
    for key in ("messages", "prompt", "template", "input", "chat", "contents"):
        if isinstance(chat := body.get(key), list) and chat and all(isinstance(line, str) for line in chat):
            body = {**body, key: "\n".join(chat)}
        elif isinstance(chat, list):
            system = text_of(next((body[name] for name in _SYSTEM_KEYS if body.get(name)), None))
            chat = [{"system": system}, *chat] if system else chat
            return _judge(path, "a chat", read_messages(chat, read_parts), beside=facts_of(body, text))
    messages: list[TemplateMessage] = []
    for role, keys in (("system", _SYSTEM_KEYS), ("user", _USER_KEYS)):
        value = next((body[key] for key in keys if isinstance(body.get(key), str) and body[key].strip()), None)
        if value is not None:
            messages.append(TemplateMessage(role="system" if role == "system" else "user", parts=read_parts(value)))
    only = next((value[0] for value in body.values() if isinstance(value, list) and len(value) == 1), None)
    if not messages and isinstance(only, Mapping):
        return _with_outer(_from_body(path, only, json.dumps(only)), body, text)
    if not _has_field(messages) and (under := _under_any_key(body)):
        return _with_outer(_judge(path, "a prompt file", under[1], beside=facts_of(under[0], text)), body, text)
    nested = [] if messages else _prompts(body)
    if len(nested) == 1:
        return _with_outer(_from_body(path, *_chosen(body, text, nested[0])), body, text)
    if nested:
        raise InputError(f"it holds several prompts: {', '.join(nested)}", hint="say which with --string NAME")
    if not messages:
        raise InputError(
            f"none of its keys holds a prompt: {', '.join(map(str, list(body)[:12]))}",
            hint=f"a chat stands under messages, a text under {', '.join(_USER_KEYS[:4])}",
        )
    if messages[-1].role == "system":
        messages[-1] = TemplateMessage(role="user", parts=messages[-1].parts)
    return _judge(path, "a prompt file", tuple(messages), beside=facts_of(body, text))


def _inline_prompts(body: Body, text: str) -> list[str]:
    """Return the prompts that a promptfoo config holds as text, if no judge of its own stands beside them."""
    listed = body.get("prompts")
    if not isinstance(listed, list) or re.search(r"rubricPrompt|llm-rubric|model-graded", text):
        return []
    return [prompt for prompt in listed if isinstance(prompt, str) and "\n" in prompt.strip()]


def _has_field(messages: Sequence[TemplateMessage]) -> bool:
    return any(isinstance(part, Field) for message in messages for part in message.parts)


def _under_any_key(body: Body) -> tuple[Body, tuple[TemplateMessage, ...]] | None:
    """Return the mapping whose texts are the only ones with fields, and the messages they make, whatever its keys."""
    texts = {key: value for key, value in body.items() if isinstance(value, str) and not _ABOUT.search(str(key))}
    read = {key: read_parts(value) for key, value in texts.items() if len(value) >= 20}
    with_fields = [key for key, parts in read.items() if any(isinstance(part, Field) for part in parts)]
    if not with_fields:
        values = [item for value in body.values() for item in (value if isinstance(value, list) else [value])]
        inner = [
            found
            for value in values
            if isinstance(value, Mapping) and "role" not in value and (found := _under_any_key(value))
        ]
        return inner[0] if len(inner) == 1 else None
    last = with_fields[-1]
    before = [key for key in read if key != last and (key in with_fields or len(texts[key]) >= 60)]
    system: list[TemplatePart] = []
    for key in before:
        system += [*(["\n\n"] if system else []), *read[key]]
    user = TemplateMessage(role="user", parts=read[last])
    return body, ((TemplateMessage(role="system", parts=join_literals(system)), user) if system else (user,))


def _with_outer(judge: ForeignJudge, body: Body, text: str) -> ForeignJudge:
    """Return the one judge of a file with what stands beside its key too."""
    inner, outer = judge.beside, facts_of(body, text)
    facts = replace(
        outer,
        thresholds=inner.thresholds or outer.thresholds,
        compared=inner.compared or outer.compared,
        labels=inner.labels or outer.labels,
        scores=inner.scores or outer.scores,
        answer_fields=inner.answer_fields or outer.answer_fields,
    )
    return replace(judge, beside=facts)


def _langchain(path: Path, body: Body, text: str) -> ForeignJudge:
    """Read a prompt of LangChain; of a structured one its schema says how to answer, which stands in no words."""
    messages = read_langchain(text)
    schema = body["kwargs"].get("schema_")
    if not isinstance(schema, Mapping) or not isinstance(schema.get("properties"), Mapping):
        return _judge(path, "LangChain", messages)
    stated = read_answer(f"JSON: {json.dumps(schema, ensure_ascii=False)}", "")
    return _judge(
        path,
        "LangChain",
        messages,
        reply_schema=stated.reply_schema,
        scale=stated.scale,
        notes=("How to answer stands in words of Judgewright: LangChain sends a schema beside the messages.",),
    )


def _ragas(path: Path, body: Body) -> ForeignJudge:
    """Read a metric as Ragas saves it: its instruction, and the allowed values as its labels."""
    prompt = body.get("prompt")
    instruction = prompt.get("instruction") if isinstance(prompt, Mapping) else prompt
    if not isinstance(instruction, str):
        raise InputError("the Ragas metric has no prompt.instruction")
    if isinstance(prompt, Mapping) and prompt.get("examples"):
        raise InputError("the Ragas metric has examples, which are not read", hint="write them into its instruction")
    allowed = (body.get("config") or {}).get("allowed_values")
    messages = (TemplateMessage(role="user", parts=read_f_string(instruction)),)
    if isinstance(allowed, list) and body.get("metric_type") == "NumericMetric" and len(allowed) == 2:
        low, high = (float(end) for end in allowed)
        whole = low.is_integer() and high.is_integer() and (low, high) != (0.0, 1.0)
        scale = OutputScale(low=int(low), high=int(high), threshold=float(-(-(low + high) // 2))) if whole else None
        return _judge(path, "Ragas", messages, scale=scale or OutputScale(kind="probability", threshold=0.5))
    return _judge(path, "Ragas", messages, labels=tuple(map(str, allowed or ())))


def _mlflow_memory(path: Path, judge: Body) -> ForeignJudge:
    """Read a judge that MLflow aligned by memory: the judge it began with, and guidelines behind its instructions."""
    inner = (judge.get("base_judge") or {}).get("instructions_judge_pydantic_data") or {}
    rules = [f"- {guideline['guideline_text']}" for guideline in judge.get("semantic_memory") or ()]
    if rules and "instructions" in inner:
        inner = {**inner, "instructions": "\n".join([inner["instructions"].rstrip(), "", "Guidelines:", *rules])}
    found = _mlflow(path, inner)
    if not judge.get("episodic_trace_ids"):
        return found
    return replace(found, notes=(*found.notes, "The examples that MLflow looks up for each row are not here."))


def _mlflow(path: Path, judge: Body) -> ForeignJudge:
    """Read a judge as MLflow dumps it; how to answer stands in no words of its own, MLflow adds them."""
    instructions, values = judge.get("instructions"), judge.get("feedback_value_type")
    if not isinstance(instructions, str):
        raise InputError("the MLflow judge has no instructions")
    labels: tuple[str, ...] = ()
    scale = None
    if isinstance(values, Mapping):
        labels = tuple(map(str, values.get("enum") or ()))
        if values.get("type") == "boolean":
            scale = OutputScale(kind="binary", labels=("false", "true"), threshold=1.0)
    messages = mlflow_messages(instructions)
    return _judge(
        path,
        "MLflow",
        messages,
        criteria=messages[0].text({}),
        labels=labels,
        scale=scale,
        reply_schema={"result": "score", "rationale": "text"},
        notes=("How to answer stands in words of Judgewright: MLflow adds them only when it asks.",),
    )

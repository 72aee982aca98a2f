"""A prompt of the user's own, in whatever file it is: text, chat, YAML, code, or an object that a
tool saved.
"""

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

from ...judges import InputError
from ..exports.template_parts import Field, TemplateMessage
from .body_facts import facts_of
from .body_prompts import chosen, prompts_in
from .bounded import bounded
from .code_judges import read_code_judge
from .code_strings import CodePrompt
from .file_beside import file_beside
from .file_facts import FileFacts
from .foreign_judge import ForeignJudge
from .javascript_facts import javascript_facts
from .javascript_strings import read_javascript
from .messages import ROLES
from .other_code import TEXTS, notebook_code, notebook_text, read_string
from .placeholders import read_parts, read_unusual
from .prompt_files import read_text
from .python_facts import python_facts
from .python_strings import fixed_arguments, read_python
from .which_judge import judges_among, several, text_of

_PYTHON = (".py",)
_JAVASCRIPT = (".js", ".mjs", ".cjs", ".ts", ".mts", ".jsx", ".tsx")
_WITH_SETTINGS = r"\A---\n([\s\S]*?\n)---\n([\s\S]*)"
_ROLE_LINE = (
    r"(?m)^[ \t]*(?:#?[ \t]*(?=\w+:[ \t]*$)|\{\{role"
    r" \"(?=\w+\"\}\}))(system|user|assistant|developer|model)"
    r"(?::[ \t]*$|\"\}\})"
)
"""A line over a message: `system:` of Prompty, `{{role "system"}}` of Dotprompt."""


def read_own_prompt(path: Path, string: str | None = None) -> ForeignJudge:
    """Read a person's prompt.

    Args:
        path: The file; what it is follows from its name and content.
        string: Which prompt of a file with several is meant.

    Raises:
        InputError: It holds no prompt, several, or one that computes something.
    """
    judge, *others = read_own_prompts(path, string)
    if others:
        raise _of_file(path, several([judge, *others]))
    return judge


def read_own_prompts(path: Path, string: str | None = None) -> tuple[ForeignJudge, ...]:
    """Read a person's prompt; where its file holds several and none says that it is the judge, all
    of them.

    Where a prompt has no field in a usual syntax, what stands where a field would is one.

    Raises:
        InputError: It holds no prompt, several judges, or one that computes something.
    """
    try:
        with bounded():
            text = re.sub(r"\r\n?", "\n", read_text(path))
            prompts = _read(path, text, string)
            whole = notebook_text(text) if path.suffix == ".ipynb" else text
            shown = file_beside(whole, "\n".join(map(text_of, prompts)), path.suffix)
            judges = (_with_unusual_fields(judge) for judge in judges_among(prompts))
            return tuple(replace(judge, file=shown) for judge in judges)
    except InputError as error:
        raise _of_file(path, error) from None
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path.name}: it is no JSON: {error}") from None


def _of_file(path: Path, error: InputError) -> InputError:
    return InputError(f"{path.name}: {error}", hint=error.hint)


def _with_unusual_fields(judge: ForeignJudge) -> ForeignJudge:
    if any(isinstance(part, Field) for message in judge.messages for part in message.parts):
        return judge
    *before, last = judge.messages
    notes = list(judge.notes)
    last = replace(last, parts=read_unusual(last.text({}), notes))
    return replace(judge, messages=(*before, last), notes=tuple(notes))


def _read(path: Path, text: str, string: str | None) -> Sequence[ForeignJudge]:
    data = path.suffix in (".yaml", ".yml", ".json", ".toml")
    if string is not None and not data and path.suffix not in (*_PYTHON, *_JAVASCRIPT, ".ipynb"):
        raise InputError(
            f"--string names a prompt in code, YAML, TOML or JSON, and {path.name} is none of them"
        )
    if path.suffix in _PYTHON:
        return _from_python(path, text, string)
    if path.suffix == ".ipynb":
        return _from_python(path, notebook_code(text), string)
    if path.suffix in _JAVASCRIPT:
        notes: list[str] = []
        prompts = read_javascript(text, string, notes)
        return _from_code(path, "a JavaScript file", prompts, notes, beside=javascript_facts(text))
    if re.match(_WITH_SETTINGS, text):
        return [_with_settings(path, text)]
    if path.suffix == ".toml":
        return prompts_in(path, *chosen(tomllib.loads(text), text, string))
    if path.suffix in (".yaml", ".yml"):
        return prompts_in(path, *chosen(_loaded(text), text, string))
    if path.suffix == ".json" or text.lstrip().startswith(("[{", "[\n", "{\n", '{"')):
        try:
            return prompts_in(path, *chosen(json.loads(text), text, string))
        except ValueError:
            if path.suffix == ".json":
                raise
    settled: list[str] = []
    if path.suffix.lower() not in (*TEXTS, ".jsonl"):
        try:
            text = read_string(text)
        except InputError:
            if '" +' not in text:
                raise
            prompts = read_javascript(
                text, string, settled
            )  # strings put together with + look the same
            return _from_code(
                path, "a source file", prompts, settled, beside=javascript_facts(text)
            )
    message = TemplateMessage(role="user", parts=read_parts(text, settled))
    return [_judge(path, "a text", (message,), notes=tuple(settled))]


def _from_python(path: Path, text: str, string: str | None) -> Sequence[ForeignJudge]:
    """Read the judge that a Python file builds as an object of a tool, else the prompts among its
    strings.
    """
    try:
        tree = ast.parse(text)
    except SyntaxError as error:
        raise InputError(f"line {error.lineno}: it is no Python: {error.msg}") from None
    facts = python_facts(text, tree)
    if (built := read_code_judge(tree, string)) is not None:
        return [
            _judge(
                path,
                built.tool,
                built.messages,
                criteria=built.criteria,
                scale=built.scale,
                threshold_open=built.threshold_open,
                labels=built.labels,
                reply_schema=built.reply_schema,
                notes=built.notes,
                beside=facts,
            )
        ]
    notes: list[str] = []
    prompts = read_python(tree, string, notes)
    return _from_code(
        path, "a Python file", prompts, notes, beside=facts, fills=fixed_arguments(tree)
    )


def _from_code(
    path: Path,
    tool: str,
    prompts: Sequence[CodePrompt],
    notes: Sequence[str],
    *,
    beside: FileFacts,
    fills: Mapping[str, str] | None = None,
) -> list[ForeignJudge]:
    judges: list[ForeignJudge] = []
    for prompt in prompts:
        names = {
            part.name
            for message in prompt.messages
            for part in message.parts
            if isinstance(part, Field)
        }
        of_it = tuple(
            note
            for note in dict.fromkeys(notes)
            if any(re.search(rf"\b{re.escape(name)}\b", note) for name in names)
        )
        at = f" (line {prompt.line})"
        more = {
            "notes": of_it,
            "beside": beside,
            "fills": fills or {},
            "string": prompt.name,
            "at": at,
        }
        judges.append(_judge(path, tool, prompt.messages, **more))
    return judges


def _with_settings(path: Path, text: str) -> ForeignJudge:
    """Read settings between lines of dashes, and the text after them: Prompty and Dotprompt name
    its roles.
    """
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


def _judge(
    path: Path, tool: str, messages: tuple[TemplateMessage, ...], **more: Any
) -> ForeignJudge:  # Any: fields
    return ForeignJudge(
        tool=tool,
        name=path.stem,
        location=path.name,
        syntax="as written",
        messages=messages,
        **more,
    )

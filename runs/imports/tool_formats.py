"""How the judge is read back from the files that our exports write for each tool."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ...judges import Example, InputError, JudgePrompt, OutputScale, load_prompt
from ..exports.template_parts import Field, TemplateMessage, TemplatePart
from .messages import read_langchain, read_messages
from .template_syntaxes import TemplateReader, read_double_brace, read_jinja


@dataclass(frozen=True, slots=True, kw_only=True)
class FileContents:
    """What a file of an export holds of the judge; None is what it does not."""

    system: str | None = None
    turns: tuple[tuple[str, str], ...] | None = None
    """The demonstrations as they are sent: user text and reply."""
    examples: tuple[Example, ...] | None = None
    """The demonstrations as inputs and reply, where the file keeps them so."""
    user: tuple[TemplatePart, ...] | None = None
    """Template and reply clause as one."""
    template_and_reply: tuple[str, str] | None = None
    """Template and reply clause, where the file keeps them apart."""
    scale: OutputScale | None = None
    prompt: JudgePrompt | None = None
    """The judge itself, where the file is the prompt file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeFile:
    """One file of an export that holds the judge."""

    ending: str
    """How its name ends."""
    read: Callable[[str], FileContents]


def contents_of(messages: tuple[TemplateMessage, ...]) -> FileContents:
    """Return what a list of messages holds.

    Raises:
        InputError: They are not a system message, demonstrations and a user message, or a field
            stands elsewhere.
    """
    roles = [message.role for message in messages]
    turns = (len(roles) - 2) // 2
    if roles != ["system", *["user", "assistant"] * turns, "user"]:
        raise InputError(
            f"the roles are {roles}: a judge has a system message, demonstrations, and a user"
            " message"
        )
    for message in messages[:-1]:
        if fields := [part.name for part in message.parts if isinstance(part, Field)]:
            raise InputError(
                f"the field {fields[0]!r} stands in a {message.role} message; only the last may"
                " have any"
            )
    system, *texts = [message.text({}) for message in messages[:-1]]
    pairs = tuple(zip(texts[::2], texts[1::2], strict=True))
    return FileContents(system=system, turns=pairs, user=messages[-1].parts)


def _json_messages(
    read_template: TemplateReader, *keys: str, only_last: bool = False
) -> Callable[[str], FileContents]:
    """Return a reader of messages in a JSON file, under keys."""

    def read(text: str) -> FileContents:
        body = json.loads(text)
        for key in keys:
            body = body[key]
        return contents_of(read_messages(body, read_template, only_last=only_last))

    return read


def _json(text: str) -> FileContents:
    body = json.loads(text)
    contents = contents_of(read_messages(body["messages"], read_double_brace, only_last=True))
    scale = body["scale"] | {
        "labels": tuple(body["scale"]["labels"]),
        "threshold": body["rule"]["asked_at"],
    }
    return FileContents(
        system=contents.system, turns=contents.turns, user=contents.user, scale=OutputScale(**scale)
    )


def _constants(text: str) -> dict[str, Any]:  # Any: whatever a literal is
    """Return the literals that a Python module gives to names in capitals; nothing of it is run."""
    constants = {}
    for node in ast.parse(text).body:
        if not isinstance(node, ast.Assign) or not isinstance(node.targets[0], ast.Name):
            continue
        name = node.targets[0].id
        if name.isupper():
            try:
                constants[name] = ast.literal_eval(node.value)
            except ValueError:
                continue
    return constants


def _module(text: str) -> FileContents:
    constants = _constants(text)
    system, *texts = [message["content"] for message in constants["FIXED"]]
    pairs = tuple(zip(texts[::2], texts[1::2], strict=True))
    return FileContents(
        system=system, turns=pairs, template_and_reply=_template_and_reply(constants)
    )


def _dspy_module(text: str) -> FileContents:
    constants = _constants(text)
    return FileContents(
        system=constants["INSTRUCTIONS"], template_and_reply=_template_and_reply(constants)
    )


def _template_and_reply(
    constants: Mapping[str, Any],
) -> tuple[str, str]:  # Any: whatever a literal is
    return constants["TEMPLATE"], constants["REPLY"].removeprefix("\n\n")


def _dspy_state(text: str) -> FileContents:
    """Read a state: the system message and the demonstrations; what DSPy added of its own has no
    reply of ours.
    """
    (body,) = (value for key, value in json.loads(text).items() if key != "metadata")
    examples = []
    for demo in body["demos"]:
        reply = demo.pop("judgewright_reply", None)
        if reply is None:
            raise InputError("a demonstration is one of DSPy's own: it has no judgewright_reply")
        inputs = {name: value for name, value in demo.items() if isinstance(value, str)}
        examples.append(Example(inputs=inputs, reply=reply))
    return FileContents(system=body["signature"]["instructions"], examples=tuple(examples))


def _mlflow(text: str) -> FileContents:
    """Read the registry's prompt: MLflow takes it for Jinja where our statement stands at the very
    start.
    """
    first, *others = json.loads(text)["template"]
    content = re.sub(r'^\{% set judge = "[^"]*" %\}', "", first["content"])
    read_template = read_double_brace if content == first["content"] else read_jinja
    return contents_of(read_messages([first | {"content": content}, *others], read_template))


TOOL_FORMATS: Mapping[str, tuple[JudgeFile, ...]] = {
    "yaml": (JudgeFile(ending=".yaml", read=lambda text: FileContents(prompt=load_prompt(text))),),
    "json": (JudgeFile(ending=".json", read=_json),),
    "messages": (
        JudgeFile(ending=".json", read=_json_messages(read_double_brace, only_last=True)),
    ),
    "jinja": (JudgeFile(ending=".json", read=_json_messages(read_jinja)),),
    "python": (JudgeFile(ending=".py", read=_module),),
    "trulens": (
        JudgeFile(ending="_trulens.py", read=_module),
        JudgeFile(
            ending="registry.json", read=_json_messages(read_double_brace, "version", "messages")
        ),
    ),
    "mlflow": (
        JudgeFile(ending="_mlflow.py", read=_module),
        JudgeFile(ending="prompt.json", read=_mlflow),
    ),
    "dspy": (
        JudgeFile(ending="_dspy.py", read=_dspy_module),
        JudgeFile(ending="state.json", read=_dspy_state),
    ),
    "promptfoo": (JudgeFile(ending=".rubric.json", read=_json_messages(read_jinja)),),
    "langchain": (
        JudgeFile(
            ending="_langchain.json",
            read=lambda text: contents_of(read_langchain(json.loads(text))),
        ),
    ),
    "openevals": (JudgeFile(ending="_openevals.py", read=_module),),
    "langfuse": (
        JudgeFile(ending=".langfuse.json", read=_json_messages(read_double_brace, "prompt")),
    ),
    "azure": (JudgeFile(ending="_azure.py", read=_module),),
    "braintrust": (JudgeFile(ending="_braintrust.py", read=_module),),
    "lmeval": (JudgeFile(ending="_lmeval.py", read=_module),),
    "weave": (JudgeFile(ending="_weave.py", read=_module),),
    "ragas": (JudgeFile(ending="_ragas.py", read=_module),),
    "deepeval": (JudgeFile(ending="_deepeval.py", read=_module),),
    "inspect": (JudgeFile(ending="_inspect.py", read=_module),),
    "phoenix": (
        JudgeFile(ending="_phoenix.py", read=_module),
        JudgeFile(ending="_phoenix.json", read=_json_messages(read_double_brace)),
    ),
    "opik": (
        JudgeFile(ending="_opik.py", read=_module),
        JudgeFile(ending="_opik.json", read=_json_messages(read_jinja)),
    ),
}
"""The files of each target that hold the judge; a target that is not here is read from its manifest
alone.
"""

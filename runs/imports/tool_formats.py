"""What each export of ours carries: which of its files hold the judge's messages, and how they are read back."""

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
from .template_syntaxes import Dialect, read_double_brace, read_jinja


@dataclass(frozen=True, slots=True, kw_only=True)
class Carried:
    """What an artefact carries of a judge; None is what it does not."""

    system: str | None = None
    turns: tuple[tuple[str, str], ...] | None = None
    """The demonstrations as they are sent: user text and reply."""
    examples: tuple[Example, ...] | None = None
    """The demonstrations as inputs and reply, where the artefact keeps them so."""
    user: tuple[TemplatePart, ...] | None = None
    """Template and reply clause as one."""
    parts: tuple[str, str] | None = None
    """Template and reply clause, where the artefact keeps them apart."""
    scale: OutputScale | None = None
    whole: JudgePrompt | None = None
    """The judge itself, where the artefact is the prompt file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeFile:
    """One file of an export that carries the judge."""

    ending: str
    """How its name ends."""
    read: Callable[[str], Carried]


def carried(messages: tuple[TemplateMessage, ...]) -> Carried:
    """Return what a list of messages carries.

    Raises:
        InputError: They are not a system message, demonstrations and a user message, or a field stands elsewhere.
    """
    system, *between, user = messages if len(messages) > 1 else (None, None)
    roles = [m.role for m in messages]
    if system is None or user is None or roles != ["system", *["user", "assistant"] * (len(between) // 2), "user"]:
        raise InputError(f"the roles are {roles}: a judge has a system message, demonstrations, and a user message")
    texts = [_literal(m) for m in (system, *between)]
    turns = tuple(zip(texts[1::2], texts[2::2], strict=True))
    return Carried(system=texts[0], turns=turns, user=user.segments)


def _literal(message: TemplateMessage) -> str:
    if field := next((s for s in message.segments if isinstance(s, Field)), None):
        raise InputError(f"the field {field.name!r} stands in a {message.role} message; only the last one may have any")
    return "".join(str(s) for s in message.segments)


def _listed(dialect: Dialect, *keys: str, fixed: bool = False, prefix: str = "") -> Callable[[str], Carried]:
    """Read messages in a JSON file, under keys, with a prefix before the names of fields."""

    def plain(segment: TemplatePart) -> TemplatePart:
        return Field(segment.name.removeprefix(prefix)) if isinstance(segment, Field) else segment

    def unprefixed(text: str) -> tuple[TemplatePart, ...]:
        return tuple(map(plain, dialect(text)))

    def read(text: str) -> Carried:
        body = json.loads(text)
        for key in keys:
            body = body[key]
        return carried(read_messages(body, unprefixed, fixed=fixed))

    return read


def _yaml(text: str) -> Carried:
    return Carried(whole=load_prompt(text))


def _json(text: str) -> Carried:
    body = json.loads(text)
    found = carried(read_messages(body["messages"], read_double_brace, fixed=True))
    scale = body["scale"] | {"labels": tuple(body["scale"]["labels"]), "threshold": body["rule"]["asked_at"]}
    return Carried(system=found.system, turns=found.turns, user=found.user, scale=OutputScale(**scale))


def _constants(text: str) -> dict[str, Any]:  # Any: whatever a literal is
    """The literals that a Python module gives to names in capitals; nothing of it is run."""
    found = {}
    for node in ast.parse(text).body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id.isupper():
            try:
                found[node.targets[0].id] = ast.literal_eval(node.value)
            except ValueError:
                continue
    return found


def _module(text: str) -> Carried:
    found = _constants(text)
    system, *between = (one["content"] for one in found["FIXED"])
    turns = tuple(zip(between[::2], between[1::2], strict=True))
    return Carried(system=system, turns=turns, parts=(found["TEMPLATE"], found["REPLY"].removeprefix("\n\n")))


def _dspy_module(text: str) -> Carried:
    found = _constants(text)
    return Carried(system=found["INSTRUCTIONS"], parts=(found["TEMPLATE"], found["REPLY"].removeprefix("\n\n")))


def _dspy_state(text: str) -> Carried:
    """A state holds the system message and the demonstrations; what DSPy added of its own has no reply of ours."""
    (body,) = (value for key, value in json.loads(text).items() if key != "metadata")
    examples = []
    for demo in body["demos"]:
        if "judgewright_reply" not in demo:
            raise InputError("a demonstration is one of DSPy's own: it has no judgewright_reply")
        inputs = {name: value for name, value in demo.items() if isinstance(value, str) and name != "judgewright_reply"}
        examples.append(Example(inputs=inputs, reply=demo["judgewright_reply"]))
    return Carried(system=body["signature"]["instructions"], examples=tuple(examples))


def _mlflow(text: str) -> Carried:
    """MLflow reads Jinja as soon as a statement stands in a message; ours is one at the very start."""
    first, *others = json.loads(text)["template"]
    started = re.sub(r'^\{% set judge = "[^"]*" %\}', "", first["content"])
    dialect = read_double_brace if started == first["content"] else read_jinja
    return carried(read_messages([first | {"content": started}, *others], dialect))


def _langchain(text: str) -> Carried:
    return carried(read_langchain(text))


ARTEFACTS: Mapping[str, tuple[JudgeFile, ...]] = {
    "yaml": (JudgeFile(ending=".yaml", read=_yaml),),
    "json": (JudgeFile(ending=".json", read=_json),),
    "messages": (JudgeFile(ending=".json", read=_listed(read_double_brace, fixed=True)),),
    "jinja": (JudgeFile(ending=".json", read=_listed(read_jinja)),),
    "python": (JudgeFile(ending=".py", read=_module),),
    "trulens": (
        JudgeFile(ending="_trulens.py", read=_module),
        JudgeFile(ending="registry.json", read=_listed(read_double_brace, "version", "messages")),
    ),
    "mlflow": (JudgeFile(ending="_mlflow.py", read=_module), JudgeFile(ending="prompt.json", read=_mlflow)),
    "dspy": (JudgeFile(ending="_dspy.py", read=_dspy_module), JudgeFile(ending="state.json", read=_dspy_state)),
    "promptfoo": (JudgeFile(ending=".rubric.json", read=_listed(read_jinja)),),
    "langchain": (JudgeFile(ending="_langchain.json", read=_langchain),),
    "openevals": (JudgeFile(ending="_openevals.py", read=_module),),
    "langfuse": (JudgeFile(ending=".langfuse.json", read=_listed(read_double_brace, "prompt")),),
    "ragas": (JudgeFile(ending="_ragas.py", read=_module),),
    "deepeval": (JudgeFile(ending="_deepeval.py", read=_module),),
    "inspect": (JudgeFile(ending="_inspect.py", read=_module),),
    "phoenix": (
        JudgeFile(ending="_phoenix.py", read=_module),
        JudgeFile(ending="_phoenix.json", read=_listed(read_double_brace)),
    ),
    "opik": (JudgeFile(ending="_opik.py", read=_module), JudgeFile(ending="_opik.json", read=_listed(read_jinja))),
    "openai": (JudgeFile(ending=".grader.json", read=_listed(read_double_brace, "input", prefix="item.")),),
}
"""The files of each target that carry the judge; a target that is not here is read from its manifest alone."""

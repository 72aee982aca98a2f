"""LangChain: the chat prompt in LangChain's own serialisation, and a module that judges with it and
pushes it.
"""

from __future__ import annotations

from string import Template
from typing import Any

from .message_templates import example_row, fill_module, module_differences, stem
from .source_text import json_literal, json_text, literal
from .target import SAME_LIMIT, ExportContext, ExportedFiles, Refused, ScoreMap, Target
from .template_parts import Field, TemplateMessage, template_messages
from .template_syntaxes import f_string

_CLASSES = {
    "system": "SystemMessagePromptTemplate",
    "user": "HumanMessagePromptTemplate",
    "assistant": "AIMessagePromptTemplate",
}

_MODULE = Template('''\
"""$origin

$decision. Written by Judgewright for LangChain; the prompt stands in $file beside this module.
"""

$imports
from pathlib import Path

from langchain_core.load import load
from langchain_core.prompts import (
    AIMessagePromptTemplate,
    ChatPromptTemplate,
    HumanMessagePromptTemplate,
    PromptTemplate,
    SystemMessagePromptTemplate,
)
from langchain_core.runnables import RunnableLambda

NAME = $name
ORIGIN = $origin_literal
VERSION = $version
PROMPT_FILE = Path(__file__).with_name($file_literal)
REQUEST = $request
"""What a request says besides the model and the messages, as the judge was asked when it was measured."""

$reading

def prompt():
    """Return the judge's chat prompt; its variables are the row's fields."""
    classes = [
        AIMessagePromptTemplate,
        ChatPromptTemplate,
        HumanMessagePromptTemplate,
        PromptTemplate,
        SystemMessagePromptTemplate,
    ]
    return load(json.loads(PROMPT_FILE.read_text(encoding="utf-8")), allowed_objects=classes)


def judge(model, **parameters):
    """Return a runnable from a row's fields to its verdict.

    Args:
        model: A chat model.
        parameters: What the request says otherwise than REQUEST; None leaves a part of it out.
    """
    told = {name: value for name, value in {**REQUEST, **parameters}.items() if value is not None}
    return prompt() | model.bind(**told) | RunnableLambda(verdict)


def verdict(message):
    """Return score, decision and reasons of a reply.

    Raises:
        ValueError: It gives no grade; such a row has no score, not a zero.
    """
    told = message.response_metadata
    ending = "tool_calls" if message.tool_calls else told.get("finish_reason") or told.get("stop_reason") or ""
    score, reasons = read_reply(str(message.text), ending, message.additional_kwargs.get("refusal"))
    return {"key": NAME, "score": score, "positive": score >= THRESHOLD, "comment": reasons, "version": VERSION}


def push(name=NAME, *, client=None, **options):
    """Push the prompt to LangSmith and return its URL; a new one is private unless `is_public=True` is given."""
    from langsmith import Client

    told = {"tags": ["judgewright"], "commit_description": ORIGIN}
    return (client or Client()).push_prompt(name, object=prompt(), **told | options)
''')  # noqa: E501


def write(context: ExportContext) -> ExportedFiles:
    """Write the chat prompt and the module.

    Raises:
        Refused: A field is `self`.
    """
    prompt, name = context.prompt, stem(context.prompt)
    if "self" in prompt.inputs:
        raise Refused("a field 'self' cannot be given to LangChain's format_prompt()")
    module, file = f"{name}_langchain", f"{name}_langchain.json"
    text = fill_module(
        _MODULE,
        context,
        file=file,
        file_literal=literal(file),
        name=literal(prompt.name),
        version=literal(prompt.version),
        request=json_literal(context.request),
        origin_literal=literal(context.origin[:1000]),
    )
    return ExportedFiles(
        files={f"{module}.py": text, file: chat_prompt(template_messages(prompt))},
        also_sends=(SAME_LIMIT, "stream"),
        differences=module_differences(context),
        scores=ScoreMap.of_grades(context, "The score is the judge's own grade."),
        usage=(
            f"from langchain_openai import ChatOpenAI\n"
            f"from {module} import judge\n"
            "verdict ="
            f' judge(ChatOpenAI(model="{context.model}")).invoke({example_row(prompt.inputs)})'
        ),
    )


def chat_prompt(messages: tuple[TemplateMessage, ...]) -> str:
    """Return a `ChatPromptTemplate` as `langchain_core.load` reads it, literal braces doubled."""
    variables = sorted({name for message in messages for name in _fields(message)})
    templates = [_message_template(message) for message in messages]
    body = _constructor(
        ("chat", "ChatPromptTemplate"), input_variables=variables, messages=templates
    )
    return json_text(body)


def _message_template(message: TemplateMessage) -> dict[str, Any]:  # Any: JSON
    template = _constructor(
        ("prompt", "PromptTemplate"),
        input_variables=sorted(_fields(message)),
        template=f_string(message.parts),
        template_format="f-string",
    )
    return _constructor(("chat", _CLASSES[message.role]), prompt=template)


def _fields(message: TemplateMessage) -> set[str]:
    return {part.name for part in message.parts if isinstance(part, Field)}


def _constructor(place: tuple[str, str], **kwargs: object) -> dict[str, Any]:  # Any: JSON
    """Return an object as LangChain serializes it: the path of its class, and the arguments that
    make it.
    """
    return {
        "lc": 1,
        "type": "constructor",
        "id": ["langchain", "prompts", *place],
        "kwargs": kwargs,
    }


TARGET = Target(
    name="langchain",
    tool="LangChain 1.7 and LangSmith",
    write=write,
    check="langchain.py",
    requires=("langchain-core>=1.6,<2", "langsmith>=0.13,<0.16", "langchain-openai>=1.5,<2"),
    push=(
        "from langsmith import Client\nfrom STEM_langchain import"
        " push\nprint(push(client=Client(api_url=uri)))"
    ),
)

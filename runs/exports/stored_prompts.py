"""The prompts that tools keep in stores of their own: the JSON that lies beside an adapter, which
its `push` hands over.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import orjson

from ...judges import JudgePrompt, response_format
from .source_text import comment_text
from .target import ExportContext, Refused
from .template_parts import template_messages
from .template_syntaxes import chat_messages, double_brace, jinja

PROMPT = "prompt.json"
Messages = list[dict[str, str]]
_STATEMENT = re.compile(r"\{%.*%\}|%\}.*\{%", re.DOTALL)
"""What makes MLflow read all messages as Jinja, and what TruLens refuses."""
_REFERENCE = "@@@langfusePrompt:"
"""What Langfuse's server replaces by another prompt."""
_MLFLOW = ("temperature", "max_tokens", "top_p", "top_k", "frequency_penalty", "presence_penalty")
"""Settings that MLflow's registry has a place for."""


def _open_messages(prompt: JudgePrompt, refused: re.Pattern[str] | None = None) -> Messages:
    """Return the messages with `{{name}}` for a field.

    Raises:
        Refused: Their own text would be read as a field, or holds what the pattern finds.
    """
    messages = chat_messages(template_messages(prompt), double_brace)
    for message in messages:
        if refused is not None and (match := refused.search(message["content"])):
            raise Refused(f"the store would read {match.group()[:60]!r} of the prompt's own text")
    return messages


def _mlflow(context: ExportContext) -> dict[str, Any]:  # Any: JSON
    """Return what `mlflow.genai.register_prompt` takes."""
    prompt, request = context.prompt, context.request
    others = {
        name: value for name, value in request.items() if name not in (*_MLFLOW, "response_format")
    }
    config = {name: request[name] for name in _MLFLOW if name in request}
    body = {
        "name": prompt.name,
        "template": _open_messages(prompt, _STATEMENT),
        "commit_message": comment_text(context.origin),
        "tags": {
            "judgewright.version": prompt.version,
            "judgewright.rule": orjson.dumps(context.rule.to_json()).decode(),
            "judgewright.simulated": str(context.simulated).lower(),
        },
        "model_config": {**config, "extra_params": others} if others else config,
    }
    schema = response_format(prompt)
    return body if schema is None else {**body, "response_format": schema["json_schema"]["schema"]}


def _trulens(context: ExportContext) -> dict[str, Any]:  # Any: JSON
    """Return what TruLens' `create_prompt` and `create_prompt_version` take."""
    prompt = context.prompt
    if names := sorted({"model_overrides", "strict"} & set(prompt.inputs)):
        raise Refused(f"TruLens' registry cannot render the field {names[0]!r}")
    request = {name: part for name, part in context.request.items() if name != "response_format"}
    version = {
        "messages": _open_messages(prompt, _STATEMENT),
        "variables": list(prompt.inputs),
        "model_defaults": request,
        "change_note": comment_text(context.origin),
    }
    named = {"slug": prompt.name, "name": prompt.name, "prompt_type": "chat"}
    return {"prompt": named, "version": version}


def _langfuse(context: ExportContext) -> dict[str, Any]:  # Any: JSON
    """Return the body of `POST /api/public/v2/prompts`; without labels, so that it replaces
    nothing.
    """
    prompt = context.prompt
    described = {
        "version": prompt.version,
        "origin": context.origin,
        "scale": prompt.reply_form,
        "threshold": context.raw_threshold,
        "rule": context.rule.to_json(),
    }
    return {
        "type": "chat",
        "name": prompt.name,
        "prompt": _open_messages(prompt, re.compile(_REFERENCE)),
        "labels": [],
        "tags": ["judgewright"],
        "config": {"request": context.request, "judgewright": described},
        "commitMessage": context.origin,
    }


STORED: dict[str, Callable[[ExportContext], Any]] = {  # Any: JSON
    "langfuse": _langfuse,
    "mlflow": _mlflow,
    "opik": lambda context: chat_messages(template_messages(context.prompt), jinja),
    "phoenix": lambda context: _open_messages(context.prompt),
    "trulens": _trulens,
}
"""What each target's store takes."""

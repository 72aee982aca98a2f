"""Exports that need no tool: YAML, JSON, messages, Jinja and Markdown."""

from __future__ import annotations

import re

import orjson

from .adapter import example_row
from .source_text import comment_text, json_text, one_line
from .target import ExportContext, ExportedFiles, Target
from .template_parts import fill, template_messages
from .template_syntaxes import chat_messages, double_brace, jinja


def _yaml(context: ExportContext) -> ExportedFiles:
    """Write the prompt file itself, which `JudgePrompt` reads back as the same version, under its
    origin and rule.
    """
    comments = {
        **context.provenance,
        "rule": context.rule.version,
        "decides": orjson.dumps(context.rule.to_json()).decode(),
    }
    lines = [one_line(f"# {key}: {value}") for key, value in comments.items()]
    name = _name(context, "yaml")
    return ExportedFiles(
        files={name: "\n".join([*lines, context.prompt.to_yaml()])},
        own_fences=True,
        calibrated=False,
        usage=f"judgewright bench {name} rows.jsonl --model MODEL",
    )


def _json(context: ExportContext) -> ExportedFiles:
    prompt, scale = context.prompt, context.prompt.scale
    turned = {"low_is_good": True} if scale.low_is_good else {}
    body = {
        "schema_version": 1,
        "name": prompt.name,
        "version": prompt.version,
        "parent": prompt.parent,
        "note": prompt.note,
        "rule": {
            **context.rule.to_json(),
            "version": context.rule.version,
            "asked_at": scale.threshold,
        },
        "inputs": list(prompt.inputs),
        "scale": {
            "kind": scale.kind,
            "low": scale.low,
            "high": scale.high,
            "labels": list(scale.labels),
            "anchors": dict(scale.anchors),
            **turned,
        },
        "messages": _open_messages(context),
        "request": context.request,
        "provenance": dict(context.provenance),
    }
    name = _name(context, "json")
    return ExportedFiles(
        files={name: json_text(body)},
        calibrated=False,
        usage=f"import json\n{_LOAD % name}\n{_HOW_TO_FILL}",
    )


def _messages(context: ExportContext) -> ExportedFiles:
    name = _name(context, "messages.json")
    return ExportedFiles(
        files={name: json_text(_open_messages(context))},
        calibrated=False,
        usage=f'import json\njudge = {{"messages": json.load(open("{name}"))}}\n{_HOW_TO_FILL}',
    )


_LOAD = 'judge = json.load(open("%s"))'
_HOW_TO_FILL = """\
system, *_, user = judge["messages"]
# Fill {{field}} in the last message with one re.sub over all fields, so that a row's own {{...}} stays what it is."""  # noqa: E501


def _jinja(context: ExportContext) -> ExportedFiles:
    name = _name(context, "jinja.json")
    usage = (
        f"import json\nimport jinja2\nrow = {example_row(*context.prompt.inputs)}\n"
        f'templates = json.load(open("{name}"))\n'
        'messages = [t | {"content": jinja2.Template(t["content"]).render(row)} for t in templates]'
    )
    messages = chat_messages(template_messages(context.prompt), jinja)
    return ExportedFiles(files={name: json_text(messages)}, calibrated=False, usage=usage)


def _markdown(context: ExportContext) -> ExportedFiles:
    prompt = context.prompt
    origin = comment_text(context.origin).replace("`", "'")
    sections = [f"# {prompt.name}", f"`{origin}`"]
    placeholders = {name: f"{{{{{name}}}}}" for name in prompt.inputs}
    for message in template_messages(prompt):
        text = message.text(placeholders)
        # A fence closes at the first run of as many backquotes, so it is longer than any in the
        # text.
        longest = max(map(len, re.findall("`+", text)), default=0)
        fence = "`" * max(3, longest + 1)
        sections.append(f"## {message.role.capitalize()}\n\n{fence}text\n{text}\n{fence}")
    scale = comment_text(prompt.scale.describe()).replace("`", "'")
    at = f"where 1 minus the number is {context.rule.threshold:g}"
    if not prompt.scale.low_is_good:
        at = f"at {context.rule.threshold:g}"
    sections.append(f"## Decision\n\nPositive {at} or above on the scale `{scale}`.")
    name = _name(context, "md")
    return ExportedFiles(
        files={name: "\n\n".join(sections) + "\n"}, calibrated=False, usage=f"less {name}"
    )


def _name(context: ExportContext, suffix: str) -> str:
    return f"{context.prompt.name}.{suffix}"


def _open_messages(context: ExportContext) -> list[dict[str, str]]:
    """Return the messages with `{{name}}` where a row's fields go; only the last has any, the
    others are literal.
    """
    *fixed, last = template_messages(context.prompt)
    return [*fill(fixed, {}), *chat_messages([last], double_brace)]


PLAIN = (
    Target(name="yaml", tool="Judgewright", write=_yaml, check="plain.py"),
    Target(name="json", tool="any chat client", write=_json, check="plain.py"),
    Target(name="messages", tool="any chat client", write=_messages, check="plain.py"),
    Target(
        name="jinja", tool="Jinja2", write=_jinja, check="plain.py", bundled=("jinja2>=3.1,<4",)
    ),
    Target(name="markdown", tool="people", write=_markdown),
)

"""Exports that need no tool: YAML, Jinja and Markdown."""

from __future__ import annotations

import re

import orjson

from .adapter import example_row
from .source_text import comment_text, json_text, one_line
from .target import ExportContext, ExportedFiles, Target
from .template_parts import template_messages
from .template_syntaxes import chat_messages, jinja


def _yaml(context: ExportContext) -> ExportedFiles:
    """Write the prompt file itself, which `JudgePrompt` reads back as the same version, under its
    origin and rule.
    """
    comments = {
        **context.provenance,
        "rule": context.rule.version,
        "decides": orjson.dumps(context.rule.to_json()).decode(),
    }
    lines = [one_line(f"# {key}: {value}") for key, value in comments.items() if value is not None]
    name = _name(context, "yaml")
    return ExportedFiles(
        files={name: "\n".join([*lines, context.prompt.to_yaml()])},
        own_fences=True,
        calibrated=False,
        usage=f"judgewright bench {name} rows.jsonl --model MODEL",
    )


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


PLAIN = (
    Target(name="yaml", tool="Judgewright", write=_yaml, check="plain.py"),
    Target(
        name="jinja", tool="Jinja2", write=_jinja, check="plain.py", bundled=("jinja2>=3.1,<4",)
    ),
    Target(name="markdown", tool="people", write=_markdown),
)

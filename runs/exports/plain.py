"""Exports that need no tool: YAML, JSON, messages, Jinja and Markdown."""

from __future__ import annotations

import orjson

from ...judges import response_format
from .python_text import one_line, plain
from .target import ExportContext, ExportedFiles, Target
from .template_parts import Field, fill, template_messages
from .template_syntaxes import double_brace, jinja


def _yaml(handover: ExportContext) -> ExportedFiles:
    """The prompt file itself, which `JudgePrompt` reads back as the same version, under its origin and rule."""
    told = {
        **handover.provenance,
        "rule": handover.rule.version,
        "decides": orjson.dumps(handover.rule.to_json()).decode(),
    }
    lines = [one_line(f"# {key}: {value}") for key, value in told.items()]
    text = "\n".join([*lines, handover.prompt.to_yaml()])
    return ExportedFiles(
        files={_name(handover, "yaml"): text},
        exact=True,
        own_fences=True,
        usage=f"judgewright bench {_name(handover, 'yaml')} rows.jsonl --model MODEL",
    )


def _json(handover: ExportContext) -> ExportedFiles:
    prompt, scale = handover.prompt, handover.prompt.scale
    body = {
        "schema_version": 1,
        "name": prompt.name,
        "version": prompt.version,
        "parent": prompt.parent,
        "note": prompt.note,
        "rule": {**handover.rule.to_json(), "version": handover.rule.version, "asked_at": scale.threshold},
        "inputs": list(prompt.inputs),
        "scale": {
            "kind": scale.kind,
            "low": scale.low,
            "high": scale.high,
            "labels": list(scale.labels),
            "anchors": dict(scale.anchors),
        },
        "messages": _placed(handover),
        "response_format": response_format(prompt),
        "provenance": dict(handover.provenance),
    }
    name = _name(handover, "json")
    text = orjson.dumps(body, option=orjson.OPT_INDENT_2).decode() + "\n"
    return ExportedFiles(files={name: text}, exact=True, usage=f'judge = json.load(open("{name}"))\n{_FILL}')


def _messages(handover: ExportContext) -> ExportedFiles:
    name = _name(handover, "messages.json")
    text = orjson.dumps(_placed(handover), option=orjson.OPT_INDENT_2).decode() + "\n"
    return ExportedFiles(
        files={name: text}, exact=True, usage=f'judge = {{"messages": json.load(open("{name}"))}}\n{_FILL}'
    )


_FILL = """\
system, *_, user = judge["messages"]
# Fill {{field}} in the last message with one re.sub over all fields, so that a row's own {{...}} stays what it is."""


def _jinja(handover: ExportContext) -> ExportedFiles:
    name = _name(handover, "jinja.json")
    messages = [{"role": m.role, "content": jinja(m.segments)} for m in template_messages(handover.prompt)]
    fields = ", ".join(f"{field}=..." for field in handover.prompt.inputs)
    usage = (
        f'templates = json.load(open("{name}"))\n'
        f'messages = [t | {{"content": jinja2.Template(t["content"]).render({fields})}} for t in templates]'
    )
    return ExportedFiles(
        files={name: orjson.dumps(messages, option=orjson.OPT_INDENT_2).decode() + "\n"}, exact=True, usage=usage
    )


def _markdown(handover: ExportContext) -> ExportedFiles:
    """What people read and paste; backquote fences are longer than any inside."""
    prompt = handover.prompt
    origin = plain(handover.origin).replace("`", "'")
    parts = [f"# {prompt.name}", f"`{origin}`"]
    for message in template_messages(prompt):
        text = "".join(f"{{{{{s.name}}}}}" if isinstance(s, Field) else s for s in message.segments)
        fence = "`" * max(3, 1 + _longest_run(text))
        parts.append(f"## {message.role.capitalize()}\n\n{fence}text\n{text}\n{fence}")
    rule, scale = handover.rule, plain(prompt.scale.describe()).replace("`", "'")
    parts.append(f"## Decision\n\nPositive at {rule.threshold:g} or above on the scale `{scale}`.")
    name = _name(handover, "md")
    return ExportedFiles(files={name: "\n\n".join(parts) + "\n"}, exact=False, carries=(), usage=f"less {name}")


def _longest_run(text: str) -> int:
    longest = run = 0
    for letter in text:
        run = run + 1 if letter == "`" else 0
        longest = max(longest, run)
    return longest


def _name(handover: ExportContext, suffix: str) -> str:
    return f"{handover.prompt.name}.{suffix}"


def _placed(handover: ExportContext) -> list[dict[str, str]]:
    """The messages with `{{name}}` where a row's fields go; only the last one has any, and nothing else in braces."""
    *fixed, last = template_messages(handover.prompt)
    return [*fill(fixed, {}), {"role": last.role, "content": double_brace(last.segments)}]


PLAIN = (
    Target(name="yaml", tool="Judgewright", write=_yaml, probe="plain.py"),
    Target(name="json", tool="any chat client", write=_json, probe="plain.py"),
    Target(name="messages", tool="any chat client", write=_messages, probe="plain.py"),
    Target(name="jinja", tool="Jinja2", write=_jinja, probe="plain.py"),
    Target(name="markdown", tool="people", write=_markdown),
)

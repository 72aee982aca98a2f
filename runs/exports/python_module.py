"""A judge as a Python module of its own: the messages that Judgewright sends, fences included; nothing to install."""

from __future__ import annotations

import re

from ...judges import Row
from ...judges.models import Message
from .target import Handover

_MODULE = '''\
"""{origin}

Written by Judgewright. Positive at a grade of {threshold:g} or above, on the scale {scale}.
"""

import hashlib
import json
import re

VERSION = {version!r}
THRESHOLD = {threshold!r}
RESPONSE_FORMAT = {response_format}

FIXED = [
{fixed}]
"""The messages before the row."""

FIELDS = {names!r}
TEMPLATE = {template}
REPLY = {reply}


def messages(**fields):
    """Return the chat messages for one row, {fields}; its text is fenced by a tag that it cannot know."""
    if set(fields) != set(FIELDS):
        raise TypeError(f"the judge reads {{', '.join(FIELDS)}}, not {{', '.join(fields)}}")
    content = json.dumps([VERSION, sorted(fields.items())], ensure_ascii=False, separators=(",", ":"))
    tag = hashlib.blake2b(content.encode(), digest_size=4).hexdigest()

    def fenced(match):
        name = match.group(1)
        text = fields[name].replace(tag, tag[:4] + " " + tag[4:])
        return f"<{{name}}-{{tag}}>\\n{{text}}\\n</{{name}}-{{tag}}>"

    filled = re.sub(r"\\{{\\{{([a-z][a-z0-9_]*)\\}}\\}}", fenced, TEMPLATE)
    return [*FIXED, {{"role": "user", "content": filled + REPLY}}]
'''


def python_module(handover: Handover) -> str:
    """Return the module's text; prompt text stands in it as string literals."""
    from pprint import pformat

    from ...judges import response_format

    prompt = handover.prompt
    *before_row, _ = prompt.messages(Row(id="", inputs=dict.fromkeys(prompt.inputs, "")))
    fixed = "".join(_message(message) for message in before_row)
    reply = "\n\n" + prompt.reply.strip() if prompt.reply.strip() else ""
    return _MODULE.format(
        origin=plain(handover.origin),
        version=prompt.version,
        threshold=handover.rule.threshold,
        scale=plain(prompt.scale.describe()),
        response_format=pformat(response_format(prompt), sort_dicts=False, width=100),
        fixed=fixed,
        template=python_text(prompt.template, 0),
        reply=python_text(reply, 0),
        names=prompt.inputs,
        fields=" and ".join(prompt.inputs),
    )


def _message(message: Message) -> str:
    content = python_text(message.content, 8)
    return f'    {{\n        "role": "{message.role}",\n        "content": {content},\n    }},\n'


def python_text(text: str, indent: int) -> str:
    """Return a string literal for a text, one line of it on each line of the module, `indent` spaces in."""
    lines = text.splitlines(keepends=True)
    if len(lines) < 2:
        return repr(text)
    room = " " * indent
    return "(\n" + "".join(f"{room}    {line!r}\n" for line in lines) + f"{room})"


def plain(text: str) -> str:
    """Return text for a docstring or a comment: printable, on one line, with nothing that would end it."""
    return one_line(text.replace("\\", "/").replace('"', "'"))


def one_line(text: str) -> str:
    """Return text for a comment: printable, on one line whatever a language takes for the end of one."""
    shown = "".join(letter if letter.isprintable() else " " for letter in text)
    return re.sub(r"\s+", " ", shown).strip()

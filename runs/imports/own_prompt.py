"""A prompt of the user's own, in whatever file it is: a text, a chat, keys, or what a plug-in reads
such as code.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml

from ...judges import InputError
from ..exports.template_parts import TemplateMessage
from ..plugins import brought, load
from .bounded import bounded
from .data_files import prompts_in
from .file_beside import file_beside
from .foreign_judge import ForeignJudge, PromptReader, foreign, text_of
from .messages import ROLES
from .placeholders import read_parts
from .prompt_files import read_text, words_of

_DATA = (".yaml", ".yml", ".json", ".toml")
_TEXTS = words_of(
    ".txt .text .md .mdx .markdown .rst .adoc .prompt .prompty .tmpl .tpl .template .jinja"
    " .jinja2 .j2 .njk .mustache .hbs .handlebars .liquid .ejs .erb .twig .html .xml"
)
"""Endings of files that hold a prompt and nothing else; so does one without an ending."""
_WITH_SETTINGS = re.compile(r"\A---\n([\s\S]*?\n)---\n([\s\S]*)")
_ROLE_LINE = re.compile(
    r"(?m)^[ \t]*(?:#?[ \t]*(?=\w+:[ \t]*$)|\{\{role"
    r" \"(?=\w+\"\}\}))(system|user|assistant|developer|model)"
    r"(?::[ \t]*$|\"\}\})"
)
"""A line over a message: `system:` of Prompty, `{{role "system"}}` of Dotprompt."""
_NO_CODE = {"code": re.compile(r"(?m)^(?=[ \t]*[%!])")}
_EVERY_LINE = re.compile(r"(?m)^")


def read_own_prompts(path: Path, string: str | None = None) -> tuple[ForeignJudge, ...]:
    """Read all prompts of a file; which of several is the judge, a model or a person says.

    Raises:
        InputError: It holds no prompt, or one that computes something.
    """
    try:
        with bounded():
            text = read_text(path)
            judges = _read(path, text, string)
            file_text = notebook_text(text) if path.suffix == ".ipynb" else text
            masked_file = file_beside(file_text, "\n".join(map(text_of, judges)), path.suffix)
            return tuple(replace(judge, file=masked_file) for judge in judges)
    except InputError as error:
        raise _of_file(path, error) from None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{path.name}: it cannot be read: {error}") from None


def _readers() -> Iterator[PromptReader]:
    """Yield what plug-ins read in files."""
    for name in brought("prompt_readers").values():
        yield load(name)


def _of_file(path: Path, error: InputError) -> InputError:
    return InputError(f"{path.name}: {error}", hint=error.hint)


def _read(path: Path, text: str, string: str | None) -> Sequence[ForeignJudge]:
    for reader in _readers():
        if path.suffix in reader.suffixes and (judges := reader.read(path, text, string)):
            return judges
    if string is not None and path.suffix not in _DATA:
        raise InputError(
            f"--string names a prompt in code, YAML, TOML or JSON, and {path.name} is none of them"
        )
    if match := _WITH_SETTINGS.match(text):
        return [_with_settings(path, *match.groups())]
    if path.suffix == ".toml":
        return prompts_in(path, tomllib.loads(text), string)
    if path.suffix in (".yaml", ".yml"):
        return prompts_in(path, _loaded(text), string)
    if path.suffix == ".json":
        return prompts_in(path, json.loads(text), string)
    if path.suffix and path.suffix.lower() not in _TEXTS:
        raise InputError(
            f"a file that ends in {path.suffix} is not read", hint="save the prompt as a .txt file"
        )
    notes: list[str] = []
    message = TemplateMessage(role="user", parts=read_parts(text, notes))
    return [foreign("a text", path.name, [message], notes=tuple(notes))]


def _with_settings(path: Path, head: str, body: str) -> ForeignJudge:
    """Read settings between lines of dashes, and the text after them: Prompty and Dotprompt name
    its roles.
    """
    _loaded(head)
    turns = _ROLE_LINE.split(body)
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
    return foreign("a text with settings", path.name, messages, notes=tuple(notes))


def _loaded(text: str) -> Any:  # Any: YAML
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise InputError(f"it is no YAML: {str(error).splitlines()[0]}") from None


def notebook_text(text: str) -> str:
    """Return all cells of a notebook, texts and commands as comments and code, without what they
    gave out.
    """
    cells = json.loads(text).get("cells", [])
    sources = [("".join(cell.get("source", ())), str(cell.get("cell_type"))) for cell in cells]
    return "\n\n".join(
        _NO_CODE.get(kind, _EVERY_LINE).sub("# ", source) for source, kind in sources
    )

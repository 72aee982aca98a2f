"""What MkDocs adds to the written pages while it builds: the reference, and a section for each export target.

Everything here is read from the code (click's help, `__all__` with its docstrings, what the targets say of
themselves), so that it cannot be stale; nothing of it is kept in the repository.
"""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Callable, Iterator
from importlib import import_module
from types import ModuleType

import click
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from judgewright.judges import Registry
from judgewright.runs.cli import cli
from judgewright.runs.exports import TARGETS, ExportContext, Refused
from judgewright.runs.exports.manifest import differences

FACES = {
    "judges": "judgewright.judges",
    "slices": "judgewright.slices",
    "optimize": "judgewright.optimize",
    "exports": "judgewright.runs.exports",
}
"""Reference page to the package whose public names it lists."""
TARGETS_HERE = "<!-- the targets -->"
"""Where the page about exports has its sections."""
SHOWN = "groundedness"
"""The shipped judge that the sections export."""
WIDTH = 100
_SECTION = re.compile(r"(Args|Returns|Raises|Yields):")
_ITEM = re.compile(r"(\w+): (.*)")
_CODE = re.compile(r"(`[^`]*`)")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages of the reference."""
    pages = {"commands": commands_page(), **{page: python_page(name) for page, name in FACES.items()}}
    for page, text in pages.items():
        files.append(File.generated(config, f"reference/{page}.md", content=text))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Put the targets' sections where the page about exports wants them."""
    return markdown.replace(TARGETS_HERE, targets_text()) if TARGETS_HERE in markdown else markdown


def commands_page() -> str:
    """Return the help of every command, groups before their own commands."""
    parts = ["# Commands\n\nWhat `--help` prints, for every command.\n"]
    for path, text in helps(cli, "judgewright", None):
        parts.append(f"## {path}\n\n```text\n{text}\n```\n")
    return "\n".join(parts)


def helps(command: click.Command, name: str, parent: click.Context | None) -> Iterator[tuple[str, str]]:
    """Yield the path and the help of a command, and of all under it."""
    context = click.Context(command, info_name=name, parent=parent, max_content_width=WIDTH, terminal_width=WIDTH)
    yield context.command_path, command.get_help(context).rstrip()
    if isinstance(command, click.Group):
        for child in command.list_commands(context):
            found = command.get_command(context, child)
            assert found is not None, child
            yield from helps(found, child, context)


def targets_text() -> str:
    """Return a section for each export target: what it writes, the lines that use it, what differs there."""
    prompt = Registry().get(SHOWN)
    handover = ExportContext(prompt=prompt, rule=prompt.rule, provenance={})
    parts = []
    for name, target in TARGETS.items():
        parts.append(f"### {name}\n\nFor {prose(target.tool)}.\n")
        try:
            bundle = target.write(handover)
        except Refused as reason:
            parts.append(f"It cannot carry `{SHOWN}`: {prose(str(reason))}.\n")
            continue
        parts.append(f"```text\njudgewright export {SHOWN} --to {name} --out handover\n```\n")
        parts.append(f"It writes {', '.join(f'`{file}`' for file in bundle.files)}. To use it:\n")
        parts.append(f"```text\n{bundle.usage}\n```\n")
        told = differences(handover, bundle)
        parts.append("What differs there:\n" if told else "Nothing differs there.\n")
        parts += [f"* {prose(text)}" for text in told]
        if target.probe is None:
            parts.append("\nIt has no tool to be verified in.\n")
        elif target.requires:
            needs = " ".join(target.requires)
            parts.append(f"\nTo verify it there, an environment needs `{needs}`.\n")
        else:
            parts.append("\n`judgewright export verify handover` needs nothing else.\n")
    return "\n".join(parts)


def python_page(name: str) -> str:
    """Return the public names of a package with their signatures and docstrings."""
    module = import_module(name)
    parts = [f"# {name}\n\n{docstring(module)}\n"]
    parts += [_entry(module, public) for public in module.__all__]
    return "\n".join(parts)


def _entry(module: ModuleType, name: str) -> str:
    thing = getattr(module, name)
    head = f"## {name}\n"
    if inspect.isclass(thing):
        return f"{head}\n{_signature(name, thing)}\n{docstring(thing)}\n\n{_methods(thing)}"
    if inspect.isfunction(thing):
        return f"{head}\n{_signature(name, thing)}\n{docstring(thing)}\n"
    if isinstance(thing, dict):
        return f"{head}\nA table with {', '.join(f'`{key}`' for key in thing)}.\n"
    return f"{head}\n```text\n{name} = {thing!r}\n```\n"


def _methods(kind: type) -> str:
    lines = []
    for name, found in vars(kind).items():
        plain = found.__func__ if isinstance(found, classmethod | staticmethod) else found
        if name.startswith("_") or not (inspect.isfunction(plain) or isinstance(plain, property)):
            continue
        said = (inspect.getdoc(plain) or "").partition("\n")[0]
        lines.append(f"* `{name}{'' if isinstance(plain, property) else '()'}`: {prose(said)}")
    return "\n".join([*lines, ""])


def _signature(name: str, thing: Callable[..., object]) -> str:
    """Return `name(...)` as it would be written; nothing where a class is not made by calling it with arguments."""
    try:
        found = inspect.signature(thing)
    except (TypeError, ValueError):
        return ""
    given: list[str] = []
    starred = False
    for parameter in found.parameters.values():
        if parameter.kind is parameter.KEYWORD_ONLY and not starred:
            given.append("*")
        starred |= parameter.kind in (parameter.KEYWORD_ONLY, parameter.VAR_POSITIONAL)
        given.append(_parameter(parameter))
    returned = found.return_annotation
    back = "" if inspect.isclass(thing) or returned is found.empty else f" -> {_spelt(returned)}"
    line = f"{name}({', '.join(given)}){back}"
    if len(line) > WIDTH:
        line = "\n    ".join([f"{name}(", *(f"{part}," for part in given)]) + f"\n){back}"
    return f"```text\n{line}\n```\n"


def _parameter(parameter: inspect.Parameter) -> str:
    stars = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
    kind = "" if parameter.annotation is parameter.empty else f": {_spelt(parameter.annotation)}"
    default = parameter.default
    if default is parameter.empty:
        return f"{stars}{parameter.name}{kind}"
    # A field made anew each time, and a seam that is an object, have no spelling of their own.
    spelt = repr(default) if isinstance(default, str | int | float | tuple | None) else "..."
    return f"{stars}{parameter.name}{kind} = {spelt}"


def _spelt(annotation: object) -> str:
    """Return an annotation as it is written; most are strings, because they are not looked up at import."""
    return annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)


def docstring(thing: object) -> str:
    """Return a docstring as Markdown: prose as it is, `Args:` and its like as lists."""
    text = inspect.getdoc(thing) or ""
    if dataclasses.is_dataclass(thing) and text.startswith(f"{getattr(thing, '__name__', '')}("):
        return ""  # the one that `dataclass` writes itself
    lines: list[str] = []
    inside = False
    for line in text.splitlines():
        if head := _SECTION.fullmatch(line):
            inside = True
            lines += ["", f"**{head.group(1)}**", ""]
        elif inside and line.startswith("    ") and not line.startswith("     "):
            item = _ITEM.fullmatch(line.strip())
            lines.append(f"* `{item.group(1)}`: {prose(item.group(2))}" if item else f"* {prose(line.strip())}")
        elif inside and line.strip():
            lines.append(f"  {prose(line.strip())}")
        else:
            inside = inside and not line.strip()
            lines.append(prose(line))
    return "\n".join(lines)


def prose(text: str) -> str:
    """Return text in which only backquotes mean anything to Markdown."""
    pieces = _CODE.split(text)
    return "".join(piece if i % 2 else _inert(piece) for i, piece in enumerate(pieces))


def _inert(text: str) -> str:
    return re.sub(r"([\\*_\[\]])", r"\\\1", text.replace("&", "&amp;").replace("<", "&lt;"))

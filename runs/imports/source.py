"""Import a judge from wherever it is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from ...judges import InputError, load_prompt
from ..exports.manifest import NAME
from .convert import adopt
from .foreign_judge import Found, Imported, Wishes
from .installed import TOOLS, find_installed
from .our_exports import read_back
from .prompt_files import find_file, find_langchain, find_promptfoo, find_umbrela, read_text

FILES: Mapping[str, Callable[[Path], Found]] = {
    "file": find_file,
    "langchain": find_langchain,
    "promptfoo": find_promptfoo,
    "umbrela": find_umbrela,
}
"""Tools whose judges stand in a file that the user names."""
SOURCES = tuple(sorted({*TOOLS, *FILES, "export"}))
"""Everything a judge can be imported from; `export` is one of ours."""


def import_judge(tool: str, name: str, *, wishes: Wishes | None = None, interpreter: str | None = None) -> Imported:
    """Import a judge.

    Args:
        tool: One of `SOURCES`.
        name: Of a judge the tool ships; or the path of a file, or of an export of ours, whatever the tool.
        wishes: What the user says about names, fields, fixed texts and the scale.
        interpreter: The Python that has the tool; our own unless given.

    Raises:
        InputError: It is not there, cannot be read, or cannot be made a judge of ours.
    """
    wishes = wishes or Wishes()
    path = Path(name)
    if tool == "export" or _is_export(path):
        return _from_export(tool, path, wishes)
    if tool in FILES and (path.is_file() or tool not in TOOLS):
        if tool == "file" and path.suffix in (".yaml", ".yml"):
            return _from_prompt_file(path, wishes)
        return adopt(FILES[tool](path), wishes)
    if tool not in TOOLS:
        raise InputError(f"judges are not imported from {tool!r}", hint=f"known: {', '.join(SOURCES)}")
    return adopt(find_installed(tool, name, interpreter), wishes)


def _is_export(path: Path) -> bool:
    return (path / NAME).is_file() or path.with_name(f"{path.name}.{NAME}").is_file()


def _from_export(tool: str, path: Path, wishes: Wishes) -> Imported:
    _refuse_wishes(wishes, "an export of ours")
    back = read_back(path)
    if tool not in ("export", "file", back.target):
        raise InputError(f"{path} was written for {back.target}, not for {tool}")
    by_file: dict[str, list[str]] = {}
    for part, file in back.sources.items():
        by_file.setdefault(file, []).append(part)
    told = [f"From {file}: {', '.join(parts)}." for file, parts in by_file.items()]
    if back.rule != back.prompt.rule:
        told.append(f"Its decision rule {back.rule.version} is not the prompt's own and stands in the manifest.")
    prompt = replace(back.prompt, name=wishes.name or back.prompt.name)
    if back.edited:
        told.append(f"Its words were edited since {back.exported} was exported.")
        prompt = replace(prompt, note=f"Read back from an export for {back.target}. " + " ".join(told))
    return Imported(
        prompt=prompt,
        tool=f"an export of ours for {back.target}",
        place=str(path),
        dialect=back.target,
        fields={name: name for name in prompt.inputs},
        differences=tuple(told),
    )


def _from_prompt_file(path: Path, wishes: Wishes) -> Imported:
    _refuse_wishes(wishes, "a prompt file of ours")
    prompt = load_prompt(read_text(path), origin=str(path))
    prompt = replace(prompt, name=wishes.name or prompt.name)
    return Imported(
        prompt=prompt,
        tool="Judgewright",
        place=str(path),
        dialect="{{field}}",
        fields={name: name for name in prompt.inputs},
        differences=(),
    )


def _refuse_wishes(wishes: Wishes, what: str) -> None:
    if wishes.fields or wishes.fills or wishes.scale:
        raise InputError(f"--field, --fill and --scale do not go with {what}: it says all of that itself")

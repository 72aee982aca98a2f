"""Import a judge from an installed tool, from a file, or from an export of ours."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from ...judges import InputError, load_prompt
from ..exports.manifest import MANIFEST_NAME
from .convert import convert
from .foreign_judge import ForeignJudge, ImportedJudge, ImportOptions
from .installed_tools import TOOLS, read_installed
from .our_exports import read_back
from .prompt_files import (
    read_langchain_file,
    read_prompt_file,
    read_promptfoo,
    read_text,
    read_umbrela,
)

FILES: Mapping[str, Callable[[Path], ForeignJudge]] = {
    "file": read_prompt_file,
    "langchain": read_langchain_file,
    "promptfoo": read_promptfoo,
    "umbrela": read_umbrela,
}
"""Tools whose judges stand in a file that the user names."""
SOURCES = tuple(sorted({*TOOLS, *FILES, "export"}))
"""Everything a judge can be imported from; `export` is one of ours."""


def import_judge(
    tool: str, name: str, *, options: ImportOptions | None = None, interpreter: str | None = None
) -> ImportedJudge:
    """Import a judge.

    Args:
        tool: One of `SOURCES`.
        name: Of a judge the tool ships; or the path of a file, or of an export of ours, whatever
            the tool.
        options: What the user says about names, fields, fixed texts and the scale.
        interpreter: The Python that has the tool; our own unless given.

    Raises:
        InputError: It is not there, cannot be read, or cannot be made a judge of ours.
    """
    options = options or ImportOptions()
    path = Path(name)
    manifests = path / MANIFEST_NAME, path.with_name(f"{path.name}.{MANIFEST_NAME}")
    if tool == "export" or any(manifest.is_file() for manifest in manifests):
        return _from_export(tool, path, options)
    if tool in FILES and (path.is_file() or tool not in TOOLS):
        if tool == "file" and path.suffix in (".yaml", ".yml"):
            _refuse_options(options, "a prompt file of ours")
            prompt = load_prompt(read_text(path), origin=str(path))
            prompt = replace(prompt, name=options.name or prompt.name)
            return ImportedJudge(
                prompt=prompt,
                tool="Judgewright",
                location=str(path),
                syntax="{{field}}",
                fields={name: name for name in prompt.inputs},
                differences=(),
            )
        return convert(FILES[tool](path), options)
    if tool not in TOOLS:
        raise InputError(
            f"judges are not imported from {tool!r}", hint=f"known: {', '.join(SOURCES)}"
        )
    return convert(read_installed(tool, name, interpreter), options)


def _from_export(tool: str, path: Path, options: ImportOptions) -> ImportedJudge:
    _refuse_options(options, "an export of ours")
    back = read_back(path)
    if tool not in ("export", "file", back.target):
        raise InputError(f"{path} was written for {back.target}, not for {tool}")
    parts_by_file: dict[str, list[str]] = {}
    for part, file in back.sources.items():
        parts_by_file.setdefault(file, []).append(part)
    differences = [f"From {file}: {', '.join(parts)}." for file, parts in parts_by_file.items()]
    if back.rule != back.prompt.rule:
        differences.append(
            f"Its decision rule {back.rule.version} is not the prompt's own and stands in the"
            " manifest."
        )
    prompt = replace(back.prompt, name=options.name or back.prompt.name)
    if back.edited:
        differences.append(f"Its words were edited since {back.exported} was exported.")
        note = f"Read back from an export for {back.target}. {' '.join(differences)}"
        prompt = replace(prompt, note=note)
    return ImportedJudge(
        prompt=prompt,
        tool=f"an export of ours for {back.target}",
        location=str(path),
        syntax=back.target,
        fields={name: name for name in prompt.inputs},
        differences=tuple(differences),
    )


def _refuse_options(options: ImportOptions, source: str) -> None:
    if options.fields or options.fills or options.scale:
        raise InputError(
            f"--field, --fill and --scale do not go with {source}: it says all of that itself"
        )

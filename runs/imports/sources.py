"""Import a judge from an installed tool, or from an export of ours."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from ...judges import InputError, JudgePrompt
from ..exports.manifest import MANIFEST_NAME
from .foreign_judge import AddOptions
from .installed_tools import TOOLS, read_installed
from .our_exports import read_back
from .understand import understand


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedJudge:
    """A judge of ours, made of a foreign one."""

    prompt: JudgePrompt
    tool: str
    location: str
    fields: Mapping[str, str]
    """The tool's name of each field to ours."""
    differences: tuple[str, ...]
    """What is not as it was there, in whole sentences; the prompt's note says the same."""


def is_export(path: Path) -> bool:
    """Whether a folder or a file is an export of ours."""
    manifests = path / MANIFEST_NAME, path.with_name(f"{path.name}.{MANIFEST_NAME}")
    return any(manifest.is_file() for manifest in manifests)


def import_judge(
    tool: str, name: str, *, options: AddOptions | None = None, interpreter: str | None = None
) -> ImportedJudge:
    """Import a judge.

    Args:
        tool: One of `TOOLS`, or `export`.
        name: Of a judge the tool ships; or the path of an export of ours, whatever the tool.
        options: What the user says about names, fields, fixed texts and the scale.
        interpreter: The Python that has the tool; our own unless given.

    Raises:
        InputError: It is not there, cannot be read, or leaves something to be said with an option.
    """
    options = options or AddOptions()
    path = Path(name)
    if tool == "export" or is_export(path):
        return _from_export(tool, path, options)
    if tool not in TOOLS:
        raise InputError(
            f"judges are not imported from {tool!r}",
            hint=f"known: {', '.join(TOOLS)}; a file: judgewright judges add FILE",
        )
    judge = read_installed(tool, name, interpreter)
    named = options.name or f"{judge.tool.split()[0]}_{name}"
    understood = understand(replace(judge, name=named), replace(options, name=None))
    if understood.prompt is None:
        raise InputError(
            f"{tool} {name}: {understood.questions[0]}",
            hint="; ".join(map(str, understood.questions[1:])) or None,
        )
    prompt = understood.prompt
    note = f"Read from {judge.tool}, {judge.location}: {name}. {' '.join(understood.notes)}"
    return ImportedJudge(
        prompt=replace(prompt, name=options.name or prompt.name, note=note),
        tool=judge.tool,
        location=judge.location,
        fields=understood.fields,
        differences=(f"The scale is {prompt.scale.describe()}.", *understood.notes),
    )


def _from_export(tool: str, path: Path, options: AddOptions) -> ImportedJudge:
    if options.fields or options.fills or options.scale:
        raise InputError("--field, --fill and --scale do not go with an export: it says all itself")
    back = read_back(path)
    if tool not in ("export", back.target):
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
        fields={name: name for name in prompt.inputs},
        differences=tuple(differences),
    )

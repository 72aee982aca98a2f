"""The manifest of an export: which judge, gated where, how its scores read, what differs, and each
file's digest.
"""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import orjson

from ...judges import DecisionRule, InputError, JudgePrompt, load_prompt
from .carried_cases import same_cases_note
from .target import ALSO_SENT, LOW_IS_GOOD, ExportContext, ExportedFiles, Target
from .template_parts import FENCE_DIFFERENCE

SCHEMA = 1
MANIFEST_NAME = "manifest.json"
MAX_MANIFEST_BYTES = 16_000_000
"""The longest prompt and its provenance take a fraction of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Export:
    """An export on disk, as its manifest describes it."""

    folder: Path
    body: dict[str, Any]  # Any: JSON
    """The manifest; it is compared key by key, so it stays as it was read."""

    @property
    def judge(self) -> JudgePrompt:
        """The judge it was made of."""
        return load_prompt(
            self.body["judge"]["yaml"],
            origin=f"the manifest in {self.folder}",
            folder=self.folder,
        )

    @property
    def context(self) -> ExportContext:
        """What it was written from."""
        rule = DecisionRule.from_json(self.body["rule"])
        return ExportContext(
            prompt=self.judge,
            rule=rule,
            provenance=dict(self.body["provenance"]),
            api=self.body.get("api"),
            asked=self.body.get("request"),
        )


def build_manifest(
    context: ExportContext, target: Target, exported: ExportedFiles
) -> dict[str, Any]:  # Any: JSON
    """Return the manifest of exported files as JSON."""
    prompt, rule = context.prompt, context.rule
    differences = [*exported.differences, *(ALSO_SENT[name] for name in exported.also_sends)]
    if not exported.own_fences:
        differences += [FENCE_DIFFERENCE, *same_cases_note(prompt, "here")]
    elif target.push is not None and context.api is None:
        differences += same_cases_note(prompt, "of the prompt that the store gets")
    if context.scale.low_is_good:
        differences.append(LOW_IS_GOOD)
    if rule.calibration is not None and not exported.calibrated:
        calibrated = (
            "one minus the judge's number"
            if prompt.scale.low_is_good
            else "the judge's probability"
        )
        differences.append(
            f"The decision rule {rule.version} calibrates {calibrated} before the threshold; the"
            " tool does not: apply the calibration that stands in the manifest."
        )
    return {
        "schema_version": SCHEMA,
        "written_by": version("judgewright"),
        "target": target.name,
        "tool": target.tool,
        "judge": {
            "name": prompt.name,
            "version": prompt.version,
            "parent": prompt.parent,
            "yaml": prompt.to_yaml(),
        },
        "rule": {**rule.to_json(), "version": rule.version},
        "simulated": context.simulated,
        "provenance": dict(context.provenance),
        "request": context.request,
        **({} if context.api is None else {"api": context.api}),
        "also_sends": list(exported.also_sends),
        "unread": list(exported.unread),
        "unscored_rows": exported.unscored,
        "scores": None if exported.scores is None else asdict(exported.scores),
        "own_fences": exported.own_fences,
        "declared_differences": differences,
        "requires": [*target.requires, *target.bundled],
        "files": {name: text_digest(text) for name, text in exported.files.items()},
        "usage": exported.usage,
    }


def read_export(path: Path) -> Export:
    """Read the manifest of an export: of a folder, or of the one file it is.

    Raises:
        InputError: There is none, it cannot be read, or a file it names is missing.
    """
    manifest_path = (
        path / MANIFEST_NAME if path.is_dir() else path.with_name(f"{path.name}.{MANIFEST_NAME}")
    )
    try:
        if manifest_path.exists() and not _is_small_file(manifest_path):
            limit = f"a file of at most {MAX_MANIFEST_BYTES:,} bytes"
            raise InputError(f"{manifest_path} is no manifest: it is not {limit}")
        body = orjson.loads(manifest_path.read_bytes())
        export = Export(folder=manifest_path.parent, body=body)
        names = list(dict(body["files"]))
        judge, version = export.context.prompt, str(body["judge"]["version"])
        orjson.dumps(body)  # refuses what is nested too deep to be written again
    except OSError as error:
        reason = f"{manifest_path.name} cannot be read ({error.strerror})"
        raise InputError(f"{path} is no export: {reason}") from None
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise InputError(
            f"{manifest_path} cannot be read: {type(error).__name__}: {error}"
        ) from None
    if not isinstance(body.get("target"), str):
        raise InputError(f"{manifest_path} names no target")
    if judge.version != version:
        raise InputError(
            f"{manifest_path}: the judge in it is {judge.version}, not {version}: it was edited"
        )
    for name in names:
        if not name.isprintable():
            raise InputError(f"{manifest_path} names {name!r}, which is no file name")
        file = (export.folder / name).resolve()
        if not file.is_relative_to(export.folder.resolve()):
            raise InputError(f"{manifest_path} names {name!r}, which lies outside its folder")
        if not file.is_file():
            raise InputError(f"{manifest_path} names {name}, which is not there")
    return export


def written_digests(manifest_path: Path) -> dict[str, str] | None:
    """Return the files that a manifest names, with their digests; None where it is no manifest of
    ours.
    """
    if not _is_small_file(manifest_path):
        return None
    try:
        body = orjson.loads(manifest_path.read_bytes())
    except orjson.JSONDecodeError:
        return None
    if (
        not isinstance(body, dict)
        or not {"schema_version", "target", "judge", "files"} <= body.keys()
    ):
        return None
    return body["files"] if isinstance(body["files"], dict) else None


def changed_files(export: Export) -> list[str]:
    """Return the files that are no longer what was written."""
    digests = export.body["files"]
    return [name for name, digest in digests.items() if file_digest(export.folder / name) != digest]


def file_digest(path: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def text_digest(text: str) -> str:
    """Return the SHA-256 of a text as it is written, in hexadecimal."""
    return hashlib.sha256(text.encode()).hexdigest()


def _is_small_file(path: Path) -> bool:
    # Whoever made the folder may have put a pipe there, and reading it would never end.
    return path.is_file() and path.stat().st_size <= MAX_MANIFEST_BYTES

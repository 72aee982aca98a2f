"""An export that is a folder, made in memory; also as one archive."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from ...judges import InputError, load_prompt
from .carried_cases import bank_files, require_carried
from .manifest import MANIFEST_NAME, build_manifest
from .readme import README_NAME, readme_text
from .source_text import json_text
from .target import ExportContext, ExportedFiles, Refused, Target

_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*(\.[A-Za-z0-9_-]+)*")
_EARLIEST = (1980, 1, 1, 0, 0, 0)
"""The time that every file bears, so that the same export is the same archive."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PackedExport:
    """The files of an export, and what its manifest says."""

    name: str
    """Of the archive without its ending, and of the folder in it."""
    files: Mapping[str, str]
    """Name to text, the manifest last."""
    body: dict[str, Any]  # Any: JSON
    """The manifest."""

    def to_zip(self) -> bytes:
        """Return the archive.

        Raises:
            InputError: A file has a name that is not plain everywhere.
        """
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, text in self.files.items():
                if not _PLAIN.fullmatch(name):
                    raise InputError(f"{name!r} is no name for a file of an archive")
                entry = zipfile.ZipInfo(f"{self.name}/{name}", _EARLIEST)
                entry.compress_type = zipfile.ZIP_DEFLATED
                entry.external_attr = 0o644 << 16
                archive.writestr(entry, text.encode())
        return packed.getvalue()


def make_files(context: ExportContext, target: Target) -> tuple[ExportContext, ExportedFiles]:
    """Make the files of an export, and return what they were made of.

    Raises:
        Refused: The tool cannot carry the judge.
    """
    cases = context.prompt.cases
    require_carried(context.prompt)
    _require_models(context, target)
    # Verification has only the judge's YAML, so what is written starts from the YAML too; cases are
    # equal where their bank is.
    prompt = replace(load_prompt(replace(context.prompt, cases=None).to_yaml()), cases=cases)
    context = replace(context, prompt=prompt)
    exported = target.write(context)
    if prompt.large_bank is not None:
        # Without it the judge in the manifest could not be loaded.
        exported = replace(exported, files={**exported.files, **bank_files(prompt)})
    return context, exported


def _require_models(context: ExportContext, target: Target) -> None:
    """Raise `Refused` where a decision model, or one of two models, would not decide as here."""
    if context.api is not None and context.api not in target.question:
        models = " and ".join(["chat models", *target.question])
        raise Refused(
            f"an export to {target.name} asks {models}, not {context.api}",
            hint="export to python, mlflow or deepeval, among others",
        )
    if context.api is not None and context.prompt.cases_by_row:
        raise Refused("a judge with cases of each row is not exported as a question")
    cascade = context.prompt.cascade
    if cascade is None or target.name == "yaml":
        return
    if context.slow is None or cascade.asks_all:
        raise Refused(
            f"a cascade asks two models, and this export to {target.name} asks one",
            hint="say with --api how the fast one is asked; or export --to yaml",
        )
    if not 0 < context.raw_threshold <= 1:
        raise Refused(
            "the fast model's cut decides every row alike, and with it those of the slow one",
            hint="calibrate the judge again",
        )


def pack_export(context: ExportContext, target: Target) -> PackedExport:
    """Make an export that is a folder, with its README.md and its manifest.

    Raises:
        Refused: The tool cannot carry the judge.
    """
    context, exported = make_files(context, target)
    differences = build_manifest(context, target, exported)["declared_differences"]
    files = {**exported.files, README_NAME: readme_text(context, target, exported, differences)}
    body = build_manifest(context, target, replace(exported, files=files))
    name = f"{context.prompt.name}-{context.prompt.version}-{target.name}"
    return PackedExport(name=name, files={**files, MANIFEST_NAME: json_text(body)}, body=body)

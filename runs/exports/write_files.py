"""Write an export where the user asked: whole, and over nothing but an earlier export of ours.

A kill leaves the files that were there, or the new ones; between the renames of several files it
may leave some of each, which the next export to the same folder repairs. It also removes the draft
that a killed export left.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any

from ...judges import InputError, load_prompt
from .manifest import (
    MANIFEST_NAME,
    Export,
    build_manifest,
    file_digest,
    text_digest,
    written_digests,
)
from .readme import README_NAME, readme_text
from .source_text import json_text
from .target import ExportContext, ExportedFiles, Target


def write_export(
    context: ExportContext, target: Target, out: Path, *, force: bool = False
) -> Export:
    """Write a judge for a tool: into the folder `out`, or, where it is one file and `out` has a
    suffix, as that file.

    An earlier export there is overwritten; any other file only with `force`.

    Raises:
        Refused: The tool cannot carry the judge.
        InputError: Several files cannot be written as one, or a file is there that is not ours.
        OSError: A file cannot be written.
    """
    context, exported = make_files(context, target)
    usage = exported.usage
    if out.suffix and not out.is_dir():
        if (count := len(exported.files)) > 1:
            raise InputError(
                f"--to {target.name} writes {count} files, {out} is one", hint="name a folder"
            )
        (name,) = exported.files
        if (module := Path(name).stem) != out.stem:
            usage = usage.replace(f"import {module}\n", f"import {out.stem} as {module}\n")
        usage = usage.replace(name, out.name)
        exported = replace(exported, files={out.name: exported.files[name]})
        body = build_manifest(context, target, exported)
        files, destination = dict(exported.files), Destination.of_file(out, MANIFEST_NAME)
    else:
        files, body = folder_files(context, target, exported)
        destination = Destination.of_folder(out, MANIFEST_NAME)
    files[destination.manifest] = json_text(body)
    put_files(files, destination, force=force)
    return Export(folder=destination.folder, body={**body, "usage": usage})


def make_files(context: ExportContext, target: Target) -> tuple[ExportContext, ExportedFiles]:
    """Make the files of an export, and return what they were made of.

    Raises:
        Refused: The tool cannot carry the judge.
    """
    # Verification has only the judge's YAML, so what is written starts from the YAML too.
    context = replace(context, prompt=load_prompt(context.prompt.to_yaml()))
    return context, target.write(context)


def folder_files(
    context: ExportContext, target: Target, exported: ExportedFiles
) -> tuple[dict[str, str], dict[str, Any]]:  # Any: JSON
    """Return the files of an export that is a folder, with its README.md and without its manifest;
    and the manifest.
    """
    differences = build_manifest(context, target, exported)["declared_differences"]
    files = {**exported.files, README_NAME: readme_text(context, target, exported, differences)}
    return files, build_manifest(context, target, replace(exported, files=files))


@dataclass(frozen=True, slots=True, kw_only=True)
class Destination:
    """Where an export goes."""

    folder: Path
    manifest: str
    """The name of the manifest in the folder."""
    draft: Path
    """The folder that the files are made in, on the same file system."""

    @classmethod
    def of_folder(cls, out: Path, manifest: str) -> Destination:
        """Return the destination of an export that is a folder."""
        if out.is_dir():
            draft = (
                out / ".judgewright-export.tmp"
            )  # inside: `out` may be a link to another file system
        else:
            draft = out.with_name(f".{out.name}.judgewright-export.tmp")
        return cls(folder=out, manifest=manifest, draft=draft)

    @classmethod
    def of_file(cls, out: Path, manifest: str) -> Destination:
        """Return the destination of an export that is one file, with its manifest beside it."""
        draft = out.with_name(f".{out.name}.judgewright-export.tmp")
        return cls(folder=out.parent, manifest=f"{out.name}.{manifest}", draft=draft)


def put_files(files: Mapping[str, str], destination: Destination, *, force: bool) -> None:
    """Write the files of an export.

    Args:
        files: Relative name to text, the manifest among them.
        destination: Where to.
        force: Whether to overwrite what is there, whoever wrote it.

    Raises:
        InputError: A file of that name is there that is not ours as we wrote it; the message names
            it.
        OSError: A file cannot be written.
    """
    if not force:
        _require_ours(files, destination)
    with _draft(destination.draft) as draft:
        for name, text in files.items():
            path = draft / PurePosixPath(name)
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("x", encoding="utf-8", newline="\n") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
        if not destination.folder.exists():
            draft.rename(destination.folder)
            return
        # The manifest last: until then files of the earlier export are known by the old one.
        for name in sorted(files, key=lambda name: name == destination.manifest):
            path = destination.folder / PurePosixPath(name)
            path.parent.mkdir(parents=True, exist_ok=True)
            (draft / PurePosixPath(name)).replace(path)


def _require_ours(files: Mapping[str, str], destination: Destination) -> None:
    """Refuse to overwrite a file that is neither what is to be written nor what an earlier export
    wrote.
    """
    earlier = written_digests(destination.folder / destination.manifest)
    strangers: list[str] = []
    for name, text in files.items():
        path = destination.folder / PurePosixPath(name)
        if name == destination.manifest:
            ours = earlier is not None
        else:
            ours = path.is_file() and file_digest(path) in {
                text_digest(text),
                (earlier or {}).get(name),
            }
        if os.path.lexists(path) and (path.is_symlink() or not ours):
            strangers.append(str(path))
    if strangers:
        more = f" (and {len(strangers) - 1} more)" if len(strangers) > 1 else ""
        raise InputError(
            f"{strangers[0]}{more} is there already, and it is not an export as it was written;"
            " nothing was changed",
            hint="name another place with --out, or overwrite with --force",
        )


@contextmanager
def _draft(folder: Path) -> Iterator[Path]:
    """Make an empty folder, in place of one that a killed export left, and remove it in the end."""
    if os.path.lexists(folder):
        _remove(folder)
    folder.parent.mkdir(parents=True, exist_ok=True)
    folder.mkdir()  # fails where somebody has put a link there meanwhile
    try:
        yield folder
    finally:
        if folder.exists():
            _remove(folder)


def _remove(folder: Path) -> None:
    if folder.is_dir() and not folder.is_symlink():
        shutil.rmtree(folder)
    else:
        folder.unlink()

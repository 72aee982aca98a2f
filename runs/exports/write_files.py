"""Write an export where the user asked: over nothing but an earlier export of ours.

A kill leaves each file as it was or new; some of each are repaired by the next export to the same
folder.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from ...judges import InputError, write_beside
from .archive import make_files, pack_export
from .manifest import (
    MANIFEST_NAME,
    Export,
    build_manifest,
    file_digest,
    text_digest,
    written_digests,
)
from .source_text import json_text
from .target import ExportContext, Target


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
    if out.suffix and not out.is_dir():
        context, exported = make_files(context, target)
        if (count := len(exported.files)) > 1:
            raise InputError(
                f"--to {target.name} writes {count} files, {out} is one", hint="name a folder"
            )
        ((name, text),) = exported.files.items()
        exported = replace(exported, files={out.name: text})
        body = build_manifest(context, target, exported)
        manifest = f"{out.name}.{MANIFEST_NAME}"
        files = {**exported.files, manifest: json_text(body)}
        put_files(files, out.parent, manifest, force=force)
        # The manifest has the usual name, as a verification would write it.
        usage = exported.usage.replace(name, out.name)
        return Export(folder=out.parent, body={**body, "usage": usage})
    packed = pack_export(context, target)
    put_files(packed.files, out, MANIFEST_NAME, force=force)
    return Export(folder=out, body=packed.body)


def put_files(files: Mapping[str, str], folder: Path, manifest: str, *, force: bool) -> None:
    """Write the files of an export.

    Args:
        files: Relative name to text, the manifest among them.
        folder: Where to.
        manifest: The name of the manifest.
        force: Whether to overwrite what is there, whoever wrote it.

    Raises:
        InputError: A file of that name is there that is not ours as we wrote it; the message names
            it.
        OSError: A file cannot be written.
    """
    if not force:
        _require_ours(files, folder, manifest)
    # Whatever lies there is known by a manifest at any time: by the old one, or else by the new.
    first = not os.path.lexists(folder / manifest)
    for name in sorted(files, key=lambda name: (name == manifest) != first):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        write_beside(path, files[name])


def _require_ours(files: Mapping[str, str], folder: Path, manifest: str) -> None:
    """Refuse to overwrite a file that is neither what is to be written nor what an earlier export
    wrote.
    """
    earlier = written_digests(folder / manifest)
    strangers: list[str] = []
    for name, text in files.items():
        path = folder / name
        if name == manifest:
            ours = earlier is not None
        else:
            digests = {text_digest(text), (earlier or {}).get(name)}
            ours = path.is_file() and file_digest(path) in digests
        if os.path.lexists(path) and (path.is_symlink() or not ours):
            strangers.append(str(path))
    if strangers:
        more = f" (and {len(strangers) - 1} more)" if len(strangers) > 1 else ""
        raise InputError(
            f"{strangers[0]}{more} is there already, and it is not an export as it was written;"
            " nothing was changed",
            hint="name another place with --out, or overwrite with --force",
        )

"""Put the files of an export where the user asked: whole, and over nothing but an earlier export of ours.

A kill leaves the files that were there, or the new ones; between the renames of several files it may leave some of
each, which the next export to the same place mends. What it leaves beside them the next export removes.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import orjson

from ...judges import InputError

MOST_BYTES = 16_000_000
"""Of a manifest; the longest prompt and its provenance take a fraction of it."""


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
        # In a folder that is there, because it may be a link to another file system; else beside it, to be renamed.
        draft = (
            out / ".judgewright-export.tmp" if out.is_dir() else out.with_name(f".{out.name}.judgewright-export.tmp")
        )
        return cls(folder=out, manifest=manifest, draft=draft)

    @classmethod
    def of_file(cls, out: Path, manifest: str) -> Destination:
        """Return the destination of an export that is one file, with its manifest beside it."""
        draft = out.with_name(f".{out.name}.judgewright-export.tmp")
        return cls(folder=out.parent, manifest=f"{out.name}.{manifest}", draft=draft)


def put(files: Mapping[str, str], destination: Destination, *, force: bool) -> None:
    """Write the files of an export.

    Args:
        files: Relative name to text, the manifest among them.
        destination: Where to.
        force: Whether to overwrite what is there, whoever wrote it.

    Raises:
        InputError: A file of that name is there that is not ours as we wrote it; the message names it.
        OSError: A file cannot be written.
    """
    if not force:
        _require_ours(files, destination)
    with _draft(destination.draft) as draft:
        for name, text in files.items():
            _write(draft / PurePosixPath(name), text)
        if not destination.folder.exists():
            draft.rename(destination.folder)
            return
        # The manifest last: until then files of the earlier one are known by it.
        for name in sorted(files, key=lambda name: name == destination.manifest):
            place = destination.folder / PurePosixPath(name)
            place.parent.mkdir(parents=True, exist_ok=True)
            (draft / PurePosixPath(name)).replace(place)


def _require_ours(files: Mapping[str, str], destination: Destination) -> None:
    """Refuse to overwrite a file that is neither what is to be written nor what an earlier export wrote."""
    earlier = _earlier(destination.folder / destination.manifest)
    strangers: list[str] = []
    for name, text in files.items():
        place = destination.folder / PurePosixPath(name)
        if name == destination.manifest:
            ours = earlier is not None
        else:
            ours = place.is_file() and file_digest(place) in {text_digest(text), (earlier or {}).get(name)}
        if os.path.lexists(place) and (place.is_symlink() or not ours):
            strangers.append(str(place))
    if strangers:
        more = f" (and {len(strangers) - 1} more)" if len(strangers) > 1 else ""
        raise InputError(
            f"{strangers[0]}{more} is there already, and it is not an export as it was written; nothing was changed",
            hint="name another place with --out, or overwrite with --force",
        )


def _earlier(manifest: Path) -> Mapping[str, str] | None:
    """Return the files of the export that a manifest tells of, with their digests; None where it is no manifest."""
    # A pipe would never end, and whoever made the folder may have put one there.
    if not manifest.is_file() or manifest.stat().st_size > MOST_BYTES:
        return None
    try:
        body = orjson.loads(manifest.read_bytes())
    except orjson.JSONDecodeError:
        return None
    if not isinstance(body, dict) or not {"schema_version", "target", "judge", "files"} <= body.keys():
        return None
    return body["files"] if isinstance(body["files"], dict) else None


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


def _write(path: Path, text: str) -> None:
    """Write a file and flush it to disk."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("x", encoding="utf-8", newline="\n") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())


def file_digest(path: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def text_digest(text: str) -> str:
    """Return the SHA-256 of a text as it is written, in hexadecimal."""
    return hashlib.sha256(text.encode()).hexdigest()

"""A data file that a person drops in: stored below the workspace, under a name made safe."""

from __future__ import annotations

import gzip
import hashlib
import os
import re
import secrets
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request

from ...judges import InputError
from ...judges.files import parquet_sizes
from .data_files import DATA_ENDINGS

FOLDER = "data"
"""Where uploads are kept, below the workspace."""
MAX_UPLOAD = 200_000_000
"""Bytes of an upload, and of what it holds where it is packed."""
_MAX_HEAD = 8_000
_BOUNDARY = re.compile(
    r'multipart/form-data;.*\bboundary="?([0-9A-Za-z\'()+_,./:=?-]{1,70})"?', re.IGNORECASE
)
_FILE_NAME = re.compile(
    r'content-disposition:[^\r\n]*\bname="data"[^\r\n]*\bfilename="((?:[^"\\\r\n]|\\.)*)"', re.I
)


def safe_name(name: str) -> str:
    """Return a file's name that is a plain word of letters, digits, dots and dashes, whatever the
    browser sent.

    Raises:
        InputError: It does not end like a data file.
    """
    last = re.split(r"[/\\]", name)[-1]
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", last).strip(".-_")[-100:].lstrip(".-_")
    ending = next(
        (
            ending
            for ending in sorted(DATA_ENDINGS, key=len)[::-1]
            if plain.lower().endswith(ending)
        ),
        "",
    )
    stem = plain[: len(plain) - len(ending)].rstrip(".-_") if ending else ""
    if not stem:
        raise InputError(
            f"a file named {last!r} is not read as data",
            hint=f"its name ends in one of {', '.join(DATA_ENDINGS)}",
        )
    # On Windows these name devices.
    if re.fullmatch(r"(?i)(con|prn|aux|nul|com\d|lpt\d)(\..*)?", stem):
        stem = f"file-{stem}"
    return stem + ending.lower()


async def keep_upload(root: Path, request: Request) -> str:
    """Store the one file of a multipart form below the workspace, and return its path there.

    A file that is there already with the same content is taken; another content gets a name of its
    own.

    Raises:
        HTTPException: It is no such form, too large, or did not arrive whole.
        InputError: Its name is no data file's.
    """
    match = _BOUNDARY.fullmatch(request.headers.get("content-type", ""))
    if match is None:
        raise HTTPException(415, "a form with a file is expected")
    folder = root / FOLDER
    await run_in_threadpool(folder.mkdir, parents=True, exist_ok=True)
    draft = folder / f".upload-{secrets.token_hex(8)}"
    try:
        with draft.open("xb") as file:
            name, digest = await _receive(request, b"\r\n--" + match[1].encode(), file)
            os.fsync(file.fileno())
        if name.lower().endswith((".gz", ".parquet")):
            await run_in_threadpool(_refuse_what_swells, draft)
        return _place(draft, folder, name, digest)
    finally:
        draft.unlink(missing_ok=True)


def keep_rows(root: Path, name: str, rows: bytes) -> str:
    """Store a data file of our own as an upload is stored, and return its path below the
    workspace.
    """
    folder = root / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    draft = folder / f".upload-{secrets.token_hex(8)}"
    try:
        draft.write_bytes(rows)
        return _place(draft, folder, name, hashlib.sha256(rows).hexdigest())
    finally:
        draft.unlink(missing_ok=True)


async def _receive(request: Request, boundary: bytes, file: BinaryIO) -> tuple[str, str]:
    """Write the file's content; return its safe name and the hash of its content."""
    # The first boundary has no line end before it.
    buffer, name, size, digest = b"\r\n", "", 0, hashlib.sha256()
    try:
        async for chunk in request.stream():
            buffer += chunk
            if not name:
                start = buffer.find(boundary + b"\r\n")
                end = buffer.find(b"\r\n\r\n", start + len(boundary))
                if start != 0 or end < 0:
                    if len(buffer) > _MAX_HEAD:
                        break
                    continue
                named = _FILE_NAME.search(buffer[:end].decode("utf-8", "replace"))
                if named is None:
                    break
                name, buffer = safe_name(named[1]), buffer[end + 4 :]
            end = buffer.find(boundary)
            # What may be the beginning of the boundary stays until more has come.
            content = buffer[:end] if end >= 0 else buffer[: -len(boundary)]
            size += len(content)
            if size > MAX_UPLOAD:
                raise HTTPException(413, f"a file of more than {MAX_UPLOAD:,} bytes is not taken")
            digest.update(content)
            file.write(content)
            if end >= 0 and buffer[end + len(boundary) :].startswith(b"--"):
                return name, digest.hexdigest()
            if end >= 0 and len(buffer) > end + len(boundary) + 1:
                break
            buffer = buffer[len(content) :]
    except ClientDisconnect:
        raise HTTPException(400, "the file did not arrive whole") from None
    raise HTTPException(400, "the form has not exactly one file")


def _refuse_what_swells(packed: Path) -> None:
    """Unpack a file without keeping any of it, as far as it may go."""
    size = 0
    for piece in _unpacked(packed):
        size += piece
        if size > MAX_UPLOAD:
            raise HTTPException(
                413, f"a file of more than {MAX_UPLOAD:,} bytes unpacked is not taken"
            )


def _unpacked(packed: Path) -> Iterator[int]:
    """Yield the sizes of a packed file's pieces; of a damaged one as far as it goes: its check says
    what is wrong.
    """
    with packed.open("rb") as file:
        is_parquet = file.read(4) == b"PAR1"
    if is_parquet:
        yield from parquet_sizes(packed)
        return
    try:
        with gzip.open(packed) as file:
            while chunk := file.read(1_000_000):
                yield len(chunk)
    except (EOFError, OSError, zlib.error):
        return


def _place(draft: Path, folder: Path, name: str, digest: str) -> str:
    """Give the upload its name, and return its path below the workspace."""
    stem, dot, ending = name.partition(".")
    for number in range(1, 10_000):
        path = folder / (name if number == 1 else f"{stem}-{number}{dot}{ending}")
        try:
            os.link(
                draft, path
            )  # refuses a name that is taken, where a rename would replace the file
        except FileExistsError:
            if path.is_symlink() or not path.is_file() or _digest(path) != digest:
                continue
        return f"{FOLDER}/{path.name}"
    raise InputError(f"there are too many files named {name!r}", hint="give it another name")


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()

"""An export as one archive: what `export --out` writes, in a folder of its own, made in memory."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ...judges import InputError
from .manifest import MANIFEST_NAME
from .source_text import json_text
from .target import ExportContext, Target
from .write_files import folder_files, make_files

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
    body: Mapping[str, Any]  # Any: JSON
    """The manifest."""

    def to_zip(self) -> bytes:
        """Return the archive."""
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, text in self.files.items():
                entry = zipfile.ZipInfo(f"{self.name}/{name}", _EARLIEST)
                entry.compress_type = zipfile.ZIP_DEFLATED
                entry.external_attr = 0o644 << 16
                archive.writestr(entry, text.encode())
        return packed.getvalue()


def pack_export(context: ExportContext, target: Target) -> PackedExport:
    """Make an export without writing it.

    Raises:
        Refused: The tool cannot carry the judge.
        InputError: A file has a name that is not plain everywhere.
    """
    context, exported = make_files(context, target)
    files, body = folder_files(context, target, exported)
    files[MANIFEST_NAME] = json_text(body)
    for name in files:
        if not _PLAIN.fullmatch(name):
            raise InputError(f"{name!r} is no name for a file of an archive")
    prompt = context.prompt
    return PackedExport(
        name=f"{prompt.name}-{prompt.version}-{target.name}", files=files, body=body
    )

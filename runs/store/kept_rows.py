"""Rows that came from Python's memory, kept in the workspace as a file: a run reads its rows again
when resumed.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from ...judges import write_beside
from ...judges.files import Problems, RowsInMemory, read_records
from .workspace import Workspace


def keep_rows(workspace: Workspace, source: RowsInMemory) -> Path:
    """Write rows as JSONL into the workspace, under a name that their content gives, and return the
    file.

    Raises:
        DataError: A row cannot be read.
        OSError: The file cannot be written.
    """
    problems = Problems(source)
    lines = [
        json.dumps(record.fields, ensure_ascii=False) for record in read_records(source, problems)
    ]
    problems.check()
    text = "".join(f"{line}\n" for line in lines)
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
    path = workspace.folder / "rows" / f"{source.name}-{digest}.jsonl"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        write_beside(path, text)
    return path

"""What people say of labels while they read: a JSONL file for each data file, which `--audited`
reads.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...judges import InputError, OutputScale, write_beside
from ...judges.reliability import Finding, read_audit
from ...judges.reliability.label_audit import MARKS
from .lock import WriterLock
from .schema import now

FOLDER = "marks"
_UNSAFE = re.compile(r"[^\w.-]+")
_WAIT = 5.0
"""Seconds to wait for another thread or process that marks a row."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelMarks:
    """The marks of one data file's rows.

    Args:
        data_hash: Of its rows, so that marks of other rows of the same name have a file of their
            own.
    """

    root: Path
    data: str
    data_hash: str
    labels: OutputScale

    @property
    def path(self) -> Path:
        """The file; it is there once a row was marked."""
        stem = _UNSAFE.sub("_", Path(self.data).stem)[:60] or "rows"
        return self.root / FOLDER / f"{stem}-{self.data_hash[:8]}.jsonl"

    def read(self) -> dict[str, Finding]:
        """Return the marks by row id.

        Raises:
            DataError: The file was edited, and cannot be read.
        """
        return read_audit(self.path) if self.path.is_file() else {}

    def set(self, row_id: str, mark: str, right_label: float | None, *, by: str) -> None:
        """Mark a row in place of an earlier mark; an empty mark takes it away. It is on the disk
        when this returns.

        Raises:
            InputError: It is no mark, or a wrong label of these grades has no right one.
            DataError: The file was edited, and cannot be read.
            WorkspaceError: Another process is marking rows, for seconds.
        """
        self._check(mark, right_label)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        lock = WriterLock(self.path.with_name(".marks.lock"))
        lock.acquire(wait=_WAIT)
        try:
            lines = self._lines()
            lines.pop(row_id, None)
            if mark:
                right = right_label if mark == "wrong label" else None
                body = {"id": row_id, "mark": mark, "right_label": right, "by": by, "at": now()}
                lines[row_id] = body
            texts = (json.dumps(line, ensure_ascii=False) for line in lines.values())
            write_beside(self.path, "".join(f"{text}\n" for text in texts))
        finally:
            lock.release()

    def _check(self, mark: str, right_label: float | None) -> None:
        if mark and mark not in MARKS:
            raise InputError(f"{mark!r} is none of {', '.join(MARKS)}")
        if mark != "wrong label":
            return
        if right_label is None and self.labels.kind != "binary":
            raise InputError(
                f"which label is right? labels are {self.labels.describe()}",
                hint="choose it beside the mark",
            )
        if right_label is not None and not self.labels.contains(right_label):
            raise InputError(f"{right_label:g} is not on {self.labels.describe()}")

    def _lines(self) -> dict[str, dict[str, Any]]:  # Any: JSON; a person may have added columns
        self.read()  # refuses what could not be written back
        texts = self.path.read_text(encoding="utf-8").splitlines() if self.path.is_file() else []
        bodies = [json.loads(text) for text in texts if text.strip()]
        return {str(body["id"]): body for body in bodies}

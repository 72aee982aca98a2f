"""How errors are told on the page; a defect without quoting what it was about."""

from __future__ import annotations

import traceback
from pathlib import Path

from ...judges import JudgewrightError


def place_of(error: Exception) -> str:
    """Name an error and where it came from; its message may quote a row, and stays out of the
    page.
    """
    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__} in {last.name} ({Path(last.filename).name}:{last.lineno})"


def words_of(error: JudgewrightError) -> str:
    """Return an error's message with what to do next."""
    return f"{error} ({error.hint})" if error.hint else str(error)

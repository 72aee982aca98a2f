"""A file with a prompt, as text."""

from __future__ import annotations

from pathlib import Path

from ...judges import InputError, read_small_text

MAX_CHARACTERS = 1_000_000
"""A longer file is no prompt."""


def words_of(listed: str) -> tuple[str, ...]:
    """Return the words of a list that is written with blanks."""
    return tuple(listed.split())


def read_text(path: Path) -> str:
    """Return a file's text, each line ending as one sign.

    Raises:
        InputError: It cannot be read, or is too long to be a prompt.
    """
    try:
        text = read_small_text(path)
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read {str(path)!r}: {error}") from None
    if len(text) > MAX_CHARACTERS:
        raise InputError(f"{path} has {len(text):,} characters, which is no prompt")
    return text.replace("\r\n", "\n").replace("\r", "\n")

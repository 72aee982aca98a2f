"""How an annotator's answers come in: one key each on a terminal, one line each elsewhere."""

from __future__ import annotations

import math
import os
import shutil
import sys
from collections.abc import Sequence

import click

from ..reports.label_screen import HEADING, REASONS
from ..terminal import bold, say

if sys.platform != "win32":
    import termios
    import tty

END = "q"
"""What is answered where nothing more can come."""
MORE, BACK = " ", "b"
KEYS_AT_ONCE = 32
"""Characters that are read at once: an arrow sends three."""
HAS_KEYS = sys.platform != "win32"
"""Whether keys can be read one by one; else each answer is a line."""


class LineAnswers:
    """Rows one below the other, and a line for each answer: for a pipe, or a terminal that cannot
    clear its screen.

    Args:
        to_stderr: Whether rows go to stderr, because stdout is for JSON.
    """

    def __init__(self, *, to_stderr: bool = False) -> None:
        self._to_stderr = to_stderr

    @property
    def width(self) -> int:
        """Columns that a line may have; a person may change them at any time."""
        return shutil.get_terminal_size().columns

    def show(self, head: str, body: Sequence[str], foot: Sequence[str]) -> None:
        """Show a row between what stands above and below it."""
        say("\n".join(("", head, *body, "", *foot)), to_stderr=self._to_stderr)

    def read(self) -> str:
        """Return the next key, or the next line."""
        line = sys.stdin.readline()
        return line.strip() if line else END

    def read_reason(self, prompt: str) -> str:
        """Return the key of a reason, or a line of text."""
        say(prompt, to_stderr=self._to_stderr)
        return sys.stdin.readline().strip()

    def refuse(self, typed: str, answers: str) -> None:
        """Say that this was no answer, and which there are."""
        if typed:
            say(f"{typed!r} is none of the answers: {answers}", to_stderr=self._to_stderr)


class KeyAnswers(LineAnswers):
    """One row on the screen at a time, and a key for each answer; a long row has pages.

    Between `with` and its end the terminal hands over each key as it is pressed, and shows none.
    """

    def __init__(self) -> None:
        super().__init__()
        self._page = 0
        self._typed = ""
        self._shown: tuple[str, Sequence[str], Sequence[str]] = ("", (), ())

    def __enter__(self) -> KeyAnswers:
        self._before = termios.tcgetattr(sys.stdin)
        tty.setcbreak(sys.stdin)
        return self

    def __exit__(self, *_: object) -> None:
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, self._before)

    def show(self, head: str, body: Sequence[str], foot: Sequence[str]) -> None:
        """See `LineAnswers.show`."""
        self._page, self._typed, self._shown = 0, "", (head, body, foot)
        # A key that was held too long must not label a row that nobody has seen.
        termios.tcflush(sys.stdin, termios.TCIFLUSH)
        self._draw()

    def read(self) -> str:
        """See `LineAnswers.read`; keys that turn pages are dealt with here."""
        while True:
            if not self._typed:
                self._typed = os.read(sys.stdin.fileno(), KEYS_AT_ONCE).decode(errors="replace")
            if self._typed in ("", "\x04"):  # the terminal is gone, or Ctrl-D
                return END
            key, self._typed = _first_key(self._typed)
            if key == MORE:
                self._page += 1
            elif key == BACK:
                self._page -= 1
            else:
                return key
            self._draw()

    def read_reason(self, prompt: str) -> str:
        """See `LineAnswers.read_reason`; a reason's key needs no Enter."""
        sys.stdout.write(prompt)
        sys.stdout.flush()
        begun = os.read(sys.stdin.fileno(), KEYS_AT_ONCE).decode(errors="replace")
        if begun[:1] in REASONS:
            return begun[0]
        if not begun.isprintable():  # Enter, Escape, Ctrl-D
            return ""
        sys.stdout.write(begun)
        sys.stdout.flush()
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, self._before)
        try:
            return (begun + sys.stdin.readline()).strip()
        finally:
            tty.setcbreak(sys.stdin)

    def refuse(self, typed: str, answers: str) -> None:
        """See `LineAnswers.refuse`; whatever is written next is written over it."""
        sys.stdout.write(f"\akeys: {answers}\r")
        sys.stdout.flush()

    def _draw(self) -> None:
        head, body, foot = self._shown
        room = max(5, shutil.get_terminal_size().lines - len(foot) - 5)
        pinned = _first_text(body, most=room // 3) if len(body) > room else 0
        room -= pinned
        pages = max(1, math.ceil((len(body) - pinned) / room))
        self._page = min(max(self._page, 0), pages - 1)
        click.clear()
        say(head)
        start = pinned + self._page * room
        for line in (*body[:pinned], *body[start : start + room]):
            if line.startswith(HEADING):
                bold(line)
            else:
                say(line)
        if pages > 1:
            foot = (*foot, f"page {self._page + 1} of {pages}: space next, b back")
        say("\n".join(("", *foot)))


def _first_text(body: Sequence[str], *, most: int) -> int:
    """Return how many lines the first text has, which stays on every page of a long row; 0 for more
    than `most`.
    """
    headings = [position for position, line in enumerate(body) if line.startswith(HEADING)]
    return headings[1] if len(headings) > 1 and headings[1] <= most else 0


def _first_key(typed: str) -> tuple[str, str]:
    """Return the first key of what came, and the rest; arrows and page keys stand for the pages
    they mean.
    """
    if not typed.startswith("\x1b"):
        return typed[0], typed[1:]
    return {"\x1b[6~": MORE, "\x1b[B": MORE, "\x1b[5~": BACK, "\x1b[A": BACK}.get(typed, ""), ""

"""The one place that prints. Text from rows and models cannot drive a terminal through it."""

from __future__ import annotations

import sys
import time
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import orjson

from ..judges import Progress

if TYPE_CHECKING:
    from collections.abc import Iterator

SCHEMA_VERSION = 1
PLAIN_SECONDS = 10.0
"""Seconds between progress lines where there is no terminal."""


def visible(text: str) -> str:
    """Replace control and format characters, but for newline and tab, with visible escapes."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        c if c in "\n\t" or unicodedata.category(c) not in {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"} else _escape(c)
        for c in text
    )


def inline(text: str) -> str:
    """Return text that stays on its line: newlines and tabs become visible too, as `\\n` and `\\t`."""
    return visible(text).replace("\n", "\\n").replace("\t", "\\t")


def _escape(character: str) -> str:
    code = ord(character)
    return f"\\x{code:02x}" if code < 256 else f"\\u{{{code:04x}}}"


def say(text: str = "", *, to_stderr: bool = False) -> None:
    """Print a line (or several) for people."""
    stream = sys.stderr if to_stderr else sys.stdout
    stream.write(visible(text) + "\n")
    stream.flush()


def say_json(body: dict[str, Any]) -> None:  # Any: JSON
    """Print one JSON object with a schema version."""
    out = orjson.dumps({"schema_version": SCHEMA_VERSION, **body}, option=orjson.OPT_INDENT_2)
    sys.stdout.write(out.decode() + "\n")
    sys.stdout.flush()


def say_table(head: Sequence[str], lines: Iterable[Sequence[str]], *, left: int = 1) -> None:
    """Print an aligned table; the first `left` columns are flush left, the others flush right."""
    cells = [[inline(cell) for cell in line] for line in (head, *lines)]
    widths = [max(len(line[i]) for line in cells) for i in range(len(head))]
    for number, line in enumerate(cells):
        fitted = [
            cell.ljust(w) if i < left else cell.rjust(w) for i, (cell, w) in enumerate(zip(line, widths, strict=True))
        ]
        sys.stdout.write(("  " + "  ".join(fitted)).rstrip() + "\n")
        if number == 0:
            sys.stdout.write("  " + "  ".join("-" * w for w in widths) + "\n")
    sys.stdout.flush()


def say_diff(diff: str) -> None:
    """Print a unified diff, coloured on a terminal."""
    colours = {"+": "\x1b[32m", "-": "\x1b[31m", "@": "\x1b[36m"} if sys.stdout.isatty() else {}
    for line in diff.splitlines():
        colour = colours.get(line[:1], "")
        reset = "\x1b[0m" if colour else ""
        sys.stdout.write(f"{colour}{visible(line)}{reset}\n")
    sys.stdout.flush()


@contextmanager
def progress_on_stderr(*, quiet: bool = False) -> Iterator[Callable[[str, Progress], None]]:
    """Show long work: a bar with cost and coverage on a terminal, a line now and then elsewhere."""
    if quiet:
        yield lambda doing, progress: None
    elif sys.stderr.isatty():
        yield from _bar()
    else:
        yield _plain()


def _summary(progress: Progress) -> str:
    answered = (progress.done - progress.failed) / progress.done if progress.done else 1.0
    failed = f", {progress.failed} failed (coverage {answered:.1%})" if progress.failed else ""
    cost = "" if progress.cost is None else f", ${progress.cost:.4f}"
    return f"{progress.recorded} from the record{failed}{cost}"


def _plain() -> Callable[[str, Progress], None]:
    last = [time.monotonic()]

    def show(doing: str, progress: Progress) -> None:
        if time.monotonic() - last[0] >= PLAIN_SECONDS:
            last[0] = time.monotonic()
            say(f"  {doing}: {progress.done}/{progress.total} ({_summary(progress)})", to_stderr=True)

    return show


def _bar() -> Iterator[Callable[[str, Progress], None]]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=30),
        MofNCompleteColumn(),
        TextColumn("{task.fields[summary]}", markup=False),
        TimeRemainingColumn(),
    )
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        tasks: dict[str, Any] = {}  # Any: rich's task ids

        def show(doing: str, progress: Progress) -> None:
            if doing not in tasks:
                for old in tasks.values():
                    bar.update(old, visible=False)
                tasks[doing] = bar.add_task(visible(doing), total=progress.total, summary="")
            bar.update(tasks[doing], completed=progress.done, total=progress.total, summary=_summary(progress))

        yield show

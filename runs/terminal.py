"""Print for people and programs. Control characters in rows and replies never reach the
terminal.
"""

from __future__ import annotations

import datetime
import sys
import time
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from io import StringIO
from typing import TYPE_CHECKING, Any, TextIO

import orjson

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..judges import Progress
    from ..optimize.word_diff import PartDiff, Piece

SCHEMA_VERSION = 1
_ADDED, _REMOVED, _RESET = "\x1b[32m", "\x1b[31;9m", "\x1b[0m"
WIDE = 110
"""Columns of a terminal from which the bar of long work may be long."""
COUNTED_AT_ONCE = 64
"""Rows between two looks at long work that asks no model."""
PLAIN_SECONDS = 2.0
"""Seconds between progress lines where there is no terminal: nobody is to ask what it is doing."""
_TEXT: ContextVar[TextIO | None] = ContextVar("text", default=None)
"""Where `text_of` collects what would be printed; a context variable, so that other threads still
print.
"""


def visible(text: str) -> str:
    """Replace control and format characters, but for newline and tab, with visible escapes."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        (
            c
            if c in "\n\t" or unicodedata.category(c) not in {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}
            else _escape(c)
        )
        for c in text
    )


def inline(text: str) -> str:
    """Return text that stays on its line: newlines and tabs become visible too, as `\\n` and
    `\\t`.
    """
    return visible(text).replace("\n", "\\n").replace("\t", "\\t")


def _escape(character: str) -> str:
    code = ord(character)
    return f"\\x{code:02x}" if code < 256 else f"\\u{{{code:04x}}}"


def text_of(print_it: Callable[[], None]) -> str:
    """Return what a function would print through this module."""
    text = StringIO()
    token = _TEXT.set(text)
    try:
        print_it()
    finally:
        _TEXT.reset(token)
    return text.getvalue()


def _out() -> TextIO:
    return _TEXT.get() or sys.stdout


def simulated_mark(simulated: bool) -> str:
    """Return what stands behind a heading whose figures a simulated model made; nothing for a real
    one.
    """
    return "  [SIMULATED: says nothing about real models]" if simulated else ""


def say_waiting(whom: str) -> None:
    """Tell that a command waits, for another one that writes to the same workspace or for the
    workspace's server.
    """
    say(f"waiting for {whom}; Ctrl-C stops waiting", to_stderr=True)


def say(text: str = "", *, to_stderr: bool = False) -> None:
    """Print a line (or several) for people."""
    stream = sys.stderr if to_stderr else _out()
    stream.write(visible(text) + "\n")
    stream.flush()


def say_json(body: dict[str, Any]) -> None:  # Any: JSON
    """Print one JSON object with a schema version."""
    out = orjson.dumps({"schema_version": SCHEMA_VERSION, **body}, option=orjson.OPT_INDENT_2)
    sys.stdout.write(out.decode() + "\n")
    sys.stdout.flush()


def answer(body: Any, text: str | Callable[[], object], *, as_json: bool) -> None:
    """Print what a command has to say, for a program or for people.

    Args:
        body: One JSON object, or what has a `to_json` that returns it.
        text: The lines for people, or what prints them.
    """
    if as_json:
        say_json(body if isinstance(body, dict) else body.to_json())
    elif isinstance(text, str):
        say(text)
    else:
        text()


def bold(text: str) -> None:
    """Print a heading, in bold on a terminal."""
    _out().write(_painted(visible(text), "\x1b[1m" if _coloured() else "") + "\n")
    _out().flush()


def has_screen() -> bool:
    """Whether a person sits at a terminal that can clear its screen."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return False
    from rich.console import Console

    return not Console(file=sys.stdout).is_dumb_terminal


def say_table(head: Sequence[str], lines: Iterable[Sequence[str]], *, left: int = 1) -> None:
    """Print an aligned table; see `table_text`."""
    _out().write(table_text(head, lines, left=left) + "\n")
    _out().flush()


def table_text(head: Sequence[str], lines: Iterable[Sequence[str]], *, left: int = 1) -> str:
    """Return an aligned table; the first `left` columns are flush left, the others flush right."""
    cells = [[inline(cell) for cell in line] for line in (head, *lines)]
    widths = [max(len(line[i]) for line in cells) for i in range(len(head))]
    cells.insert(1, ["-" * width for width in widths])
    text: list[str] = []
    for line in cells:
        fitted = [
            cell.ljust(width) if i < left else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(line, widths, strict=True))
        ]
        text.append(("  " + "  ".join(fitted)).rstrip())
    return "\n".join(text)


def say_pieces(pieces: Iterable[Piece], *, indent: str = "") -> None:
    """Print two versions of a text as one: what went in red and struck out, what came in green.

    Without colour they stand as `[-old-]` and `{+new+}`. A line end that went shows as `↵` where
    nothing but white space went with it, as it could not be seen otherwise.
    """
    coloured = _coloured()
    text = "".join(_piece(piece, coloured=coloured) for piece in pieces)
    _out().write(indent + text.replace("\n", f"\n{indent}") + "\n")
    _out().flush()


def say_word_diff(diffs: Iterable[PartDiff]) -> None:
    """Print what changed in a prompt, part by part, with the lines about each change and no
    others.
    """
    for diff in diffs:
        say(f"{inline(diff.part)}:")
        say_pieces(_near_changes(diff.pieces), indent="  ")


def _piece(piece: Piece, *, coloured: bool) -> str:
    if piece.kind == "same":
        return visible(piece.text)
    hidden = piece.kind == "old" and not piece.text.strip()
    text = visible(piece.text.replace("\n", "↵") if hidden else piece.text)
    if not coloured:
        return f"[-{text}-]" if piece.kind == "old" else f"{{+{text}+}}"
    # Each line on its own, so that a pager that cuts at lines keeps the colours.
    return "\n".join(
        _painted(line, _REMOVED if piece.kind == "old" else _ADDED) for line in text.split("\n")
    )


def _near_changes(pieces: Sequence[Piece]) -> Iterator[Piece]:
    """Leave out the lines of unchanged text that are not beside a change."""
    for i, piece in enumerate(pieces):
        lines = piece.text.split("\n")
        if piece.kind != "same" or len(lines) <= 3:
            yield piece
            continue
        above, below = lines[:1] if i else [], lines[-1:] if i < len(pieces) - 1 else []
        left_out = f"… {len(lines) - len(above) - len(below)} unchanged lines"
        yield replace(piece, text="\n".join((*above, left_out, *below)))


def _painted(text: str, colour: str) -> str:
    return f"{colour}{text}{_RESET}" if colour and text else text


def _coloured() -> bool:
    """Whether a person reads this on a terminal that shows colours and nobody asked for none
    (NO_COLOR, TERM).
    """
    if not _out().isatty():
        return False
    from rich.console import Console

    console = Console(file=sys.stdout)
    return console.color_system is not None and not console.no_color


@contextmanager
def progress_on_stderr(*, quiet: bool = False) -> Iterator[Callable[[str, Progress], None]]:
    """Show long work: a bar with cost and coverage on a terminal, a line now and then elsewhere."""
    if quiet:
        yield lambda doing, progress: None
    elif sys.stderr.isatty():
        yield from _bar()
    else:
        yield plain_progress()


@contextmanager
def counting_on_stderr(doing: str, *, quiet: bool = False) -> Iterator[Callable[[int, int], None]]:
    """Show long work that asks no model: a bar on a terminal, a line now and then elsewhere."""
    from ..judges import Progress

    with progress_on_stderr(quiet=quiet) as show:

        def count(done: int, total: int) -> None:
            if done % COUNTED_AT_ONCE == 0 or done == total:
                show(
                    doing,
                    Progress(done=done, total=total, failed=0, recorded=0, cost=None, tokens=0),
                )

        yield count


def _summary(progress: Progress, *, room: int | None = None) -> str:
    """Say what came of the requests; in little room the first parts that fit: what failed, what it
    cost, how many were cached.
    """
    if progress.note:
        return progress.note if room is None else inline(progress.note)[: max(0, room)]
    if not progress.asked:
        return ""
    answered = (progress.done - progress.failed) / progress.done if progress.done else 1.0
    coverage = f" (coverage {answered:.1%})" if room is None else ""
    parts = [f"{progress.failed} failed{coverage}"] if progress.failed else []
    parts += [] if progress.cost is None else [f"${progress.cost:.4f}"]
    parts.append(f"{progress.recorded} cached")
    parts += [f"{progress.again} cut and asked again"] if progress.again else []
    if progress.speed is not None:
        parts.append(f"{progress.speed:,.{0 if progress.speed >= 10 else 1}f} tokens/s")
    text = ""
    for part in parts:
        longer = f"{text}, {part}" if text else part
        text = longer if room is None or len(longer) <= room else text
    return text


def _time_left(progress: Progress, before: int, seconds: float) -> str:
    """Return the time that is left at the speed so far, once it is worth saying.

    Args:
        before: Requests that were done when it was first seen.
        seconds: Since then.
    """
    done = progress.done - before
    left = seconds * (progress.total - progress.done) / done if done > 0 else 0.0
    return f"about {datetime.timedelta(seconds=round(left))} left" if left >= 1 else ""


def plain_progress() -> Callable[[str, Progress], None]:
    """Return what prints a line now and then, the first of each work with whom it asks, the next
    ones with the time left.
    """
    last, announced = [time.monotonic()], set[str]()
    begun: dict[str, tuple[float, int]] = {}

    def show(doing: str, progress: Progress) -> None:
        now = time.monotonic()
        since, before = begun.setdefault(doing, (now, progress.done))
        if now - last[0] >= PLAIN_SECONDS:
            last[0] = now
            summary = ", ".join(
                filter(None, (_summary(progress), _time_left(progress, before, now - since)))
            )
            if progress.asked and doing not in announced:
                announced.add(doing)
                summary = f"asking {progress.asked}; {summary}"
            say(
                f"  {doing}: {progress.done}/{progress.total}{f' ({summary})' if summary else ''}",
                to_stderr=True,
            )

    return show


def _bar() -> Iterator[Callable[[str, Progress], None]]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    console = Console(stderr=True)
    bar_width = 30 if console.width >= WIDE else 10
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=bar_width),
        MofNCompleteColumn(),
        TextColumn("{task.fields[summary]}", markup=False),
        TimeRemainingColumn(),
    )
    with Bar(*columns, console=console, transient=True) as bar:
        tasks: dict[str, Any] = {}  # Any: rich's task ids

        def show(doing: str, progress: Progress) -> None:
            if doing not in tasks:
                for old in tasks.values():
                    bar.update(old, visible=False)
                name, most = inline(doing), console.width // 3
                label = name if len(name) <= most else f"{name[: most - 1]}…"
                tasks[doing] = bar.add_task(label, total=progress.total, summary="")
            count = f" {progress.total}/{progress.total}  0:00:00   "
            taken = min(len(doing), console.width // 3) + bar_width + len(count)
            summary = _summary(progress, room=console.width - taken)
            bar.update(tasks[doing], completed=progress.done, total=progress.total, summary=summary)

        yield show

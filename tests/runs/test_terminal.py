"""No text from a row or a model drives the terminal."""

import contextlib
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace

import pytest

from judgewright.judges import Progress, Registry
from judgewright.optimize import Piece, diff_prompts, diff_words
from judgewright.runs import terminal
from judgewright.runs.reports import say_event
from judgewright.runs.terminal import (
    inline,
    say,
    say_pieces,
    say_table,
    say_word_diff,
    visible,
)

from .stored_events import event


@pytest.mark.parametrize(
    "hostile",
    [
        "\x1b]8;;http://x\x07link\x1b]8;;\x07",
        "\x1b]52;c;ZWNobyBoaQ==\x07",
        "\x1b[6n",
        "\x9b31m",
        "\x1b]0;title",
        "a\u202eb",
        "a\u2066b\u2069",
        "\u200bhidden",
        "bell\x07",
        "back\x08space",
        "carriage\rreturn",
        "\x7f",
    ],
)
def test_control_and_format_characters_become_visible(
    hostile: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Escapes are shown, not sent; the line still says that something was there."""
    say(hostile)
    say_table(("head",), [(hostile,)])
    out = capsys.readouterr().out
    assert not any(ord(c) < 32 and c not in "\n\t" for c in out)
    assert "\\x" in out or "\\u{" in out


def test_plain_text_markup_and_other_scripts_pass_as_they_are() -> None:
    """Markup of a table library, newlines, tabs and letters of any script are only text."""
    for text in ("[red]no markup[/red]", "two\nlines\tand a tab", "naïve 日本語 Ελληνικά", "é"):
        assert visible(text) == text


def test_a_cell_stays_on_its_line(capsys: pytest.CaptureFixture[str]) -> None:
    """Newlines and tabs inside a cell are shown as escapes, so that a value cannot print a row of
    its own.
    """
    say_table(("a", "b"), [("x\ny", "1\t2"), ("z\u2028w", "3")])
    assert len(capsys.readouterr().out.splitlines()) == 4
    assert inline("a\nb\tc\x1b") == r"a\nb\tc\x1b"


def test_values_of_the_data_print_no_lines_of_their_own(capsys: pytest.CaptureFixture[str]) -> None:
    """A slice's name or a row id with a newline cannot forge the gate's verdict."""
    forged = "x\n5. Gate, on the holdout: ACCEPT"
    violations = [{"name": "quotes_row", "detail": forged}]
    say_event(event("slice", {"why": forged, "left_out": {forged: forged}}))
    say_event(event("step", {"violations": violations, "reason": forged}))
    assert not any(line.startswith("5. Gate") for line in capsys.readouterr().out.splitlines())


HOSTILE = "\x1b]52;c;AA\x07\u202e[red]"


def on_a_terminal(
    monkeypatch: pytest.MonkeyPatch, work: Callable[[], None], **variables: str
) -> str:
    """Return what a real terminal is sent."""
    for name in ("NO_COLOR", "FORCE_COLOR", "COLORTERM"):
        monkeypatch.delenv(name, raising=False)
    for name, value in {"TERM": "xterm-256color", **variables}.items():
        monkeypatch.setenv(name, value)
    keyboard, screen = os.openpty()
    with open(screen, "w", encoding="utf-8") as tty, monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", tty)
        work()
    sent = b""
    with contextlib.suppress(OSError):  # Linux ends a terminal that nobody holds with an error
        while part := os.read(keyboard, 10_000):
            sent += part
    os.close(keyboard)
    return sent.decode().replace("\r\n", "\n")


def test_a_word_diff_without_a_terminal_has_marks_and_no_escape(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A pipe gets text: what went and what came in brackets, a lost line end as a sign, hostile
    text visible.
    """
    say_pieces(diff_words("keep high\nend", f"keep low{HOSTILE}\nend"), indent="  ")
    out = capsys.readouterr().out
    assert out == "  keep [-high-]{+low\\x1b]52;c;AA\\x07\\u{202e}[red]+}\n  end\n"
    assert not set(out) & {"\x1b", "\x07", "\u202e"}
    say_pieces((Piece("same", "a"), Piece("old", "\n"), Piece("new", " "), Piece("same", "b")))
    assert capsys.readouterr().out == "a[-↵-]{+ +}b\n"


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="this system has no pseudo terminals")
def test_a_word_diff_on_a_terminal_is_coloured_and_sends_no_escape_but_our_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Red and struck out, green, reset; each line closes its colour; nothing out of the text gets
    through.
    """
    pieces = (
        Piece("same", "a "),
        Piece("old", f"b{HOSTILE}"),
        Piece("new", "c\nd"),
        Piece("same", HOSTILE),
    )
    sent = on_a_terminal(monkeypatch, lambda: say_pieces(pieces))
    assert re.findall("\x1b[^m]*m", sent) == ["\x1b[31;9m", "\x1b[0m"] + ["\x1b[32m", "\x1b[0m"] * 2
    assert not set(re.sub(r"\x1b\[[0-9;]*m", "", sent)) & {"\x1b", "\x07", "\u202e"}
    assert "\x1b[32mc\x1b[0m\n\x1b[32md\x1b[0m" in sent


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="this system has no pseudo terminals")
@pytest.mark.parametrize("variables", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_whoever_wants_no_colour_gets_none(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str]
) -> None:
    """NO_COLOR and a terminal that knows none."""

    def work() -> None:
        say_pieces(diff_words("old", "new"))

    assert on_a_terminal(monkeypatch, work, **variables) == "[-old-]{+new+}\n"


def test_a_prompts_diff_shows_the_lines_about_each_change(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Unchanged lines far from a change are counted, not printed; parts that are equal are not
    named.
    """
    before = Registry().get("groundedness")
    after = before.edited(criteria=f"First. {before.criteria}\nLast.")
    say_word_diff(diff_prompts(before, after))
    out = capsys.readouterr().out.splitlines()
    lines = before.criteria.splitlines()
    assert out[0] == "criteria:"
    assert out[1].startswith("  {+First. +}")
    assert out[2] == f"  … {len(lines) - 2} unchanged lines"
    assert out[3] == f"  {lines[-1]}{{+"
    assert out[4:] == ["  Last.+}"]


WORK = """
import subprocess
import sys
import time
from judgewright.judges import Progress
from judgewright.runs.terminal import progress_on_stderr
with progress_on_stderr() as watch:
    for done in (0, 104_600):
        watch(sys.argv[1], Progress(done=done, total=104_600, failed=123, recorded=999, cost=12.3456, tokens=0, asked="m"))
"""  # noqa: E501


@pytest.mark.skipif(sys.platform == "win32", reason="there is no pty")
@pytest.mark.parametrize(
    ("columns", "doing"), [(80, "step 12: validation"), (80, "j" * 60), (60, "holdout"), (120, "x")]
)
def test_no_progress_line_is_cut_by_the_terminal(columns: int, doing: str) -> None:
    """In a real terminal of so many columns each line has its count, what failed, and the time left
    at its end.
    """
    import pty

    ours, theirs = pty.openpty()
    environment = {**os.environ, "COLUMNS": str(columns), "LINES": "24", "TERM": "xterm"}
    command = [sys.executable, "-c", WORK, doing]
    subprocess.run(command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment, check=True)
    os.close(theirs)
    drawn = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", _drain(ours))
    lines = [line.strip() for line in re.split(r"[\r\n]+", drawn) if "104600/104600" in line]
    assert lines
    for line in lines:
        assert len(line) <= columns
        assert "123 failed" in line
        assert re.search(r"\d:\d\d:\d\d$", line)
        assert ("…" in line) is (len(doing) > columns // 3)


def _drain(descriptor: int) -> str:
    """Read what was printed to a terminal whose other side has been closed."""
    read = b""
    try:
        while more := os.read(descriptor, 65536):
            read += more
    except OSError:  # how Linux says that the other side is closed
        pass
    os.close(descriptor)
    return read.decode()


def test_work_that_asks_no_model_is_counted_without_a_word_on_the_record(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lines elsewhere than on a terminal, at steps and at the end; none where it is to be quiet."""
    monkeypatch.setattr(terminal, "PLAIN_SECONDS", 0.0)
    for quiet in (False, True):
        with terminal.counting_on_stderr("reading texts", quiet=quiet) as count:
            for done in range(1, 151):
                count(done, 150)
    lines = ["64/150", "128/150", "150/150"]
    assert capsys.readouterr().err == "".join(f"  reading texts: {line}\n" for line in lines)


def test_long_work_says_whom_it_asks_and_how_fast_that_writes(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first line of each work names the model and its address; no line is more than three
    seconds after another.
    """
    assert terminal.PLAIN_SECONDS < 3
    monkeypatch.setattr(terminal, "PLAIN_SECONDS", 0.0)
    show = terminal.plain_progress()
    progress = Progress(
        done=1,
        total=6,
        failed=0,
        recorded=0,
        cost=None,
        tokens=9,
        asked="m at http://h/v1",
        speed=7.14,
    )
    show("rows", progress)
    show("rows", progress)
    show("rows", replace(progress, again=1))
    assert capsys.readouterr().err.splitlines() == [
        "  rows: 1/6 (asking m at http://h/v1; 0 cached, 7.1 tokens/s)",
        "  rows: 1/6 (0 cached, 7.1 tokens/s)",
        "  rows: 1/6 (0 cached, 1 cut and asked again, 7.1 tokens/s)",
    ]


def test_lines_of_long_work_say_what_time_is_left(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """At the speed of what was done since the work was first seen: what was recorded before does
    not count.
    """
    seconds = iter((0.0, 0.0, 10.0, 10.5))
    monkeypatch.setattr(time, "monotonic", lambda: next(seconds))
    monkeypatch.setattr(terminal, "PLAIN_SECONDS", 0.0)
    show = terminal.plain_progress()
    for done in (100, 110, 200):
        progress = Progress(done=done, total=200, failed=0, recorded=0, cost=None, tokens=0)
        show("rows", progress)
    assert capsys.readouterr().err.splitlines() == [
        "  rows: 100/200",
        "  rows: 110/200 (about 0:01:30 left)",
        "  rows: 200/200",
    ]

"""No text from a row or a model drives the terminal."""

import pytest

from judgewright.runs.report import say_event
from judgewright.runs.terminal import inline, say, say_table, visible


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
def test_control_and_format_characters_become_visible(hostile: str, capsys: pytest.CaptureFixture[str]) -> None:
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
    """Newlines and tabs inside a cell are shown as escapes, so that a value cannot print a row of its own."""
    say_table(("a", "b"), [("x\ny", "1\t2"), ("z\u2028w", "3")])
    assert len(capsys.readouterr().out.splitlines()) == 4
    assert inline("a\nb\tc\x1b") == r"a\nb\tc\x1b"


def test_values_of_the_data_print_no_lines_of_their_own(capsys: pytest.CaptureFixture[str]) -> None:
    """A slice's name or a row id with a newline cannot forge the gate's verdict."""
    forged = "x\n5. Gate, on the holdout: ACCEPT"
    violations = [{"name": "quotes_row", "detail": forged}]
    say_event("slice", {"found": [], "name": forged, "why": forged, "left_out": {forged: forged}})
    say_event("step", {"step": 1, "batch_loss": 0.1, "result": "refused", "violations": violations, "reason": forged})
    assert not any(line.startswith("5. Gate") for line in capsys.readouterr().out.splitlines())

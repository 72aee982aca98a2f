"""Columns with other names: asked about in the terminal, named in the error without one, and in
Python.
"""

from __future__ import annotations

import json
import os
import pty
import shlex
import subprocess
import sys
import traceback
from pathlib import Path

import pytest

import judgewright as jw
from judgewright.judges import InputError
from judgewright.judges.files import UnclearColumnsError

from .run_command import run

HEAD = "context,question,answer,correct"
LINES = (
    '"The Matterhorn is a mountain of the Alps, 4,478 metres high.",How high?,It is high.,yes',
    '"Berne has been the seat of the Swiss government since 1848.",Where is it?,In Zurich.,no',
    '"A claim must be filed within 30 days of delivery.",How long is it?,Thirty days.,yes',
)
TWO = "context,reply,answer,correct"


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a file whose columns have other names, and one where two may be meant."""
    (tmp_path / "rows.csv").write_text("\n".join([HEAD, *LINES]) + "\n")
    two = [line.replace("How", "Sure how").replace("?", ".") for line in LINES]
    (tmp_path / "two.csv").write_text("\n".join([TWO, *two]) + "\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def at_a_terminal(place: Path, *arguments: str, answers: str) -> tuple[int, str]:
    """Run a command with a terminal, type answers, and return the exit code and what it showed."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "judgewright", *arguments]
    process = subprocess.Popen(
        command, cwd=place, stdin=theirs, stdout=theirs, stderr=subprocess.STDOUT, close_fds=True
    )
    os.close(theirs)
    os.write(ours, answers.encode())
    shown = b""
    while True:
        try:
            piece = os.read(ours, 4096)
        except OSError:  # the terminal is gone with the process
            break
        if not piece:
            break
        shown += piece
    os.close(ours)
    return process.wait(), shown.decode()


BENCH = ("bench", "groundedness", "rows.csv", "--model", "simulated")


def test_without_a_terminal_the_whole_command_is_named_and_nothing_is_run(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is to be copied: typed as it stands it runs."""
    code, _, errors = run(capsys, *BENCH)
    assert code == 2
    assert not (place / ".judgewright").exists()
    command = errors.partition("did you mean  judgewright ")[2].splitlines()[0]
    assert command.endswith("--column source=context --column statement=answer --label correct")
    code, shown, _ = run(capsys, *shlex.split(command))
    assert (code, "3 rows" in shown) == (0, True)


def test_the_command_that_is_named_runs_where_rows_are_only_asked_about(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It once named options that it did not have."""
    run(capsys, "export", "groundedness", "--to", "python", "--out", "out")
    code, _, errors = run(capsys, "export", "verify", "out", "--rows", "rows.csv")
    assert (code, "did you mean" in errors) == (2, True)
    named = errors.partition("did you mean  judgewright ")[2].splitlines()[0]
    code, shown, _ = run(capsys, *shlex.split(named))
    assert (code, "verified" in shown) == (0, True)


def test_a_program_gets_the_same_command(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In the hint of the error."""
    code, shown, _ = run(capsys, *BENCH, "--json")
    error = json.loads(shown)["error"]
    assert (code, error["kind"]) == (2, "UnclearColumnsError")
    assert "--column source=context" in error["hint"]


@pytest.mark.parametrize(("answer", "code"), [("y\n", 0), ("n\n", 2)])
def test_at_a_terminal_the_table_is_shown_and_one_key_confirms(
    place: Path, answer: str, code: int
) -> None:
    """With the first values, and what each value of the label is taken as."""
    left, shown = at_a_terminal(place, *BENCH, answers=answer)
    assert left == code
    assert "read as" in shown
    assert "'yes' as 1, 'no' as 0" in shown
    assert "Are these the columns?" in shown
    assert ("accuracy" in shown) == (code == 0)
    assert (place / ".judgewright").exists() == (code == 0)


def test_what_is_in_doubt_is_asked_by_itself(place: Path) -> None:
    """Two columns that fit as well are both named, and the one that is typed is read."""
    bench = ("bench", "groundedness", "two.csv", "--model", "simulated", "--out", "out.jsonl")
    code, shown = at_a_terminal(place, *bench, answers="reply\ny\n")
    assert "NOT SURE: 'reply' or 'answer'" in shown
    assert "did you mean 'reply' or 'answer'?" in shown
    assert "Which column is statement?" in shown
    assert code == 0
    [first, *_] = (place / "out.jsonl").read_text().splitlines()
    assert '"metadata": {"answer": "It is high."}' in first


def test_a_yes_beforehand_takes_only_what_is_not_in_doubt(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`--yes` of `optimize`; a doubt still stops it."""
    options = ("--model", "simulated", "--objective", "raise precision", "--yes", "--plan")
    code, _, errors = run(capsys, "optimize", "groundedness", "two.csv", *options)
    assert (code, "not sure of statement" in errors) == (2, True)
    _, _, errors = run(capsys, "optimize", "groundedness", "rows.csv", *options)
    assert "columns guessed: source from context, statement from answer" in errors


def test_python_prints_the_hint_under_the_error(place: Path) -> None:
    """Scripts and notebooks show what to do next too, not only the command line."""
    with pytest.raises(UnclearColumnsError) as caught:
        jw.bench("groundedness", "rows.csv", model="simulated")
    *_, last = traceback.format_exception_only(caught.value)
    assert last.startswith("hint: load_rows(..., columns={'source': 'context'")


def test_python_names_the_arguments_and_takes_them(place: Path) -> None:
    """In the words of Python; nothing is taken unsaid."""
    with pytest.raises(UnclearColumnsError) as caught:
        jw.bench("groundedness", jw.load_rows("rows.csv"), model="simulated")
    hint = caught.value.hint or ""
    columns = {"source": "context", "statement": "answer"}
    assert hint == f"load_rows(..., columns={columns}, label='correct')"
    rows = jw.load_rows("rows.csv", columns=columns, label="correct")
    assert len(jw.bench("groundedness", rows, model="simulated").judged.answers) == 3
    with pytest.raises(InputError, match="maps no input"):
        jw.load_rows("rows.csv", columns="guess")  # type: ignore[arg-type]


def test_a_check_reads_the_labels_of_a_known_name_and_says_so(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A check refuses nothing: without such a name it names the option; with a judge the columns of
    its inputs are guessed as `bench` guesses them.
    """
    check = ("data", "check", "rows.csv")
    _, shown, _ = run(capsys, *check)
    assert "1: 2 (67%)" in shown
    assert "note: labels are read as with --label correct" in shown
    _, _, errors = run(capsys, *check, "--judge", "groundedness")
    command = errors.partition("did you mean  judgewright ")[2].splitlines()[0]
    assert command.endswith("--column source=context --column statement=answer --label correct")
    assert "1: 2 (67%)" in run(capsys, *shlex.split(command))[1]
    rows = Path("rows.csv").read_text()
    Path("rows.csv").write_text(rows.replace("correct", "Spalte"))
    _, shown, _ = run(capsys, *check)
    assert "note: no label is read: --label COLUMN names the column" in shown


def test_rows_to_label_that_have_labels_elsewhere_name_the_option(place: Path) -> None:
    """They are all asked about."""
    command = [sys.executable, "-m", "judgewright", "label", "--rows", "rows.csv"]
    done = subprocess.run(command, cwd=place, input=b"q\n", capture_output=True, check=True)
    note = "every row is asked about: --label correct leaves out those with a label there"
    assert note in done.stderr.decode()


def test_an_export_is_proved_on_rows_without_labels(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Only their texts are sent."""
    run(capsys, "export", "groundedness", "--to", "python", "--out", "out")
    Path("rows.csv").write_text('source,statement\n"The Matterhorn is high.",It is.\n')
    code, _, errors = run(capsys, "export", "verify", "out", "--rows", "rows.csv")
    assert code == 0, errors

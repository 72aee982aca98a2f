"""Labelling in the terminal: through a real terminal and a pipe, stopped anywhere, by one person or
two.
"""

import csv
import fcntl
import io
import json
import os
import pty
import random
import re
import select
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from judgewright.judges import BINARY, InputError, Row, load_dataset
from judgewright.runs.cli import main
from judgewright.runs.demo import write_demo_rows
from judgewright.runs.labels.queue import reading_order
from judgewright.runs.labels.session import LabelSession, labels_of_queue
from judgewright.runs.reports.label_screen import HEADING, row_lines
from judgewright.runs.store import HoldoutLedger, LabelStore, Workspace, get_run, list_runs

PATIENCE = 60.0
"""Seconds after which a terminal that shows nothing fails its test."""
COMMAND = (sys.executable, "-m", "judgewright", "label")
ROWS = ("--rows", "rows.jsonl", "--ask", "Is it supported?", "--annotator", "ann")
_CODES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with rows that nobody has labelled, one of them longer than any screen."""
    write_demo_rows(tmp_path / "labelled.jsonl", documents=6)
    rows = [json.loads(line) for line in (tmp_path / "labelled.jsonl").read_text().splitlines()]
    for row in rows:
        del row["label"]
    rows[0]["source"] = "\n".join(f"line {number} of many" for number in range(300))
    (tmp_path / "rows.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return tmp_path


def _at_a_terminal() -> None:
    """Let Ctrl-C reach the command, also where the tests run in the background, which ignores
    it.
    """
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    signal.signal(signal.SIGINT, signal.SIG_DFL)


class Terminal:
    """A command at a terminal of 24 lines, typed at as a person would: after the screen shows what
    is waited for.
    """

    def __init__(self, folder: Path, *arguments: str) -> None:
        self._main, other = pty.openpty()
        environment = {
            **os.environ,
            "TERM": "xterm",
            "COLUMNS": "80",
            "LINES": "24",
            "NO_COLOR": "1",
        }
        self.process = subprocess.Popen(
            (*COMMAND, *arguments),
            cwd=folder,
            env=environment,
            stdin=other,
            stdout=other,
            stderr=other,
            start_new_session=True,
            preexec_fn=_at_a_terminal,
        )
        os.close(other)
        self.screen = ""

    def until(self, text: str) -> str:
        """Read until a text is on the screen, and return what came since the last call."""
        last = time.monotonic() + PATIENCE
        while text not in self.screen:
            ready, _, _ = select.select([self._main], [], [], max(0.0, last - time.monotonic()))
            assert ready, f"{text!r} never came after {self.screen[-2000:]!r}"
            try:
                self.screen += _CODES.sub(
                    "", os.read(self._main, 65536).decode(errors="replace")
                ).replace("\r\n", "\n")
            except OSError:  # the command has ended
                assert text in self.screen, f"it ended without {text!r}: {self.screen[-2000:]!r}"
        shown, self.screen = self.screen, self.screen.partition(text)[2]
        return shown

    def type(self, keys: str) -> None:
        """Type keys."""
        os.write(self._main, keys.encode())

    def kill(self) -> None:
        """End it as `kill -9` does."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(PATIENCE)

    def rest(self) -> None:
        """Read what the command wrote last, after its end."""
        with suppress(OSError):  # nothing is left
            while select.select([self._main], [], [], 0.0)[0] and (
                text := os.read(self._main, 65536)
            ):
                self.screen += text.decode(errors="replace")

    def close(self) -> int:
        """Wait for its end, read what it wrote last, and return the exit code."""
        code = self.process.wait(PATIENCE)
        self.rest()
        os.close(self._main)
        return code


@pytest.fixture
def terminal(folder: Path) -> Iterator[Terminal]:
    """A new queue of the rows at a terminal."""
    one = Terminal(folder, *ROWS)
    yield one
    if one.process.poll() is None:
        one.kill()


@dataclass(frozen=True, slots=True)
class Done:
    """What a command printed, and how it left."""

    stdout: str
    stderr: str
    returncode: int


def exported(folder: Path, *arguments: str, out: str = "out.jsonl") -> list[dict[str, Any]]:
    """What `label --out` writes."""
    assert piped(folder, *arguments, "--out", out).returncode == 0
    text = (folder / out).read_text()
    return (
        list(csv.DictReader(io.StringIO(text)))
        if out.endswith(".csv")
        else list(map(json.loads, text.splitlines()))
    )


def piped(folder: Path, *arguments: str, answers: str = "") -> Done:
    """Label through a pipe, in this process."""
    out, err, code = io.StringIO(), io.StringIO(), 0
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        patch.chdir(folder)
        patch.setattr("sys.stdin", io.StringIO(answers))
        try:
            main(["label", *arguments])
        except SystemExit as left:
            code = int(left.code or 0)
    return Done(out.getvalue(), err.getvalue(), code)


def labels_in(folder: Path) -> list[tuple[str, float | None, str]]:
    """Action, label and reason of every record."""
    with Workspace(folder) as workspace:
        return [
            (record.action, record.label, record.reason)
            for record in LabelStore(workspace.database).records()
        ]


def test_one_key_labels_a_row_and_a_kill_loses_nothing(folder: Path, terminal: Terminal) -> None:
    """What was pressed before `kill -9` is there, and the same command goes on with the next
    row.
    """
    rows = len((folder / "rows.jsonl").read_text().splitlines())
    assert f"0 labelled, of {rows}\n" in terminal.until("q quit")
    terminal.type("y")
    terminal.until("1 labelled")
    terminal.until("q quit")
    terminal.type("n")
    terminal.until("2 labelled")
    terminal.kill()
    assert labels_in(folder) == [("label", 1.0, ""), ("label", 0.0, "")]
    again = Terminal(folder, "latest", "--annotator", "ann")
    again.until("2 labelled")
    again.until("q quit")
    again.type("q")
    assert "judgewright label 2" in again.until("--annotator ann")
    assert again.close() == 0


def test_a_queue_that_is_killed_again_and_again_has_each_label_once(
    folder: Path, nightly: bool, measured: Callable[[str], None]
) -> None:
    """Kill -9 before, while or after a key is written: what the screen counted is kept, and no row
    is asked twice.
    """
    dice, kills, counted, cut, arguments = random.Random(5), 0, 0, 0, ROWS
    while kills < (12 if nightly else 3):
        terminal = Terminal(folder, *arguments)
        arguments = ("latest", "--annotator", "ann")
        terminal.until("q quit")
        if cut:  # whether the key before the kill was written is known now
            with Workspace(folder) as place:
                (queue,) = list_runs(place.database, "queue")
                kept = len(LabelStore(place.database).records(queue.run_id))
            assert kept in (counted, counted + 1)
            counted = kept
        for _ in range(dice.randrange(2)):
            terminal.type(dice.choice("yn"))
            counted += 1
            terminal.until(f"{counted} labelled")
            terminal.until("q quit")
        terminal.type("y")
        time.sleep(dice.uniform(0, 0.02))
        terminal.kill()
        kills, cut = kills + 1, cut + 1
    with Workspace(folder) as place:
        (queue,) = list_runs(place.database, "queue")
        records = LabelStore(place.database).records(queue.run_id)
        assert HoldoutLedger(place.database).verify() >= 0
    assert len({record.row_id for record in records}) == len(records)
    assert len(records) in (counted, counted + 1)
    measured(
        f"{kills} kills -9 of `label`: {counted} of {counted} labels that the screen counted kept,"
        " 0 rows twice"
    )


def test_a_row_is_skipped_with_a_reason_and_a_key_is_taken_back(
    folder: Path, terminal: Terminal
) -> None:
    """A correction is a new record that names the old one; what is no key does nothing."""
    terminal.until("q quit")
    terminal.type("x")
    terminal.type("s")
    terminal.until("goes back: ")
    terminal.type("2")
    terminal.until("0 labelled")
    terminal.until("q quit")
    terminal.type("u")
    terminal.until("taken back")
    terminal.until("q quit")
    terminal.type("y")
    terminal.until("1 labelled")
    terminal.until("q quit")
    terminal.type("\x03")
    terminal.until("all of it is kept")
    terminal.until("Go on with:  judgewright label")
    terminal.until("--annotator ann")
    assert terminal.close() == 3
    assert "error" not in terminal.screen
    with Workspace(folder) as workspace:
        records = LabelStore(workspace.database).records()
    assert [(r.action, r.reason) for r in records] == [
        ("skip", "the text is broken"),
        ("undo", ""),
        ("label", ""),
    ]
    assert len({record.row_id for record in records}) == 1
    assert [record.replaces for record in records] == [None, records[0].seq, records[1].seq]
    assert all(record.annotator == "ann" and record.probability == 1 for record in records)
    assert records[0].design == "listed"
    assert len(records[0].row_key) == 8


def test_a_long_row_has_pages_and_what_is_asked_stands_below_each(folder: Path) -> None:
    """Space shows the next page, b the one before; the statement stands before its source, on each
    of them.
    """
    rows = (folder / "rows.jsonl").read_text().splitlines()
    (folder / "rows.jsonl").write_text(rows[0] + "\n")
    terminal = Terminal(folder, *ROWS)
    first = terminal.until("space next")
    assert (
        first.index("── statement ──")
        < first.index("── source ──")
        < first.index("Is it supported?")
    )
    assert "line 0 of many" in first
    terminal.type(" ")
    second = terminal.until("page 2 of")
    assert "line 0 of many" not in second
    assert second.index("── statement ──") < second.index("of many")
    terminal.until("space next")
    terminal.type("b")
    terminal.until("page 1 of")
    terminal.type("n")
    assert "Nothing is left to label." in terminal.until("--out labelled")
    assert terminal.close() == 0


def test_a_key_that_means_nothing_says_which_do_and_a_row_that_stays_is_no_new_one(
    folder: Path, terminal: Terminal
) -> None:
    """Undo with nothing to undo shows the row as it was; q at the reason for a skip goes back."""
    assert "reading the queue..." in terminal.until("0 labelled")
    terminal.until("q quit")
    terminal.type("x")
    terminal.until("keys: y, n, s to skip, u to undo, q to leave")
    terminal.type("u")
    terminal.until("there is nothing to take back")
    assert "the same as before" not in terminal.until("q quit")
    terminal.type("s")
    prompt = terminal.until("goes back: ")
    assert all(len(line) < 80 for line in prompt.splitlines())
    terminal.type("q\n")
    terminal.until("0 labelled")
    assert "the same as before" not in terminal.until("q quit")
    assert labels_in(folder) == []
    terminal.type("q")
    terminal.until("Go on with")
    assert terminal.close() == 0


def test_a_source_that_was_just_read_is_said_to_be_the_same(folder: Path) -> None:
    """Rows of one document may follow each other, and nobody reads it twice."""
    row = {"source": "The guild built it.", "statement": "The guild built it in a year."}
    rows = [row | {"id": "a"}, row | {"id": "b", "statement": "The guild did not build it."}]
    (folder / "rows.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    terminal = Terminal(folder, *ROWS)
    assert "the same as before" not in terminal.until("q quit")
    terminal.type("y")
    shown = terminal.until("q quit")
    assert "── source, the same as before ──" in shown
    assert "── statement ──" in shown
    terminal.type("n")
    terminal.until("--out labelled")
    assert terminal.close() == 0


def test_the_question_stands_before_a_shorter_answer_and_every_row_has_the_same_order() -> None:
    """What was asked, then what is usually the shorter text; a long answer in one row changes
    nothing.
    """
    texts = [
        ("Why is the sky blue?", "Scattering.", "s" * 90),
        ("When?", "a" * 99, "s" * 80),
        ("Who?", "Ann.", "s" * 70),
    ]
    rows = [
        Row(id=str(i), inputs={"source": source, "answer": answer, "question": question})
        for i, (question, answer, source) in enumerate(texts)
    ]
    assert reading_order(rows) == ("question", "answer", "source")
    lines = row_lines(rows[1], reading_order(rows), width=80)
    assert [line for line in lines if line.startswith(HEADING)] == [
        "── question ──",
        "── answer ──",
        "── source ──",
    ]


def test_a_key_that_was_held_too_long_labels_no_row_that_was_not_shown(
    folder: Path, terminal: Terminal
) -> None:
    """Three y at once are one label."""
    terminal.until("q quit")
    terminal.type("yyy")
    terminal.until("1 labelled")
    terminal.until("q quit")
    terminal.type("q")
    terminal.until("Go on with")
    assert labels_in(folder) == [("label", 1.0, "")]


def test_answers_come_through_a_pipe_too(folder: Path) -> None:
    """Each line is an answer; the end of the pipe stops without a label."""
    done = piped(folder, *ROWS, "--json", answers="y\nmaybe\ns not mine\nno\n")
    body = json.loads(done.stdout)
    assert (body["labelled"], body["skipped"], body["done"], done.returncode) == (2, 1, False, 0)
    assert "'maybe' is none of the answers" in done.stderr
    assert labels_in(folder) == [("label", 1.0, ""), ("skip", None, "not mine"), ("label", 0.0, "")]
    assert body["left"] == len((folder / "rows.jsonl").read_text().splitlines()) - 3


def test_every_row_comes_once_in_an_order_of_the_seed_and_the_queue_is_done(folder: Path) -> None:
    """The order has nothing to do with that of the file."""
    ids = [json.loads(line)["id"] for line in (folder / "rows.jsonl").read_text().splitlines()]
    assert json.loads(piped(folder, *ROWS, "--json", answers="y\n" * 99).stdout)["done"]
    with Workspace(folder) as workspace:
        records = LabelStore(workspace.database).records()
        assert get_run(workspace.database, records[0].queue).state == "done"
    drawn = [record.row_id for record in records]
    assert sorted(drawn) == sorted(ids)
    assert drawn != ids


def test_grades_have_their_digits_and_other_scales_are_typed(folder: Path) -> None:
    """On 0..3 a digit is a key; 1..100 is typed with Enter; what is off the scale is refused."""
    piped(folder, *ROWS, "--label-scale", "0..3", answers="3\n4\n0\n")
    wide = piped(folder, *ROWS, "--label-scale", "1..100", answers="77\n101\n")
    assert "1 (least) to 100 (most)" in wide.stdout
    assert [label for _, label, _ in labels_in(folder)] == [3.0, 0.0, 77.0]


def test_a_second_annotator_labels_the_rows_of_the_first_and_never_sees_the_labels(
    folder: Path,
) -> None:
    """Where the two disagree the label is missing; what the second has not labelled yet is missing
    too.
    """
    queue = json.loads(
        piped(folder, *ROWS, "--second", "all", "--json", answers="y\nn\ny\n").stdout
    )["queue"]
    second = piped(folder, queue, "--annotator", "bob", answers="y\ny\n")
    assert "0 labelled" in second.stdout
    with Workspace(folder) as workspace:
        session = LabelSession(workspace, queue, "bob")
        records = LabelStore(workspace.database).records(queue)
        labels = labels_of_queue(queue, session.config, records)
        assert [one.label for one in labels] == [1.0, None, None]
        assert [one.reason for one in labels[1:]] == [
            "the two annotators disagree",
            "the second annotator has not labelled it yet",
        ]
        assert session.progress().left == 1
        with pytest.raises(InputError, match="two annotators already"):
            LabelSession(workspace, queue, "carl")


def test_a_share_of_the_rows_goes_to_the_second_annotator_whatever_the_first_said(
    folder: Path,
) -> None:
    """The share is drawn by the row."""
    queue = json.loads(
        piped(folder, *ROWS, "--second", "0.5", "--json", answers="y\n" * 99).stdout
    )["queue"]
    left = json.loads(piped(folder, queue, "--annotator", "bob", "--json").stdout)["left"]
    assert 0 < left < len((folder / "rows.jsonl").read_text().splitlines())


def test_two_windows_of_one_annotator_label_no_row_twice(folder: Path) -> None:
    """The second label of a row that was drawn in both is not kept, and another row is drawn."""
    queue = json.loads(piped(folder, *ROWS, "--json").stdout)["queue"]
    with Workspace(folder) as workspace:
        here, there = LabelSession(workspace, queue, "ann"), LabelSession(workspace, queue, "ann")
        assert here.next() == there.next()
        assert here.label(1.0, seconds=1.0)
        assert not there.label(0.0, seconds=1.0)
        assert there.next() == here.next()
        assert len(LabelStore(workspace.database).records(queue)) == 1


def test_only_the_last_label_can_be_taken_back_and_only_by_who_gave_it(folder: Path) -> None:
    """Rows that came after an earlier one may have been drawn by what it said."""
    queue = json.loads(piped(folder, *ROWS, "--json", answers="y\n").stdout)["queue"]
    with Workspace(folder) as workspace:
        assert not LabelSession(workspace, queue, "bob").undo()
        session = LabelSession(workspace, queue, "ann")
        assert session.undo()
        assert not session.undo()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "judgewright label --rows FILE makes a queue"),
        (("latest", *ROWS), "label which rows?"),
        (("latest",), "there is no workspace"),
        (("--rows", "labelled.jsonl"), "has a label"),
        ((*ROWS, "--second", "2"), "is not none, all or a share"),
    ],
)
def test_what_cannot_be_labelled_is_refused(
    folder: Path, arguments: tuple[str, ...], message: str
) -> None:
    """With exit code 2, and no queue is made."""
    done = piped(folder, *arguments)
    assert done.returncode == 2
    assert message in done.stderr


def test_a_file_may_grow_and_be_labelled_but_its_texts_may_not_change(folder: Path) -> None:
    """The rows of a queue are those that it was made of."""
    queue = json.loads(piped(folder, *ROWS, "--json", answers="y\n").stdout)["queue"]
    path = folder / "rows.jsonl"
    rows = [json.loads(line) | {"label": 1} for line in path.read_text().splitlines()]
    grown = [*rows, {**rows[0], "id": "another"}]
    path.write_text("".join(f"{json.dumps(row)}\n" for row in grown))
    assert piped(folder, queue, "--annotator", "ann", answers="n\n").returncode == 0
    rows[0]["statement"] += " and more"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    changed = piped(folder, queue, "--annotator", "ann", answers="n\n")
    assert changed.returncode == 2
    assert "have been changed" in changed.stderr


def test_labels_are_written_with_the_columns_of_their_rows(folder: Path) -> None:
    """Who, when, how long, and how the row was drawn stand beside the label; the latest label
    counts.
    """
    rows = {
        row["id"]: row for row in map(json.loads, (folder / "rows.jsonl").read_text().splitlines())
    }
    piped(folder, *ROWS, answers="y\nu\nn\ns why not\ny\n")
    written = exported(folder, "latest")
    assert [line["label"] for line in written] == [0, 1]
    for line in written:
        row = rows[str(line["id"])]
        assert row.items() <= line.items()
        assert (line["label_annotator"], line["label_design"]) == ("ann", "listed")
        assert line["sampling_probability"] == 1
        assert {"label_created", "label_seconds", "label_queue"} <= line.keys()
    dataset = load_dataset(folder / "out.jsonl", inputs=("statement", "source"), scale=BINARY)
    assert len(dataset) == 2
    assert [line["label"] for line in exported(folder, out="all.csv")] == ["0", "1"]


def test_a_row_that_was_labelled_in_two_queues_has_its_latest_label(folder: Path) -> None:
    """A label that the file had stays beside the new one."""
    count = len((folder / "rows.jsonl").read_text().splitlines())
    piped(folder, *ROWS, answers="y\n" * count)
    piped(
        folder, "--rows", "out.jsonl" if exported(folder) else "", "--again", answers="n\n" * count
    )
    written = exported(folder)
    assert [line["label"] for line in written] == [0] * count
    assert {line["label_before"] for line in written} == {1}


def test_queues_are_listed_without_their_labels(folder: Path) -> None:
    """How many are labelled, by whom, in which time."""
    piped(folder, *ROWS, answers="y\ns no idea\n")
    listed = piped(folder).stdout
    assert "rows.jsonl" in listed
    body = json.loads(piped(folder, "--json").stdout)["queues"][0]
    assert (body["labelled"], body["missing"], body["annotators"]) == (1, {"no idea": 1}, ["ann"])
    assert piped(folder, "--out", "x.txt").returncode == 2

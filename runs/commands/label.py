"""`judgewright label`: give labels, one key a row, and take them out."""

from __future__ import annotations

import shlex
import sys
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ...judges import InputError
from ...optimize.options import option
from ..config.command_options import RowOptions
from ..labels.answer_keys import END, HAS_KEYS, KeyAnswers, LineAnswers
from ..labels.questions import QUESTIONS
from ..reports.label_screen import REASONS, AnswerKeys, row_lines
from ..terminal import answer, has_screen, say, say_json
from .decorators import elsewhere, options_of, sealed_option, writes_workspace
from .help import Command

if TYPE_CHECKING:
    from ...judges import Dataset
    from ..labels.queue import QueueConfig
    from ..labels.session import LabelSession, Progress
    from ..store.workspace import Workspace

EXAMPLES = """\
Example:  judgewright label --rows rows.jsonl --ask "Is every statement supported by the source?"
Next:     judgewright label --rows more.jsonl --next 40   (rows that tell most about what the last run left open)
Go on:    judgewright label latest
Take out: judgewright label latest --out labelled.jsonl
"""  # noqa: E501
UNDO, SKIP = "u", "s"
INTERRUPTED = 3
"""The exit code of a command that Ctrl-C ended."""
_queue = partial(option, "Data")


@dataclass(frozen=True, kw_only=True)
class LabelOptions:
    """Which rows are asked about, and who answers."""

    rows: Path | None = _queue(
        None, "Make a queue of the rows of a data file that have no label.", kind="path"
    )
    judge: str | None = _queue(
        None, "With --rows: show this judge's inputs, and label on its scale."
    )
    ask: str = _queue(
        "", "With --rows: what is asked, in your words; it stands above every row.", metavar="TEXT"
    )
    again: bool = _queue(
        False, "With --rows: ask about rows that have a label too; it is not shown."
    )
    second: str = _queue(
        "none",
        "With --rows: whether a second annotator labels none, all or a share of the rows such as"
        " 0.2; where the two disagree the label is missing.",
        metavar="none|all|SHARE",
    )
    next_: int | None = _queue(
        None,
        "With --rows: ask about so many rows, those that tell most.",
        kind="integer",
        low=1,
        flag="--next",
    )
    question: str | None = _queue(
        None,
        "With --next: what the labels are for [default: what the run left open].",
        flag="--for",
        metavar="|".join(QUESTIONS),
    )
    left_by: str | None = _queue(
        None,
        "With --next: the run that left it open [default: the last].",
        flag="--run",
        metavar="RUN",
    )
    verdicts: Path | None = _queue(
        None,
        "With --next: a judge's verdicts on the rows, as `bench --out` writes them.",
        kind="path",
    )
    annotator: str | None = _queue(None, "Who labels [default: your login name].", metavar="NAME")
    out: Path | None = option(
        "Output", None, "Write rows and labels instead, as .jsonl or .csv.", kind="out"
    )


OFTEN = """
--rows --judge --ask --again --second --next --for --run --verdicts --annotator --label --group
--column --label-scale --limit --out --workspace --json
"""
"""The options that `--help` shows."""


@click.command(cls=Command, often=OFTEN, epilog=EXAMPLES)
@click.argument("queues", nargs=-1, metavar="[QUEUE]...")
@options_of(options=LabelOptions, reading=RowOptions)
@sealed_option
@writes_workspace
def label(
    queues: tuple[str, ...],
    options: LabelOptions,
    reading: RowOptions,
    sealed: bool,
    workspace: Workspace,
    as_json: bool,
) -> None:
    """Label the rows of QUEUE, one key each; what judges say of them is not shown.

    QUEUE is a run's id, the beginning of one, its name, or `latest`; --rows makes one, and without
    either the queues are listed. Each label is kept at once: stop with q, or in any other way, and
    the same command goes on. With a pipe on stdin each line is an answer.

    With --out the labels of QUEUE, or of all queues, are written with the columns of their rows. Of
    a row that was labelled several times the latest label counts; the column sampling_probability
    says with which probability a row was drawn.
    """
    if options.out is not None or not (queues or options.rows):
        _take_out(workspace, queues, options.out, as_json=as_json)
        return
    on_screen = not as_json and has_screen()
    if on_screen:
        say("reading the queue...", to_stderr=True)
    from ..labels.session import LabelSession, login_name

    if len(queues) + (options.rows is not None) != 1:
        raise InputError(
            "label which rows?",
            hint="judgewright label QUEUE goes on; judgewright label --rows FILE begins",
        )
    if options.rows is not None:
        queue = _make_queue(workspace, options.rows, options, reading, sealed=sealed)
    else:
        workspace.require("give --workspace, or --rows FILE")
        (queue,) = queues
    session = LabelSession(workspace, queue, options.annotator or login_name())
    keys = AnswerKeys.of(session.config.label_scale)
    done = stopped = False
    try:
        if HAS_KEYS and on_screen and keys.grades:
            with KeyAnswers() as answers:
                done = _ask(session, keys, answers)
        else:
            done = _ask(session, keys, LineAnswers(to_stderr=as_json))
    except KeyboardInterrupt:
        # Each label is kept as it is given: to be interrupted is no failure.
        stopped = True
    finally:
        session.end(done=done)
        named = f" --annotator {options.annotator}" if options.annotator else ""
        _say_end(session, done=done, named=named, there=elsewhere(workspace.place), as_json=as_json)
    if stopped:
        sys.exit(INTERRUPTED)


def _take_out(
    workspace: Workspace, names: tuple[str, ...], out: Path | None, *, as_json: bool
) -> None:
    """Write the labels of queues, or list the queues."""
    from ..labels.export import export_labels, read_queues
    from ..reports.data_report import say_label_queues

    workspace.require("give --workspace; or judgewright label --rows FILE makes a queue")
    queues = read_queues(workspace, names)
    summaries = [queue.summary() for queue in queues]
    if out is None:
        body = {"queues": list(map(asdict, summaries))}
        answer(body, partial(say_label_queues, summaries), as_json=as_json)
        return
    written = export_labels(queues, out)
    lines = [f"{written:,} labelled rows in {out}"]
    if missing := sum(sum(one.missing.values()) for one in summaries):
        lines.append(f"note: {missing:,} rows were skipped, or two annotators disagree")
    if repeated := sum(one.labelled for one in summaries) - written:
        labels = f"{repeated:,} labels are" if repeated > 1 else "1 label is"
        lines.append(f"note: {labels} left out, as a later one is of a row with the same texts")
    body = {"queues": list(map(asdict, summaries)), "rows": written, "out": str(out)}
    answer(body, "\n".join(lines), as_json=as_json)


def _make_queue(
    workspace: Workspace, path: Path, options: LabelOptions, reading: RowOptions, *, sealed: bool
) -> str:
    from ...judges.files import guess_label
    from ..labels.queue import create_queue, list_rows, read_rows_to_label
    from ..store.sealed_rows import read_open

    how = reading.as_arguments()
    read = read_open(
        workspace,
        read_rows_to_label(workspace.registry, path, how, judge=options.judge),
        sealed=sealed,
    )
    read.enter(workspace, by="label")
    notes = [*read.notes]
    column, _ = guess_label(read.dataset.rows)
    if column and reading.label is None:
        named = f"--label {shlex.quote(column)}"
        notes.append(f"every row is asked about: {named} leaves out those with a label there")
    for note in notes:
        say(f"note: {note}", to_stderr=True)
    dataset = read.dataset
    if options.next_ is None:
        config = list_rows(dataset, path=path, reading=how, again=options.again)
    else:
        config = _list_next(workspace, dataset, path, options, how)
    return create_queue(
        workspace, replace(config, question=options.ask, second=read_share(options.second))
    )


def _list_next(
    workspace: Workspace,
    dataset: Dataset,
    path: Path,
    options: LabelOptions,
    reading: Mapping[str, Any],  # Any: JSON
) -> QueueConfig:
    """Draw the rows that tell most about what is open, and say what their labels are expected to
    change.
    """
    from ...judges.files import VerdictColumns
    from ..actions.verdict_pairs import read_verdicts
    from ..labels.next_rows import (
        draw_rows,
        find_run_to_label_for,
        named_question,
        open_question,
    )
    from ..labels.queue import list_next

    run = find_run_to_label_for(workspace, options.left_by)
    aim = open_question(run)
    if options.question is not None and options.question != aim.question:
        aim = named_question(options.question, run)
    verdicts = (
        None
        if options.verdicts is None
        else read_verdicts(options.verdicts, None, VerdictColumns())
    )
    drawn = draw_rows(aim, dataset, options.next_ or 0, run=run, verdicts=verdicts)
    say(
        f"{len(drawn.ids)} rows to label, {drawn.inside} of them telling most: {aim.why}",
        to_stderr=True,
    )
    return list_next(dataset, drawn, aim, path=path, reading=reading)


def read_share(text: str) -> float:
    """Read which share of the rows a second annotator labels.

    Raises:
        InputError: It is not none, all or a share.
    """
    if text in ("none", "all"):
        return float(text == "all")
    try:
        share = float(text)
    except ValueError:
        share = -1.0
    if not 0 <= share <= 1:
        raise InputError(f"--second {text!r} is not none, all or a share such as 0.2")
    return share


def _ask(session: LabelSession, keys: AnswerKeys, answers: LineAnswers) -> bool:
    """Ask about row after row; return whether nothing is left, rather than that the annotator
    left.
    """
    from ..labels.queue import reading_order

    note, before, current, order = "", None, None, reading_order(session.rows)
    while (row := session.next()) is not None:
        began = time.monotonic()
        question = session.config.question or keys.question()
        foot = [question, *keys.legend(), f"{SKIP} skip   {UNDO} undo   {END} quit"]
        notes = [
            note,
            "the same texts as a row labelled before" if session.had_same_texts(row) else "",
        ]
        head = ", ".join(filter(None, (_progress_line(session.progress()), *notes)))
        # A row that is shown once more is still compared with the one before it.
        is_same = current is None or current.id == row.id
        before, current = (before, row) if is_same else (current, row)
        answers.show(head, row_lines(row, order, width=answers.width, before=before), foot)
        answer = _answer(keys, answers)
        seconds = round(time.monotonic() - began, 1)
        note = ""
        if answer == END:
            return False
        if answer == UNDO:
            note = "taken back" if session.undo() else "there is nothing to take back"
        elif not isinstance(answer, str):
            session.label(answer, seconds=seconds)
        elif reason := _skip_reason(answer.removeprefix(SKIP).strip(), answers):
            session.skip(reason, seconds=round(time.monotonic() - began, 1))
    return True


def _progress_line(progress: Progress) -> str:
    skipped = f", {progress.skipped} skipped" if progress.skipped else ""
    return f"{progress.labelled} labelled{skipped}, of {progress.rows}"


def _answer(keys: AnswerKeys, answers: LineAnswers) -> float | str:
    """Return a grade, or what begins with one of the letters that stand for something else."""
    while True:
        text = answers.read()
        grade = keys.read(text)
        if grade is not None:
            return grade
        if text in (UNDO, END) or text == SKIP or text.startswith(f"{SKIP} "):
            return text
        answers.refuse(text, f"{keys.listed()}, {SKIP} to skip, {UNDO} to undo, {END} to leave")


def _skip_reason(typed: str, answers: LineAnswers) -> str:
    """Return why a row is skipped; empty to label it after all."""
    if typed:
        return REASONS.get(typed, typed)
    listed = "  ".join(f"{key} {reason}" for key, reason in REASONS.items())
    line = answers.read_reason(f"Why? {listed}\nor your words; Enter goes back: ")
    return "" if line == END else REASONS.get(line, line)


def _say_end(session: LabelSession, *, done: bool, named: str, there: str, as_json: bool) -> None:
    from ..reports.printing import say_template

    progress = session.progress()
    if as_json:
        say_json({"queue": session.run_id, **asdict(progress), "done": done})
        return
    say_template(
        "label_end",
        progress=progress,
        done=done,
        second=session.is_second,
        queue=session.run_id,
        named=named,
        there=there,
    )

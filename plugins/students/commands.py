"""`judgewright students`: small models that learn a judge's verdicts."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from ...optimize.options import option
from ...runs.commands.decorators import REQUIRED, json_option, options_of, reads_workspace, takes
from ...runs.commands.help import Group
from ...runs.commands.output_paths import OutFolder
from ...runs.config.command_options import RowOptions
from ...runs.terminal import answer, counting_on_stderr, say, say_json, say_table, simulated_mark

if TYPE_CHECKING:
    from ...judges import JudgedDataset
    from ...judges.files import VerdictColumns
    from ...runs.store.workspace import Workspace
    from .actions import StudentReport

TRAIN = """\
Example:  judgewright students train verdicts.jsonl --inputs source,statement --out student.json
Of bench: judgewright students train verdicts.jsonl --rows rows.jsonl --inputs source,statement --out student.json
"""  # noqa: E501
DATA = (
    "Example:  judgewright students data verdicts.jsonl --judge groundedness --rows rows.jsonl"
    " --out chats"
)
JUDGE = """\
Example:  judgewright students judge student.json rows.jsonl --out verdicts.jsonl
"""

_data = partial(option, "Data")
_train = partial(option, "Calibration")


@dataclass(frozen=True, kw_only=True)
class TeacherOptions:
    """How the teacher's verdict file is read."""

    rows: Path | None = _data(
        None,
        "The rows that were judged, where the verdict file lacks their texts (as that of `bench"
        " --out`).",
        kind="path",
    )
    score: str = _data("verdict", "Column of the teacher's decision, or grade.")
    label: str = _data("label", "Column of people's label: measured by, never learned.")
    threshold: float | None = _data(None, "From which grade on both sides say yes.", kind="number")
    label_threshold: float | None = _data(
        None, "From which label on people do, where that differs.", kind="number"
    )
    group: str | None = _data(
        None, "Column of the group [default: as `score`, else the text that repeats most]."
    )
    seed: int = _data(0, "Seed of the folds, or of the rows that are held out.", low=0)

    def columns(self) -> VerdictColumns:
        """Return which columns are read."""
        from ...judges.files import VerdictColumns

        return VerdictColumns(
            label=self.label,
            require_labels=False,
            score=self.score,
            threshold=self.threshold,
            label_threshold=self.label_threshold,
            group=self.group,
        )


@dataclass(frozen=True, kw_only=True)
class TrainOptions(TeacherOptions):
    """How the student is trained."""

    inputs: tuple[str, ...] = _data(
        (),
        "The two texts: what should bear out, what is borne out [default: where there are two].",
        kind="names",
    )
    folds: int = _train(5, "Folds of groups.", low=2)
    method: Literal["platt", "isotonic"] = _train(
        "platt", "How confidence is calibrated.", choices=("platt", "isotonic")
    )
    metric: str = _train("f1", "What the threshold maximises, by the teacher's decisions.")


@dataclass(frozen=True, kw_only=True)
class ChatOptions(TeacherOptions):
    """What chats are made."""

    share: float = _data(0.2, "Share of the groups that is held out.")


@click.group(cls=Group)
def students() -> None:
    """Train a small student on a judge's verdicts, or make the data to fine-tune one."""


@students.command(epilog=TRAIN)
@click.argument("verdicts", type=click.Path(path_type=Path))
@options_of(options=TrainOptions)
@takes("out", None, "Write the student as JSON.", kind="out")
@takes(
    "held_out", None, "Write its verdicts on held-out rows, for score, slices and gate.", kind="out"
)
@reads_workspace
def train(
    verdicts: Path,
    options: TrainOptions,
    out: Path | None,
    held_out: Path | None,
    workspace: Workspace,
    as_json: bool,
) -> None:
    """Train a student on the decisions of VERDICTS, on this machine, and measure it beside its
    teacher and people.

    The student is a calibrated logistic regression on features of two texts: words, numbers and
    names that are covered, lengths, negation. Each row is judged by a student that was trained
    without its group.
    """
    from ...judges import InputError
    from ...judges.metrics import BINARY_METRICS
    from ...runs.actions.bench import write_verdicts
    from ...runs.store.sealed_rows import read_open, seal_judges
    from ..students import StudentSettings, write_student
    from .actions import read_teacher, run_training

    if options.metric not in BINARY_METRICS:
        raise InputError(f"--metric {options.metric!r} is none of {', '.join(BINARY_METRICS)}")
    if len(options.inputs) not in (0, 2):
        raise InputError(f"--inputs names {len(options.inputs)} texts, and a student reads two")
    named = (options.inputs[0], options.inputs[1]) if options.inputs else None
    settings = StudentSettings(
        inputs=named,
        folds=options.folds,
        metric=options.metric,
        method=options.method,
        seed=options.seed,
    )
    teacher = read_teacher(verdicts, options.columns(), rows=options.rows, inputs=options.inputs)
    teacher = read_open(workspace, teacher.dataset, way="").of(teacher)
    with counting_on_stderr("students", quiet=as_json) as count:
        report = run_training(teacher, settings, count=count)
    ((_, seal),) = seal_judges(
        workspace, [report.trained.held_out], show_all=False, by="student train"
    )
    report = replace(report, notes=(*report.notes, *seal.notes(), *seal.look_note()))
    if out is not None:
        write_student(report.trained.student, out)
    if held_out is not None:
        write_verdicts(seal.shown(report.trained.held_out), held_out)
    files = {"out": out and str(out), "held_out": held_out and str(held_out)}
    text = partial(_say, report, out, held_out)
    answer(report.to_json() | files, text, as_json=as_json)


@students.command(epilog=DATA)
@click.argument("verdicts", type=click.Path(path_type=Path))
@takes("judge", REQUIRED, "The judge whose task it is: name, name@version or YAML file.")
@options_of(options=ChatOptions)
@takes(
    "out", REQUIRED, "Folder of the chats, the held-out rows and student.yaml.", type=OutFolder()
)
@reads_workspace
def data(
    verdicts: Path, judge: str, options: ChatOptions, out: Path, workspace: Workspace, as_json: bool
) -> None:
    """Write the verdicts of VERDICTS as chats to fine-tune any model on, with groups of rows held
    out.

    student.yaml is the judge to use the tuned model with, held_out.jsonl is for the fine-tuner's
    own validation, and held_out_rows.jsonl has the same rows with people's labels, to measure the
    tuned model on.
    """
    from ...judges import write_beside
    from ...runs.store.sealed_rows import seal_of
    from ..students import chat_data
    from .actions import read_teacher

    prompt = workspace.registry.get(judge)
    texts = prompt.inputs if options.rows is not None else ()
    teacher = read_teacher(verdicts, options.columns(), rows=options.rows, inputs=texts)
    seal = seal_of(workspace, teacher.dataset, by="student data")
    chats = chat_data(seal.shown(teacher), prompt, share=options.share, seed=options.seed)
    out.mkdir(parents=True, exist_ok=True)
    for name, part in (("train.jsonl", chats.train), ("held_out.jsonl", chats.held_out)):
        write_beside(
            out / name, "".join(json.dumps(chat, ensure_ascii=False) + "\n" for chat in part)
        )
    _write_rows(teacher, frozenset(chats.held_out_ids), out / "held_out_rows.jsonl")
    chats.prompt.write(out / "student.yaml")
    notes = [*teacher.dataset.notes, *seal.notes()]
    counts = {"train": len(chats.train), "held_out": len(chats.held_out)}
    if as_json:
        groups = dict(zip(counts, chats.groups, strict=True))
        answers = {"scale": chats.prompt.scale.describe(), "simulated": teacher.simulated}
        rest = {"left_out": dict(chats.left_out), "notes": notes, "out": str(out)}
        say_json(counts | {"groups": groups} | answers | rest)
        return
    for note in (
        *notes,
        *(f"left out, as {reason}: {n:,} rows" for reason, n in chats.left_out.items()),
    ):
        say(f"note: {note}")
    say(f"\nchats of {teacher.judge}{simulated_mark(teacher.simulated)}, written to {out}")
    lines = [
        (name, f"{n:,}", f"{groups:,}")
        for (name, n), groups in zip(counts.items(), chats.groups, strict=True)
    ]
    say_table(("part", "chats", "groups"), lines)
    say(
        f"the student answers {chats.prompt.scale.describe()}; measure the tuned model, served"
        " under a NAME:"
    )
    say(f"  judgewright bench {out / 'student.yaml'} {out / 'held_out_rows.jsonl'} --model NAME")


@students.command("judge", epilog=JUDGE)
@click.argument("model", metavar="STUDENT", type=click.Path(path_type=Path))
@click.argument("rows", type=click.Path(path_type=Path))
@options_of(options=RowOptions)
@takes("out", REQUIRED, "Write the verdicts, for score, slices and gate.", kind="out")
@json_option
def judge_(
    model: Path,
    rows: Path,
    options: RowOptions,
    out: Path,
    as_json: bool,
) -> None:
    """Judge ROWS with a STUDENT that `student train` wrote; no model is asked."""
    from ...judges.files import load_as_said
    from ...judges.scale import PROBABILITY
    from ...runs.actions.bench import write_verdicts
    from ..students import read_student

    taught = read_student(model)
    reading = options.as_arguments()
    dataset = load_as_said(
        rows, reading, inputs=taught.inputs, scale=PROBABILITY, require_labels=False
    )
    judged = taught.judge(dataset)
    write_verdicts(judged, out)
    answered = len(judged.answers) - sum(judged.unscored.values())
    if as_json:
        counts = {"rows": len(judged.answers), "decided": answered}
        say_json(
            counts | {"simulated": taught.simulated, "out": str(out), "notes": list(dataset.notes)}
        )
        return
    for note in dataset.notes:
        say(f"note: {note}")
    say(
        f"\n{taught.name}{simulated_mark(taught.simulated)}: {answered:,} of"
        f" {len(judged.answers):,} rows decided"
    )
    say(f"verdicts written to {out}")


def _write_rows(judged: JudgedDataset, ids: frozenset[str], path: Path) -> None:
    from ...judges import write_beside

    lines: list[str] = []
    for row in judged.dataset.rows:
        if row.id in ids:
            body = {
                **row.meta,
                "id": row.id,
                **row.inputs,
                "label": row.label,
                "group": row.group or None,
            }
            lines.append(json.dumps(body, ensure_ascii=False) + "\n")
    write_beside(path, "".join(lines))


def _say(report: StudentReport, out: Path | None, held_out: Path | None) -> None:
    from .actions import SHOWN, WORTH

    one = report.trained.student
    judged = report.trained.held_out
    for note in (*judged.dataset.notes, *report.notes):
        say(f"note: {note}")
    say(f"\n{one.name}, by {' and '.join(one.inputs)}{simulated_mark(one.simulated)}")
    say(
        f"  {len(judged.answers):,} rows, each judged by a student of the folds that its group is"
        " not in"
    )
    names = [
        name
        for name in SHOWN
        if any(name in side.metrics for side in (report.agreement, *report.sides.values()))
    ]
    columns = {**report.sides, "student by teacher": report.agreement}
    heads = {"teacher": "teacher by people", "student": "student by people"}
    lines = [
        (
            name,
            *(
                str(side.metrics[name]) if name in side.metrics else "-"
                for side in columns.values()
            ),
        )
        for name in names
    ]
    say_table(("metric", *(heads.get(name, name) for name in columns)), lines)
    if report.change is not None:
        change = report.change
        interval = "" if change.low is None else f" [{change.low:+.4f}, {change.high:+.4f}]"
        verdicts = {
            True: f"at most {WORTH:.2f} behind",
            False: f"more than {WORTH:.2f} behind",
            None: f"whether it is more than {WORTH:.2f} behind is not shown",
        }
        say(
            f"F1, student less teacher: {change.difference:+.4f}{interval}:"
            f" {verdicts[report.is_within]}"
        )
    written = [f"student: {out}"] if out else []
    written += [f"held-out verdicts: {held_out}"] if held_out else []
    if written:
        say("\nwritten: " + ", ".join(written))

"""Find the slices of a run or a verdict file, look closer at one, and save it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from ...judges import InputError, JudgedDataset
from ...judges.files import VerdictColumns, group_by_text, with_audited_labels
from ...optimize import choose_target
from ...optimize.losses import ClassNames
from ...optimize.options import option
from ...slices import (
    FoundSlice,
    Predicate,
    SliceReport,
    find_confusions,
    find_slices,
)
from ...slices.inspect_slice import MeasuredSlice
from ...slices.saved import SavedSlice, read_slice, save_slice
from ...slices.significance import MIN_GROUPS
from ...slices.target import TARGETS
from ..store.journal import find_run
from ..store.sealed_rows import enter_look, read_open, require_shown, seal_of, version_of
from ..store.workspace import Workspace
from .run_summary import baseline, read_run
from .show_rows import shown_rows
from .verdict_pairs import read_verdicts, split_name

_slices = partial(option, "Slices")


_SLICED = ("optimize", "bench")
"""Kinds of runs whose verdicts are searched."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """What is searched for, and where; each field is also an option of the command `slices`."""

    metric: str | None = _slices(
        None,
        "The metric that should be poor on the slice, such as recall; of classes also recall[NAME] "
        "[default: precision; accuracy_grades of classes].",
    )
    columns: tuple[str, ...] = _slices(
        (),
        "Comma-separated columns to search [default: all columns that do not leak the label].",
        kind="names",
    )
    keep: tuple[str, ...] = _slices(
        (),
        "Comma-separated columns to search though named like a label or a judge's output.",
        kind="names",
    )
    text: bool | None = _slices(
        None,
        "Search by what texts look like [default: where there are any].",
        kind="flag",
        flag="--text/--no-text",
    )


def read_judged(
    source: str,
    workspace: Workspace,
    columns: VerdictColumns = VerdictColumns(),  # noqa: B008 - frozen
    *,
    named: Sequence[str] = (),
    show_all: bool = False,
    sealed: bool = False,
    audited: Path | None = None,
) -> JudgedDataset:
    """Return the open rows of a verdict file; where there is no such file, those of a run.

    Args:
        source: A path, or a run as `find_run` takes it.
        show_all: Whether to return a file's rows that are sealed to a run too, which opens them.
        sealed: Whether to read a file's rows that a person sealed first too, which is a look.
        audited: A file with marks, whose labels count instead.

    Raises:
        InputError: There is neither, every row is sealed, or a run was given with options that say
            how a file is read.
    """
    if Path(source).exists() or Path(source).suffix:
        judged = read_verdicts(*(split_name(source) or (Path(source), None)), columns)
        if audited is not None:
            judged = replace(judged, dataset=with_audited_labels(judged.dataset, audited))
        return open_rows(workspace, judged, show_all=show_all, sealed=sealed)
    if show_all or sealed:
        name = "--all" if show_all else "--sealed"
        raise InputError(f"{name} is for a verdict file; of a run only the open rows are read")
    if named:
        raise InputError(f"{named[0]} says how a verdict file is read, and {source!r} is no file")
    run_id = source
    if workspace.exists:
        run_id = find_run(
            workspace.database, source, kinds=_SLICED, come_to=("benchmark", "measured")
        )
    run = read_run(workspace, run_id)
    if run.record.kind not in _SLICED:
        raise InputError(
            f"run {run_id!r} is a {run.record.kind}: slices are found in a bench or an optimization"
        )
    measured = run.record.kind == "bench"
    judged = shown_rows(workspace, run).judged if measured else baseline(workspace, run)
    if audited is not None:
        # The file may mark rows that are sealed to the run, of which nothing is said here.
        judged = replace(
            judged, dataset=with_audited_labels(judged.dataset, audited, complete=False)
        )
    note = (
        "only the run's open rows (training and validation) are read; holdout and final stay sealed"
    )
    if measured:
        note = "only the bench's open rows are read; what is sealed to a run stays sealed"
    return replace(judged, dataset=replace(judged.dataset, notes=(*judged.dataset.notes, note)))


def open_rows(
    workspace: Workspace, judged: JudgedDataset, *, show_all: bool, sealed: bool = False
) -> JudgedDataset:
    """Leave out what is sealed to a run, and enter that the rest was looked at with this judge."""
    # Rows of one query err together: as independent they would find slices in noise.
    judged = replace(judged, dataset=group_by_text(judged.dataset, fewest=2 * MIN_GROUPS))
    read = read_open(workspace, judged.dataset, sealed=sealed or show_all)
    judged = read.of(judged).noting(*read.notes)
    notes: tuple[str, ...] = ()
    if not read.sealed or show_all:
        seal = seal_of(workspace, judged.dataset, show_all=show_all, by="slices")
        notes, judged = seal.notes(), seal.shown(judged)
        instead = "judgewright slices RUN shows that run's open rows"
        require_shown(seal, name=judged.dataset.name, instead=instead)
    if workspace.exists:
        enter_look(workspace, read.looked_at_by(version_of(judged)), judged.dataset, by="slices")
    return judged.noting(*notes)


def require_decisions(judged: JudgedDataset, what: str) -> None:
    """Refuse to look at one slice of a judge that chooses among classes, in a way that needs
    positives and negatives.

    Raises:
        InputError: It chooses.
    """
    if judged.scale.kind == "choice":
        raise InputError(
            f"{what} needs a judge that decides yes or no, and this one chooses among classes",
            hint=(
                "without it the slices are found where one class is called a certain other; --rows"
                " N shows them"
            ),
        )


def searched_metric(judged: JudgedDataset, options: Search) -> str:
    """Return the metric that was asked for, else the usual one of such a judge.

    Raises:
        InputError: Slices are not searched by it.
    """
    classes = ClassNames.of(judged.scale)
    if classes is None:
        metric = options.metric or "precision"
        if metric not in TARGETS:
            raise InputError(
                f"slices are not searched by {metric!r}",
                hint=f"--metric is one of {', '.join(TARGETS)}",
            )
        return metric
    return classes.metric_name(options.metric or "accuracy_grades")


def search(
    judged: JudgedDataset, options: Search, progress: Callable[[int, int], None] | None = None
) -> SliceReport:
    """Find the slices.

    Of a judge that chooses among classes they are where one class is called a certain other.
    """
    if judged.scale.kind == "choice":
        return find_confusions(
            judged,
            metric=searched_metric(judged, options),
            columns=options.columns or None,
            keep=options.keep,
        )
    return find_slices(
        judged,
        metric=searched_metric(judged, options),
        columns=options.columns or None,
        keep=options.keep,
        text=_reads_texts(judged, options),
        progress=progress,
    )


def _reads_texts(judged: JudgedDataset, options: Search) -> bool:
    return any(row.inputs for row in judged.rows) if options.text is None else options.text


def named_slice(
    judged: JudgedDataset, options: Search, text: str, saved: Mapping[str, str]
) -> Predicate:
    """Return the slice that a number of the table, a saved slice's name or path, or a predicate
    stands for.
    """
    if not text.strip().isdecimal():
        return read_slice(text, saved)
    return numbered(search(judged, options), int(text)).predicate


def numbered(report: SliceReport, number: int) -> FoundSlice:
    """Return the slice with a number of the table.

    Raises:
        InputError: There is no such number.
    """
    if not 1 <= number <= len(report.slices):
        numbers = f"there are 1 to {len(report.slices)}" if report.slices else "none was found"
        raise InputError(
            f"there is no slice number {number}; {numbers}", hint="or write the slice out"
        )
    return report.slices[number - 1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """Which slice to optimize on, and why; or why none."""

    number: int | None
    """In the table; None where nothing is confirmed as a target."""
    why: str


def advise(report: SliceReport) -> Advice:
    """Advise which slice to optimize on, or explain why none."""
    if any(one.prompt_target for one in report.slices):
        chosen, why = choose_target(report, None)
        if chosen is not None:
            return Advice(number=report.slices.index(chosen) + 1, why=f"It is {why}")
    reasons: dict[str, list[str]] = {}
    for i, one in enumerate(report.slices, 1):
        if one.confirmed:
            reasons.setdefault(one.why_no_target, []).append(str(i))
    if reasons:
        clauses = []
        for why, numbers in reasons.items():
            noun = "slices" if len(numbers) > 1 else "slice"
            clauses.append(f"{noun} {', '.join(numbers)} ({why})")
        return Advice(
            number=None,
            why=f"Confirmed, but nothing a prompt is known to mend: {'; '.join(clauses)}",
        )
    if report.slices:
        best = min(range(len(report.slices)), key=lambda i: report.slices[i].p)
        p = report.slices[best].p
        return Advice(
            number=None,
            why=(
                f"Nothing is confirmed: what is listed may be chance (slice {best + 1} the least, p"
                f" = {p:.2g}), and a prompt tuned on it would be tuned on noise; more labels would"
                " tell"
            ),
        )
    return Advice(
        number=None, why=f"No slice stands out with a poorer {report.metric} than elsewhere"
    )


def to_json(report: SliceReport, judged: JudgedDataset) -> dict[str, Any]:  # Any: JSON
    """Return the report with what the table shows beside it."""
    advice = advise(report)
    slices = [
        one.to_json()
        | {
            "number": i,
            "fp_share": one.fp_share,
            "direction_p": one.direction_p,
            "gain_low": one.gain_low,
            "why_no_target": one.why_no_target or None,
        }
        for i, one in enumerate(report.slices, 1)
    ]
    optimize_on = str(report.slices[advice.number - 1].predicate) if advice.number else None
    return report.to_json() | {
        "slices": slices,
        "reading": list(judged.dataset.notes),
        "simulated": judged.simulated,
        "optimize_on": optimize_on,
        "why": advice.why,
    }


def save_found(report: SliceReport, judged: JudgedDataset, target: str) -> tuple[Path, FoundSlice]:
    """Save a slice that was found: the one numbered in `N=FILE`, or for `FILE` the one to optimize
    on.

    Raises:
        InputError: There is no such slice, or none is confirmed as a target and none was named.
    """
    before, between, after = target.partition("=")
    by_number = bool(between) and before.isdecimal()
    number = int(before) if by_number else advise(report).number
    if number is None:
        raise InputError(
            f"no slice is confirmed as a target, so none is saved. {advise(report).why}",
            hint=(
                "to save one all the same, name it, such as --save 1=slice.yaml"
                if report.slices
                else None
            ),
        )
    chosen, path = numbered(report, number), Path(after if by_number else target)
    save(chosen, judged, path)
    return path, chosen


def save(chosen: FoundSlice | MeasuredSlice, judged: JudgedDataset, path: Path) -> None:
    """Save a slice that was found, or that a person chose."""
    save_slice(
        SavedSlice.of(chosen, judged, saved_at=datetime.now(UTC).isoformat(timespec="seconds")),
        path,
    )

"""The rows of a run that may be shown, with the verdicts that it recorded; no model is asked.

A row that is sealed is left out, whichever run sealed it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

from ...judges import InputError, JudgedDataset, Recorded, Row, Verdict, judge
from ...judges.claims import judge_as
from ...judges.files import VerdictColumns
from ...optimize import open_rows
from ...optimize.events import JudgeMeasured
from ...optimize.holdout.row_fingerprints import KEY_COLUMN
from ...optimize.holdout.text_fingerprints import texts_of
from ..store.banks import banks_of
from ..store.bench_config import BenchConfig
from ..store.sealed_rows import Seal, any_sealed, seal_of
from ..store.workspace import Workspace
from .run_summary import RunSummary, recorded_client, recorded_verdicts, sealed_split
from .verdict_pairs import read_verdicts

Side = Literal["before", "after"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownRows:
    """The rows of a run that may be shown, judged."""

    judged: JudgedDataset
    sealed: int
    """How many rows are left out because they are sealed."""
    note: str
    """In a sentence, which rows these are."""


def shown_rows(workspace: Workspace, run: RunSummary, side: Side = "after") -> ShownRows:
    """Return a run's rows with its verdicts.

    Args:
        run: A benchmark, or an optimization that has measured its first prompt.
        side: Of an optimization, which prompt's verdicts; the first prompt's where there is no new
            one.

    Raises:
        InputError: The run has no verdicts on rows, or its rows have changed.
        ModelError: An answer is not in the record.
    """
    if run.record.kind == "bench":
        return _of_bench(workspace, run)
    if run.record.kind == "optimize":
        return _of_optimization(workspace, run, side)
    raise InputError(f"a run of `{run.record.kind}` has no rows to look at here")


def shown_verdicts(workspace: Workspace, path: Path, name: str | None = None) -> ShownRows:
    """Return the rows of a verdict file, with one judge's verdicts; a name chooses among several.

    Raises:
        InputError: There is no such judge, or nothing tells which of the rows are sealed.
        DataError: The file cannot be used.
    """
    judged = read_verdicts(path, name, VerdictColumns(require_labels=False))
    if any_sealed(workspace) and not all(map(_recognisable, judged.dataset.rows)):
        raise InputError(
            f"rows of {path.name} have no text, no {KEY_COLUMN} and no id but their line: nobody"
            " could tell which of them are sealed",
            hint="add the column `id` of the rows that were judged; `bench --out` writes it",
        )
    return _without_sealed(workspace, judged, f"rows of {path.name}, known by `{KEY_COLUMN}` or id")


def _recognisable(row: Row) -> bool:
    return not row.id.isdecimal() or KEY_COLUMN in row.meta or any(texts_of(row))


def _of_bench(workspace: Workspace, run: RunSummary) -> ShownRows:
    measured, config = run.last(JudgeMeasured), BenchConfig.from_json(run.record.config)
    prompt = config.prompt_measured(banks_of(workspace))
    dataset = config.dataset(prompt)
    if measured is None:
        raise InputError(
            f"run {run.run_id} has not measured its rows to the end", hint="bench the judge again"
        )
    model = Recorded(name=measured.model, endpoint=measured.endpoint, simulated=measured.simulated)
    with recorded_client(workspace, run.run_id, model, measured.settings) as client:
        ask = partial(judge_as, claims=config.claim_settings)
        if (question := config.question(prompt, client.settings.api)) is not None:
            ask = partial(judge, question=question)
        settings, rule = config.judge_settings(), config.decision_rule
        judged = ask(prompt, dataset, client, settings=settings, rule=rule)
    rounds = f" in the first of {config.repeat} rounds" if config.repeat > 1 else ""
    return _without_sealed(workspace, judged, f"rows of the file{rounds}")


def _of_optimization(workspace: Workspace, run: RunSummary, side: Side) -> ShownRows:
    parts = sealed_split(workspace, run)
    prompt, rows, which = run.before, open_rows(parts), "training and validation rows"
    rule = None
    if side == "after" and run.after is not None:
        prompt, rule = run.after, run.new_rule
        if not run.finished:
            # Only the end of a run judges the training rows with the new prompt.
            rows, which = parts.validation, "validation rows"
    judged = recorded_verdicts(workspace, run, prompt, rows)
    if rule is not None:
        judged = judged.under(rule)
    return _without_sealed(workspace, judged, which)


def _without_sealed(workspace: Workspace, judged: JudgedDataset, which: str) -> ShownRows:
    seal: Seal = seal_of(workspace, judged.dataset, by="review")
    note = f"{len(judged.dataset) - seal.count:,} {which}"
    if seal.count:
        note += f"; {seal.count:,} more are sealed {seal.sealed_by} and not shown"
    return ShownRows(judged=seal.shown(judged), sealed=seal.count, note=note)


def in_words(judged: JudgedDataset, grade: float, *, positive: bool) -> str:
    """Return a grade as people read it: the class of a choice, else yes or no beside the number."""
    if judged.scale.kind == "choice":
        return judged.scale.name(grade)
    return f"{'yes' if positive else 'no'} ({round(grade, 3):g})"


def verdict_words(judged: JudgedDataset, verdict: Verdict) -> str:
    """Return what a judge says, in words."""
    return in_words(judged, verdict.score, positive=verdict.positive)


def error_of(judged: JudgedDataset, row: Row, verdict: Verdict) -> str:
    """Name the error of a wrong verdict: FP, FN, or of a choice which class is called which."""
    if judged.scale.kind == "choice" and row.label is not None:
        return f"{judged.scale.name(row.label)} called {judged.scale.name(verdict.score)}"
    return "FP" if verdict.positive else "FN"


def verdict_body(judged: JudgedDataset, verdict: Verdict) -> dict[str, Any]:  # Any: JSON
    """Return a verdict as JSON, with its distribution where it has one."""
    return {
        "score": verdict.score,
        "positive": verdict.positive,
        "confidence": verdict.confidence,
        "rationale": verdict.rationale,
        **judged.distribution_fields(verdict),
    }

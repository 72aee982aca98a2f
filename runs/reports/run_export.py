"""A finished run written for others: one HTML file, a Markdown for a pull request, and JSONL files.

Everything comes from the journal and the record of calls; no model is asked. The rows in it are
training and validation rows: the holdout and the final rows stand in no file, but for the figures
that the journal has of them.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ...judges import Dataset, InputError, JudgePrompt, Verdict, load_prompt, write_beside
from ...judges.cases import bank_path
from ..actions.flips import BothSides, both_sides
from ..actions.run_summary import RunSummary, read_optimization, sealed_split
from ..store.workspace import Workspace
from .run_view import render_html, render_markdown

FORMATS = ("html", "md", "jsonl")


def export_run(
    workspace: Workspace, run_id: str, folder: Path, *, formats: Sequence[str]
) -> tuple[Path, ...]:
    """Write a run into a folder, which is made where it is missing; files that are there are
    replaced.

    Args:
        run_id: A run with a decision.
        formats: Some of `FORMATS`.

    Returns:
        The files written.

    Raises:
        InputError: The run has no decision yet, or its data have changed.
        ModelError: An answer is not in the record.
    """
    run = read_optimization(workspace, run_id)
    if run.decision is None:
        raise InputError(
            f"run {run_id!r} has no decision yet", hint=f"judgewright runs resume {run_id}"
        )
    rows = both_sides(workspace, run)
    folder.mkdir(parents=True, exist_ok=True)
    paths: list[Path] = []
    if "html" in formats:
        paths.append(folder / "run.html")
        write_beside(paths[-1], render_html(run, rows))
    if "md" in formats:
        paths.append(folder / "run.md")
        write_beside(paths[-1], render_markdown(run, rows))
    if "jsonl" in formats:
        for prompt in filter(None, (run.before, run.after)):
            prompt.write_bank(folder)
            if prompt.large_bank is not None:
                paths.append(bank_path(folder, prompt.large_bank.version))
        for name, lines in (
            ("events", _events(run)),
            ("verdicts", _verdicts(run, rows, sealed_split(workspace, run).validation)),
            ("prompts", _prompts(run)),
        ):
            paths.append(folder / f"{name}.jsonl")
            _write_lines(paths[-1], lines)
    return tuple(dict.fromkeys(paths))


def _events(run: RunSummary) -> Iterator[dict[str, Any]]:  # Any: JSON
    for event in run.events:
        yield {
            "run": run.run_id,
            "seq": event.seq,
            "kind": event.kind,
            "created": event.created,
            "payload": dict(event.payload),
        }


def _verdicts(
    run: RunSummary, rows: BothSides, validation: Dataset
) -> Iterator[dict[str, Any]]:  # Any: JSON
    """Yield the first prompt's verdicts on the open rows, then the new one's."""
    validation_ids = {row.id for row in validation.rows}
    for judged in filter(None, (rows.before, rows.after)):
        for row, answer in zip(judged.dataset.rows, judged.answers, strict=True):
            scored = answer if isinstance(answer, Verdict) else None
            yield {
                "run": run.run_id,
                "judge": judged.judge,
                "model": judged.model,
                "simulated": judged.simulated,
                "part": "validation" if row.id in validation_ids else "train",
                "id": row.id,
                "group": row.group,
                "label": row.label,
                "score": scored.score if scored else None,
                "positive": scored.positive if scored else None,
                "confidence": scored.confidence if scored else None,
                "rationale": scored.rationale if scored else None,
                "unscored": None if isinstance(answer, Verdict) else answer.reason,
                **judged.distribution_fields(answer),
            }


def _prompts(run: RunSummary) -> Iterator[dict[str, Any]]:  # Any: JSON
    """Yield the exact texts: the first prompt, the best candidate, and every one that a person
    decided about.
    """
    yield _prompt("before", run.before)
    if run.after is not None:
        yield _prompt("after", run.after)
    for review in run.reviews:
        if review.prompt:
            yield _prompt(
                review.verb, load_prompt(review.prompt, origin="the journal", folder=run.banks)
            )


def _prompt(role: str, prompt: JudgePrompt) -> dict[str, Any]:  # Any: JSON
    about = {"role": role, "name": prompt.name, "version": prompt.version, "parent": prompt.parent}
    return {**about, "note": prompt.note, "yaml": prompt.to_yaml()}


def _write_lines(path: Path, lines: Iterator[Mapping[str, Any]]) -> None:  # Any: JSON
    import jsonlines

    text = io.StringIO()
    with jsonlines.Writer(text) as file:
        file.write_all(lines)
    write_beside(path, text.getvalue())

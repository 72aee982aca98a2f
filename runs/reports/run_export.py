"""A finished run written for others: one HTML file, a Markdown for a pull request, and JSONL files.

Everything comes from the journal and the record of calls; no model is asked. The rows in it are training and validation
rows: the holdout and the final rows stand in no file, but for the figures that the journal has of them.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from ...judges import JudgedDataset, JudgePrompt, Verdict, load_prompt, write_beside
from ...optimize import Event
from ..actions.flips import Flips, Validation, flips_of, validation
from ..actions.optimize import optimization
from ..actions.run_result import Finding, baseline, finding
from ..store.calls import CallStore, CallSummary
from ..store.journal import RunJournal, RunRecord
from ..store.run_command import command_of
from ..store.run_config import RunConfig
from ..store.workspace import Workspace
from .run_pages import render_html, render_markdown

Payload = Mapping[str, Any]  # Any: JSON out of the journal


@dataclass(frozen=True, kw_only=True)
class Exported:
    """What is known of a finished run, ready to be told."""

    run: RunRecord
    events: tuple[Event, ...]
    found: Finding
    rows: Validation
    calls: CallSummary

    @cached_property
    def last(self) -> Mapping[str, Payload]:
        """The last event of each kind."""
        return {event.kind: event.payload for event in self.events}

    @cached_property
    def flips(self) -> Flips:
        """The validation rows that changed sides."""
        return flips_of(self.rows)

    @property
    def decided(self) -> tuple[Event, ...]:
        """What people decided, oldest first."""
        return tuple(event for event in self.events if event.kind == "decided")

    @property
    def command(self) -> str:
        """The command that walks the same way again, on the same rows and with the same model."""
        return command_of(RunConfig.from_json(self.run.config))


def export_run(workspace: Workspace, run_id: str, folder: Path, *, formats: Sequence[str]) -> tuple[Path, ...]:
    """Write a run into a folder, which is made where it is missing; files that are there are replaced.

    Args:
        workspace: Where the run is.
        run_id: A run with a decision.
        folder: Where to write.
        formats: Some of `FORMATS`.

    Returns:
        The files written.

    Raises:
        InputError: The run has no decision yet, or its data have changed.
        ModelError: An answer is not in the record.
    """
    info = optimization(workspace, run_id)
    told = Exported(
        run=info,
        events=RunJournal(workspace.database, info.run_id).events(),
        found=finding(workspace, run_id),
        rows=validation(workspace, run_id),
        calls=CallStore(workspace.database, info.run_id).summary(),
    )
    folder.mkdir(parents=True, exist_ok=True)
    return tuple(path for name in formats for path in FORMATS[name](workspace, told, folder))


def _html(workspace: Workspace, told: Exported, folder: Path) -> Iterator[Path]:
    path = folder / "run.html"
    write_beside(path, render_html(told))
    yield path


def _markdown(workspace: Workspace, told: Exported, folder: Path) -> Iterator[Path]:
    path = folder / "run.md"
    write_beside(path, render_markdown(told))
    yield path


def _jsonl(workspace: Workspace, told: Exported, folder: Path) -> Iterator[Path]:
    open_rows = baseline(workspace, told.run.run_id)
    for name, lines in (
        ("events", _events(told)),
        ("verdicts", _verdicts(told, open_rows)),
        ("prompts", _prompts(told)),
    ):
        path = folder / f"{name}.jsonl"
        _write_lines(path, lines)
        yield path


FORMATS: Mapping[str, Callable[[Workspace, Exported, Path], Iterator[Path]]] = {
    "html": _html,
    "md": _markdown,
    "jsonl": _jsonl,
}


def _events(told: Exported) -> Iterator[dict[str, Any]]:  # Any: JSON
    for event in told.events:
        yield {
            "run": told.run.run_id,
            "seq": event.seq,
            "kind": event.kind,
            "created": event.created,
            "payload": dict(event.payload),
        }


def _verdicts(told: Exported, open_rows: JudgedDataset) -> Iterator[dict[str, Any]]:  # Any: JSON
    """Tell what the prompt said of the open rows, and the new one of the validation rows."""
    held = {row.id for row in told.rows.before.dataset.rows}
    for judged in (open_rows, *([told.rows.after] if told.rows.after else [])):
        for row, answer in zip(judged.dataset.rows, judged.answers, strict=True):
            scored = answer if isinstance(answer, Verdict) else None
            yield {
                "run": told.run.run_id,
                "judge": judged.judge,
                "model": judged.model,
                "simulated": judged.simulated,
                "part": "validation" if row.id in held else "train",
                "id": row.id,
                "group": row.group,
                "label": row.label,
                "score": scored.score if scored else None,
                "positive": scored.positive if scored else None,
                "confidence": scored.confidence if scored else None,
                "rationale": scored.rationale if scored else None,
                "unscored": None if isinstance(answer, Verdict) else answer.reason,
            }


def _prompts(told: Exported) -> Iterator[dict[str, Any]]:  # Any: JSON
    """Tell the exact texts: the prompt before, the one found, and every one that a person decided about."""
    yield _prompt("before", told.found.before)
    if told.found.after is not None:
        yield _prompt("after", told.found.after)
    for event in told.decided:
        if text := event.payload.get("prompt"):
            yield _prompt(event.payload["verb"], load_prompt(text, origin="the journal"))


def _prompt(role: str, prompt: JudgePrompt) -> dict[str, Any]:  # Any: JSON
    about = {"role": role, "name": prompt.name, "version": prompt.version, "parent": prompt.parent}
    return {**about, "note": prompt.note, "yaml": prompt.to_yaml()}


def _write_lines(path: Path, lines: Iterator[Mapping[str, Any]]) -> None:  # Any: JSON
    import jsonlines

    text = io.StringIO()
    with jsonlines.Writer(text) as file:
        file.write_all(lines)
    write_beside(path, text.getvalue())

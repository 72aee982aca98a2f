"""A finished run written for others: one HTML file, and a Markdown for a pull request.

Everything comes from the journal and the record of calls; no model is asked. The rows in it are
training and validation rows: the holdout and the final rows stand in no file, but for the figures
that the journal has of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ...judges import InputError, write_beside
from ..actions.flips import both_sides
from ..actions.run_summary import read_optimization
from ..store.workspace import Workspace
from .run_view import render_html, render_markdown

FORMATS = ("html", "md")


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
    return tuple(paths)

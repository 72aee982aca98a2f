"""What few labels can show, on the page of a run, and the form that makes the next queue."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from ...optimize.events import JudgeMeasured
from ..actions.reach import Reach, reach_of_run
from ..actions.run_summary import RunSummary
from ..labels.session import login_name
from ..reports.few_labels import few_labels, label_command, rows_to_label
from .app_state import AppState
from .data_files import DATA_ENDINGS


def few_values(state: AppState, run: RunSummary) -> dict[str, Any]:  # Any: what a template names
    """Return the sentences, and of which file how many rows to label; nothing where labels are not
    few.
    """
    measured, record = run.last(JudgeMeasured), run.record
    reach: Any = None  # Any: JSON
    if measured is not None:
        reach = (measured.summary or {}).get("reach")
    elif run.benchmark is not None:
        reach = _as_json(state.reaches.get((run.run_id, run.finished), lambda: reach_of_run(run)))
    if reach is None:
        return {"few": ()}
    data = str(record.config.get("data", ""))
    path, root = Path(data), state.root.resolve()
    offered = reach["unlabelled"] and path.is_file() and path.is_relative_to(root)
    offered = offered and path.name.lower().endswith(DATA_ENDINGS)
    rows = rows_to_label(reach)
    return {
        "few": few_labels(reach),
        # Of a run's file only its open rows were counted.
        "label_rows": min(rows, reach["unlabelled"]) if offered and measured else rows,
        "label_data": path.relative_to(root).as_posix() if offered else "",
        "label_command": label_command(reach, path.name),
        "annotator": login_name(),
    }


def _as_json(reach: Reach | None) -> dict[str, Any] | None:
    return None if reach is None else asdict(reach)

"""What a process of its own does for a page on many rows, so that the server stays small and quick.

`python -m judgewright.runs.review.prepare WHAT` reads from its server what is wanted, as JSON, and
tells in lines of JSON what it is doing and what came of it.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ...judges import InputError, JudgewrightError
from ..config.environment import read_environment
from ..config.place import Place
from ..config.postgres_address import parse_postgres
from ..labels.export import export_labels, read_queues
from ..store.run_config import RunConfig
from ..store.workspace import Workspace
from .make_queue import NewQueue, make_queue
from .plan_pages import keep_plan
from .row_data import RowQuery, make_row_pages

Json = Mapping[str, Any]  # Any: JSON
Doing = Callable[[str], None]


def _place(asked: Json) -> Place:
    return Place(
        Path(asked["root"]), parse_postgres(asked["address"]) if asked["address"] else None
    )


def _rows(asked: Json, doing: Doing) -> Json:
    with Workspace(_place(asked)) as workspace:
        make_row_pages(workspace, RowQuery(asked["kind"], tuple(asked["names"])), doing)
    return {}


def _plan(asked: Json, doing: Doing) -> Json:
    place, config = _place(asked), RunConfig.from_json(asked["config"])
    environment = read_environment().in_workspace(place.root)
    with Workspace(place) as workspace:
        keep_plan(
            workspace,
            config,
            environment.naming(*config.named_models, origins=asked["origins"]),
            doing,
        )
    return {}


def _queue(asked: Json, doing: Doing) -> Json:
    wanted = NewQueue(**asked["queue"])
    doing(f"Reading {Path(wanted.data).name} and drawing the order of its rows")
    with Workspace(_place(asked)) as workspace:
        return {"run": make_queue(workspace, wanted)}


def _labels(asked: Json, doing: Doing) -> Json:
    doing("Writing the labels beside the columns of their rows")
    out = Path(asked["out"])
    with Workspace(_place(asked)) as workspace:
        out.parent.mkdir(parents=True, exist_ok=True)
        export_labels(read_queues(workspace, [asked["run"]]), out, every=False)
    return {}


_WORK: Mapping[str, Callable[[Json, Doing], Json]] = {
    "rows": _rows,
    "plan": _plan,
    "queue": _queue,
    "labels": _labels,
}


def main(what: str) -> None:
    """Do what is wanted, and say on stdout what came of it."""
    answer = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # whatever a library prints

    def tell(told: Json) -> None:
        print(json.dumps(told), file=answer, flush=True)

    with answer:
        try:
            tell({"made": _WORK[what](json.load(sys.stdin), lambda words: tell({"doing": words}))})
        except JudgewrightError as error:
            tell(
                {
                    "error": {
                        "message": str(error),
                        "hint": error.hint,
                        "input": isinstance(error, InputError),
                    }
                }
            )


if __name__ == "__main__":
    main(sys.argv[1])

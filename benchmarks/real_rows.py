"""What benchmarks on real rows share: an evaluation part that the product never sees, and a
workspace for each run.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np

from judgewright.judges import Client, Dataset
from judgewright.optimize import Proposer, Services
from judgewright.runs.store import SqliteDatabase
from judgewright.runs.store.journal import RunJournal, create_run
from judgewright.runs.store.ledger import HoldoutLedger

DATA = Path(__file__).resolve().parents[2] / "shared/data"


def cut(dataset: Dataset, seed: int, *, rows: int) -> tuple[Dataset, Dataset]:
    """Draw whole groups for the product to split, until they have so many rows; the rest are the
    evaluation part.
    """
    sizes = Counter(row.group_key for row in dataset.rows)
    keys = list(sizes)
    drawn: set[str] = set()
    count = 0
    for i in np.random.default_rng(seed).permutation(len(keys)):
        if count >= rows:
            break
        drawn.add(keys[i])
        count += sizes[keys[i]]
    parts: list[Dataset] = []
    for inside in (True, False):
        part = tuple(row for row in dataset.rows if (row.group_key in drawn) == inside)
        parts.append(
            replace(dataset, rows=part, content_hash=f"{dataset.content_hash} {seed} {inside}")
        )
    return parts[0], parts[1]


def open_services(client: Client, proposer: Proposer, name: str) -> Services:
    """Return services with a workspace of their own, so that each decision is a first look."""
    database = SqliteDatabase(Path(tempfile.mkdtemp()) / "workspace.db")
    run = create_run(database, "optimize", {"name": name})
    return Services(
        judge_client=client,
        optimizer_client=client,
        proposers=(proposer,),
        journal=RunJournal(database, run),
        ledger=HoldoutLedger(database),
        run_id=run,
    )

"""The folds of a run: what a prompt is written from, and the open rows that it is judged on.

Whole groups are dealt into folds. Whatever reads a label is made in each fold from the rows of the
other folds alone: slice, loss, brief, bank. So each open row is judged once by a prompt that saw
neither its label nor its group's.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from ..judges import Dataset, InputError, JudgedDataset, Row
from ..judges.duplicates import Clusters, join_near_duplicates
from ..judges.models import ask_together
from .context import RunContext
from .goal_setting import set_goal_of_fold
from .invariants import PhraseIndex


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Fold:
    """What prompts are written from and judged on."""

    number: int | None
    """From 1; None where all open rows are written from."""
    of: int
    """How many folds there are."""
    train: JudgedDataset
    """The rows that are written from, with the first prompt's verdicts."""
    places: tuple[int, ...]
    """Where the rows stand among the open ones on which a prompt is judged."""
    held: JudgedDataset
    """These rows with the first prompt's verdicts."""
    run: RunContext
    """With the fold's own goal."""
    phrases: PhraseIndex
    """Of every open row."""

    @property
    def name(self) -> str:
        """What to call it where progress is told."""
        return "all open rows" if self.number is None else f"fold {self.number} of {self.of}"


def open_fold(run: RunContext, baseline: JudgedDataset) -> Fold:
    """Return the fold in which all open rows are written from, and none is judged on.

    Args:
        run: The run, with the goal of all open rows.
        baseline: The first prompt's verdicts on the open rows, training rows first.
    """
    train = baseline
    if len(run.parts.drawn):
        drawn = run.judge("rows for training only", run.prompt, run.parts.drawn)
        rows = baseline.dataset.rows + drawn.dataset.rows
        train = replace(
            baseline,
            dataset=replace(baseline.dataset, rows=rows),
            answers=baseline.answers + drawn.answers,
        )
    phrases = PhraseIndex(train.dataset.rows)
    # Of a row that a person could not decide about there is nothing to learn.
    train = train.only([i for i, row in enumerate(train.dataset.rows) if not _is_unclear(row)])
    held = baseline.only([])
    return Fold(number=None, of=1, train=train, places=(), held=held, run=run, phrases=phrases)


def judged_whole(whole: Fold, baseline: JudgedDataset) -> Fold:
    """Return the fold of a proposer that learns from no label: it is judged on all open rows."""
    places = _labelled(baseline.dataset)
    return replace(whole, places=places, held=baseline.only(places))


def deal_folds(whole: Fold, baseline: JudgedDataset) -> list[Fold]:
    """Deal the open rows into folds by whole groups, alike in labels and data sets, and set the
    goal of each.

    With one fold the rows are cut in two, and prompts are written from one half alone.

    Raises:
        InputError: No row has a label.
    """
    run, dataset = whole.run, baseline.dataset
    rows = (*dataset.rows, *whole.train.dataset.rows)
    blocks = _join_groups(rows, near=run.parts.merged > 0)
    count = max(2, run.settings.folds)
    dealt = _deal(dataset, blocks[: len(dataset)], count, seed=run.settings.seed)
    codes = np.array([dealt.get(block, count) for block in blocks])
    of_train = codes[len(dataset) :]
    labelled = _labelled(dataset)
    of_open = codes[: len(dataset)]
    goals = ask_together(
        [
            partial(
                set_goal_of_fold,
                run.goal,
                baseline.only(np.flatnonzero(of_open != k)),
                run.services,
                run.settings,
            )
            for k in range(run.settings.folds)
        ]
    )
    folds: list[Fold] = []
    for k, goal in enumerate(goals):
        places = tuple(i for i in labelled if codes[i] == k)
        fold = Fold(
            number=k + 1,
            of=run.settings.folds,
            train=whole.train.only(np.flatnonzero(of_train != k)),
            places=places,
            held=baseline.only(places),
            run=replace(run, goal=goal),
            phrases=whole.phrases,
        )
        folds.append(fold)
    return folds


def _labelled(dataset: Dataset) -> tuple[int, ...]:
    places = tuple(i for i, row in enumerate(dataset.rows) if row.label is not None)
    if not places:
        raise InputError("no open row has a label: there is nothing to measure on")
    return places


def _is_unclear(row: Row) -> bool:
    return row.review is not None and row.review.mark == "unclear"


def _join_groups(rows: Sequence[Row], *, near: bool) -> list[int]:
    """Return the block of each row: groups, joined where some of their rows are nearly the same.

    Args:
        rows: Some may stand there twice.
        near: Whether any are nearly the same; looking for them takes a while.
    """
    clusters, first = Clusters(len(rows)), dict[str, int]()
    for i, row in enumerate(rows):
        clusters.join(first.setdefault(row.group_key, i), i)
    if near:
        join_near_duplicates(rows, clusters)
    return [clusters.find(i) for i in range(len(rows))]


def _deal(dataset: Dataset, blocks: Sequence[int], count: int, *, seed: int) -> dict[int, int]:
    """Return the fold of each block: the largest go out first, each to the fold that has fewest
    rows like it.
    """
    members: defaultdict[int, list[Row]] = defaultdict(list)
    for row, block in zip(dataset.rows, blocks, strict=True):
        members[block].append(row)
    names = list(members)
    order: list[int] = np.random.default_rng(seed).permutation(len(names)).tolist()
    queue = sorted((names[i] for i in order), key=lambda block: -len(members[block]))
    alike: defaultdict[tuple[str, int], int] = defaultdict(int)
    total = [0] * count
    fold_of: dict[int, int] = {}
    for block in queue:
        kind = _kind(dataset, members[block])
        k = min(range(count), key=lambda k: (alike[kind, k], total[k]))
        fold_of[block] = k
        alike[kind, k] += len(members[block])
        total[k] += len(members[block])
    return fold_of


def _kind(dataset: Dataset, rows: Sequence[Row]) -> str:
    """Say what a group is like: its data set, and what people mostly say of it."""
    labels = [row for row in rows if row.label is not None]
    if not labels:
        people = "unlabelled"
    elif dataset.labels.kind == "choice":
        people = str(labels[0].label)
    else:
        people = str(2 * sum(map(dataset.positive, labels)) >= len(labels))
    return f"{rows[0].meta.get('dataset', '')} {people}"

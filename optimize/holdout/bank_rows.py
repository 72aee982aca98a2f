"""Rows that stand in a bank of decided cases, known again by what they say: a bank may come from
another file or workspace, where rows and groups have other names.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...judges import BoolArray, Dataset, JudgePrompt, Row
from ...judges.duplicates import Clusters, join_near_duplicates
from .row_fingerprints import GroupFingerprints, RowFingerprints, group_fingerprints, keys_of
from .text_fingerprints import Fingerprints

BANKED = "decided cases"
"""What begins the name under which the ledger has the rows of a bank."""


def rows_of_bank(prompt: JudgePrompt) -> Dataset | None:
    """Return a prompt's decided cases as rows with the inputs that it reads; None without any."""
    if prompt.cases is None:
        return None
    bank = prompt.cases.bank
    rows = [
        Row(
            id=case.id or f"case {number}",
            inputs={name: case.inputs[name] for name in prompt.inputs},
            group=case.group or case.id,
        )
        for number, case in enumerate(bank.cases)
    ]
    name = f"{BANKED} ({bank.version})"
    return Dataset(rows=tuple(rows), labels=bank.labels or prompt.scale, name=name)


def bank_fingerprints(rows: Dataset) -> RowFingerprints:
    """Return the keys and fingerprints of rows whose groups tell little: of a bank that was put
    together from several files. Every longer text is in it, however many of the rows have it.
    """
    keys = keys_of(rows)
    texts = frozenset[bytes]().union(*(texts for _, texts in keys))
    group = GroupFingerprints(len(rows), frozenset(key for key, _ in keys), texts)
    return RowFingerprints((group,), Fingerprints.of(rows))


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What is left of some rows to decide about prompts with decided cases."""

    rows: Dataset
    note: str = ""
    """What left it; empty where nothing did."""
    too_few: str = ""
    """Why nothing can be decided because of that; empty where it can."""


def without_banked(rows: Dataset, prompts: Sequence[JudgePrompt]) -> Evidence:
    """Leave out, by whole groups, what stands in the bank of any of some prompts, edited or not."""
    from .guards import MIN_GROUPS

    banks = {cases.name: cases for cases in map(rows_of_bank, prompts) if cases is not None}
    met = [_met(rows, cases) for cases in banks.values()]
    banked = {row.group_key for row, *out in zip(rows.rows, *met, strict=True) if any(out)}
    if not banked:
        return Evidence(rows=rows)
    left = tuple(row for row in rows.rows if row.group_key not in banked)
    note = (
        f"{_count(len(rows) - len(left), 'row')} in {_count(len(banked), 'group')} do not count for"
        " either judge: they, their groups or near-duplicates stand in a bank of decided cases"
    )
    groups, too_few = len({row.group_key for row in left}), ""
    if groups < MIN_GROUPS:
        too_few = f"{_count(groups, 'group')} of the holdout left, fewer than {MIN_GROUPS}: {note}"
    return Evidence(rows=replace(rows, rows=left), note=note, too_few=too_few)


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'s' * (number != 1)}"


def _met(rows: Dataset, cases: Dataset) -> BoolArray:
    """Return which rows are met again among the cases, shape (rows,): by keys of their group, by
    stretches of their texts, or as near-duplicates.
    """
    bank = bank_fingerprints(cases)
    groups = group_fingerprints(rows).items()
    by_key = {name for name, group in groups if (group.rows | group.texts) & bank.keys}
    met = np.array([row.group_key in by_key for row in rows.rows], np.bool_)
    if bank.prints is not None:
        met |= Fingerprints.of(rows).met_in(bank.prints).same
    every = [*rows.rows, *cases.rows]
    clusters = Clusters(len(every))
    join_near_duplicates(every, clusters)
    banked = {clusters.find(position) for position in range(len(rows), len(every))}
    return met | np.array([clusters.find(i) in banked for i in range(len(rows))], np.bool_)

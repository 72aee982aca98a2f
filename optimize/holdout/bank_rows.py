"""Rows that stand in a bank of decided cases, known again by what they say: a bank may come from
another file or workspace, where rows and groups have other names.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...judges import BoolArray, Dataset, JudgePrompt, Row
from ...judges.duplicates import Clusters, join_near_duplicates
from .guards import MIN_GROUPS
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
    left_out: int = 0
    """How many rows stand in a bank, or in the group of such a row, or are nearly the same."""
    of_groups: int = 0

    @property
    def groups(self) -> int:
        """How many groups are left."""
        return len({row.group_key for row in self.rows.rows})

    @property
    def note(self) -> str:
        """Say what left the evidence; empty where nothing did."""
        if not self.left_out:
            return ""
        rows, groups = f"{self.left_out:,} rows", f"{self.of_groups:,} groups"
        return (
            f"{rows.removesuffix('s') if self.left_out == 1 else rows} in"
            f" {groups.removesuffix('s') if self.of_groups == 1 else groups} do not count for"
            " either judge: they, their groups or near-duplicates stand in a bank of decided cases"
        )

    @property
    def too_few(self) -> str:
        """Say why nothing can be decided because of what left; empty where it can."""
        if not self.left_out or self.groups >= MIN_GROUPS:
            return ""
        groups = f"{self.groups} {'group is' if self.groups == 1 else 'groups are'}"
        return (
            f"only {groups} left of the holdout, fewer than {MIN_GROUPS}, which cannot decide:"
            f" {self.note}"
        )


def without_banked(rows: Dataset, prompts: Sequence[JudgePrompt]) -> Evidence:
    """Leave out, by whole groups, what stands in the bank of any of some prompts, edited or not."""
    banks = {prompt.cases.bank.version: prompt for prompt in prompts if prompt.cases is not None}
    met = np.zeros(len(rows), np.bool_)
    for prompt in banks.values():
        cases = rows_of_bank(prompt)
        if cases is not None:
            met |= _met(rows, cases)
    names = {row.group_key for row, out in zip(rows.rows, met, strict=True) if out}
    if not names:
        return Evidence(rows=rows)
    left = tuple(row for row in rows.rows if row.group_key not in names)
    return Evidence(
        rows=replace(rows, rows=left), left_out=len(rows) - len(left), of_groups=len(names)
    )


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

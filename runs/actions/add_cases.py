"""Make a version of a judge that is shown decided cases out of a file of labelled rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import mean

from ...judges import CaseBank, Cases, Dataset, InputError, JudgePrompt, Row
from ...judges.models.tokens import approximate_tokens
from ..store.sealed_rows import sealed_rows
from ..store.workspace import Workspace

_TRIED = 50
"""Rows that the number of tokens is estimated on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AddedCases:
    """A judge with a bank, and which rows became its cases."""

    prompt: JudgePrompt
    by_decision: Mapping[str, int]
    """Cases by label of a choice, else by decision."""
    unlabelled: int
    """Rows without a label."""
    sealed: tuple[str, ...]
    """Ids of rows that are sealed in this workspace and so left out."""
    tokens: int
    """That cases add to a row, by the stated estimate."""


def add_cases(
    workspace: Workspace,
    prompt: JudgePrompt,
    dataset: Dataset,
    *,
    count: int = 4,
    by: str = "near",
    balanced: bool = True,
    max_tokens: int | None = None,
    reason: str | None = None,
) -> AddedCases:
    """Return the judge with a bank of the rows that are labelled and not sealed here.

    Args:
        workspace: Whose ledger knows which rows are sealed.
        prompt: The judge; a bank that it has gives way.
        count, by, balanced, max_tokens: As `Cases` has them.
        reason: The column that says why a row has its label.

    Raises:
        InputError: No row may be a case, or no row has the column of reasons.
        PromptError: The rows' labels are none of the judge's.
        WorkspaceError: The ledger cannot be read.
    """
    if reason is not None and not any(row.meta.get(reason) for row in dataset.rows):
        raise InputError(f"no row of {dataset.name} has a reason under {reason!r}")
    labelled = [row for row in dataset.rows if row.label is not None]
    candidates = replace(dataset, rows=tuple(labelled))
    is_sealed = sealed_rows(workspace, candidates).tolist()
    rows = [row for row, sealed in zip(labelled, is_sealed, strict=True) if not sealed]
    if not rows:
        raise InputError(
            f"no row of {dataset.name} may be a case:"
            f" {len(labelled):,} of {len(dataset):,} have a label, {sum(is_sealed):,} are sealed"
        )
    bank = CaseBank.of(rows, dataset.labels, prompt.inputs, reason=reason)
    cases = Cases(bank=bank, count=count, by=by, balanced=balanced, max_tokens=max_tokens)
    note = f"{cases.describe()}; from {dataset.name}"
    new = replace(prompt, cases=cases, parent=prompt.version, note=note)
    names = {0.0: "negative", 1.0: "positive"}
    if dataset.labels.kind == "choice":
        names = {grade: dataset.labels.name(grade) for grade in dataset.labels.levels}
    return AddedCases(
        prompt=new,
        by_decision=Counter(names[dataset.decision(row)] for row in rows),
        unlabelled=len(dataset) - len(labelled),
        sealed=tuple(row.id for row, sealed in zip(labelled, is_sealed, strict=True) if sealed),
        tokens=tokens_added(new, rows),
    )


def tokens_added(prompt: JudgePrompt, rows: Sequence[Row]) -> int:
    """Return about how many tokens decided cases add to a row."""
    if prompt.cases is None or not rows:
        return 0
    shown = prompt.to_count().shown_cases
    texts = [shown.text(row) for row in rows[:_TRIED]]
    return round(mean(map(approximate_tokens, texts)))

"""Check a data file before a run: what is in it, what a person should look at, what a run may
cost.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ...judges import (
    VERDICT_LIMIT,
    Dataset,
    JudgedDataset,
    JudgePrompt,
    Prices,
    Registry,
    Row,
    Verdict,
)
from ...judges.files import (
    DataReport,
    RawRoles,
    RawRows,
    check_rows,
    count_row_tokens,
    guess_label,
    infer_raw_scale,
    judge_inputs,
    read_raw_rows,
)
from ...judges.models.question import REPLY_TOKENS, DecisionApi
from ...slices.features import read_features
from ..config.environment import Environment
from ..store.sealed_rows import read_open
from ..store.workspace import Workspace

TokensOf = tuple[str, DecisionApi | None]
"""A model, and the interface of one that decides."""
_LEAKS = ("gives the label away", "its name bears a label")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPrice:
    """What a run of the judge over the file may cost."""

    model: str
    tokens_in: int
    replies: int
    """Tokens of all replies at most."""
    low: float | None
    """US dollars for the prompts alone; None where the price is unknown."""
    high: float | None
    """US dollars with every reply at its longest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckOptions:
    """What a person chose for a check."""

    roles: RawRoles
    prompt: JudgePrompt | None = None
    model: str | None = None
    sealed: bool = False
    """Whether to read rows that a person sealed first too, which is a look."""


def check_file(
    path: Path,
    options: CheckOptions,
    *,
    workspace: Workspace,
    environment: Environment,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> tuple[DataReport, RunPrice | None]:
    """Check a data file, and compute what a run of a judge over it may cost.

    Raises:
        InputError: A column that was named is missing, or the model is no name.
        DataError: The file, or any of its rows, cannot be read.
    """
    model = tokens_model(options.model, environment)
    report = report_on(path, options, model, workspace=workspace, progress=progress)
    return report, price_of(report, options, environment)


def open_raw(workspace: Workspace, raw: RawRows, path: Path, *, sealed: bool = False) -> RawRows:
    """Return what may be read of a file's rows; see `read_open`."""
    dataset = Dataset.of(raw.rows, labels=infer_raw_scale(raw.rows), name=path.name)
    read = read_open(workspace, dataset, sealed=sealed)
    read.enter(workspace, by="data check")
    read_rows = [i for i, out in enumerate(read.left_out.tolist()) if not out]
    rows, lines = (tuple(column[i] for i in read_rows) for column in (raw.rows, raw.lines))
    return replace(raw, rows=rows, lines=lines, notes=(*raw.notes, *read.notes))


def report_on(
    path: Path,
    options: CheckOptions,
    model: TokensOf,
    *,
    workspace: Workspace,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> DataReport:
    """Check the rows of a file, and count the tokens of asking about them.

    Args:
        workspace: Where the judges are, and the rows that may not be read.
        progress: Called with how many of how many texts have been looked at.

    Raises:
        InputError: A column that was named is missing.
        DataError: The file cannot be read.
    """
    raw = read_checked(path, options.roles, workspace.registry)
    raw = open_raw(workspace, raw, path, sealed=options.sealed)
    report = check_rows(
        raw.rows,
        name=path.name,
        group_column=raw.group,
        guessed=raw.guessed,
        leaks=find_leaks(raw.rows),
        notes=raw.notes,
        progress=progress,
    )
    name, api = model
    tokens = count_row_tokens(raw.rows, model=name, prompt=options.prompt, api=api)
    return replace(report, tokens=tokens)


def read_checked(path: Path, roles: RawRoles, registry: Registry) -> RawRows:
    """Read a file's rows, with the labels of a column whose name surely says so where none is
    named.
    """
    judges = judge_inputs(registry)
    raw = read_raw_rows(path, roles, judges=judges)
    column, note = ("", "") if roles.label else guess_label(raw.rows)
    if column:
        raw = read_raw_rows(path, replace(roles, label=column), judges=judges)
    return replace(raw, notes=(*raw.notes, note)) if note else raw


def tokens_model(spec: str | None, environment: Environment) -> TokensOf:
    """Return whose tokens are counted for a model as a person names it.

    Raises:
        InputError: It is no name of a model.
    """
    if spec is None:
        return "unknown", None
    return environment.model(spec).model, environment.settings(spec).api


def price_of(
    report: DataReport, options: CheckOptions, environment: Environment
) -> RunPrice | None:
    """Return what a run over checked rows may cost; None without a judge, a model, or tokens that
    were counted.
    """
    if options.prompt is None or options.model is None or report.tokens is None:
        return None
    settings = environment.settings(options.model)
    name, url = "simulated", "simulated:"
    if options.model != "simulated":
        named = environment.model(options.model)
        name, url = named.model, named.base_url
    limit = settings.max_tokens or VERDICT_LIMIT
    replies = report.rows * (limit if settings.api is None else REPLY_TOKENS)
    prices, total = Prices(settings.price), report.tokens.total
    return RunPrice(
        model=name,
        tokens_in=total,
        replies=replies,
        low=prices.cost(name, url, total, 0),
        high=prices.cost(name, url, total, replies),
    )


def find_leaks(rows: Sequence[Row]) -> dict[str, str]:
    """Return the columns that give the label away, by their values or by their name, each with the
    reason.
    """
    labelled = [row for row in rows if row.label is not None]
    if not labelled:
        return {}
    scale = infer_raw_scale(labelled)
    # A judge that is always right: what gives its verdict away gives the label away.
    answers = [
        Verdict(row_id=r.id, score=r.label or 0.0, positive=scale.positive(r.label or 0.0))
        for r in labelled
    ]
    judged = JudgedDataset(
        dataset=Dataset.of(labelled, labels=scale), answers=tuple(answers), scale=scale
    )
    return {
        name: why for name, why in read_features(judged).left_out.items() if why.startswith(_LEAKS)
    }

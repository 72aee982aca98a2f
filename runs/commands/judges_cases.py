"""`judgewright judges cases`: show a judge decided cases before each row."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ...optimize.options import option
from ..config.command_options import RowOptions
from ..terminal import answer, inline
from .decorators import options_of, writes_workspace
from .help import Command

if TYPE_CHECKING:
    from ..store.workspace import Workspace

CASES = """\
Example:  judgewright judges cases groundedness rows.jsonl --show 4 --reason why
Measure:  judgewright gate groundedness groundedness@VERSION holdout.jsonl --model your-model --target precision
"""  # noqa: E501
OFTEN = """
--show --by --reason --where --max-tokens --unbalanced --label --group --column --out --workspace
--json
"""
"""The options that `--help` shows."""
_NAMED = 20
"""Sealed rows that are named; `--json` has all."""
_judging = partial(option, "Judging")


@dataclass(frozen=True, kw_only=True)
class CasesOptions:
    """Which rows become cases, and which of them stand before a row."""

    show: int = _judging(4, "Cases before each row.", low=1, high=64)
    by: str = _judging(
        "near",
        "Which cases: near (most like the row), fixed (the first of the file), random, or the name"
        " of an embeddings model.",
    )
    reason: str | None = _judging(
        None, "Column that says why a row has its label; it is shown.", metavar="COLUMN"
    )
    where: str | None = _judging(
        None, "Only the rows of a saved slice, or of an expression.", metavar="SLICE"
    )
    max_tokens: int | None = _judging(
        None, "Of all cases of a row together, by an estimate.", kind="integer", low=1
    )
    unbalanced: bool = _judging(
        False, "Not as many of each decision (of a choice: each label), but simply the next."
    )
    out: Path | None = option(
        "Output", None, "Write the judge as YAML [default: keep it in the workspace].", kind="out"
    )


@click.command("cases", cls=Command, often=OFTEN, epilog=CASES)
@click.argument("judge")
@click.argument("data", type=click.Path(path_type=Path))
@options_of(rows=RowOptions, options=CasesOptions)
@writes_workspace
def cases(
    judge: str,
    data: Path,
    rows: RowOptions,
    options: CasesOptions,
    workspace: Workspace,
    as_json: bool,
) -> None:
    """Make a version of JUDGE that is shown decided cases: labelled rows of DATA, with people's
    grade, before each row. Sealed rows are left out.
    """
    from ...slices import read_slice, rows_in_slice
    from ..actions.add_cases import add_cases
    from ..actions.keep_judge import keep_judge
    from ..actions.read_objective import saved_slices
    from ..store.bench_config import read_rows

    prompt = workspace.registry.get(judge)
    dataset = read_rows(prompt, data, rows)
    if options.where is not None:
        dataset = rows_in_slice(dataset, read_slice(options.where, saved_slices(workspace)))
    added = add_cases(
        workspace,
        prompt,
        dataset,
        count=options.show,
        by=options.by,
        balanced=not options.unbalanced,
        max_tokens=options.max_tokens,
        reason=options.reason,
    )
    path, spec = keep_judge(workspace, added.prompt, options.out)
    new, counts = added.prompt, added.by_decision
    body = {
        "name": new.name,
        "version": new.version,
        "parent": new.parent,
        "path": path,
        "cases": sum(counts.values()),
        "by_decision": dict(counts),
        "unlabelled": added.unlabelled,
        "sealed": list(added.sealed),
        "tokens_per_row": added.tokens,
    }
    numbers = ", ".join(f"{n:,} {inline(name)}" for name, n in sorted(counts.items()))
    lines = [
        f"{new.name}@{new.version}: {new.note}",
        f"  cases      {sum(counts.values()):,}: {numbers}",
        f"  tokens     about {added.tokens:,} more a row (an estimate)",
    ]
    if added.unlabelled:
        lines.append(f"  left out   {added.unlabelled:,} without a label")
    if added.sealed:
        named = ", ".join(map(inline, added.sealed[:_NAMED]))
        more = f" and {len(added.sealed) - _NAMED:,} more" if len(added.sealed) > _NAMED else ""
        lines.append(f"  left out   {len(added.sealed):,} that are sealed here: {named}{more}")
    bank = "" if new.large_bank is None else f", its bank {new.large_bank.version} in a file beside"
    lines += [
        f"kept in {path}{bank if options.out else ''}",
        f"measure it: judgewright bench {spec} ROWS --model NAME",
    ]
    answer(body, "\n".join(lines), as_json=as_json)

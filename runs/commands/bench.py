"""`judgewright bench`: measure a judge against human labels."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ...judges.errors import BudgetSpent, InputError
from ..config.command_options import BenchOptions, JudgeModelOptions, RowOptions, TrustOptions
from ..terminal import progress_on_stderr, say
from .decorators import (
    all_option,
    no_wait_option,
    options_of,
    sealed_option,
    takes,
    writes_workspace,
)
from .failure import answer_in_part
from .help import Command

if TYPE_CHECKING:
    from ..actions.bench import BenchResult
    from ..store.workspace import Workspace

SHOWN = 3
"""Responses that are printed claim by claim."""
EXAMPLES = """\
Example:  judgewright bench groundedness rows.jsonl --model your-model --budget 2.00 --out verdicts.jsonl
Claims:   judgewright bench groundedness responses.jsonl --model your-model --by-claim --splitter model
Trust:    judgewright bench groundedness rows.jsonl --model your-model --repeat 3 --planted 50
"""  # noqa: E501
OFTEN = """
--label --group --column --label-map --limit --model --budget --concurrency --by-claim --repeat
--planted --audit --by --out --html --seal --workspace --json
"""
"""The options that `--help` shows."""


@click.command(cls=Command, often=OFTEN, epilog=EXAMPLES)
@click.argument("judge")
@click.argument("data", type=click.Path(path_type=Path))
@options_of(rows=RowOptions, models=JudgeModelOptions, options=BenchOptions, trust=TrustOptions)
@all_option
@takes(
    "seal",
    False,
    "Set a holdout aside first, as `optimize` would; from then on it is read by no command.",
)
@sealed_option
@no_wait_option
@writes_workspace
def bench(
    judge: str,
    data: Path,
    rows: RowOptions,
    models: JudgeModelOptions,
    options: BenchOptions,
    trust: TrustOptions,
    show_all: bool,
    seal: bool,
    sealed: bool,
    workspace: Workspace,
    as_json: bool,
) -> None:
    """Ask JUDGE (name, name@version or YAML file) about the rows of DATA, and compare with their
    labels.
    """
    from ..actions.bench import run_bench, write_verdicts
    from ..actions.beside import benched_judges
    from ..store.bench_config import BenchSource, read_rows
    from .model_access import asking_environment

    first_notes: list[str] = []

    def say_first(note: str) -> None:
        if not as_json:
            first_notes.append(note)
            say(f"note: {note}", to_stderr=True)

    with progress_on_stderr(quiet=as_json) as watch:
        registry, environment = workspace.registry, asking_environment(workspace.root, models.model)
        api = environment.settings(models.model).api
        results: list[BenchResult] = []
        judges = benched_judges(registry, registry.get(judge), data, rows, options, api)
        for prompt, own_rows, question in judges:
            dataset, inside = read_rows(prompt, data, own_rows), ""
            if options.slice_ is not None:
                if seal:
                    raise InputError(
                        "--seal is for a whole file", hint="seal first, then bench --slice"
                    )
                from ...slices import read_slice, rows_in_slice
                from ..actions.read_objective import saved_slices

                predicate = read_slice(options.slice_, saved_slices(workspace))
                dataset, inside = rows_in_slice(dataset, predicate), str(predicate)
            names = () if question is None else question.shared_inputs
            source = BenchSource(
                data=str(data),
                reading=own_rows.as_arguments(),
                slice=inside,
                shared_inputs=[(name, rows.columns.get(name, "")) for name in names],
            )
            result = run_bench(
                workspace,
                prompt,
                dataset,
                options,
                models,
                environment,
                trust=trust,
                watch=watch,
                show_all=show_all,
                source=source,
                seal=seal,
                sealed=sealed,
                say_first=say_first,
                question=question,
            )
            results.append(result)
    result = results[0]
    if options.out is not None:
        write_verdicts(result.shown, options.out)
    if options.html is not None:
        from ...judges import write_beside
        from ..reports.score_report import render_score_report

        page = render_score_report(
            result.judged,
            result.benchmark,
            by=result.by,
            by_column=options.by,
            title=f"{result.judged.judge} on {data.name}",
            shown=result.shown,
            summary=result.summary,
        )
        write_beside(options.html, page)
    unpaid = sum(one.benchmark.unscored.get("budget", 0) for one in results)
    shortfall = (
        BudgetSpent(f"the budget ended before {unpaid} rows were judged") if unpaid else None
    )

    def say_result() -> None:
        for one in results:
            if one is not result:
                say(f"\n{one.judged.judge}, asked in the same requests")
            notes = (*one.judged.dataset.notes, *one.notes)
            unsaid = [note for note in notes if note not in first_notes]
            _say(one, f"{one.judged.judge} on {data.name}", unsaid, str(data), options, trust)
        for path in (options.out, options.html):
            if path is not None:
                say(f"written to {path}")

    body = result.to_json()
    if results[1:]:
        body["beside"] = {one.judged.judge: one.to_json() for one in results[1:]}
    answer_in_part(body, say_result, shortfall, as_json=as_json)


def _say(
    result: BenchResult,
    title: str,
    notes: Sequence[str],
    data: str,
    options: BenchOptions,
    trust: TrustOptions,
) -> None:
    from ..reports.reliability_report import say_reliability
    from ..reports.terminal_report import say_benchmark, say_macro

    say_benchmark(
        result.benchmark.to_json(),
        title=title,
        headline=options.metrics == "few",
        summary=result.summary,
        notes=notes,
        data=data,
    )
    for value, part in result.by.items():
        say_benchmark(part.to_json(), title=f"{options.by} = {value}", brief=True)
    if options.by is not None and result.macro:
        say_macro(result.macro, column=options.by)
    if result.claims is not None:
        say(f"\n{result.claims.describe(limit=SHOWN)}")
    for report in filter(None, (result.flips, result.order)):
        say(f"\n{report.describe()}")
    say_reliability(result.ceilings, audit=trust.audit)

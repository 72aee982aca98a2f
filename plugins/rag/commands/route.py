"""`judgewright rag route`: choose the source of a catalogue that should answer a question."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ....optimize.options import described, option
from ....runs.commands.decorators import (
    REQUIRED,
    options_of,
    reads_workspace,
    takes,
    writes_workspace,
)
from ....runs.commands.failure import answer_in_part
from ....runs.commands.help import Group
from ....runs.config.command_options import ModelOptions, RowOptions
from ....runs.terminal import answer, progress_on_stderr, say, say_table, simulated_mark

if TYPE_CHECKING:
    from ....runs.store.workspace import Workspace
    from ..actions.route import Routed

JUDGE = "Example:  judgewright rag route judge catalog.yaml --out router.yaml"
ASK = """\
Example:  judgewright rag route ask questions.jsonl --catalog catalog.yaml --model your-model --k 5 --out verdicts.jsonl
"""  # noqa: E501
BASE = "routing"

_judging = partial(option, "Judging")


@dataclass(frozen=True, kw_only=True)
class RouteOptions:
    """What the judge chooses among."""

    catalog: Path = field(metadata=described("Data", "The sources, as YAML.", kind="path"))
    judge: str | None = _judging(
        None, "The judge that chooses, of `route judge` [default: made of the catalogue]."
    )
    k: int = _judging(5, "Sources the judge chooses among, the nearest.", low=1)
    embedder: str | None = _judging(
        None, "Rank sources by this sentence-transformers model, not by keywords."
    )


@click.group(cls=Group)
def route() -> None:
    """Choose for each question the source of a catalogue that should answer it."""


@route.command(epilog=JUDGE)
@click.argument("catalog", type=click.Path(path_type=Path))
@takes("base", BASE, "The judge whose words are taken.", flag="--from")
@takes("out", REQUIRED, "Write the judge as YAML; its name is the file's.", kind="out")
@reads_workspace
def judge(catalog: Path, base: str, out: Path, workspace: Workspace, as_json: bool) -> None:
    """Write the judge that chooses among all sources of CATALOG, to benchmark, optimize and export
    like any other.
    """
    from ..routing import read_catalog, router_of

    prompt = router_of(read_catalog(catalog), workspace.registry.get(base), name=out.stem)
    prompt.write(out)
    sources = len(prompt.scale.labels)
    answer(
        {"judge": prompt.name, "version": prompt.version, "sources": sources, "out": str(out)},
        f"{prompt.name}@{prompt.version}, which chooses among {sources} sources, written to {out}",
        as_json=as_json,
    )


OFTEN = """
--catalog --judge --k --embedder --label --id --group --column --limit --model --budget --out
--workspace --json
"""
"""The options that `--help` shows."""


@route.command(often=OFTEN, epilog=ASK)
@click.argument("data", type=click.Path(path_type=Path))
@options_of(options=RouteOptions, rows=RowOptions, models=ModelOptions)
@takes("out", None, "Write the choices, for score, slices and gate.", kind="out")
@writes_workspace
def ask(
    data: Path,
    options: RouteOptions,
    rows: RowOptions,
    models: ModelOptions,
    out: Path | None,
    workspace: Workspace,
    as_json: bool,
) -> None:
    """Route the questions of DATA: leave out sources that are not open to a row, take the nearest,
    let a judge choose.

    A stopped run is started again with the same command: what has been answered is not asked again.
    """
    from ....judges.errors import BudgetSpent
    from ....runs.actions.bench import write_verdicts
    from ....runs.commands.model_access import asking_environment
    from ....runs.store.bench_config import read_rows
    from ..actions.route import run_routing
    from ..routing import in_order_of, read_catalog, router_of

    with progress_on_stderr(quiet=as_json) as watch:
        sources = read_catalog(options.catalog)
        if options.judge is None:
            prompt = router_of(sources, workspace.registry.get(BASE))
        else:
            prompt = workspace.registry.get(options.judge)
            sources = in_order_of(prompt, sources)
        routed = run_routing(
            workspace,
            prompt,
            sources,
            read_rows(prompt, data, rows, require_labels=False),
            models,
            asking_environment(workspace.root, models.model),
            k=options.k,
            embedder=options.embedder,
            watch=watch,
        )
    if out is not None:
        write_verdicts(routed.shown, out)
    unpaid = routed.judged.unscored.get("budget")
    shortfall = (
        BudgetSpent(f"the budget ended before {unpaid} questions were routed") if unpaid else None
    )

    def say_routed() -> None:
        _say(routed, data.name, options)
        if out is not None:
            say(f"\nchoices written to {out}")

    body = routed.to_json() | {"out": out and str(out)}
    answer_in_part(body, say_routed, shortfall, as_json=as_json)


def _say(routed: Routed, name: str, options: RouteOptions) -> None:
    from ....runs.reports.terminal_report import say_benchmark

    for note in (*routed.judged.dataset.notes, *routed.notes):
        say(f"note: {note}")
    say(f"\n{routed.judged.judge} on {name}{simulated_mark(routed.judged.simulated)}")
    lines = [
        (one.name, f"{one.sources:.1f}", "-" if one.kept is None else str(one.kept))
        for one in routed.stages
    ]
    say_table(("sources that are left", "a question", "the right one is among them"), lines)
    if routed.benchmark is None or routed.first is None:
        say("\nno question has a label, so that nothing is measured; questions by source:")
        say_table(
            ("source", "questions"), [(source, f"{n:,}") for source, n in routed.chosen.items()]
        )
        return
    nearest = "the nearest source is taken, no model is asked"
    say_benchmark(routed.first.to_json(), title=nearest, brief=True)
    say_benchmark(routed.benchmark.to_json(), title="the judge chooses")

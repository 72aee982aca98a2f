"""`judgewright rag annotate`: judge a sample of a corpus for many queries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import click

from ....judges import BudgetSpent
from ....judges.retrieval import Bm25, Dense, Retriever, load_encoder
from ....optimize.options import described, option
from ....runs.commands.decorators import options_of, writes_workspace
from ....runs.commands.failure import answer_in_part
from ....runs.commands.help import Command
from ....runs.commands.model_access import asking_environment
from ....runs.config.command_options import (
    COLUMN,
    JudgeModelOptions,
    pairs_option,
)
from ....runs.store.workspace import Workspace
from ....runs.terminal import progress_on_stderr, say, say_table
from ..actions.annotate import Annotation, run_annotation, write_annotations
from ..annotation import (
    Item,
    SamplePlan,
)
from ..annotation.collection import read_collection

_pairs = partial(option, "Judging")


@dataclass(frozen=True, kw_only=True)
class AnnotateOptions:
    """Which pairs are drawn, who judges them, and what is written."""

    judge: str = field(
        metadata=described("Judging", "A judge of pairs: name, name@version or YAML file.")
    )
    out: Path = field(metadata=described("Output", "Write the annotations as JSONL.", kind="out"))
    k: int = _pairs(5, "The retriever's top.", low=1)
    per_query: int = _pairs(10, "Pairs of a query, half of them inside the top k.", low=2)
    embedder: str | None = _pairs(
        None, "Rank documents by this sentence-transformers model, not by BM25."
    )
    seed: int = _pairs(0, "Seed of the draw.", low=0)
    columns: Mapping[str, str] = pairs_option(
        "Data", COLUMN, flag="--column", metavar="INPUT=COLUMN"
    )


OFTEN = """
--judge --out --k --per-query --seed --embedder --column --model --budget --workspace --json
"""
"""The options that `--help` shows."""


@click.command(
    cls=Command,
    often=OFTEN,
    epilog=(
        "Example:  judgewright rag annotate queries.jsonl passages.jsonl --judge context_relevance "
        "--model your-model --k 5 --per-query 10 --out annotations.jsonl"
    ),
)
@click.argument("queries", type=click.Path(path_type=Path))
@click.argument("corpus", type=click.Path(path_type=Path))
@options_of(options=AnnotateOptions, models=JudgeModelOptions)
@writes_workspace
def annotate(
    queries: Path,
    corpus: Path,
    options: AnnotateOptions,
    models: JudgeModelOptions,
    workspace: Workspace,
    as_json: bool,
) -> None:
    """Judge pairs of QUERIES and CORPUS, drawn equally from inside and outside a retriever's top k.

    Each line of the output has the verdict, its probability (calibrated where a rule is kept for
    the judge), the rank, and the chance with which the pair was drawn. A stopped run is started
    again with the same command: what has been answered is not asked again.
    """
    plan = SamplePlan(k=options.k, per_query=options.per_query, seed=options.seed)
    with progress_on_stderr(quiet=as_json) as watch:
        prompt = workspace.registry.get(options.judge)
        collection = read_collection(prompt, queries, corpus, options.columns)
        annotation = run_annotation(
            workspace,
            prompt,
            collection,
            models,
            asking_environment(workspace.root, models.model),
            retriever=_open_retriever(options.embedder, collection.documents),
            plan=plan,
            watch=watch,
        )
    write_annotations(annotation, options.out)
    unpaid = annotation.unscored.get("budget")
    shortfall = (
        BudgetSpent(f"the budget ended before {unpaid} pairs were judged") if unpaid else None
    )
    body = annotation.to_json() | {"out": str(options.out)}
    text = partial(_say, annotation, options.out)
    answer_in_part(body, text, shortfall, as_json=as_json)


def _open_retriever(embedder: str | None, documents: Sequence[Item]) -> Retriever:
    texts = [document.text for document in documents]
    return Bm25(texts) if embedder is None else Dense(texts, load_encoder(embedder), name=embedder)


def _say(annotation: Annotation, out: Path) -> None:
    for note in annotation.notes:
        say(f"note: {note}")
    mark = " (SIMULATED)" if annotation.judged.simulated else ""
    say(
        f"\n{annotation.judged.judge} on {annotation.judged.model}{mark}, documents by"
        f" {annotation.retriever}"
    )
    estimates = {
        f"recall of the top {annotation.plan.k}": annotation.estimates.recall,
        "relevant documents of a query": annotation.estimates.relevant_per_query,
    }
    lines = [(name, str(e), str(e.n)) for name, e in estimates.items()]
    say_table(("in the whole corpus, by the judge", "95 % interval", "pairs"), lines)
    for reason in dict.fromkeys(e.reason for e in estimates.values() if e.reason):
        say(f"note: {reason}")
    say(f"\nannotations written to {out}")

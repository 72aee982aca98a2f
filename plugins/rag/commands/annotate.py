"""`judgewright rag annotate`: judge a sample of a corpus for many queries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import click

from ....judges import BudgetSpent, InputError
from ....judges.retrieval import DEFAULT_EMBEDDER, Bm25, Dense, Retriever, load_encoder
from ....optimize.options import described, option
from ....runs.commands.decorators import options_of, writes_workspace
from ....runs.commands.failure import answer_in_part
from ....runs.commands.help import Command
from ....runs.commands.model_access import asking_environment
from ....runs.config.command_options import (
    COLUMN,
    LABEL_MAP,
    LABEL_SCALE,
    JudgeModelOptions,
    pairs_option,
)
from ....runs.store.workspace import Workspace
from ....runs.terminal import progress_on_stderr, say, say_table
from ..actions.annotate import Annotation, run_annotation, write_annotations
from ..annotation import (
    MATRIX_FORMATS,
    Item,
    Outside,
    SamplePlan,
    label_matrix,
    write_matrix,
)
from ..annotation.collection import CollectionFiles, read_collection

_pairs = partial(option, "Judging")
_data = partial(option, "Data")
_output = partial(option, "Output")


@dataclass(frozen=True, kw_only=True)
class AnnotateOptions:
    """Which pairs are drawn, who judges them, what people said of them, and what is written."""

    judge: str = field(
        metadata=described("Judging", "A judge of pairs: name, name@version or YAML file.")
    )
    out: Path = field(metadata=described("Output", "Write the annotations as JSONL.", kind="out"))
    k: int = _pairs(5, "The retriever's top.", low=1)
    per_query: int = _pairs(10, "Pairs of a query, half of them inside the top k.", low=2)
    outside: Outside = _pairs(
        "bands",
        "Below the top k, draw one pair from each of ever wider bands of ranks, or any with the"
        " same chance.",
        choices=("bands", "uniform"),
    )
    retriever: str = _pairs(
        "bm25", "Which retriever ranks the documents.", choices=("bm25", "dense")
    )
    embedder: str = _pairs(DEFAULT_EMBEDDER, "Model of the dense retriever.")
    seed: int = _pairs(0, "Seed of the draw.", low=0)
    labels: Path | None = _data(
        None,
        "What people said: a file with query_id, document_id and label. Never give labels of a"
        " holdout.",
        kind="path",
    )
    label: str = _data("label", "Column of the label.")
    label_scale: str | None = _data(None, LABEL_SCALE)
    label_map: str | None = _data(None, LABEL_MAP, metavar="CELL=GRADE,...")
    matrix: Path | None = _output(None, "Also write a sparse label matrix, .npz.", kind="out")
    columns: Mapping[str, str] = pairs_option(
        "Data", COLUMN, flag="--column", metavar="INPUT=COLUMN"
    )
    query_id: str | None = _data(
        None, "Column of the query's id [default: query_id, qid, else id]."
    )
    document_id: str | None = _data(
        None, "Column of the document's id [default: document_id, doc_id, ..., else id]."
    )


OFTEN = """
--judge --out --k --per-query --outside --retriever --embedder --labels --label
--matrix --column --query-id --document-id --model --budget --workspace --json
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
    out, matrix = options.out, options.matrix
    if matrix is not None and matrix.suffix not in MATRIX_FORMATS:
        raise InputError(f"--matrix {matrix.name!r} ends in none of {', '.join(MATRIX_FORMATS)}")
    files = CollectionFiles(
        queries=queries,
        corpus=corpus,
        labels=options.labels,
        columns=options.columns,
        query_id=options.query_id,
        document_id=options.document_id,
        label=options.label,
        label_scale=options.label_scale,
        label_map=options.label_map,
    )
    plan = SamplePlan(
        k=options.k, per_query=options.per_query, outside=options.outside, seed=options.seed
    )
    with progress_on_stderr(quiet=as_json) as watch:
        prompt = workspace.registry.get(options.judge)
        collection = read_collection(prompt, files)
        annotation = run_annotation(
            workspace,
            prompt,
            collection,
            models,
            asking_environment(workspace.root, models.model),
            retriever=_open_retriever(options, collection.documents),
            plan=plan,
            watch=watch,
        )
    write_annotations(annotation, out)
    if matrix is not None:
        write_matrix(label_matrix(annotation.judged), matrix)
    unpaid = annotation.unscored.get("budget")
    shortfall = (
        BudgetSpent(f"the budget ended before {unpaid} pairs were judged") if unpaid else None
    )
    body = annotation.to_json() | {"out": str(out), "matrix": matrix and str(matrix)}
    text = partial(_say, annotation, out, matrix)
    answer_in_part(body, text, shortfall, as_json=as_json)


def _open_retriever(options: AnnotateOptions, documents: Sequence[Item]) -> Retriever:
    texts = [document.text for document in documents]
    if options.retriever == "bm25":
        return Bm25(texts)
    return Dense(texts, load_encoder(options.embedder), name=options.embedder)


def _say(annotation: Annotation, out: Path, matrix: Path | None) -> None:
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
    say(f"\nannotations written to {out}" + (f", label matrix to {matrix}" if matrix else ""))

"""`judgewright annotate`: judge a sample of a corpus for many queries."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import cast

import click

from ...judges import BudgetSpent, InputError, WorldError
from ...judges.annotation import (
    CONFIDENT,
    DEFAULT_EMBEDDER,
    Bm25,
    Dense,
    Item,
    Outside,
    Retriever,
    SamplePlan,
    label_matrix,
    load_encoder,
    write_matrix,
)
from ...judges.annotation.collection import CollectionFiles, read_collection
from ..actions.annotate import Annotation, run_annotation, write_annotations
from ..config.options import ModelOptions
from ..terminal import progress_on_stderr, say, say_json, say_table
from .failure import error_body, report_failure
from .help import Command
from .model_access import asking_environment
from .options import column_map, json_option, no_wait_option, open_workspace, options_of, workspace_option
from .output_paths import OutFile

SHOWN = 10
"""Disagreements that are printed; the JSON has more."""


@click.command(
    cls=Command,
    epilog="Example:  judgewright annotate queries.jsonl passages.jsonl --judge context_relevance "
    "--model gpt-4o-mini --k 5 --per-query 10 --out annotations.jsonl",
)
@click.argument("queries", type=click.Path(path_type=Path))
@click.argument("corpus", type=click.Path(path_type=Path))
@click.option("--judge", "judge_name", required=True, help="A judge of pairs: name, name@version or YAML file.")
@click.option("--out", type=OutFile(), required=True, help="Write the annotations as JSONL.")
@click.option("--k", default=5, show_default=True, type=click.IntRange(min=1), help="The retriever's top.")
@click.option(
    "--per-query", default=10, show_default=True, type=click.IntRange(min=2),
    help="Pairs of a query, half of them inside the top k.",
)  # fmt: skip
@click.option(
    "--outside", default="bands", show_default=True, type=click.Choice(["bands", "uniform"]),
    help="Below the top k, draw one pair from each of ever wider bands of ranks, or any with the same chance.",
)  # fmt: skip
@click.option("--retriever", default="bm25", show_default=True, type=click.Choice(["bm25", "dense"]))
@click.option("--embedder", default=DEFAULT_EMBEDDER, show_default=True, help="Model of the dense retriever.")
@click.option("--seed", default=0, show_default=True, type=click.IntRange(min=0), help="Seed of the draw.")
@click.option(
    "--labels", type=click.Path(path_type=Path),
    help="What people said: a file with query_id, document_id and label. Never give labels of a holdout.",
)  # fmt: skip
@click.option("--label", default="label", show_default=True, help="Column of the label.")
@click.option("--label-scale", help="Scale of the labels: binary, probability, or LOW..HIGH@THRESHOLD.")
@click.option(
    "--threshold-from", default="rule", show_default=True,
    help="What counts as retrieved: the decision of the judge's rule, the best F1 on the labels, or a probability.",
    metavar="rule|labels|P",
)  # fmt: skip
@click.option("--matrix", type=OutFile(), help="Also write a sparse label matrix, .npz or .jsonl.")
@click.option("--column", "columns", multiple=True, metavar="INPUT=COLUMN", help="Read a judge's input from there.")
@click.option("--query-id", help="Column of the query's id [default: query_id, qid, else id].")
@click.option("--document-id", help="Column of the document's id [default: document_id, doc_id, ..., else id].")
@options_of(models=ModelOptions)
@workspace_option
@no_wait_option
@json_option
def annotate(
    queries: Path,
    corpus: Path,
    judge_name: str,
    out: Path,
    k: int,
    per_query: int,
    outside: str,
    retriever: str,
    embedder: str,
    seed: int,
    labels: Path | None,
    label: str,
    label_scale: str | None,
    threshold_from: str,
    matrix: Path | None,
    columns: tuple[str, ...],
    query_id: str | None,
    document_id: str | None,
    models: ModelOptions,
    workspace: Path | None,
    no_wait: bool,
    as_json: bool,
) -> None:
    """Judge pairs of QUERIES and CORPUS, drawn equally from inside and outside a retriever's top k.

    Each line of the output has the verdict, its probability (calibrated where a rule is kept for the judge), the rank,
    and the chance with which the pair was drawn. A stopped run is started again with the same command: what has been
    answered is not asked again.
    """
    if matrix is not None and matrix.suffix not in (".npz", ".jsonl"):
        raise InputError(f"--matrix {matrix.name!r} ends neither in .npz nor in .jsonl")
    sources = CollectionFiles(
        queries=queries,
        corpus=corpus,
        labels=labels,
        columns=column_map(columns),
        query_id=query_id,
        document_id=document_id,
        label=label,
        label_scale=label_scale,
    )
    plan = SamplePlan(k=k, per_query=per_query, outside=cast("Outside", outside), seed=seed)
    with open_workspace(workspace, wait=not no_wait) as place, progress_on_stderr(quiet=as_json) as watch:
        prompt = place.registry.get(judge_name)
        collection = read_collection(prompt, sources)
        search = _open_retriever(retriever, embedder, collection.documents)
        found = run_annotation(
            place,
            prompt,
            collection,
            models,
            asking_environment(place.root, models.model),
            retriever=search,
            plan=plan,
            threshold_from=threshold_from,
            watch=watch,
        )
    write_annotations(found, out)
    if matrix is not None:
        write_matrix(label_matrix(found.judged), matrix)
    shortfall = _shortfall(found)
    if as_json:
        say_json(found.to_json() | {"out": str(out), "matrix": matrix and str(matrix)} | error_body(shortfall))
    else:
        _say(found, out, matrix)
    if shortfall is not None:
        sys.exit(report_failure(shortfall, as_json=False))


def _open_retriever(kind: str, embedder: str, documents: Sequence[Item]) -> Retriever:
    encode = load_encoder(embedder) if kind == "dense" else None
    texts = [document.text for document in documents]
    return Bm25(texts) if encode is None else Dense(texts, encode, name=embedder)


def _say(found: Annotation, out: Path, matrix: Path | None) -> None:
    for note in found.notes:
        say(f"note: {note}")
    mark = " (SIMULATED)" if found.judged.simulated else ""
    say(f"\n{found.judged.judge} on {found.judged.model}{mark}, documents by {found.retriever}")
    estimates = {
        f"recall of the top {found.plan.k}": found.estimates.recall,
        "relevant documents of a query": found.estimates.relevant_per_query,
    }
    lines = [(name, str(e), str(e.n)) for name, e in estimates.items()]
    say_table(("in the whole corpus, by the judge", "95 % interval", "pairs"), lines)
    for reason in dict.fromkeys(e.reason for e in estimates.values() if e.reason):
        say(f"note: {reason}")
    if found.curve is not None:
        _say_cuts(found)
    if found.queue is not None:
        _say_queue(found)
    say(f"\nannotations written to {out}" + (f", label matrix to {matrix}" if matrix else ""))


def _say_cuts(found: Annotation) -> None:
    curve = found.curve
    assert curve is not None
    say(f"\nthreshold instead of a fixed k, on {curve.n:,} labelled pairs of {curve.queries:,} queries")
    cuts = [(f"probability >= {curve.best.cut:.3f}", curve.best, curve.best_f1)]
    cuts += [(f"top {point.cut:.0f}", point, f1) for point, f1 in zip(curve.top, curve.top_f1, strict=True)]
    lines = [
        (name, "-" if p.precision is None else f"{p.precision:.3f}", f"{p.recall:.3f}", str(f1), f"{p.documents:.1f}")
        for name, p, f1 in cuts
    ]
    say_table(("retrieved", "precision", "recall", "F1", "documents a query"), lines)
    say(f"F1 of the threshold minus that of the best k: {curve.gain}")
    say(f"note: {curve.note}")


def _say_queue(found: Annotation) -> None:
    queue = found.queue
    assert queue is not None
    sure = f"{queue.confident:,} with a confidence above {CONFIDENT:g}"
    say(f"\nto review: {queue.total:,} of {queue.n:,} labels are contradicted, {sure}")
    say(f"note: {queue.note}")
    lines = [
        (
            str(item.row.meta["query_id"]),
            str(item.row.meta["document_id"]),
            f"{item.row.label:g}",
            "relevant" if item.verdict.positive else "not",
            "-" if item.confidence is None else f"{item.confidence:.3f}",
            str(item.row.meta["rank"]),
        )
        for item in queue.items[:SHOWN]
    ]
    if lines:
        say_table(("query", "document", "label", "judge says", "confidence", "rank"), lines, left=2)


def _shortfall(found: Annotation) -> WorldError | None:
    """Say what kept pairs from being judged: no budget left."""
    if found.unscored.get("budget"):
        return BudgetSpent(f"the budget ended before {found.unscored['budget']} pairs were judged")
    return None

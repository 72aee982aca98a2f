"""`judgewright rag search`: use a judge's labels for search."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ....optimize.options import option
from ....runs.commands.decorators import REQUIRED, json_option, options_of, takes
from ....runs.commands.help import Group
from ....runs.config.command_options import pairs_option
from ....runs.terminal import answer, counting_on_stderr, say, say_json, say_table, simulated_mark

if TYPE_CHECKING:
    from ..actions.search_tune import TunedFiles

TUNE = """\
Example:   judgewright rag search tune pairs.jsonl --verdicts verdicts.jsonl --out fusion.json
Of yours:  judgewright rag search tune pairs.jsonl --verdicts verdicts.jsonl --feature bm25 --feature clicks
"""  # noqa: E501
PAIRS = """\
Example:  judgewright rag search pairs annotations.jsonl --out triplets.jsonl --matrix labels.npz
"""
COLUMN = "The column of query, document, query_id or document_id, if it has another name."

_data = partial(option, "Data")
_search = partial(option, "Search")
_output = partial(option, "Output")


@dataclass(frozen=True, kw_only=True)
class TuneOptions:
    """Where labels and features are, and how weights are sought."""

    verdicts: tuple[str, ...] = _data(
        (),
        "A file of the judge's verdicts on the pairs, as `bench --out` writes.",
        kind="repeated",
        metavar="FILE",
    )
    score: str = _data("score", "Its column of the judge's grade.")
    label: str = _data("label", "Column of people's label.")
    columns: Mapping[str, str] = pairs_option(
        "Data", COLUMN, flag="--column", metavar="WHAT=COLUMN"
    )
    features: tuple[str, ...] = _data(
        (),
        "A column with the score of a ranker, higher is better.",
        kind="repeated",
        flag="--feature",
        metavar="COLUMN",
    )
    no_text_features: bool = _data(
        False, "Build no features (BM25, TF-IDF, SVD, coverage) from the texts."
    )
    embedder: str | None = _data(
        None, "Also the cosine of this sentence-transformers model's vectors."
    )
    at: int = _search(10, "Ranks that count, of NDCG.", flag="--k", low=1)
    folds: int = _search(5, "Folds of queries.", low=2)
    trials: int = _search(100, "Settings tried for each fold.", low=1)
    seed: int = _search(0, "Seed of folds and trials.", low=0)


@dataclass(frozen=True, kw_only=True)
class TrainingPairOptions:
    """What counts as relevant, and which negatives are taken."""

    negatives: int = _search(
        3, "Negatives of a positive at most, the hardest first.", low=1, high=1000
    )
    below: float = _search(
        0.3, "Leave out negatives whose score by the judge reaches this: they may be relevant."
    )
    verdict: str = _data("verdict", "Column of the judge's decision, 0 or 1.")
    label: str = _data("label", "Column of people's label, which counts over the judge's decision.")
    label_threshold: float | None = _data(
        None, "From which label on a pair is relevant.", kind="number"
    )
    judge_only: bool = _data(False, "Leave people's labels aside.")
    columns: Mapping[str, str] = pairs_option(
        "Data", COLUMN, flag="--column", metavar="WHAT=COLUMN"
    )


@click.group(cls=Group)
def search() -> None:
    """Use a judge's labels for search: tune a ranking, or make data to train embeddings on."""


@search.command(epilog=TUNE)
@click.argument("pairs", nargs=-1, required=True, type=click.Path(path_type=Path))
@options_of(options=TuneOptions)
@takes("out", None, "Write the weights that were tuned on all judged queries, as JSON.", kind="out")
@json_option
def tune(pairs: tuple[Path, ...], options: TuneOptions, out: Path | None, as_json: bool) -> None:
    """Tune how features of PAIRS are fused, for NDCG on a judge's labels, and verify it on
    people's.

    PAIRS has a query, a document and people's label a line. Weights are tuned on some queries and
    measured on the others, against the best single feature, by a paired test over queries.
    """
    from ....judges.retrieval import load_encoder
    from ..actions.search_tune import SearchFiles, run_search_tuning, write_fusion
    from ..search import TuneSettings

    settings = TuneSettings(
        at=options.at, folds=options.folds, trials=options.trials, seed=options.seed
    )
    files = SearchFiles(
        pairs=pairs,
        verdicts=[Path(name) for name in options.verdicts],
        score=options.score,
        features=options.features,
        label=options.label,
        columns=options.columns,
        text_features=not options.no_text_features,
        encode=load_encoder(options.embedder) if options.embedder else None,
    )
    with (
        counting_on_stderr("features", quiet=as_json) as features,
        counting_on_stderr("settings", quiet=as_json) as tried,
    ):
        bars = {"features": features, "settings": tried}
        tuned = run_search_tuning(
            files, settings, count=lambda doing, done, total: bars[doing](done, total)
        )
    if out is not None:
        write_fusion(tuned, out)
    body = tuned.to_json() | {"out": out and str(out)}
    answer(body, partial(_say, tuned, out), as_json=as_json)


@search.command(epilog=PAIRS)
@click.argument("annotations", nargs=-1, required=True, type=click.Path(path_type=Path))
@options_of(options=TrainingPairOptions)
@takes("out", REQUIRED, "Write the training data, as JSONL.", kind="out")
@takes("matrix", None, "Also write the label matrix, .npz.", kind="out")
@json_option
def pairs(
    annotations: tuple[Path, ...],
    options: TrainingPairOptions,
    out: Path,
    matrix: Path | None,
    as_json: bool,
) -> None:
    """Make triplets for training embeddings of ANNOTATIONS, as `annotate --out` writes them.

    A line has anchor, positive and a hard negative: a document that was annotated as not
    relevant and has a high score. No known positive of a query is ever its negative.
    """
    from ....judges import InputError
    from ..actions.search_pairs import (
        PairFiles,
        make_training_pairs,
        write_pair_matrix,
        write_training,
    )
    from ..annotation import MATRIX_FORMATS, MiningSettings

    if matrix is not None and matrix.suffix not in MATRIX_FORMATS:
        raise InputError(f"--matrix {matrix.name!r} ends in none of {', '.join(MATRIX_FORMATS)}")
    settings = MiningSettings(negatives=options.negatives, below=options.below)
    files = PairFiles(
        paths=annotations,
        verdict=options.verdict,
        label=options.label,
        label_threshold=options.label_threshold,
        columns=options.columns,
        judge_only=options.judge_only,
    )
    training = make_training_pairs(files, settings)
    written = write_training(training, out)
    if matrix is not None:
        write_pair_matrix(training, matrix)
    if as_json:
        say_json(
            training.to_json()
            | {"written": written, "out": str(out), "matrix": matrix and str(matrix)}
        )
        return
    for note in training.notes:
        say(f"note: {note}")
    body = training.to_json()
    left_out = body["left_out"]
    say(
        f"\n{body['lines']:,} annotations of {body['queries']:,}"
        f" queries{simulated_mark(training.simulated)}"
    )
    say(
        f"  {body['relevant']:,} relevant, {body['not_relevant']:,} not, {body['undecided']:,}"
        " undecided"
    )
    say(f"  {body['pairs']:,} positive pairs, {body['triplets']:,} triplets")
    say(
        f"  negatives left out: {left_out['doubtful']:,} that the judge scores "
        f"{training.settings.below:g} or more"
    )
    say(f"  texts that are a positive too, and so no negative: {left_out['known_positives']:,}")
    say(
        f"  queries without a positive: {left_out['queries_without_positive']:,}; positives without"
        f" a negative: {left_out['positives_without_negative']:,}"
    )
    say(
        f"\n{written:,} triplets written to {out}"
        + (f", label matrix to {matrix}" if matrix else "")
    )


def _say(tuned: TunedFiles, out: Path | None) -> None:
    for note in tuned.notes:
        say(f"note: {note}")
    one = tuned.tuning
    metric = f"NDCG@{one.settings.at}"
    judged = (
        f"judge: {', '.join(tuned.judges)}, {tuned.judged_pairs:,} pairs of {tuned.judged_queries}"
        " queries"
    )
    people = f"people: {tuned.labelled_pairs:,} pairs of {tuned.labelled_queries} queries"
    say(f"\n{one.pairs:,} pairs of {one.queries} queries{simulated_mark(tuned.simulated)}")
    say(f"  labels by the {judged}; by {people}")
    lines = [(r.name, str(r.human), str(r.judge)) for r in one.rankings]
    say_table(("ranked by", f"{metric}, people's labels", "judge's labels"), lines)
    say(
        f"  tuned: in {one.settings.folds} folds, each query by weights that were tuned on the"
        " judge's labels of others"
    )
    verdict = "excludes 0" if one.gain.excludes_zero else "includes 0: not shown to be better"
    for over, gain in ((one.best_feature, one.gain), ("equal weights", one.gain_over_equal)):
        counts = f"better on {gain.better} queries, worse on {gain.worse}"
        say(f"\ngain over {over}: {gain.mean}, p = {gain.p:.4f}, {counts}")
        if over == one.best_feature:
            say(f"  the best single feature in hindsight, people's labels; the interval {verdict}")
    say("\ndid the judge's labels point the same way as people's? (Kendall's tau)")
    way = one.direction
    say(
        f"  of a query's documents: mean {way.by_query}, above 0 on {way.positive} of {way.queries}"
        " queries"
    )
    say(f"  of the {way.over_settings.n} settings tried, by {metric}: {way.over_settings}")
    say(
        f"\nweights tuned on all judged queries: {one.fusion}"
        + (f", written to {out}" if out else "")
    )

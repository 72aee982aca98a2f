"""`judgewright score`: measure verdicts from anywhere."""

from __future__ import annotations

from pathlib import Path

import click

from ...judges import by_column, load_verdicts, measure
from ..report import say_benchmark
from ..terminal import say, say_json
from .options import json_option


@click.command(
    epilog="Example:  judgewright score verdicts.jsonl --score verdict --confidence confidence --group query_id"
)
@click.argument("verdicts", type=click.Path(path_type=Path))
@click.option("--label", default="label", show_default=True, help="Column of the human label.")
@click.option(
    "--score", "score_column", default="score", show_default=True, help="Column of the judge's score or verdict."
)
@click.option("--confidence", help="Column of the judge's confidence in its verdict, 0 to 1.")
@click.option("--threshold", type=float, help="Labels and scores at or above it are positive.")
@click.option("--label-threshold", type=float, help="What the label must reach, where that differs.")
@click.option("--group", help="Column whose rows depend on each other; intervals resample it.")
@click.option("--id", "id_", default="id", show_default=True, help="Column of the row id.")
@click.option("--by", help="Also measure per value of this column.")
@click.option("--seed", default=0, show_default=True, help="Seed of the resamples behind the intervals.")
@json_option
def score(
    verdicts: Path,
    label: str,
    score_column: str,
    confidence: str | None,
    threshold: float | None,
    label_threshold: float | None,
    group: str | None,
    id_: str,
    by: str | None,
    seed: int,
    as_json: bool,
) -> None:
    """Measure the verdicts in a JSONL, CSV or Parquet file against the human labels beside them."""
    judged = load_verdicts(
        verdicts,
        label=label,
        score=score_column,
        confidence=confidence,
        threshold=threshold,
        label_threshold=label_threshold,
        group=group,
        id=id_,
    )
    whole = measure(judged, seed=seed)
    parts = by_column(judged, by, seed=seed) if by else {}
    if as_json:
        say_json(whole.to_json() | ({"by": {value: part.to_json() for value, part in parts.items()}} if by else {}))
        return
    for note in judged.dataset.notes:
        say(f"note: {note}")
    say_benchmark(whole, title=verdicts.name)
    for value, part in parts.items():
        say_benchmark(part, title=f"{by} = {value}", brief=True)

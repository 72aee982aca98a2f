"""Tables of labels and verdicts, and rankings, made from plain lists or arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from judgewright.judges import (
    BINARY,
    Answer,
    Dataset,
    JudgedDataset,
    OutputScale,
    Row,
    Unscored,
    Verdict,
)
from judgewright.judges.metrics import Ranking

Values = Sequence[Any]  # Any: numbers of Python or numpy, or texts


def judged_table(
    labels: Values,
    scores: Values,
    *,
    columns: Mapping[str, Values] | Sequence[Mapping[str, Any]] | None = None,
    groups: Values | None = None,
    confidence: Values | None = None,
    text: str = "",
    scale: OutputScale = BINARY,
    label_scale: OutputScale | None = None,
    ids: str = "r",
    **more: Any,  # Any: fields of the table
) -> JudgedDataset:
    """Return one row a label; a score of None is a reply that could not be read, `text` begins the
    text of each row.
    """
    meta: Sequence[Mapping[str, Any]] = ()
    if isinstance(columns, Mapping):
        meta = [
            dict(zip(columns, cells, strict=True)) for cells in zip(*columns.values(), strict=True)
        ]
    elif columns is not None:
        meta = columns
    rows: list[Row] = []
    answers: list[Answer] = []
    for i, (label, score) in enumerate(zip(labels, scores, strict=True)):
        row = Row(
            id=f"{ids}{i}",
            inputs={"text": f"{text} {i}"} if text else {},
            label=None if label is None else float(label),
            meta=dict(meta[i]) if meta else {},
            group="" if groups is None else str(groups[i]),
        )
        rows.append(row)
        if score is None:
            answers.append(Unscored(row_id=row.id, reason="parse"))
            continue
        sure = None if confidence is None or confidence[i] is None else float(confidence[i])
        positive = scale.kind == "choice" or scale.positive(float(score))
        verdict = Verdict(row_id=row.id, score=float(score), positive=positive, confidence=sure)
        answers.append(verdict)
    dataset = Dataset.of(rows, labels=label_scale or scale)
    return JudgedDataset(dataset=dataset, answers=tuple(answers), scale=scale, **more)


def ranking_of_run(
    judged: Mapping[str, Mapping[str, float]], run: Mapping[str, Mapping[str, float]]
) -> Ranking:
    """Return the documents of the judged queries, from grades and scores by query and document."""
    lines: list[tuple[int, float, float]] = []
    with_grades = [(query, grades) for query, grades in judged.items() if grades]
    for code, (query, grades) in enumerate(with_grades):
        scores = run.get(query, {})
        for document in {**grades, **scores}:
            lines.append((code, grades.get(document, np.nan), scores.get(document, np.nan)))
    table = np.array(lines, np.float64).reshape(-1, 3)
    return Ranking(query=table[:, 0].astype(np.int64), grade=table[:, 1], score=table[:, 2])

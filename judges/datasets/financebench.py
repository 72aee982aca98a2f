"""FinanceBench (Islam et al., 2023): answers of models to questions on filings, marked by
people.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ..files.problems import shorten
from .release import as_text, folded_text, group_of, read_tables
from .source import Flat, ReadOptions, Source

_COLUMNS = ("financebench_id", "question", "gold_answer", "label")
_LABELS = {"correct answer": 1, "incorrect answer": 0, "refusal": 0}


def read_financebench(path: Path, options: ReadOptions, notes: list[str]) -> Iterator[Flat]:
    """Yield a row for each answer, labelled 1 where people marked it correct; a refusal is 0, and
    `label_text` tells.

    A question is a group, so that the answers of all models to it stay together; empty answers are
    left out. The files are results such as `gpt-4_oracle.jsonl`.

    Raises:
        DataError: A file is not of this release, or a label is none of the three.
    """
    empty = refused = 0
    for _, record, problems in read_tables(path, _COLUMNS):
        fields = record.fields
        marked = folded_text(fields["label"])
        if marked not in _LABELS:
            strange, known = shorten(fields["label"]), "Correct Answer, Incorrect Answer, Refusal"
            problems.add(record.at, f"field 'label': {strange} is none of {known}")
            continue
        answer = as_text(fields.get("model_answer")).strip()
        if not answer:
            empty += 1
            continue
        question = as_text(fields["question"]).strip()
        refused += marked == "refusal"
        model, mode = as_text(fields.get("model_name")), as_text(fields.get("eval_mode"))
        yield {
            "id": "-".join(filter(None, (as_text(fields["financebench_id"]), model, mode))),
            "dataset": "financebench",
            "group_id": group_of("financebench", question),
            "query": question,
            "gold_answer": as_text(fields["gold_answer"]).strip(),
            "answer": answer,
            "label": _LABELS[marked],
            "label_text": marked,
            "generator": model or None,
            "eval_mode": mode or None,
        }
    if refused:
        notes.append(f"refusals, which count as wrong answers: {refused:,}")
    if empty:
        notes.append(f"empty answers, left out: {empty:,}")


FINANCEBENCH = Source(
    name="financebench",
    about=(
        "models' answers on company filings beside the gold answer, 1 where people marked them"
        " correct"
    ),
    inputs=("query", "gold_answer", "answer"),
    judge="answer_correctness",
    licence="CC BY-NC 4.0; the filings are public",
    read=read_financebench,
)

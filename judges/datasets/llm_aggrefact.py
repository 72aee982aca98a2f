"""LLM-AggreFact (Tang, Laban and Durrett, 2024): eleven sets of claims with documents, united."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ..files.label_words import WORDS, read_grade
from ..files.records import name_of
from .release import as_text, group_of, read_tables
from .source import Flat, ReadOptions, Source

_COLUMNS = ("dataset", "doc", "claim", "label")


def read_llm_aggrefact(path: Path, options: ReadOptions, notes: list[str]) -> Iterator[Flat]:
    """Yield a row for each claim; the sub-dataset is the slice column `dataset`, claims on one
    document are a group.

    Raises:
        DataError: A file is not of this release, or a label is neither 0 nor 1.
    """
    for file, record, problems in read_tables(path, _COLUMNS):
        try:
            label = read_grade(record.fields["label"], WORDS)
        except ValueError as error:
            problems.add(record.at, f"field 'label': {error}")
            continue
        if label not in (0, 1):
            problems.add(record.at, f"field 'label': {label!r} is neither 0 nor 1")
            continue
        doc = as_text(record.fields["doc"])
        yield {
            "id": f"{name_of(file)}-{record.at}",
            "dataset": as_text(record.fields["dataset"]),
            "group_id": group_of("doc", doc),
            "source": doc,
            "statement": as_text(record.fields["claim"]),
            "label": int(label),
            "contamination_identifier": record.fields.get("contamination_identifier"),
        }


LLM_AGGREFACT = Source(
    name="llm_aggrefact",
    about="claims against documents, 0/1; `dataset` names the sub-dataset",
    inputs=("source", "statement"),
    judge="groundedness",
    licence="CC BY-ND 4.0 and gated: for evaluation only, not for training a model",
    read=read_llm_aggrefact,
    hub="lytang/LLM-AggreFact",
)

"""Retrieval labels of ASQA, QAMPARI, ELI5 and RAG-Bench that people checked for DIRAS (Ni et al.,
2024).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from ..files.problems import shorten
from ..files.records import Cell, name_of
from .release import as_text, folded_text, group_of, read_tables
from .source import Flat, ReadOptions, Source

_COLUMNS = ("question", "document", "llama_guess")
_FLAGS = {"1": 1, "1.0": 1, "0": 0, "0.0": 0}
_BENCHMARK = {**_FLAGS, "gold": 1, "rel": 0}
"""`relevant` of ALCE's sets; `label` of RAG-Bench, whose `rel` is noise about the same thing."""
_FILE = re.compile(r"(?P<dataset>asqa|qampari|eli5|rag_bench)_test_data_(?P<confidence>\d+-\d+)")


def read_diras_checks(path: Path, options: ReadOptions, notes: list[str]) -> Iterator[Flat]:
    """Yield a row for each pair that a person checked, because student and retrieval label
    differed.

    The release says whether the person found the student right; from that and the student's guess
    follows whether the passage is relevant. With `level` = `benchmark` the label is the retrieval
    label instead, and `human_label` the person's, for every pair that has one. A file is called
    such as `asqa_test_data_0-90.csv`.

    Raises:
        DataError: A file is not of this release, or a guess or label is none that it has.
    """
    by_benchmark = options.level == "benchmark"
    other = "human_label" if by_benchmark else "benchmark_label"
    undecided = rows = 0
    # A pair without the person's mark is no mistake of the file.
    for file, record, problems in read_tables(path, _COLUMNS):
        fields = record.fields
        guess = {"yes": 1, "no": 0}.get(folded_text(fields["llama_guess"]).rstrip("."))
        if guess is None:
            strange = shorten(fields["llama_guess"])
            problems.add(record.at, f"field 'llama_guess': {strange} is neither yes nor no")
            continue
        right = _FLAGS.get(folded_text(fields.get("annotation")))
        benchmark = _benchmark(fields.get("relevant"), fields.get("label"))
        human = None if right is None else guess if right else 1 - guess
        if human is None or (by_benchmark and benchmark is None):
            undecided += 1
            continue
        rows += 1
        named = _FILE.search(file.name)
        question = as_text(fields["question"]).strip()
        yield {
            "id": f"{name_of(file)}-{record.at}",
            "dataset": named["dataset"] if named else name_of(file),
            "group_id": group_of("diras_checks", question),
            "query": question,
            "passage": as_text(fields["document"]).strip(),
            "label": benchmark if by_benchmark else human,
            "confidence_bin": named["confidence"] if named else None,
            "student_guess": guess,
            other: human if by_benchmark else benchmark,
        }
    if undecided:
        notes.append(f"pairs without a decision or a retrieval label, left out: {undecided:,}")
    if rows:
        notes.append(
            "rows on which a student contradicts the retrieval label: harder than the data they"
            " come from"
        )


def _benchmark(relevant: Cell, label: Cell) -> int | None:
    return _BENCHMARK.get(folded_text(label if relevant is None else relevant))


DIRAS_CHECKS = Source(
    name="diras_checks",
    about=(
        "passages of ASQA, QAMPARI, ELI5, RAG-Bench, checked where a student contradicts the"
        " retrieval label"
    ),
    inputs=("query", "passage"),
    judge="context_relevance",
    licence=(
        "the repository states none for these files; passages are Wikipedia (CC BY-SA) and web"
        " texts"
    ),
    read=read_diras_checks,
    levels=("people", "benchmark"),
)

"""ALCE's human evaluation (Gao et al., 2023): usefulness of answers, support of sentences by what
they cite.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ..errors import DataError, InputError
from ..files.problems import Problems
from .release import group_of, read_document
from .source import Flat, ReadOptions, Source

_MARK = re.compile(r"\s*\[\d+\]")
_TOTALS = "overall_results"
Body = Mapping[str, Any]  # Any: JSON


def read_alce(path: Path, options: ReadOptions, notes: list[str]) -> Iterator[Flat]:
    """Yield rows of either human evaluation file.

    human_eval_utility_completed.json gives a row (query, answer) for each answer, graded 1 to 5.
    human_eval_citations_completed.json gives a row (source, statement) for each sentence against
    all it cites, 0/1, or with `level` = `citation` for each sentence and one cited document, graded
    0 to 2. Citation marks are taken out of the statement. A question is a group.

    Raises:
        DataError: The file is neither of the two.
        InputError: A level is given for the usefulness file.
    """
    problems = Problems(path, "row")
    items = list(_items(read_document(path), path))
    utility = bool(items) and "utility_score" in items[0][2]
    if utility and options.level == "citation":
        raise InputError(
            f"{path.name} grades whole answers; the level {options.level!r} is for the citations"
            " file"
        )
    uncited = 0
    for at, (dataset, system, item) in enumerate(items, 1):
        name = f"{dataset}/{system}/{item.get('id')}"
        question, sentences = item.get("question"), item.get("sentences")
        if not isinstance(question, str):
            problems.add(at, f"{name}: field 'question' is missing")
            continue
        row: Flat = {
            "id": f"{dataset}-{system}-{item['id']}",
            "dataset": f"alce_{dataset}",
            "group_id": group_of("alce", question),
            "query": question,
            "generator": system,
        }
        if utility:
            score = item.get("utility_score")
            if score is None or score not in (1, 2, 3, 4, 5):
                problems.add(at, f"{name}: utility_score {score!r} is none of 1 to 5")
            else:
                yield row | {"answer": str(item.get("output") or ""), "label": int(score)}
        elif isinstance(sentences, list):
            uncited += sum(not sentence.get("citations") for sentence in sentences)
            for index, sentence in enumerate(sentences):
                yield from _sentence_rows(row, sentence, index, options.level, at, problems)
        else:
            problems.add(at, f"{name}: neither 'utility_score' nor 'sentences' is there")
    problems.check()
    if utility:
        notes.append("labels are grades 1 to 5: bench them with --label-scale 1..5@3")
    if options.level == "citation":
        notes.append(
            "labels are grades 0 to 2 (2 = full support): bench them with --label-scale 0..2@2"
        )
    if uncited:
        notes.append(
            "sentences that cite nothing, left out as there is no source to judge them by:"
            f" {uncited:,}"
        )


def _items(body: object, path: Path) -> Iterator[tuple[str, str, Body]]:
    """Yield data set, system and answer of the nested file, in its order; the totals beside them
    are passed over.
    """
    refusal = DataError(
        f"{path}: this is neither of ALCE's two human evaluation files",
        hint=(
            "human_eval_utility_completed.json or human_eval_citations_completed.json; the others"
            " have no labels"
        ),
    )
    if not isinstance(body, dict):
        raise refusal
    datasets = {name: systems for name, systems in body.items() if isinstance(systems, dict)}
    if not datasets:
        raise refusal
    for dataset, systems in datasets.items():
        for system, answers in systems.items():
            if not isinstance(answers, dict):
                continue
            for key, item in answers.items():
                if key != _TOTALS and isinstance(item, dict):
                    yield dataset, system.removesuffix(".json"), {"id": key} | item


def _sentence_rows(
    answer: Flat, sentence: Body, index: int, level: str, at: int, problems: Problems
) -> Iterator[Flat]:
    """Yield a sentence with all it cites, or once with each document; nothing where it cites
    none.
    """
    cited = sentence.get("citations") or []
    sentence_id = f"{answer['id']}-{index}"
    row = answer | {
        "id": sentence_id,
        "statement": _MARK.sub("", str(sentence.get("text") or "")).strip(),
        "sentence_index": index,
        "n_citations": len(cited),
    }
    if level == "citation":
        for k, document in enumerate(cited):
            label = _label(
                document.get("citation_precision_score"), 2, f"{sentence_id}-{k}", at, problems
            )
            if label is not None:
                yield row | {"id": f"{sentence_id}-{k}", "source": _text(document), "label": label}
    elif cited:
        label = _label(sentence.get("sentence_recall_score"), 1, sentence_id, at, problems)
        if label is not None:
            yield row | {
                "source": "\n\n".join(_text(document) for document in cited),
                "label": label,
            }


def _label(score: object, highest: int, name: str, at: int, problems: Problems) -> int | None:
    for label in range(highest + 1):
        if score == label:
            return label
    problems.add(
        at, f"{name}: the label {score!r} is none of {', '.join(map(str, range(highest + 1)))}"
    )
    return None


def _text(document: Body) -> str:
    return f"{document.get('title', '')}\n{document.get('text', '')}".strip()


ALCE = Source(
    name="alce",
    about="answers graded 1..5 for usefulness, or cited sentences against documents",
    inputs=("source", "statement"),
    judge="groundedness (citations), answer_relevance (usefulness)",
    licence="MIT for the annotations; the passages are Wikipedia (CC BY-SA) and web texts",
    read=read_alce,
    levels=("sentence", "citation"),
)

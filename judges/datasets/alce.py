"""ALCE's human evaluation (Gao et al., 2023): usefulness of answers, support of sentences by what they cite."""

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
    human_eval_citations_completed.json gives a row (source, statement) for each sentence against all it cites, 0/1, or
    with `level` = `citation` for each sentence and one cited document, graded 0 to 2. Citation marks are taken out
    of the statement. A question is a group.

    Args:
        path: One of the two files.
        options: `level` is `sentence` or `citation` and matters for the citations file only.
        notes: Told which label scale to name, and how many sentences cite nothing and are left out.

    Raises:
        DataError: The file is neither of the two.
        InputError: A level is given for the usefulness file.
    """
    body = read_document(path)
    problems = Problems(path, "row")
    items = list(_items(body, path))
    useful = bool(items) and "utility_score" in items[0][2]
    if useful and options.level == "citation":
        raise InputError(f"{path.name} grades whole answers; the level {options.level!r} is for the citations file")
    uncited = 0
    for at, (dataset, system, item) in enumerate(items, 1):
        where = f"{dataset}/{system}/{item.get('id')}"
        if not isinstance(item.get("question"), str):
            problems.add(at, f"{where}: field 'question' is missing")
        elif useful:
            yield from _utility(item, dataset, system, at, problems)
        else:
            sentences = item.get("sentences")
            if not isinstance(sentences, list):
                problems.add(at, f"{where}: neither 'utility_score' nor 'sentences' is there")
                continue
            uncited += sum(not sentence.get("citations") for sentence in sentences)
            yield from _citations(item, dataset, system, options.level, at, problems)
    problems.check()
    if useful:
        notes.append("labels are grades 1 to 5: bench them with --label-scale 1..5@3")
    if options.level == "citation":
        notes.append("labels are grades 0 to 2 (2 = full support): bench them with --label-scale 0..2@2")
    if uncited:
        notes.append(f"sentences that cite nothing, left out as there is no source to judge them by: {uncited:,}")


def _items(body: object, path: Path) -> Iterator[tuple[str, str, Body]]:
    """Yield data set, system and answer of the nested file, in its order; the totals beside them are passed over."""
    refusal = DataError(
        f"{path}: this is neither of ALCE's two human evaluation files",
        hint="human_eval_utility_completed.json or human_eval_citations_completed.json; the others have no labels",
    )
    if not isinstance(body, dict):
        raise refusal
    for dataset, systems in body.items():
        for system, answers in systems.items() if isinstance(systems, dict) else ():
            for key, item in answers.items() if isinstance(answers, dict) else ():
                if key != _TOTALS and isinstance(item, dict):
                    yield dataset, system.removesuffix(".json"), {"id": key} | item
    if not any(isinstance(systems, dict) for systems in body.values()):
        raise refusal


def _common(item: Body, dataset: str, system: str) -> Flat:
    return {
        "id": f"{dataset}-{system}-{item['id']}",
        "dataset": f"alce_{dataset}",
        "group_id": group_of("alce", item["question"]),
        "query": item["question"],
        "generator": system,
    }


def _utility(item: Body, dataset: str, system: str, at: int, problems: Problems) -> Iterator[Flat]:
    score = item.get("utility_score")
    if score is None or score not in (1, 2, 3, 4, 5):
        problems.add(at, f"{dataset}/{system}/{item['id']}: utility_score {score!r} is none of 1 to 5")
    else:
        yield _common(item, dataset, system) | {"answer": str(item.get("output") or ""), "label": int(score)}


def _citations(item: Body, dataset: str, system: str, level: str, at: int, problems: Problems) -> Iterator[Flat]:
    for index, sentence in enumerate(item["sentences"]):
        cited = sentence.get("citations") or []
        row = _common(item, dataset, system)
        row |= {"id": f"{row['id']}-{index}", "statement": _MARK.sub("", str(sentence.get("text") or "")).strip()}
        row |= {"sentence_index": index, "n_citations": len(cited)}
        units = (
            [(f"{row['id']}-{k}", [one], one.get("citation_precision_score"), (0, 1, 2)) for k, one in enumerate(cited)]
            if level == "citation"
            else [(row["id"], cited, sentence.get("sentence_recall_score"), (0, 1))] * bool(cited)
        )
        for name, documents, score, allowed in units:
            if score is None or score not in allowed:
                problems.add(at, f"{name}: the label {score!r} is none of {', '.join(map(str, allowed))}")
                continue
            source = "\n\n".join(f"{one.get('title', '')}\n{one.get('text', '')}".strip() for one in documents)
            yield row | {"id": name, "source": source, "label": int(score)}


ALCE = Source(
    name="alce",
    about="answers graded 1..5 for usefulness, or cited sentences against documents",
    inputs=("source", "statement"),
    judge="groundedness (citations), answer_relevance (usefulness)",
    licence="MIT for the annotations; the passages are Wikipedia (CC BY-SA) and web texts",
    read=read_alce,
    levels=("sentence", "citation"),
)

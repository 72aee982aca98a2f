"""Made-up verdicts in the shape of published ones, so that the notebooks about those run where they
are not at hand.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonlines
import numpy as np

LEADERBOARD = {
    f"judge-{letter}": (0.5 + 0.06 * i, (i % 5 - 2) * 0.25)
    for i, letter in enumerate("abcdefghijkl")
}
"""Twelve judges: the standard deviation of what each gets wrong in a grade, and how far it grades
too high.
"""
DIRAS = {
    "gpt-4-0125-preview": 0.8,
    "gpt-4-nodef": 1.0,
    "gpt-4-nocot": 1.1,
    "gpt-3.5-turbo": 1.6,
    "llama3-8b-instruct": 2.0,
}
"""Files of one judge each, by the standard deviation of what it gets wrong in the log-odds."""
QUERIES = ("What is measured", "Who is responsible", "By when", "At what cost", "With which risks")
SUBJECTS = ("emissions", "water use", "suppliers", "training", "energy", "waste", "safety")

Line = dict[str, Any]  # Any: JSON


def write_demo_verdicts(folder: Path, *, seed: int = 0) -> Path:
    """Write the files that the notebooks read, under the names of the published ones; every word is
    made up.

    Args:
        folder: Where to write; `verdicts/` is made in it.

    Returns:
        The folder.
    """
    draw = np.random.default_rng(seed)
    verdicts = folder / "verdicts"
    verdicts.mkdir(parents=True, exist_ok=True)
    _write(verdicts / "llmjudge_test.verdicts_matrix_dev12.jsonl", _matrix(draw))
    _write(verdicts / "trecdl19.gpt-4o-umbrela.jsonl", _graded(draw))
    pairs = list(_pairs(draw))
    for name, noise in DIRAS.items():
        _write(verdicts / f"diras_chatreport.{name}.jsonl", _with_confidence(draw, pairs, noise))
    labelled = [pair for pair in pairs if pair["query"] < len(SUBJECTS)]
    _write(folder / "diras.jsonl", (_labelled(pair) for pair in labelled))
    return folder


def _write(path: Path, lines: Iterator[Line]) -> None:
    with jsonlines.open(path, "w") as file:
        file.write_all(lines)


def _grade(latent: float) -> int:
    return int(np.clip(np.round(latent), 0, 3))


def _matrix(draw: np.random.Generator) -> Iterator[Line]:
    """Twelve judges' grades 0 to 3 of the same passages of 25 queries."""
    for query in range(25):
        hard = draw.normal(0, 0.3)
        for passage in range(40):
            label = int(draw.choice(4, p=(0.45, 0.25, 0.2, 0.1)))
            grades = {
                name: _grade(label + bias + hard + draw.normal(0, noise))
                for name, (noise, bias) in LEADERBOARD.items()
            }
            metadata = {"query_id": f"q{query}", "query_source": "made up"}
            yield {
                "id": f"q{query}-p{passage}",
                "label": label,
                "verdicts": grades,
                "metadata": metadata,
            }


def _graded(draw: np.random.Generator) -> Iterator[Line]:
    """One judge's grades of 40 queries; it overrates passages that repeat the words of a keyword
    query.
    """
    for query in range(40):
        kind = ("keyword", "question")[query % 2]
        for passage in range(60):
            label = int(draw.choice(4, p=(0.5, 0.2, 0.2, 0.1)))
            words, overlap = int(draw.integers(20, 120)), round(float(draw.uniform(0, 1)), 3)
            fooled = 1.2 if kind == "keyword" and overlap > 0.6 else 0.1
            yield {
                "id": f"{query}-{passage}",
                "inputs": {
                    "query": _question(query),
                    "passage": f"Made-up passage {passage} about {_subject(passage)}.",
                },
                "label": label,
                "score": _grade(label + fooled + draw.normal(0, 0.6)),
                "metadata": {
                    "query_id": str(query),
                    "query_type": kind,
                    "passage_words": words,
                    "query_term_overlap": overlap,
                },
            }


def _pairs(draw: np.random.Generator) -> Iterator[Line]:
    """Pairs of eleven questions and sixty paragraphs, with the log-odds of relevance that people go
    by.
    """
    for query in range(11):
        for paragraph in range(60):
            odds = float(draw.normal(-1, 2))
            yield {
                "id": f"made-up-{query}-{paragraph}",
                "query": query,
                "paragraph": (
                    f"Made-up paragraph {paragraph}, on {_subject(paragraph)} and"
                    f" {_subject(query)}."
                ),
                "odds": odds,
                "label": 1 if odds > 1 else 0.5 if odds > 0 else 0,
            }


def _with_confidence(draw: np.random.Generator, pairs: list[Line], noise: float) -> Iterator[Line]:
    for pair in pairs:
        chance = float(1 / (1 + np.exp(-(1.5 * pair["odds"] + draw.normal(0, noise)))))
        verdict = int(chance >= 0.5)
        yield {
            "id": pair["id"],
            "inputs": {"query": _question(pair["query"]), "passage": pair["paragraph"]},
            "label": int(pair["label"] > 0),
            "verdict": verdict,
            "score": round(chance, 2),
            "confidence": round(chance if verdict else 1 - chance, 2),
            "metadata": {"human_uncertain": abs(pair["odds"]) < 0.7},
        }


def _labelled(pair: Line) -> Line:
    question = _question(pair["query"])
    return {
        "id": pair["id"],
        "group_id": question,
        "question": question,
        "relevance_definition": (
            f"A paragraph is relevant if it says something about {_subject(pair['query'])}."
        ),
        "paragraph": pair["paragraph"],
        "label": pair["label"],
    }


def _question(number: int) -> str:
    return f"{QUERIES[number % len(QUERIES)]}, as far as {_subject(number)} in case {number} goes?"


def _subject(number: int) -> str:
    return SUBJECTS[number % len(SUBJECTS)]

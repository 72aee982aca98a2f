"""Made-up verdicts in the shape of published ones, so that the notebooks about those run where they
are not at hand.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import jsonlines
import numpy as np

LEADERBOARD = {f"judge-{'abcdefghijkl'[i]}": 0.5 + 0.06 * i for i in range(12)}
"""Twelve judges, by the standard deviation of what each gets wrong in a grade."""
DIRAS = {
    "gpt-4-0125-preview": 0.8,
    "gpt-4-nodef": 1.0,
    "gpt-4-nocot": 1.1,
    "gpt-3.5-turbo": 1.6,
    "llama3-8b-instruct": 2.0,
}
"""Files of one judge each, by the standard deviation of what it gets wrong in the log-odds."""
SUBJECTS = ("emissions", "water use", "suppliers", "training", "energy", "waste", "safety")

Line = dict[str, Any]  # Any: JSON


def write_made_up_verdicts(folder: Path, *, seed: int = 0) -> Path:
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
    graded = [_graded(draw, query, passage) for query in range(40) for passage in range(60)]
    _write(verdicts / "llmjudge_test.verdicts_matrix_dev12.jsonl", graded[:1500])
    _write(verdicts / "trecdl19.gpt-4o-umbrela.jsonl", graded)
    odds = draw.normal(-1, 2, (11, 60))
    for name, noise in DIRAS.items():
        chances = 1 / (1 + np.exp(-(1.5 * odds + draw.normal(0, noise, odds.shape))))
        lines = [
            _with_confidence(at, float(odds[at]), float(chances[at])) for at in np.ndindex(11, 60)
        ]
        _write(verdicts / f"diras_chatreport.{name}.jsonl", lines)
    labelled = [_labelled(at, float(odds[at])) for at in np.ndindex(7, 60)]
    _write(folder / "diras.jsonl", labelled)
    return folder


def _write(path: Path, lines: Iterable[Line]) -> None:
    with jsonlines.open(path, "w") as file:
        file.write_all(lines)


def _graded(draw: np.random.Generator, query: int, passage: int) -> Line:
    """Grades 0 to 3 of one passage; the judges overrate those that repeat a keyword query."""
    kind = ("keyword", "question")[query % 2]
    label, overlap = int(draw.choice(4, p=(0.5, 0.2, 0.2, 0.1))), round(float(draw.uniform()), 3)
    latent = label + (1.2 if kind == "keyword" and overlap > 0.6 else 0.1)
    grades = {
        name: int(np.clip(np.round(latent + draw.normal(0, noise)), 0, 3))
        for name, noise in LEADERBOARD.items()
    }
    return {
        "id": f"{query}-{passage}",
        "inputs": {"query": _question(query), "passage": f"Made-up passage {passage}."},
        "label": label,
        "score": grades["judge-a"],
        "verdicts": grades,
        "metadata": {
            "query_id": str(query),
            "query_type": kind,
            "passage_words": int(draw.integers(20, 120)),
            "query_term_overlap": overlap,
        },
    }


def _with_confidence(at: tuple[int, ...], odds: float, chance: float) -> Line:
    verdict = int(chance >= 0.5)
    return {
        "id": "made-up-{}-{}".format(*at),
        "inputs": {"query": _question(at[0]), "passage": _paragraph(at)},
        "label": int(odds > 0),
        "verdict": verdict,
        "score": round(chance, 2),
        "confidence": round(chance if verdict else 1 - chance, 2),
        "metadata": {"human_uncertain": abs(odds) < 0.7},
    }


def _labelled(at: tuple[int, ...], odds: float) -> Line:
    question = _question(at[0])
    about = SUBJECTS[at[0] % len(SUBJECTS)]
    return {
        "id": "made-up-{}-{}".format(*at),
        "group_id": question,
        "question": question,
        "relevance_definition": f"A paragraph is relevant if it says something about {about}.",
        "paragraph": _paragraph(at),
        "label": 1 if odds > 1 else 0.5 if odds > 0 else 0,
    }


def _question(number: int) -> str:
    return f"What is measured of {SUBJECTS[number % len(SUBJECTS)]} in case {number}?"


def _paragraph(at: tuple[int, ...]) -> str:
    query, paragraph = (SUBJECTS[number % len(SUBJECTS)] for number in at)
    return f"Made-up paragraph {at[1]}, on {paragraph} and {query}."

"""Written answers read from files, and ANLS by an edit distance of our own."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from judgewright.judges import DataError
from judgewright.judges.files import load_text_answers
from judgewright.judges.metrics import anls

ROWS: list[dict[str, object]] = [
    {"gold": "Paris", "says": "paris", "q": "a"},  # 1: case is folded
    {
        "gold": ["forty two", "42"],
        "says": 42,
        "q": "a",
    },  # 1: one of several right answers, written as a number
    {"gold": "colour", "says": "color", "q": "b"},  # 1 - 1/6
    {"gold": "kitten", "says": "sitting", "q": "b"},  # 1 - 3/7
    {"gold": "yes", "says": "no, never", "q": "c"},  # 0: at least half of it is wrong
    {"gold": "here", "says": "", "q": "c"},  # 0: an empty answer
    {"gold": "", "says": "", "q": "c"},  # 1: where nothing was to be said
    {"gold": "[1]", "says": "[1]", "q": "d"},  # 1: a text, not a list of texts
    {"gold": "left", "says": None, "q": "d"},  # no answer
    {"gold": "left", "q": "d"},  # no answer
    {"gold": None, "says": "what", "q": "d"},  # no gold answer
]
BY_HAND = [1, 1, 1 - 1 / 6, 1 - 3 / 7, 0, 0, 1, 1]


def edits(a: str, b: str) -> int:
    """The Levenshtein distance, by its recursion over prefixes (Wagner and Fischer 1974)."""
    row = list(range(len(b) + 1))
    for i, left in enumerate(a, 1):
        before, row = row, [i]
        for j, right in enumerate(b, 1):
            row.append(min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (left != right)))
    return row[-1]


def similarity(answer: str, gold: Sequence[str]) -> float:
    """ANLS of one answer as Biten et al. (2019) define it."""
    distances = [edits(answer.lower(), g.lower()) / max(len(answer), len(g), 1) for g in gold]
    return 1 - min(distances) if min(distances) < 0.5 else 0.0


def write(path: Path, rows: Sequence[dict[str, object]]) -> Path:
    """Write rows as JSONL."""
    path.write_text("\n".join(map(json.dumps, rows)))
    return path


def test_texts_are_compared_as_computed_by_hand(tmp_path: Path) -> None:
    """Rows without an answer are unscored, those without a gold answer unlabelled; neither is
    wrong.
    """
    texts = load_text_answers(
        write(tmp_path / "a.jsonl", ROWS), gold="gold", answer="says", group="q", by="q"
    )
    assert (texts.unscored, texts.unlabelled) == (2, 1)
    assert texts.gold[1] == ("forty two", "42")
    assert texts.gold[7] == ("[1]",)
    assert texts.by == ("a", "a", "b", "b", "c", "c", "c", "d")
    one_by_one = [anls([a], [g]).value for a, g in zip(texts.answers, texts.gold, strict=True)]
    assert one_by_one == pytest.approx(BY_HAND)
    assert one_by_one == pytest.approx(
        [similarity(a, g) for a, g in zip(texts.answers, texts.gold, strict=True)]
    )
    assert anls(texts.answers, texts.gold, texts.groups).value == pytest.approx(np.mean(BY_HAND))
    part = texts.only([4, 5, 7])
    assert (part.answers, part.by) == (("no, never", "", "[1]"), ("c", "c", "d"))
    assert part.groups is not None
    assert part.groups.tolist() == [0, 0, 1]


def test_groups_are_found_or_said_to_be_missing(tmp_path: Path) -> None:
    """As in every other verdict file."""
    rows: list[dict[str, object]] = [
        {"label": "a", "score": "a", "query_id": i // 2} for i in range(4)
    ]
    texts = load_text_answers(write(tmp_path / "a.jsonl", rows))
    assert texts.groups is not None
    assert texts.groups.tolist() == [0, 0, 1, 1]
    assert texts.notes == ("rows that share the same query_id are one group",)
    alone = load_text_answers(write(tmp_path / "b.jsonl", [{"label": "a", "score": "b"}]))
    assert alone.groups is None
    assert "no column names the group" in alone.notes[0]


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"gold": "golden"}, "the column 'golden' is missing .did you mean 'gold'"),
        ({"by": "topic"}, "the column 'topic' is missing"),
        ({"group": "doc"}, "the column 'doc' is missing"),
        ({"gold": "none"}, "no row has a text in 'none' and in 'says'"),
    ],
)
def test_a_column_that_is_not_there_is_named(
    tmp_path: Path, columns: dict[str, str], said: str
) -> None:
    """So is one that holds nothing."""
    path = write(tmp_path / "a.jsonl", [{**row, "none": None} for row in ROWS])
    with pytest.raises(DataError, match=said):
        load_text_answers(path, **{"gold": "gold", "answer": "says", **columns})

"""HotpotQA: positives and negatives, balanced, seeded, never the gold answer."""

import json
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judgewright.judges.datasets import Flat, ReadOptions, answer_kind, open_source


def read(path: Path, seed: int = 0) -> list[Flat]:
    """Read a release with a seed."""
    return list(open_source("hotpotqa", path, ReadOptions(seed=seed)).rows)


def test_classes_and_kinds_of_negatives_are_balanced(releases: dict[str, Path]) -> None:
    """Ten questions: ten gold answers, five hard and five shuffled negatives."""
    rows = read(releases["hotpotqa"])
    assert Counter(row["negative_kind"] for row in rows) == {
        None: 10,
        "same_kind": 5,
        "shuffled": 5,
    }
    assert all(row["answer"] == row["gold_answer"] for row in rows if row["label"] == 1)


@pytest.mark.parametrize("seed", range(5))
def test_a_negative_is_never_the_gold_answer_and_a_hard_one_is_of_its_kind(
    releases: dict[str, Path], seed: int
) -> None:
    """Two questions share the answer `no`; neither gets it as its negative."""
    negatives = [row for row in read(releases["hotpotqa"], seed) if row["label"] == 0]
    assert all(row["answer"] != row["gold_answer"] for row in negatives)
    hard = [row for row in negatives if row["negative_kind"] == "same_kind"]
    assert hard
    assert all(row["answer_kind"] == row["expected_answer_kind"] for row in hard)


def test_another_seed_draws_other_negatives(releases: dict[str, Path]) -> None:
    """The seed is all that decides."""
    drawn = {tuple(row["answer"] for row in read(releases["hotpotqa"], seed)) for seed in range(4)}
    assert len(drawn) > 1


def test_a_kind_with_one_answer_falls_back_aloud(tmp_path: Path) -> None:
    """Where no other answer of the kind exists any answer is drawn, and a note counts it."""
    path = tmp_path / "two.json"
    items = [
        {"_id": str(i), "question": f"{i}?", "answer": a} for i, a in enumerate(("yes", "Oda Kolm"))
    ]
    path.write_text(json.dumps(items))
    opened = open_source("hotpotqa", path)
    rows = list(opened.rows)
    assert [row["negative_kind"] for row in rows if row["label"] == 0] == ["shuffled", "shuffled"]
    assert any("without another answer of their kind" in note for note in opened.notes)


def test_the_hubs_columns_are_read_as_well(tmp_path: Path) -> None:
    """There `id` stands for `_id`."""
    path = tmp_path / "hub.jsonl"
    items = [{"id": f"x{i}", "question": "?", "answer": a} for i, a in enumerate("ab")]
    path.write_text("\n".join(map(json.dumps, items)))
    rows = read(path)
    assert rows[0]["id"] == "hotpotqa-x0-gold"


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        ("Yes", "yes_no"),
        ("1911", "date"),
        ("March 3, 1950", "date"),
        ("1990s", "date"),
        ("40,000", "number"),
        ("seven", "number"),
        ("three times", "number"),
        ("Oda Kolm", "entity"),
        ("Seventh Wave", "entity"),
        ("May Kolm", "entity"),
    ],
)
def test_kinds_of_answers_are_told_by_their_form(answer: str, kind: str) -> None:
    """A month makes a date only with a number."""
    assert answer_kind(answer) == kind


@given(
    answers=st.lists(
        st.sampled_from(["yes", "no", "1911", "1912", "7", "8", "Kolm", "Hale"]), min_size=2
    )
)
@settings(max_examples=60, deadline=None)
def test_every_question_with_another_answer_around_gets_a_negative(
    tmp_path_factory: pytest.TempPathFactory, answers: list[str]
) -> None:
    """Whatever the answers, classes are balanced unless all answers are one."""
    path = tmp_path_factory.mktemp("hotpot") / "rows.json"
    path.write_text(
        json.dumps([{"_id": str(i), "question": "?", "answer": a} for i, a in enumerate(answers)])
    )
    labels = Counter(row["label"] for row in read(path))
    assert labels[1] == len(answers)
    assert labels[0] == (len(answers) if len(set(answers)) > 1 else 0)

"""Hard negatives: never a known positive, never doubtful, hardest first."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judgewright.judges import InputError
from judgewright.plugins.rag.annotation import AnnotatedPair, MiningSettings, mine_pairs, text_key

said = st.sampled_from([None, True, False])
annotations = st.lists(
    st.builds(
        AnnotatedPair,
        query=st.sampled_from(["fox", "Fox ", "dog", ""]),
        document=st.sampled_from(
            ["red fox", "red  fox", "Red Fox", "dog", "cat", "a dog and a fox", " "]
        ),
        human=said,
        judge=said,
        relevance=st.one_of(st.none(), st.floats(0, 1)),
    ),
    max_size=25,
)


def same(text: str) -> str:
    """What makes two texts one, in other words than the product's."""
    return " ".join(text.lower().split())


@given(annotations, st.integers(1, 4), st.sampled_from([0.2, 0.5, 1.0]))
@settings(max_examples=300, deadline=None)
def test_a_known_positive_is_never_a_negative_of_its_query(
    pairs: list[AnnotatedPair], negatives: int, below: float
) -> None:
    """Whatever the annotations: under no spelling, from no annotator; and every negative was
    annotated as one.
    """
    positive: set[tuple[str, str]] = set()
    negative: dict[tuple[str, str], list[float]] = {}
    for pair in pairs:
        word = pair.judge if pair.human is None else pair.human
        key = (same(pair.query), same(pair.document))
        if word is True:
            positive.add(key)
        elif word is False:
            negative.setdefault(key, [])
        if word is not None and pair.relevance is not None:
            negative.setdefault(key, []).append(pair.relevance)
    mined = mine_pairs(pairs, MiningSettings(negatives=negatives, below=below))
    assert {(same(anchor), same(text)) for anchor, text in mined.pairs} == positive
    assert len(mined.pairs) == len(positive)
    for anchor, text, hard in mined.triplets:
        assert (same(anchor), same(text)) in positive
        assert (same(anchor), same(hard)) not in positive
        assert all(score < below for score in negative[same(anchor), same(hard)])
    counts: dict[tuple[str, str], int] = {}
    for anchor, text, _ in mined.triplets:
        counts[anchor, text] = counts.get((anchor, text), 0) + 1
    assert max(counts.values(), default=0) <= negatives
    assert len(set(mined.triplets)) == len(mined.triplets)


def pair(document: str, relevant: bool, score: float | None, *, by: str = "judge") -> AnnotatedPair:
    """One annotation of one query."""
    human, judge = (relevant, None) if by == "people" else (None, relevant)
    return AnnotatedPair(
        query="red fox", document=document, human=human, judge=judge, relevance=score
    )


def test_the_hardest_comes_first_and_the_doubtful_not_at_all() -> None:
    """By the judge's score, then by BM25, then what has no score."""
    pairs = [
        pair("the red fox sleeps", True, 0.9),
        pair("nothing of it", False, 0.1),
        pair("a fox", False, 0.1),
        pair("nearly", False, 0.4),
        pair("people say no, the judge is not sure", False, 0.7),
        pair("unscored", False, None, by="people"),
    ]
    mined = mine_pairs(pairs, MiningSettings(negatives=9, below=0.5))
    assert [hard for _, _, hard in mined.triplets] == [
        "nearly",
        "a fox",
        "nothing of it",
        "unscored",
    ]
    assert (mined.doubtful, mined.queries, mined.without_negative) == (1, 1, 0)
    assert [
        hard for _, _, hard in mine_pairs(pairs, MiningSettings(negatives=1, below=0.5)).triplets
    ] == ["nearly"]


def test_what_is_left_without_is_counted() -> None:
    """A query without a positive; a positive without a negative; the same text said otherwise."""
    pairs = [
        pair("a", True, 0.9),
        pair("A ", False, 0.2),
        AnnotatedPair(query="dog", document="b", human=False, judge=None, relevance=None),
        AnnotatedPair(query="cat", document="c", human=None, judge=None, relevance=None),
    ]
    mined = mine_pairs(pairs)
    assert (mined.queries, mined.known, mined.without_positive, mined.without_negative) == (
        2,
        1,
        1,
        1,
    )
    assert mined.triplets == ()
    assert mine_pairs([]).pairs == ()
    assert text_key("A  b\n") == "a b"
    with pytest.raises(InputError, match="negatives a positive"):
        MiningSettings(negatives=0)
    with pytest.raises(InputError, match="threshold of negatives"):
        MiningSettings(below=0)

"""Retrieval: BM25 by the formula, ties by the order of the corpus, and embeddings behind their
extra.
"""

import importlib.util
import math
import time
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judgewright.judges import InputError
from judgewright.judges.retrieval import Bm25, Dense, load_encoder, rank, words

WORDS = st.lists(st.sampled_from(["ash", "birch", "cedar", "elm", "fir", "oak"]), max_size=8)


def by_hand(
    corpus: list[list[str]], query: list[str], k1: float = 1.5, b: float = 0.75
) -> list[float]:
    """BM25 as it is written down, one document and one word at a time."""
    n, mean = len(corpus), sum(map(len, corpus)) / len(corpus)
    scores = []
    for document in corpus:
        counts, total = Counter(document), 0.0
        for word in query:
            df = sum(word in other for other in corpus)
            if counts[word]:
                idf = math.log(1 + (n - df + 0.5) / (df + 0.5))
                total += (
                    idf * counts[word] / (counts[word] + k1 * (1 - b + b * len(document) / mean))
                )
        scores.append(total)
    return scores


@given(corpus=st.lists(WORDS, min_size=1, max_size=12), query=WORDS)
@settings(max_examples=150, deadline=None)
def test_bm25_is_the_formula(corpus: list[list[str]], query: list[str]) -> None:
    """Every score equals the hand-written formula, for empty documents and unknown words too."""
    got = Bm25([" ".join(document) for document in corpus]).scores(" ".join([*query, "unknown"]))
    expected = by_hand(corpus, query) if any(corpus) else [0.0] * len(corpus)
    np.testing.assert_allclose(got, expected, atol=1e-9)


def test_equal_scores_keep_the_order_of_the_corpus() -> None:
    """Three copies of a passage stand in their order, and passages without a hit follow in
    theirs.
    """
    scores = Bm25(["no hit", "red fox", "nothing", "red fox", "red fox"]).scores("fox")
    assert rank(scores).tolist() == [1, 3, 4, 0, 2]


def test_words_are_folded_and_none_is_too_common() -> None:
    """Case and compatibility forms do not matter; Chinese counts by character."""
    assert words("The ＦＯＸ isn't") == ["the", "fox", "isn", "t"]
    assert words("东京 Tower") == ["东", "京", "tower"]
    assert Bm25(["the end", "a start"]).scores("THE").argmax() == 0


def test_a_corpus_without_words_scores_nothing_and_an_empty_one_is_refused() -> None:
    """Neither divides by zero."""
    assert Bm25(["", "..."]).scores("fox").tolist() == [0.0, 0.0]
    with pytest.raises(InputError, match="no passage"):
        Bm25([])


def test_a_large_corpus_is_indexed_in_seconds() -> None:
    """Twenty thousand passages of fifty words; the bound is ten times what it takes."""
    rng = np.random.default_rng(0)
    drawn = rng.zipf(1.3, size=(20_000, 50)) % 20_000
    passages = [" ".join(f"w{word}" for word in line) for line in drawn]
    start = time.process_time()
    index = Bm25(passages)
    assert rank(index.scores(passages[777]))[0] == 777
    assert time.process_time() - start < 15


def test_dense_retrieval_is_the_cosine() -> None:
    """With letters counted as an embedding, the nearest passage is the anagram; a zero vector
    scores 0.
    """

    def count_letters(texts: object) -> np.ndarray:
        return np.array([[text.count(letter) for letter in "abc"] for text in texts], np.float64)  # type: ignore[attr-defined]

    index = Dense(["aab", "cc", "baabaa", "xyz"], count_letters, name="letters")
    np.testing.assert_allclose(index.scores("abaaba"), [1.0, 0.0, 1.0, 0.0], atol=1e-6)
    assert rank(index.scores("abaaba")).tolist()[:2] == [0, 2]
    assert index.name == "letters"


@pytest.mark.skipif(
    importlib.util.find_spec("sentence_transformers") is not None, reason="the extra is installed"
)
def test_dense_retrieval_without_its_extra_says_what_to_install() -> None:
    """An InputError that names the extra."""
    with pytest.raises(InputError, match="sentence_transformers") as caught:
        load_encoder()
    assert "judgewright[embeddings]" in (caught.value.hint or "")

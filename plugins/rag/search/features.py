"""Features of pairs that need nothing but their texts: BM25, TF-IDF, its reduction by SVD, words
that are covered.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ....judges.errors import InputError
from ....judges.judged_dataset import FloatArray, IntArray
from ....judges.retrieval import Bm25, Dense, Encode, words

FEATURES = ("bm25", "tfidf", "svd", "coverage")
"""`bm25` as `annotate` has it; `tfidf` the cosine of vectors (1 + ln tf) idf; `svd` the cosine
after latent semantic analysis (Deerwester et al. 1990); `coverage` the share of the query's words,
weighted by idf, that the passage has."""
DIMENSIONS = 100
"""Of the reduced vectors, fewer for a corpus of fewer words or passages."""

Count = Callable[[int, int], None]


def text_features(
    queries: Sequence[str],
    passages: Sequence[str],
    query: IntArray,
    passage: IntArray,
    *,
    encode: Encode | None = None,
    count: Count | None = None,
) -> dict[str, FloatArray]:
    """Return the features of pairs by name, each of shape (n,); `dense` too where there is an
    encoder.

    Args:
        queries: Texts of the queries.
        passages: Texts of the corpus, which the frequencies of words are taken from.
        query: Which query each pair has; shape (n,).
        passage: Which passage each pair has; shape (n,).
        encode: Turns texts into vectors, for `dense`.
        count: Told how many queries are done, and of how many.

    Raises:
        InputError: The passages have no word.
    """
    if not any(words(text) for text in passages):
        raise InputError("no passage has a word, so that there is nothing to search")
    vectorizer = _vectorizer()
    corpus, query_vectors = (
        vectorizer.fit_transform(passages).tocsr(),
        vectorizer.transform(queries).tocsr(),
    )
    reduced_corpus, reduced_asked = _reduced(corpus, query_vectors)
    bm25, dense = Bm25(passages), None if encode is None else Dense(passages, encode)
    names = FEATURES if dense is None else (*FEATURES, "dense")
    values = {name: np.zeros(len(query)) for name in names}
    # Words of the query that no passage has count as the rarest there are.
    rarest = float(np.log(1 + len(passages))) + 1
    for i, text in enumerate(queries):
        rows = np.flatnonzero(query == i)
        of = passage[rows]
        values["bm25"][rows] = bm25.scores(text)[of]
        values["tfidf"][rows] = (corpus[of] @ query_vectors[i].T).toarray()[:, 0]
        # Rounded: reductions differ in the last digits from machine to machine.
        values["svd"][rows] = np.round(reduced_corpus[of] @ reduced_asked[i], 6)
        query_terms = query_vectors[i].indices
        idf = vectorizer.idf_[query_terms]
        unknown = len(set(words(text)) - vectorizer.vocabulary_.keys())
        sought = float(idf.sum()) + unknown * rarest
        if sought:
            values["coverage"][rows] = ((corpus[of][:, query_terms] > 0) @ idf) / sought
        if dense is not None:
            values["dense"][rows] = dense.scores(text)[of]
        if count is not None:
            count(i + 1, len(queries))
    return values


def _vectorizer() -> Any:  # Any: scikit-learn and SciPy have no types
    from sklearn.feature_extraction.text import TfidfVectorizer

    return TfidfVectorizer(sublinear_tf=True, tokenizer=words, token_pattern=None, lowercase=False)  # pyright: ignore[reportArgumentType]  # None is what it asks for beside a tokenizer


def _reduced(
    corpus: Any, query_vectors: Any
) -> tuple[FloatArray, FloatArray]:  # Any: scipy's matrices have no types
    """Return passages and queries as vectors of length 1 in the space of the corpus's largest
    singular values.
    """
    from sklearn.decomposition import TruncatedSVD
    from sklearn.preprocessing import normalize

    dimensions = min(DIMENSIONS, *(size - 1 for size in corpus.shape))
    if dimensions < 1:
        return corpus.toarray(), query_vectors.toarray()
    # Equal texts have no variance, which it divides by for a figure that nobody asks for.
    with np.errstate(invalid="ignore", divide="ignore"):
        reduction: Any = TruncatedSVD(dimensions, random_state=0).fit(corpus)  # Any: as above
    vectors = (normalize(reduction.transform(texts)) for texts in (corpus, query_vectors))
    passages, queries = (np.asarray(one, np.float64) for one in vectors)
    return passages, queries

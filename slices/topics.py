"""What texts are about: clusters named by their typical words, which any further text can be sorted
into.

TF-IDF, a truncated SVD (latent semantic analysis, Deerwester et al. 1990) and k-means find the
clusters, without a look at labels or verdicts. Of each a short list of weighted words is stored; a
text belongs to the topic whose words it has most of. So topics can be written down, read elsewhere,
and give every text the same topic there.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

import numpy as np
import pydantic

from ..judges import DataError, FloatArray, InputError, IntArray, JudgedDataset, Row
from ..judges.retrieval import Encode
from ..judges.retrieval import words as split_words
from .languages import FUNCTION_WORDS
from .text import TOPIC

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

TYPICAL_WORDS = 40
"""Words kept of each topic."""
NAME_WORDS = 3
DIMENSIONS = 50
TEXTS_EACH = 10
"""Different texts that a field must have for each topic, or it gets none."""
LARGEST_SHARE = 0.5
"""Words in more than this share of texts are typical of nothing."""
_GRAMMAR = frozenset().union(*FUNCTION_WORDS.values())
STARTS = 4
"""Starts of k-means, of which the tightest is kept."""


class Topic(pydantic.BaseModel):
    """One topic: its name and the words that speak for it."""

    model_config = pydantic.ConfigDict(extra="forbid", frozen=True)

    name: str
    weights: dict[str, pydantic.PositiveFloat]
    """By word, positive; a text's share of it grows with 1 + ln(times) of each."""


class Topics(pydantic.BaseModel):
    """The topics of one field."""

    model_config = pydantic.ConfigDict(extra="forbid", frozen=True)

    schema_version: Literal[1] = 1
    field: str
    topics: tuple[Topic, ...]

    @property
    def column(self) -> str:
        """The metadata column that `add_topics` writes."""
        return f"{self.field}{TOPIC}"

    def assign(self, texts: Sequence[str]) -> list[str | None]:
        """Return the name of each text's topic; None where it has no typical word of any."""
        speaks_for: dict[str, list[tuple[int, float]]] = {}
        for i, topic in enumerate(self.topics):
            for word, weight in topic.weights.items():
                speaks_for.setdefault(word, []).append((i, weight))
        names = {text: self._nearest(text, speaks_for) for text in set(texts)}
        return [names[text] for text in texts]

    def _nearest(
        self, text: str, speaks_for: Mapping[str, Sequence[tuple[int, float]]]
    ) -> str | None:
        scores = [0.0] * len(self.topics)
        for word, times in Counter(split_words(text)).items():
            for i, weight in speaks_for.get(word, ()):
                scores[i] += (1 + math.log(times)) * weight
        # Rounded, and the first of equals, so that the order of words in a text cannot decide.
        best = max(range(len(scores)), key=lambda i: (round(scores[i], 9), -i), default=None)
        if best is None or scores[best] <= 0:
            return None
        return self.topics[best].name

    def to_json(self) -> bytes:
        """Write the topics down."""
        return self.model_dump_json(indent=2).encode()

    @classmethod
    def from_json(cls, body: bytes | str) -> Topics:
        """Read what `to_json` wrote.

        Raises:
            DataError: It is something else.
        """
        try:
            return cls.model_validate_json(body)
        except pydantic.ValidationError as error:
            first = error.errors()[0]
            field = ".".join(map(str, first["loc"])) or "the file"
            raise DataError(f"these are no topics: {field}: {first['msg']}") from None


def fit_topics(
    rows: Sequence[Row],
    count: int,
    *,
    fields: Sequence[str] = (),
    encode: Encode | None = None,
    seed: int = 0,
) -> tuple[Topics, ...]:
    """Find the topics of each text; a field with fewer than ten different texts a topic gets none.

    Args:
        rows: The rows; their labels and groups are not looked at, nor is their order.
        count: How many topics.
        fields: The texts; all that are in the rows unless given.
        encode: Turns texts into the vectors to cluster by, in place of the words;
            `judges.retrieval.load_encoder` gives one.
        seed: Of the projection and of k-means.

    Raises:
        InputError: There would be fewer than two topics, or a field does not exist.
    """
    if count < 2:
        raise InputError(f"{count!r} topics part nothing; two are the least")
    inputs = sorted({name for row in rows for name in row.inputs})
    for name in fields:
        if name not in inputs:
            raise InputError(
                f"there is no text {name!r}", hint="the texts are: " + (", ".join(inputs) or "none")
            )
    fitted = []
    for name in fields or inputs:
        # Sorted and each once, so that neither the order nor the number of a text's rows decides.
        texts = sorted({row.inputs.get(name, "") for row in rows})
        if len(texts) < TEXTS_EACH * count:
            continue
        topics = _fit(texts, count, encode, seed)
        if len(topics) > 1:
            fitted.append(Topics(field=name, topics=topics))
    return tuple(fitted)


def add_topics(judged: JudgedDataset, topics: Sequence[Topics]) -> JudgedDataset:
    """Return the table with the topic of each text as a metadata column, `FIELD:topic`, for slices
    to be looked up in.

    The content hash stays: metadata is no part of it.
    """
    rows = judged.dataset.rows
    for of_field in topics:
        names = of_field.assign([row.inputs.get(of_field.field, "") for row in rows])
        rows = tuple(
            replace(row, meta={**row.meta, of_field.column: name})
            for row, name in zip(rows, names, strict=True)
        )
    return replace(judged, dataset=replace(judged.dataset, rows=rows))


def _fit(texts: Sequence[str], count: int, encode: Encode | None, seed: int) -> tuple[Topic, ...]:
    from scipy.sparse import csr_matrix
    from sklearn.cluster import KMeans
    from sklearn.feature_extraction.text import TfidfVectorizer

    vectorizer = TfidfVectorizer(
        analyzer=_telling_words,  # pyright: ignore[reportArgumentType]  # a function may be
        sublinear_tf=True,
        min_df=2,
        max_df=LARGEST_SHARE,
    )
    try:
        table = csr_matrix(vectorizer.fit_transform(texts))
    except ValueError:  # no two texts share a word
        return ()
    if encode is None:
        points = _project(table, seed)
    else:
        points = _directions(encode(texts))
    if len(np.unique(points, axis=0)) < count:
        return ()
    means = KMeans(count, n_init=STARTS, random_state=seed)  # pyright: ignore[reportArgumentType]  # a number may be
    cluster = means.fit_predict(points).astype(np.int64)
    names = [str(name) for name in vectorizer.get_feature_names_out()]
    return _describe(table, cluster, np.asarray(vectorizer.idf_, np.float64), names)


def _telling_words(text: str) -> list[str]:
    """The words of a text that may tell what it is about: no grammar, no numbers, no single
    letters.
    """
    return [w for w in split_words(text) if len(w) > 1 and w not in _GRAMMAR and not w.isdecimal()]


def _project(table: csr_matrix, seed: int) -> FloatArray:
    from sklearn.decomposition import TruncatedSVD

    texts, words = (int(size) for size in table.shape)  # pyright: ignore[reportGeneralTypeIssues]  # a matrix has one
    if min(texts, words) < 2:
        return np.zeros((texts, 1))
    svd = TruncatedSVD(min(DIMENSIONS, texts - 1, words - 1), random_state=seed)
    return _directions(np.asarray(svd.fit_transform(table), np.float64))


def _directions(vectors: FloatArray) -> FloatArray:
    length = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.divide(vectors, length, out=np.zeros_like(vectors, np.float64), where=length > 0)


def _describe(
    table: csr_matrix, cluster: IntArray, idf: FloatArray, names: Sequence[str]
) -> tuple[Topic, ...]:
    """Describe each cluster by the words it has more of than all texts have, the largest cluster
    first.
    """
    mean = np.asarray(table.mean(axis=0), np.float64).ravel()
    topics: list[Topic] = []
    taken: set[str] = set()
    sizes = np.bincount(cluster)
    for code in np.argsort(-sizes, kind="stable").tolist():
        typical = np.asarray(table[cluster == code].mean(axis=0), np.float64).ravel() - mean
        order: list[int] = np.argsort(-typical, kind="stable")[:TYPICAL_WORDS].tolist()
        order = [i for i in order if typical[i] > 0]
        if not order:
            continue
        length = float(np.linalg.norm(typical[order]))
        weights = {names[i]: float(f"{typical[i] * idf[i] / length:.4g}") for i in order}
        title = _title(list(weights), taken)
        taken.add(title)
        topics.append(Topic(name=title, weights=weights))
    return tuple(topics)


def _title(words: Sequence[str], taken: set[str]) -> str:
    """The most typical words, and more of them where another topic has the same."""
    for length in range(NAME_WORDS, len(words) + 1):
        if " ".join(words[:length]) not in taken:
            return " ".join(words[:length])
    return f"{' '.join(words)} ({len(taken) + 1})"

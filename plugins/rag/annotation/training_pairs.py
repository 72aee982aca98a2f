"""Pairs and triplets for training embeddings: hard negatives by the judge's score, and no known
positive among them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ....judges.errors import InputError
from ....judges.retrieval import Bm25

TOO_MANY = 1_000
"""Negatives of a positive that nobody trains with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnnotatedPair:
    """What people and a judge said of a query and a document."""

    query: str
    """Its text."""
    document: str
    human: bool | None
    """Whether people call it relevant; None where they did not say."""
    judge: bool | None
    relevance: float | None
    """The judge's score of the pair, between 0 and 1."""

    @property
    def relevant(self) -> bool | None:
        """People's word, else the judge's."""
        return self.judge if self.human is None else self.human


@dataclass(frozen=True, slots=True, kw_only=True)
class MiningSettings:
    """Which documents are negatives."""

    negatives: int = 3
    """Of each positive at most, the hardest first."""
    below: float = 0.3
    """A negative whose score reaches it is left out: it may be a relevant one that nobody knows."""

    def __post_init__(self) -> None:
        if not 1 <= self.negatives <= TOO_MANY:
            raise InputError(
                f"{self.negatives} negatives a positive are not between 1 and {TOO_MANY:,}"
            )
        if not 0.0 < self.below <= 1.0:
            raise InputError("the threshold of negatives is above 0 and at most 1")


@dataclass(frozen=True, slots=True, kw_only=True)
class MinedPairs:
    """Texts to train on, and what was left out."""

    pairs: tuple[tuple[str, str], ...]
    """Query and relevant document."""
    triplets: tuple[tuple[str, str, str], ...]
    """Query, relevant document, hard negative."""
    queries: int
    doubtful: int
    """Negatives left out because the judge's score reaches the threshold."""
    known: int
    """Negatives left out because the same text is a known positive of the query."""
    without_positive: int
    """Queries without a relevant document."""
    without_negative: int
    """Positives for which no negative is left."""


def text_key(text: str) -> str:
    """Return what two texts share that differ in white space and capitals alone: they are one
    document.
    """
    return " ".join(text.split()).casefold()


def mine_pairs(
    pairs: Sequence[AnnotatedPair], settings: MiningSettings | None = None
) -> MinedPairs:
    """Make pairs and triplets of annotations.

    A document is a positive of a query if any of its annotations says so. The hardest negative is
    the one with the highest score below the threshold, then the one that BM25 puts first. What
    nobody annotated is no negative.

    Args:
        pairs: In any order; those that nobody decided about add to the corpus of BM25 alone.
        settings: Which negatives are taken.
    """
    settings = settings or MiningSettings()
    by_query: dict[str, dict[str, list[AnnotatedPair]]] = defaultdict(lambda: defaultdict(list))
    texts: dict[str, str] = {}
    for pair in pairs:
        texts.setdefault(text_key(pair.document), pair.document)
        if pair.relevant is not None:
            by_query[text_key(pair.query)][text_key(pair.document)].append(pair)
    rank = {key: i for i, key in enumerate(texts)}
    bm25 = Bm25(list(texts.values())) if texts else None
    positives: list[tuple[str, str]] = []
    triplets: list[tuple[str, str, str]] = []
    doubtful = known_positives = without_positive = without_negative = 0
    for documents in by_query.values():
        anchor = next(iter(documents.values()))[0].query
        relevant = {key: pairs for key, pairs in documents.items() if _any_relevant(pairs)}
        known_positives += sum(_count_doubts(pairs) for pairs in relevant.values())
        hard = {key: _score(pairs) for key, pairs in documents.items() if key not in relevant}
        hard_negatives = {
            key: score for key, score in hard.items() if score is None or score < settings.below
        }
        doubtful += len(hard) - len(hard_negatives)
        without_positive += not relevant
        order = _hardest_first(
            hard_negatives, bm25.scores(anchor).tolist() if bm25 and hard_negatives else [], rank
        )
        for key in relevant:
            positives.append((anchor, texts[key]))
            without_negative += not order
            triplets += [(anchor, texts[key], texts[one]) for one in order[: settings.negatives]]
    return MinedPairs(
        pairs=tuple(positives),
        triplets=tuple(triplets),
        queries=len(by_query),
        doubtful=doubtful,
        known=known_positives,
        without_positive=without_positive,
        without_negative=without_negative,
    )


def _any_relevant(pairs: Sequence[AnnotatedPair]) -> bool:
    return any(pair.relevant for pair in pairs)


def _count_doubts(pairs: Sequence[AnnotatedPair]) -> int:
    """Return how many annotations of a positive call it not relevant."""
    return sum(not pair.relevant for pair in pairs)


def _score(pairs: Sequence[AnnotatedPair]) -> float | None:
    """Return the highest score of a document: one doubt is enough."""
    scores = [pair.relevance for pair in pairs if pair.relevance is not None]
    return max(scores) if scores else None


def _hardest_first(
    scores: Mapping[str, float | None], bm25: Sequence[float], rank: Mapping[str, int]
) -> list[str]:
    def hardness(key: str) -> tuple[float, float, int]:
        score = scores[key]
        return (1.0 if score is None else -score), -bm25[rank[key]], rank[key]

    return sorted(scores, key=hardness)

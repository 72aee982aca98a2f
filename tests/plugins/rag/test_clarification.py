"""Ambiguous queries: what may be meant, found with one search each, merged, and measured by two
judges.
"""

from pathlib import Path

import numpy as np
import pytest

from judgewright.judges import Client, JudgeSettings, Registry, Simulated
from judgewright.plugins.rag.answers import (
    ChunkIndex,
    Chunking,
    Clarified,
    Judges,
    clarify_queries,
    write_reports,
)
from judgewright.plugins.rag.answers.clarification import _clusters, _held  # pyright: ignore[reportPrivateUsage]
from judgewright.plugins.rag.answers.documents import read_documents

QUERIES = (
    "revenue of Alderbrook Mills",
    "capital expenditure of Kestrel Air",
    "colour of the moon over Zanzibar",
)


@pytest.fixture(scope="module")
def clarified(tmp_path_factory: pytest.TempPathFactory) -> Clarified:
    """Three queries on the sample's reports."""
    documents, _ = write_reports(tmp_path_factory.mktemp("reports"))
    index = ChunkIndex(read_documents(Path(documents)), Chunking(), "document", None)
    registry = Registry()
    judges = Judges(
        grounded=registry.get("interpretation_groundedness"),
        answerable=registry.get("answerability"),
        settings=JudgeSettings(),
    )
    with Client(Simulated()) as client:
        return clarify_queries(QUERIES, index, client, judges)


def test_the_years_of_a_query_are_told_apart(clarified: Clarified) -> None:
    """What no document speaks of has no interpretation."""
    assert clarified.model_calls == len(QUERIES) + len(clarified.interpretations)
    assert clarified.simulated
    kept = [one.text for one in clarified.kept if one.query == 0]
    assert {word for text in kept for word in text.rstrip("?").split() if word.isdigit()} == {
        "2021",
        "2022",
        "2023",
    }
    assert not [one for one in clarified.kept if one.query == 2]


def test_only_what_was_kept_is_judged_and_shares_are_means(clarified: Clarified) -> None:
    """An answer without a quotation that its passages hold is no support."""
    for one in clarified.interpretations:
        assert (one.grounded is None) == bool(one.dropped)
        if not one.dropped:
            assert one.answer
            assert _held(one.quote, one.passages) == 1.0
    both = [bool(one.grounded and one.answerable) for one in clarified.kept]
    assert clarified.share("grounded", "answerable").value == pytest.approx(np.mean(both))
    body = clarified.to_json()
    assert body["proposed"] == body["kept"] + sum(body["dropped"].values())


def test_what_means_the_same_is_merged_and_other_numbers_never() -> None:
    """By the cosine of question and answer."""
    texts = [
        "Who built the old bridge? Ann",
        "Who built the old bridge? Ann",
        "When does the fair begin? May",
    ]
    first, second, third = _clusters(texts, 0.8, None)
    assert first == second != third
    first, second = _clusters(["revenue in 2021 it rose", "revenue in 2022 it rose"], 0.0, None)
    assert first != second
    assert _held("", "a") == 0.0
    assert _held("One, two", "two three") == 0.5

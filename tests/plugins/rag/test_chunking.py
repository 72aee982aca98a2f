"""Chunks: nothing is lost, none is too long, sections and subjects stay apart."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from judgewright.judges import InputError
from judgewright.plugins.rag.answers import CHUNKERS, Chunking, covered, cut

MARKDOWN = """# Firm

Preface of the report.

## Results

Revenue rose. It rose a lot.

```
# no heading, but code
```

### By region

North was best.

Outlook
-------

> # quoted

A year like this one.
"""
WORDS = st.lists(
    st.sampled_from(
        ["a", "Dogs bark.", "\n\n", "\n", "# Head\n", "word", "Längeres Wort,", "- item", "."]
    )
)


@given(WORDS, st.sampled_from(CHUNKERS), st.integers(5, 60), st.integers(0, 4))
def test_nothing_is_lost_and_no_chunk_is_too_long(
    words: list[str], chunker: str, size: int, overlap: int
) -> None:
    """Whatever is no white space is in a chunk, in order; only recursive chunks share text, and no
    more than asked.
    """
    text = " ".join(words)
    chunks = cut(text, Chunking(chunker=chunker, size=size, overlap=overlap))  # pyright: ignore[reportArgumentType]
    held = np.zeros(len(text), np.int64)
    for chunk in chunks:
        assert chunk.end - chunk.start <= size
        held[chunk.start : chunk.end] += 1
    assert all(held[i] for i, letter in enumerate(text) if not letter.isspace())
    assert [chunk.start for chunk in chunks] == sorted(chunk.start for chunk in chunks)
    for before, after in pairwise(chunks):
        assert before.end - after.start <= (0 if chunker == "semantic" else overlap)


def test_sections_are_chunks_and_know_their_headings() -> None:
    """Code and quotations have no headings, underlined lines are some, and a long section is
    cut.
    """
    chunks = cut(MARKDOWN, Chunking(chunker="markdown", size=500, overlap=0))
    assert [(MARKDOWN[c.start : c.end].split("\n")[0], c.headings) for c in chunks] == [
        ("# Firm", ("Firm",)),
        ("## Results", ("Firm", "Results")),
        ("### By region", ("Firm", "Results", "By region")),
        ("Outlook", ("Firm", "Outlook")),
    ]
    assert "no heading" in MARKDOWN[chunks[1].start : chunks[1].end]
    small = cut(MARKDOWN, Chunking(chunker="markdown", size=20, overlap=0))
    assert {c.headings for c in small} == {c.headings for c in chunks}


def test_a_heading_with_nothing_under_it_stays_with_the_next_section() -> None:
    """A title alone answers nothing, and would be retrieved for every question that names it."""
    text = "# Title\n\n## First\n\nBody.\n\n## Second\n\nMore."
    chunks = cut(text, Chunking(chunker="markdown", size=500, overlap=0))
    assert [text[c.start : c.end].strip() for c in chunks] == [
        "# Title\n\n## First\n\nBody.",
        "## Second\n\nMore.",
    ]


def test_semantic_chunks_end_where_the_subject_changes() -> None:
    """By the document's own words, and by vectors that are given."""
    ships = (
        "The ship left the harbour. The harbour was full of ships. A ship sails from the harbour. "
    )
    bread = "Bread needs flour and water. The baker kneads flour and water. Flour makes the bread. "
    text = ships + bread
    own = cut(text, Chunking(chunker="semantic", size=200))
    assert [text[c.start : c.end] for c in own] == [ships, bread]

    def by_length(texts: object) -> np.ndarray:
        return np.array([[float("arbour" in t), float("lour" in t)] for t in texts])  # pyright: ignore[reportGeneralTypeIssues]

    assert cut(text, Chunking(chunker="semantic", size=200), encode=by_length) == own


@given(
    st.integers(0, 20),
    st.integers(1, 20),
    st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30))),
)
def test_the_covered_share_is_that_of_the_characters(
    start: int, length: int, spans: list[tuple[int, int]]
) -> None:
    """Counted one by one."""
    spans = [(min(span), max(span)) for span in spans]
    inside = [any(a <= i < b for a, b in spans) for i in range(start, start + length)]
    assert covered((start, start + length), spans) == pytest.approx(sum(inside) / length)


def test_an_overlap_is_less_than_the_size() -> None:
    """Else the same text would come for ever."""
    with pytest.raises(InputError, match="overlap"):
        Chunking(size=100, overlap=100)
    assert cut("  \n ", Chunking()) == ()

"""Chunks: nothing is lost, none is too long, sections stay apart."""

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
    """Whatever is no white space is in a chunk, in order; neighbours share no more than asked."""
    text = " ".join(words)
    chunks = cut(text, Chunking(chunker=chunker, size=size, overlap=overlap))  # pyright: ignore[reportArgumentType]
    held = np.zeros(len(text), np.int64)
    for start, end in chunks:
        assert end - start <= size
        held[start:end] += 1
    assert all(held[i] for i, letter in enumerate(text) if not letter.isspace())
    assert list(chunks) == sorted(chunks)
    for before, after in pairwise(chunks):
        assert before[1] - after[0] <= overlap


def test_sections_are_chunks() -> None:
    """Code and quotations have no headings, and underlined lines are some."""
    chunks = cut(MARKDOWN, Chunking(chunker="markdown", size=500, overlap=0))
    assert [MARKDOWN[start:end].split("\n")[0] for start, end in chunks] == [
        "# Firm",
        "## Results",
        "### By region",
        "Outlook",
    ]
    assert "no heading" in MARKDOWN[slice(*chunks[1])]


def test_a_heading_with_nothing_under_it_stays_with_the_next_section() -> None:
    """A title alone answers nothing, and would be retrieved for every question that names it."""
    text = "# Title\n\n## First\n\nBody.\n\n## Second\n\nMore."
    chunks = cut(text, Chunking(chunker="markdown", size=500, overlap=0))
    assert [text[start:end].strip() for start, end in chunks] == [
        "# Title\n\n## First\n\nBody.",
        "## Second\n\nMore.",
    ]


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

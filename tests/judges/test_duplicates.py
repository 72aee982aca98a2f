"""Near-duplicates found by MinHash are those that comparing every pair finds."""

import itertools
import json
import random
import re
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judgewright.judges import SIMILAR, Clusters, Row, TextCodes, join_near_duplicates, words_of
from judgewright.judges.plain_cases import _WORD


def rows_of(*texts: str) -> list[Row]:
    """Return a row for each text."""
    return [Row(id=str(i), inputs={"source": text}) for i, text in enumerate(texts)]


def parts(rows: list[Row], **options: bool) -> set[frozenset[str]]:
    """Return the ids of rows that ended in one cluster."""
    clusters = Clusters(len(rows))
    join_near_duplicates(rows, clusters, **options)
    found: dict[int, set[str]] = {}
    for position, row in enumerate(rows):
        found.setdefault(clusters.find(position), set()).add(row.id)
    return {frozenset(ids) for ids in found.values()}


def shingles(text: str, size: int) -> set[tuple[str, ...]]:
    """Return the shingles of some words each, by the definition."""
    words = re.findall(r"\w+", text.lower())
    width = max(min(size, len(words)), 1)
    return {tuple(words[i : i + width]) for i in range(len(words) - width + 1)}


def alike(one: str, other: str) -> bool:
    """Whether five-word shingles are alike, or three-word ones where both texts have under 60
    words.
    """
    sizes = (5, 3) if max(len(one.split()), len(other.split())) < 60 else (5,)
    pairs = [(shingles(one, size), shingles(other, size)) for size in sizes]
    return any(len(a & b) / len(a | b) >= SIMILAR for a, b in pairs)


def test_minhash_finds_what_comparing_all_pairs_finds() -> None:
    """On 150 texts with edits of every size, the clusters are those of the exact Jaccard
    similarity.
    """
    draw = random.Random(7)
    vocabulary = [f"w{i}" for i in range(300)]
    originals = [[draw.choice(vocabulary) for _ in range(draw.randint(3, 120))] for _ in range(30)]
    texts = []
    for words in originals:
        for edits in (0, 0, 1, 2, 6):
            copy = list(words)
            for _ in range(edits):
                copy[draw.randrange(len(copy))] = draw.choice(vocabulary)
            texts.append(" ".join(copy))
    rows = rows_of(*texts)
    expected = Clusters(len(rows))
    for one, other in itertools.combinations(range(len(rows)), 2):
        if alike(texts[one], texts[other]):
            expected.join(one, other)
    by_root: dict[int, set[str]] = {}
    for position, row in enumerate(rows):
        by_root.setdefault(expected.find(position), set()).add(row.id)
    assert parts(rows) == {frozenset(ids) for ids in by_root.values()}


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("The sky is blue.", "the  SKY is blue", True),
        ("the sky is blue", "the sky is red", False),
        ("", "", True),
        ("!!!", "???", False),
        (
            "一二三四五六七八九十一二三四五六七八九十百千万",
            "一二三四五六七八九十一二三四五六七八九十百千億",
            True,
        ),
        ("一二三四五", "六七八九十", False),
        ("the caf\u00e9 is closed", "the cafe\u0301 is closed", True),
        ("the harbour is closed", "the har\u00adbour is\u200b closed", True),
        ("the harbour is closed", "\uff54\uff48\uff45 harbour is closed", True),
        ("\uac00\ub098 \ub2e4", "\u1100\u1161\u1102\u1161 \u1103\u1161", True),
    ],
)
def test_texts_are_compared_by_their_words(one: str, other: str, same: bool) -> None:
    """Case, spaces and punctuation do not count; without spaces each character is a word."""
    assert (len(parts(rows_of(one, other))) == 1) is same


def test_one_changed_word_in_a_short_row_is_still_a_near_duplicate() -> None:
    """Forty words of which a middle one differs: too few five-word shingles are the same, enough
    three-word ones.
    """
    words = [f"w{i}" for i in range(40)]
    changed = [*words[:20], "other", *words[21:]]
    assert len(shingles(" ".join(words), 5) & shingles(" ".join(changed), 5)) / 41 < SIMILAR
    assert len(parts(rows_of(" ".join(words), " ".join(changed)))) == 1


def test_each_input_can_be_asked_for() -> None:
    """Two questions about one long passage are alike taken together, and not one by one."""
    passage = " ".join(f"word{i}" for i in range(200))
    rows = [
        Row(id=q, inputs={"query": q, "passage": passage})
        for q in ("who wrote it", "what is the price")
    ]
    assert len(parts(rows)) == 1
    assert len(parts(rows, each_input=True)) == 2


@given(st.lists(st.text("ab \ud800é", max_size=12), max_size=8), st.randoms(use_true_random=False))
@settings(max_examples=60, deadline=None)
def test_the_clusters_do_not_depend_on_order(texts: list[str], draw: random.Random) -> None:
    """Any permutation gives the same clusters, whatever the text holds."""
    rows = rows_of(*texts)
    shuffled = draw.sample(rows, len(rows))
    assert parts(rows) == parts(shuffled)


def test_ten_thousand_copies_are_joined_at_once() -> None:
    """Equal rows are collapsed before any pair is compared."""
    rows = rows_of(*["the same text over and over again"] * 10_000)
    assert len(parts(rows)) == 1


def test_a_very_long_row_is_compared_in_bounded_memory() -> None:
    """Two rows of 100,000 words that differ in one."""
    words = [f"w{i}" for i in range(100_000)]
    assert len(parts(rows_of(" ".join(words), " ".join([*words[:-1], "other"])))) == 1


@settings(deadline=None)
@given(st.text(), st.text())
def test_the_quick_ways_to_a_texts_words_find_what_the_pattern_finds(one: str, other: str) -> None:
    """ASCII by a table, marks taken out one by one, and two inputs apart as if they were one text
    of two lines.
    """

    def slowly(text: str) -> list[str]:
        plain = unicodedata.normalize("NFKD", text).casefold()
        return _WORD.findall(
            "".join(c for c in plain if unicodedata.category(c) not in {"Mn", "Me", "Cf"})
        )

    for text in (one, one.encode("ascii", "ignore").decode()):
        assert words_of(text) == (slowly(text) or text.split())
    codes = TextCodes()
    joined = codes.of(f"{one}\n{other}")
    row = Row(id="r", inputs={"b": other, "a": one}, label=None)
    assert codes.of_row(row).tolist() == joined.tolist()


def test_the_clusters_of_real_rows_are_what_they_were() -> None:
    """The number of joins, and the clusters, as the slower way found them, on files that do not
    change.
    """
    before = {
        "groundedness_multi": [(481, 2227), (3, 2705)],
        "diras": [(14, 301), (1, 314)],
    }
    for name, expected in before.items():
        path = Path(__file__).parents[3] / "shared" / "data" / f"{name}.jsonl"
        if not path.exists():
            pytest.skip(f"{path.name} is not beside the checkout")
        lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        fields = ("source", "statement", "query", "question", "paragraph")
        rows = [
            Row(id=d["id"], inputs={f: str(d[f]) for f in fields if d.get(f)}, label=None)
            for d in lines
        ]
        found = []
        for each_input in (False, True):
            clusters = Clusters(len(rows))
            joins = join_near_duplicates(rows, clusters, each_input=each_input)
            found.append((joins, len({clusters.find(i) for i in range(len(rows))})))
        assert found == expected, name

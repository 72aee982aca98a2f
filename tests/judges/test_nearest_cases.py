"""The search for near cases, and whether two rows are near-duplicates: quick and plain agree."""

from __future__ import annotations

import random

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

from judgewright.judges import Clusters, Row, join_near_duplicates
from judgewright.judges.nearest_cases import NearestTexts
from judgewright.judges.plain_cases import PlainNearestTexts, RowWords, plain

WORDS = ("ferry", "harbour", "mayor", "jobs", "Brenk", "ü", "海", "𝒳")
SENTENCES = st.lists(st.sampled_from(WORDS), max_size=14).map(" ".join)
TEXTS = st.text(st.characters(blacklist_categories=("Cs",)), max_size=40)


@settings(max_examples=150, deadline=None)
@given(texts=st.lists(SENTENCES | TEXTS, max_size=12), text=SENTENCES | TEXTS)
@example(texts=["\U00010001\U00020001ab cd"] * 3 + ["\u0001ab cd"], text="\U00010001\U00020001ab")
def test_the_quick_search_is_the_plain_one(texts: list[str], text: str) -> None:
    """Every score is the same number, so that an export in plain Python shows the same cases."""
    own = [plain(one) for one in texts]
    scores = NearestTexts(own).scores(plain(text))
    assert scores.tolist() == PlainNearestTexts(own).scores(plain(text))


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_what_most_texts_hold_is_left_out_by_both(seed: int) -> None:
    """So it is in a bank large enough for it."""
    rng = np.random.default_rng(seed)
    texts = [plain(" ".join(rng.choice(WORDS[:5], 6))) for _ in range(90)]
    scores = NearestTexts(texts).scores(texts[0])
    assert scores.tolist() == PlainNearestTexts(texts).scores(texts[0])


def _near(one: dict[str, str], other: dict[str, str]) -> bool:
    return RowWords(one).whole(RowWords(other).whole.words)


@settings(max_examples=150, deadline=None)
@given(one=SENTENCES, other=SENTENCES, cut=st.integers(0, 3), long=st.integers(1, 8))
def test_a_pair_is_decided_as_among_all_rows(one: str, other: str, cut: int, long: int) -> None:
    """Rows that are joined as near-duplicates are told one by one, and no pair that is joined is
    missed.
    """
    first = {"a": " ".join([one] * long), "b": other}
    second = {"a": " ".join(first["a"].split()[cut:]), "b": other}
    rows = [Row(id=str(i), inputs=inputs) for i, inputs in enumerate((first, second))]
    clusters = Clusters(2)
    join_near_duplicates(rows, clusters)
    # Signatures may miss a pair at the limit, never join one below it.
    if clusters.find(0) == clusters.find(1):
        assert _near(first, second)
        assert _near(second, first)
    assert _near(first, second) == _near(second, first)
    assert _near(first, {name: text.upper() for name, text in first.items()})


def test_the_form_of_a_kind_of_text_is_found_again_in_a_bank_of_a_thousand() -> None:
    """What a quarter of the texts share tells their kind, and names that few share by chance do
    not outweigh it.
    """
    forms = (
        "Dear {}, kind regards",
        "@{} hi there, hope it helps",
        "CLAIM by {} on record",
        "www.{}.example/page",
    )
    chance = random.Random(3)

    def name() -> str:
        return "".join(chance.choice("bdfgklmnprstvz") + chance.choice("aeiou") for _ in range(3))

    def drawn(kind: int) -> str:
        others = ", ".join(name() for _ in range(4))
        return plain(f"{forms[kind].format(name())}. Nobody asked of {others}.")

    bank = NearestTexts([drawn(i % 4) for i in range(1_000)])
    own = 0
    for kind in [0, 1, 2, 3] * 10:
        nearest = np.argsort(-bank.scores(drawn(kind)), kind="stable")[:8]
        own += int((nearest % 4 == kind).sum())
    assert own > 0.85 * 40 * 8

"""Edited texts are met again by their fingerprints, and others are not."""

import random
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from judgewright.judges import BINARY, Dataset, Row, mix
from judgewright.optimize.holdout import LETTERS, WINDOW, Fingerprints, winnow
from judgewright.optimize.holdout.text_fingerprints import _rolling

WORDS = [
    "".join(random.Random(i).choices("abcdefghijklmnopqrstuvwxyz", k=3 + i % 6))
    for i in range(3_000)
]


def made_up(seed: int, words: int) -> str:
    """A text of so many words that no other seed has."""
    return " ".join(random.Random(seed).choices(WORDS, k=words))


def rows_of(numbers: Iterable[int], edit: Callable[[str], str] = lambda text: text) -> list[Row]:
    """Rows in threes under one source, each with a statement of its own."""
    return [
        Row(
            id=f"r{i}",
            inputs={
                "source": edit(made_up(i // 3, 120)),
                "statement": edit(made_up(10_000 + i, 14)),
            },
            label=1.0,
            group=f"g{i // 3}",
        )
        for i in numbers
    ]


def prints(rows: Sequence[Row]) -> Fingerprints:
    """The fingerprints of such rows."""
    return Fingerprints.of(Dataset.of(rows, labels=BINARY))


KNOWN = prints(rows_of(range(60)))


@pytest.mark.parametrize(
    "edit",
    [
        lambda text: f"Really: {text}",
        lambda text: text.replace("e", "\u0435", 1),
        lambda text: text.replace("a", "\u0430").replace("o", "\u03bf").upper(),
        lambda text: text.replace(" ", "", 5) + " amended.",
        lambda text: f"{made_up(77, 20)} {text} {made_up(78, 20)}",
        lambda text: text[: len(text) * 3 // 4],
    ],
    ids=[
        "one word before",
        "one look-alike",
        "all look-alikes",
        "spaces",
        "template around",
        "a quarter cut off",
    ],
)
def test_edited_rows_are_met_again(edit: Callable[[str], str]) -> None:
    """Whatever was put before, behind or between, each row is known, and so is each in the other
    direction.
    """
    edited = prints(rows_of(range(60), edit))
    assert edited.met_in(KNOWN).same.all()
    assert KNOWN.met_in(edited).same.all()


def test_what_was_diluted_is_touched_and_known_in_the_other_direction() -> None:
    """Rows with thrice as much other text in each are a small part of themselves, and hold all of
    the old ones.
    """
    noise = iter(range(20_000, 30_000))
    diluted = prints(
        rows_of(range(60), lambda text: f"{text} {made_up(next(noise), 4 * len(text.split()))}")
    )
    assert not diluted.met_in(KNOWN).same.any()
    assert diluted.met_in(KNOWN).touched.all()
    assert KNOWN.met_in(diluted).same.all()


def test_other_rows_are_not_met() -> None:
    """Neither by chance nor by a template that all rows share."""
    template = made_up(99, 60)
    others = rows_of(range(300, 900), lambda text: f"{template} {text}")
    known = prints(rows_of(range(60), lambda text: f"{template} {text}"))
    assert not prints(others).met_in(known).same.any()
    assert not known.met_in(prints(others)).same.any()
    assert not prints(rows_of(range(300, 900))).met_in(KNOWN).touched.any()


def test_a_source_is_known_under_other_statements_whoever_is_in_its_group() -> None:
    """Each statement written anew, and each row a group of its own."""
    anew = [
        Row(
            id=f"x{i}",
            inputs={"source": r.inputs["source"], "statement": made_up(50_000 + i, 14)},
            label=0.0,
        )
        for i, r in enumerate(rows_of(range(60)))
    ]
    assert prints(anew).met_in(KNOWN).same.all()


def test_short_rows_are_known_letter_for_letter_or_by_all_they_have() -> None:
    """A row of a few words has too few fingerprints to be half of another."""

    def short(numbers: Iterable[int], before: str = "") -> Fingerprints:
        return prints(
            [
                Row(id=f"s{i}", inputs={"query": f"{before}{made_up(i, 4)}", "answer": "yes"})
                for i in numbers
            ]
        )

    known = short(range(40))
    assert short(range(40)).met_in(known).same.all()
    assert not short(range(100, 140)).met_in(known).same.any()


def test_names_tell_where_one_side_has_no_texts() -> None:
    """A verdict file with ids alone is known beside the rows themselves; line numbers tell
    nothing.
    """
    bare = prints([Row(id=row.id, inputs={}, label=row.label) for row in rows_of(range(60))])
    lines = prints([Row(id=str(i), inputs={}) for i in range(60)])
    assert bare.met_in(KNOWN).same.all()
    assert KNOWN.met_in(bare).same.all()
    assert not lines.met_in(KNOWN).same.any()
    other = prints(
        [Row(id=row.id, inputs={"source": made_up(40_000, 60)}) for row in rows_of(range(60))]
    )
    assert not other.met_in(KNOWN).same.any()


def test_texts_in_any_column_count() -> None:
    """A verdict file may hold source and statement as plain columns, and other ids."""
    columns = [
        Row(id=f"new-{i}", inputs={}, meta=dict(r.inputs)) for i, r in enumerate(rows_of(range(60)))
    ]
    assert prints(columns).met_in(KNOWN).same.all()


def test_fingerprints_are_the_same_from_their_bytes_and_do_not_depend_on_ids_or_labels() -> None:
    """They are stored as bytes and named by a hash."""
    again = Fingerprints(KNOWN.body)
    assert (again, again.hash, again.rows) == (KNOWN, KNOWN.hash, 60)
    assert again.complete_in(KNOWN).all()
    assert Fingerprints.of(Dataset.of([], labels=BINARY)).met_in(KNOWN).same.shape == (0,)


@given(
    st.text(alphabet="abcdef", min_size=LETTERS + WINDOW - 1, max_size=200),
    st.text("xyz", max_size=30),
)
def test_a_shared_stretch_leaves_a_shared_fingerprint(stretch: str, around: str) -> None:
    """What winnowing promises: a stretch of window and letters in common is always seen."""
    assert set(winnow(stretch + around).tolist()) & set(winnow(around + stretch).tolist())


def test_fingerprints_are_chosen_as_the_method_says() -> None:
    """The lowest hash of each window, computed one by one."""
    codes = np.random.default_rng(3).integers(97, 123, 400).astype(np.uint64)
    base, whole = 0x9E3779B97F4A7C15, 1 << 64
    sums = [0] * (len(codes) - LETTERS + 1)
    for i in range(len(sums)):
        for code in codes[i : i + LETTERS].tolist():
            sums[i] = (sums[i] * base + code) % whole
    hashes = mix(np.array(sums, np.uint64))
    assert (hashes == _rolling(codes)).all()
    lowest = {int(hashes[i : i + WINDOW].min()) for i in range(len(hashes) - WINDOW + 1)}
    scattered = {int(mix(np.array([value], np.uint64))[0]) >> 32 for value in lowest}
    assert set(winnow("".join(map(chr, codes.tolist()))).tolist()) == scattered
    assert all(a < b for a, b in pairwise(winnow("".join(map(chr, codes.tolist()))).tolist()))

"""Splits are stable, disjoint, complete and by whole groups; two of their parts stay sealed."""

import copy
import dataclasses
import itertools
import json
import pickle
import random
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judgewright.judges import (
    BINARY,
    DEFAULT_SHARES,
    Dataset,
    InputError,
    Row,
    SealedRows,
    Splits,
    parse_shares,
    split_dataset,
)
from judgewright.judges.splits import PARTS, SEALED, Side

SHARED = Path(__file__).resolve().parents[2] / "../shared/data"


@dataclass(frozen=True)
class Look:
    """A permit as the ledger would give it."""

    holdout: str


def opened(splits: Splits) -> dict[str, Dataset]:
    """Return all four parts, opened."""
    sealed = {
        part.name: part.open(Look(part.content_hash)) for part in (splits.holdout, splits.final)
    }
    return {"train": splits.train, "validation": splits.validation, **sealed}


def numbered(count: int, *, group_size: int = 1, positives: float = 0.5) -> Dataset:
    """Return rows with unlike texts, in groups of one size."""
    draw = random.Random(count)
    rows = [
        Row(
            id=f"r{i}",
            inputs={"source": " ".join(f"w{draw.randrange(10**6)}" for _ in range(12))},
            label=float(draw.random() < positives),
            group=f"g{i // group_size}",
        )
        for i in range(count)
    ]
    return Dataset.of(rows, labels=BINARY, name="numbered")


WORDS = st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=9).map(" ".join)
DATASETS = st.lists(
    st.tuples(WORDS, st.sampled_from([None, 0.0, 1.0]), st.integers(0, 30)), min_size=1, max_size=40
).map(
    lambda rows: Dataset.of(
        [
            Row(
                id=f"r{i}", inputs={"source": text}, label=label, group=f"g{group}" if group else ""
            )
            for i, (text, label, group) in enumerate(rows)
        ],
        labels=BINARY,
    )
)


@given(dataset=DATASETS, draw=st.randoms(use_true_random=False), near=st.booleans())
@settings(max_examples=80, deadline=None)
def test_a_split_is_stable_disjoint_complete_and_by_group(
    dataset: Dataset, draw: random.Random, near: bool
) -> None:
    """For any rows: the order they come in does not matter, each stands in one part, and so does
    each group.
    """
    groups = {row.group or row.id for row in dataset.rows}
    try:
        splits = split_dataset(dataset, shares=DEFAULT_SHARES, near_duplicates=near)
    except InputError:
        assert near or len(groups) < 4, "only too few groups are a reason"
        return
    found = opened(splits)
    ids = [row.id for part in found.values() for row in part.rows]
    assert sorted(ids) == sorted(row.id for row in dataset.rows)
    homes: dict[str, set[str]] = {}
    for name, part in found.items():
        assert len(part) > 0
        for row in part.rows:
            if row.group:
                homes.setdefault(row.group, set()).add(name)
    assert all(len(home) == 1 for home in homes.values())
    shuffled = replace(dataset, rows=tuple(draw.sample(dataset.rows, len(dataset))))
    again = split_dataset(shuffled, shares=DEFAULT_SHARES, near_duplicates=near)
    assert opened(again) == found
    assert again.notes == splits.notes


@given(size=st.integers(1, 5), positives=st.floats(0.1, 0.9), seed=st.integers(0, 1000))
@settings(max_examples=20, deadline=None)
def test_small_groups_give_the_shares_that_were_asked_for(
    size: int, positives: float, seed: int
) -> None:
    """Rows and positives of each part are within one group, or 2 % of the rows, of their share."""
    dataset = numbered(400, group_size=size, positives=positives)
    found = opened(split_dataset(dataset, seed=seed))
    slack = max(size, 0.02 * len(dataset))
    total = sum(row.label == 1 for row in dataset.rows)
    for share, part in zip(DEFAULT_SHARES, found.values(), strict=True):
        assert abs(len(part) - share / 100 * len(dataset)) <= slack
        assert abs(sum(row.label == 1 for row in part.rows) - share / 100 * total) <= slack


def test_neither_seed_nor_metadata_make_another_split() -> None:
    """Two calls agree to the row; a seed draws the order inside the parts and no more."""
    dataset = numbered(100)
    tagged = replace(
        dataset, rows=tuple(replace(row, meta={"n": i}) for i, row in enumerate(dataset.rows))
    )
    holdout = split_dataset(dataset).holdout.content_hash
    assert split_dataset(dataset).holdout.content_hash == holdout
    assert split_dataset(tagged).holdout.content_hash == holdout
    other = split_dataset(dataset, seed=1)
    assert other.holdout.content_hash == holdout
    assert other.train.rows != split_dataset(dataset).train.rows


def test_large_groups_are_not_all_in_the_large_parts() -> None:
    """A part's share of the ten largest groups follows its share of the rows, over many names."""
    counts = []
    for name in range(40):
        rows = [
            Row(
                id=f"{g}-{i}",
                inputs={"source": f"text {g} {i} " * 3},
                label=float(i % 2),
                group=f"{name}-{g}",
            )
            for g in range(60)
            for i in range(20 if g < 10 else 2)
        ]
        part = split_dataset(Dataset.of(rows, labels=BINARY), near_duplicates=False).validation
        counts.append(len({row.group for row in part.rows if int(row.group.split("-")[1]) < 10}))
    assert 1.5 <= sum(counts) / len(counts) <= 3


def test_near_duplicates_stand_on_one_side() -> None:
    """A copy with one word changed follows its original into another group's part, and the count is
    said.
    """
    dataset = numbered(200)
    draw = random.Random(1)
    copies = []
    for row in dataset.rows[:60]:
        long = " ".join(f"v{draw.randrange(10**6)}" for _ in range(60))
        copies += [
            Row(id=f"{row.id}-a", inputs={"source": long}, label=1.0, group=f"{row.id}-a"),
            Row(
                id=f"{row.id}-b",
                inputs={"source": f"{long} indeed"},
                label=0.0,
                group=f"{row.id}-b",
            ),
        ]
    splits = split_dataset(Dataset.of([*dataset.rows, *copies], labels=BINARY))
    assert splits.merged == 60
    assert "320 groups became 260, as some have nearly the same rows" in splits.notes
    home = {row.id: name for name, part in opened(splits).items() for row in part.rows}
    assert all(home[f"r{i}-a"] == home[f"r{i}-b"] for i in range(60))


def test_one_pool_of_passages_under_few_questions_can_still_be_split() -> None:
    """Where joining would leave no split, rows must be alike in every input, and a note says what
    that means.
    """
    passages = [" ".join(f"p{i}w{j}" for j in range(100)) for i in range(10)]
    questions = ["who is it", "why so late", "what price", "how many wolves", "when", "where to"]
    rows = [
        Row(
            id=f"{q}{p}",
            inputs={"query": question, "passage": passage},
            label=float(p % 2),
            group=f"q{q}",
        )
        for q, question in enumerate(questions)
        for p, passage in enumerate(passages)
    ]
    splits = split_dataset(Dataset.of(rows, labels=BINARY))
    assert splits.merged == 0
    assert any("only where every input is" in note for note in splits.notes)


def test_the_first_rows_of_a_part_are_a_fair_sample() -> None:
    """Rows sorted by label on the way in are mixed inside a part."""
    rows = sorted(numbered(400).rows, key=lambda row: row.label or 0.0)
    train = split_dataset(Dataset.of(rows, labels=BINARY)).train
    assert 15 < sum(row.label == 1 for row in train.rows[:60]) < 45


def test_too_few_groups_are_refused_with_their_number() -> None:
    """The message counts groups and parts, the hint says what to do."""
    rows = [
        Row(id=f"r{i}", inputs={"source": f"text {i}"}, label=1.0, group=f"g{i % 3}")
        for i in range(99)
    ]
    with pytest.raises(InputError, match="3 groups cannot fill 4 parts") as caught:
        split_dataset(Dataset.of(rows, labels=BINARY), shares=DEFAULT_SHARES)
    assert "--group" in (caught.value.hint or "")
    with pytest.raises(InputError, match="0 groups"):
        split_dataset(Dataset.of([], labels=BINARY))
    splits = split_dataset(Dataset.of(rows, labels=BINARY), shares=(40, 20, 40, 0))
    assert (len(splits.final), len(splits.train)) == (0, 33)
    assert "train has only positive rows" in splits.notes


@pytest.mark.parametrize(
    "text", ["", "30/20/30", "30/20/30/30", "0/30/50/20", "-10/40/50/20", "a/b/c/d", "nan/20/30/20"]
)
def test_shares_that_make_no_sense_are_refused(text: str) -> None:
    """The message shows what was given and the hint an example."""
    with pytest.raises(InputError, match="four percentages") as caught:
        parse_shares(text)
    assert "30/20/30/20" in (caught.value.hint or "")


def test_shares_are_read_in_order() -> None:
    """Train, validation, holdout, final; decimals are fine."""
    assert parse_shares("30/20/30/20") == DEFAULT_SHARES
    assert parse_shares("40/22.5/37.5/0") == (40, 22.5, 37.5, 0)


def test_few_labels_make_no_final_part_and_a_note_says_what_that_means() -> None:
    """Under 200 labelled rows, unless shares are given; rows without labels do not count, and are
    no reason alone.
    """
    few = numbered(199)
    splits = split_dataset(few)
    assert splits.shares == (40, 15, 45, 0)
    assert len(splits.final) == 0
    assert "with 199 labelled rows the split is 40/15/45/0, without a final part" in splits.notes[0]
    assert "small gains cannot be shown" in splits.notes[0]
    assert split_dataset(few, shares=DEFAULT_SHARES).shares == DEFAULT_SHARES
    assert split_dataset(numbered(200)).shares == DEFAULT_SHARES
    bare = [replace(row, label=None) for row in numbered(300).rows[199:]]
    assert split_dataset(Dataset.of([*few.rows, *bare], labels=BINARY)).shares == (40, 15, 45, 0)
    assert split_dataset(Dataset.of(bare, labels=BINARY)).shares == DEFAULT_SHARES


# Sides that stay


def homes(splits: Splits) -> dict[str, str]:
    """The part of each group."""
    return {row.group_key: name for name, part in opened(splits).items() for row in part.rows}


def as_placed(splits: Splits) -> dict[str, set[Side]]:
    """What a later split is told of this one."""
    return {key: {cast(Side, part)} for key, part in homes(splits).items()}


@given(sizes=st.lists(st.integers(1, 60), min_size=1, max_size=6), positives=st.floats(0.1, 0.9))
@settings(max_examples=30, deadline=None)
def test_a_file_that_grows_keeps_every_group_where_it_is(
    sizes: list[int], positives: float
) -> None:
    """And its parts stay as near to the shares as one split of the whole would bring them."""
    whole = numbered(40 + sum(sizes), positives=positives)
    placed: dict[str, set[Side]] = {}
    for end in itertools.accumulate(sizes, initial=40):
        some = replace(whole, rows=whole.rows[:end])
        splits = split_dataset(some, shares=DEFAULT_SHARES, placed=placed, near_duplicates=False)
        now = homes(splits)
        assert all(now[key] == next(iter(side)) for key, side in placed.items())
        placed = as_placed(splits)
        for share, part in zip(DEFAULT_SHARES, opened(splits).values(), strict=True):
            assert abs(len(part) - share / 100 * end) <= 2


def test_a_split_told_of_itself_is_the_same() -> None:
    """Whether the part is known or only that the rows were open; a note says that other shares move
    nothing.
    """
    dataset = numbered(120, group_size=3)
    first = split_dataset(dataset)
    coarse: dict[str, set[Side]] = {}
    for key, sides in as_placed(first).items():
        coarse[key] = sides if sides <= SEALED else {"open"}
    for placed in (as_placed(first), coarse):
        assert homes(split_dataset(dataset, placed=placed)) == homes(first)
    other = split_dataset(dataset, placed=as_placed(first), shares=(40, 20, 40, 0))
    assert homes(other) == homes(first)
    assert (
        "40 of 40 groups stay in the part they were in; 40/20/40/0 is for new ones" in other.notes
    )


def test_a_conflict_moves_to_the_side_that_was_seen() -> None:
    """Groups that hold rows of two parts, or nearly so, are never sealed once a row of them was
    open.
    """
    rows = list(numbered(200).rows)
    rows[1] = replace(rows[1], inputs=rows[0].inputs)
    rows[3] = replace(rows[3], inputs=rows[2].inputs)
    placed: dict[str, set[Side]] = {
        "g0": {"validation"},
        "g1": {"holdout"},
        "g2": {"final"},
        "g3": {"holdout"},
        "g4": {"final", "train"},
        "g5": {"final", "open"},
    }
    splits = split_dataset(Dataset.of(rows, labels=BINARY), placed=placed)
    found = homes(splits)
    parts = ["validation", "validation", "holdout", "holdout", "train"]
    assert [found[f"g{i}"] for i in range(5)] == parts
    assert found["g5"] in ("train", "validation")
    assert any(note.startswith("3 sealed groups are open from now on: ") for note in splits.notes)
    assert "1 final group has come to the holdout so" in splits.notes


def test_a_part_that_nothing_is_left_for_is_named() -> None:
    """All groups were open, so none can be sealed; without a final part a run can go on."""
    dataset = numbered(40)
    with pytest.raises(InputError, match="no group is left for the holdout part: 40 of the groups"):
        split_dataset(dataset, placed={f"g{i}": {PARTS[i % 2]} for i in range(40)})
    kept: dict[str, set[Side]] = {f"g{i}": {PARTS[i % 3]} for i in range(40)}
    splits = split_dataset(dataset, placed=kept)
    assert len(splits.final) == 0


# The seal


def test_a_sealed_part_opens_to_its_own_permit_only() -> None:
    """Another part's hash, another type, or nothing at all is refused."""
    splits = split_dataset(numbered(100), shares=DEFAULT_SHARES)
    assert len(splits.holdout.open(Look(splits.holdout.content_hash))) == len(splits.holdout) == 30
    for look in (
        Look(splits.final.content_hash),
        Look(""),
        None,
        splits.holdout.content_hash,
        object(),
    ):
        with pytest.raises(InputError, match="the holdout is sealed"):
            splits.holdout.open(look)  # type: ignore[arg-type]


def test_a_sealed_part_tells_its_size_and_nothing_of_its_rows() -> None:
    """Number, groups, hash and name; no labels, no texts."""
    sealed = split_dataset(numbered(100, group_size=2), shares=DEFAULT_SHARES).holdout
    assert (len(sealed), sealed.groups, sealed.name) == (30, 15, "holdout")
    public = {name for name in dir(SealedRows) if not name.startswith("_")}
    assert public == {"name", "groups", "content_hash", "open"}


def test_a_sealed_part_cannot_be_walked_copied_or_pickled() -> None:
    """Nor can the splits that hold it be turned into a dictionary."""
    splits = split_dataset(numbered(100))
    sealed = splits.holdout
    for attempt in (
        lambda: list(sealed),  # type: ignore[call-overload]
        lambda: "r1" in sealed,  # type: ignore[operator]
        lambda: sealed[0],  # type: ignore[index]
        lambda: vars(sealed),
        lambda: pickle.dumps(sealed),
        lambda: copy.copy(sealed),
        lambda: copy.deepcopy(splits),
        lambda: pickle.dumps(splits),
        lambda: dataclasses.asdict(splits),
        lambda: json.dumps(sealed),
    ):
        with pytest.raises(TypeError):
            attempt()


def test_a_canary_in_the_holdout_shows_nowhere() -> None:
    """Every row carries its own canary: those of the sealed parts are in no text made of the
    splits.
    """
    dataset = numbered(200)
    marked = Dataset.of(
        [
            replace(
                row,
                inputs={"source": f"canary-{row.id}-end {row.inputs['source']}"},
                group=f"canary-{row.id}-end",
            )
            for row in dataset.rows
        ],
        labels=BINARY,
    )
    splits = split_dataset(marked)
    fields = {f.name: getattr(splits, f.name) for f in dataclasses.fields(splits)}
    shown = [
        repr(splits),
        str(splits),
        repr(fields),
        f"{splits.holdout} {splits.final!r}",
        repr(dir(splits.holdout)),
    ]
    with pytest.raises(InputError) as caught:
        splits.holdout.open(Look("wrong"))
    shown.append(f"{caught.value} {caught.value.hint}")
    sealed = {**opened(splits)}
    for name in ("holdout", "final"):
        for row in sealed[name].rows:
            assert not any(f"canary-{row.id}-end" in text for text in shown)


# Real files


class TestDrawnRows:
    """Rows that were drawn with a probability below 1 train, and measure nothing."""

    @staticmethod
    def drawn(group: str, text: str) -> Row:
        """A row that a queue of flips has drawn."""
        return Row(
            id=f"drawn {group}",
            inputs={"text": text},
            label=1.0,
            group=group,
            sampling_probability=0.2,
        )

    @staticmethod
    def even(groups: int) -> list[Row]:
        """Two rows of each group."""
        return [
            Row(
                id=f"{g}-{i}",
                inputs={"text": f"text {g} {i} {g * 7919 % 104729}"},
                label=float(i),
                group=f"g{g}",
            )
            for g in range(groups)
            for i in range(2)
        ]

    def test_they_move_no_other_row_and_train_only_where_no_row_measures(self) -> None:
        """A new group trains; a group that is sealed or validates does not, and the note says how
        many.
        """
        even = self.even(40)
        without = split_dataset(Dataset.of(even, labels=BINARY))
        measuring = without.validation.rows[0].group
        trains = without.train.rows[0].group
        joined = [
            self.drawn("new", "entirely new words of another place"),
            self.drawn(trains, "more about the same document"),
            self.drawn(measuring, "more about a document that measures"),
        ]
        parts = split_dataset(Dataset.of([*even, *joined], labels=BINARY))
        for part in ("train", "validation", "holdout", "final"):
            assert getattr(parts, part).content_hash == getattr(without, part).content_hash
        assert {row.group for row in parts.drawn.rows} == {"new", trains}
        assert len(parts.training) == len(parts.train) + 2
        assert any("2 rows that were drawn" in note and "1 more" in note for note in parts.notes)

    def test_one_with_the_text_of_a_sealed_row_does_not_train(self) -> None:
        """Under whatever group it stands."""
        words = (
            "the harbour board of the town voted on the repair of the library roof and its costs"
        )
        even = self.even(40)
        long = [
            replace(row, inputs={"text": f"{words} number {row.id} {row.inputs['text']}"})
            for row in even[:2]
        ]
        even = [*long, *even[2:]]
        without = split_dataset(Dataset.of(even, labels=BINARY))
        opened = {row.id for row in (*without.train.rows, *without.validation.rows)}
        sealed = next(row for row in even if row.id not in opened)
        parts = split_dataset(
            Dataset.of([*even, self.drawn("other", sealed.inputs["text"])], labels=BINARY)
        )
        assert not parts.drawn.rows

    def test_they_alone_cannot_be_split(self) -> None:
        """No row measures."""
        with pytest.raises(InputError, match="cannot fill 4 parts"):
            split_dataset(
                Dataset.of(
                    [self.drawn(f"g{i}", f"words of text {i}") for i in range(30)], labels=BINARY
                )
            )

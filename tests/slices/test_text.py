"""What texts are like is read from one row alone, and the search finds what it should by it."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judgewright.judges import BINARY, Dataset, JudgedDataset, Row, Scalar, Verdict
from judgewright.judges.files import load_verdicts
from judgewright.slices import (
    Columns,
    Equals,
    Missing,
    Predicate,
    feature_names,
    feature_rank,
    find_slices,
    is_column,
    parse_predicate,
    read_columns,
    read_features,
    text_of,
)

WORDS = ["the", "cat", "sat", "on", "a", "red", "mat", "in", "1999", "with", "zeal"]
COLOURS = ["red", "blue", "green", "black", "white", "grey"]
VERDICTS = Path(__file__).resolve().parents[2].parent / "shared" / "data" / "verdicts"
TEXTS = st.text(max_size=60) | st.sampled_from(
    [
        "In 2019 Ada Lovelace paid $1,000.50.",
        "the three mice",
        "- a\n- b",
        "",
        "It isn’t so.",
    ]
)


def row_of(inputs: dict[str, str], meta: dict[str, Scalar] | None = None) -> Row:
    """One row with these texts."""
    return Row(id="r", inputs=inputs, meta=meta or {})


@pytest.mark.parametrize(
    ("name", "statement", "source", "expected"),
    [
        ("statement:words", "Don't panic, 42 times.", "", 5),
        ("statement:words", "", "", 0),
        ("statement:characters", "a b\n", "", 4),
        ("statement:words_in_source", "The black cats sat on mats", "MATS, and cats", 0.67),
        ("statement:words_in_source", "it is", "it is", None),
        ("statement:numbers_in_source", "It cost 1,000 in 2019", "1000 euro (2019)", True),
        ("statement:numbers_in_source", "It cost 1,000 in 2019", "1000 euro", False),
        ("statement:numbers_in_source", "It had 3 rooms and 2.50 m", "3 rooms of 2.5 m", True),
        ("statement:numbers_in_source", "no number here", "1", None),
        ("statement:numbers_in_source", "on 1.2.2019", "on 1.2.2018", False),
        (
            "statement:names_in_source",
            "Then Ada Lovelace met Babbage.",
            "ADA LOVELACE and babbage",
            True,
        ),
        (
            "statement:names_in_source",
            "Then Ada Lovelace met Turing.",
            "ADA LOVELACE and babbage",
            False,
        ),
        ("statement:names_in_source", "Then. There. But I said so and I’m sure.", "", None),
        ("statement:names_in_source", "Then J. Smith came.", "K. Smith", False),
        ("statement:has_number", "two and 2", "", True),
        ("statement:has_number", "two", "", False),
        ("statement:lines", "One.\n\nTwo.\n", "", 3),
        ("statement:lines", "", "", 0),
        ("statement", "as it is", "", "as it is"),
        ("nobody:words", "", "", None),
        ("statement:words_in_nobody", "a", "", None),
    ],
)
def test_a_feature_says_what_its_text_is_like(
    name: str, statement: str, source: str, expected: Scalar
) -> None:
    """Each feature has the value that a reader would give it."""
    found = Columns().value(row_of({"statement": statement, "source": source}), name)
    assert found == expected
    assert type(found) is type(expected)


@pytest.mark.parametrize(
    "unit",
    [
        "\n",
        " \n",
        "1. ",
        "1. 2. ",
        "<a ",
        "; ",
        ") ",
        "| ",
        "\t",
        "- ",
        "1,",
        "\u00e2\u20ac",
        "Aa ",
        "n't",
    ],
)
def test_a_hostile_text_is_read_as_quickly_as_another(unit: str) -> None:
    """A quarter of a million characters of whatever a pattern looks for; quadratic time would run
    into the limit.
    """
    row = row_of({"statement": unit * (250_000 // len(unit)), "source": unit})
    values = read_columns([row], feature_names([row]))
    assert len(values) == 11


def test_metadata_comes_before_a_feature_of_the_same_name() -> None:
    """Who filled a column in has the last word."""
    row = row_of({"statement": "a b"}, {"statement:words": 9, "statement": "meta"})
    assert [Columns().value(row, name) for name in ("statement:words", "statement")] == [9, "meta"]
    assert is_column(row, "statement:words")


@settings(max_examples=150, deadline=None)
@given(TEXTS, TEXTS)
def test_a_predicate_over_a_feature_needs_one_row_only(statement: str, source: str) -> None:
    """The condition built from a row's value holds for that row by itself, and reads back from its
    text.
    """
    row = row_of({"statement": statement, "source": source})
    for name, (value,) in read_columns([row], feature_names([row])).items():
        condition = (
            Missing(column=name) if value is None else Equals(column=name, value=text_of(value))
        )
        predicate = Predicate([condition])
        assert predicate.mask([row]).tolist() == [True]
        assert parse_predicate(str(predicate)) == predicate
        assert '"' not in str(predicate)
        assert is_column(row, name)
        assert feature_rank(name) > 0


@settings(max_examples=100, deadline=None)
@given(st.lists(st.sampled_from(WORDS), min_size=1, max_size=12))
def test_overlap_is_the_share_of_different_long_words(chosen: list[str]) -> None:
    """Recomputed from the sets of words of four letters and more."""
    source = "A red cat, since 1999"
    row = row_of({"statement": " ".join(chosen), "source": source})
    long = set(chosen) & {"1999", "with", "zeal"}
    expected = round(len(long & {"1999"}) / len(long), 2) if long else None
    assert Columns().value(row, "statement:words_in_source") == expected


def test_the_shorter_field_is_looked_for_in_the_longer() -> None:
    """Whatever the fields are called and however they are ordered."""
    rows = [
        row_of({"zebra": "one", "apple": "one two three"}),
        row_of({"apple": "one two", "zebra": ""}),
    ]
    names = feature_names(rows)
    assert names[0] == "zebra:words_in_apple"
    assert not [name for name in names if name.endswith("_in_zebra")]
    assert feature_names(rows[::-1]) == names
    assert feature_names([row_of({"empty": ""})]) == ()


def texts_table(n: int, seed: int = 0, extra: int = 0) -> JudgedDataset:
    """A judge that lets a statement pass whose number is not in the source, whatever colours it
    names.
    """
    rng = np.random.default_rng(seed)
    rows, answers = [], []
    for i in range(n):
        number, told = (int(x) for x in rng.integers(100, 105, 2))
        label = bool(rng.random() < 0.5)
        wrong = rng.random() < (0.5 if number != told and not label else 0.08)
        meta: dict[str, Scalar] = {f"c{k}": str(rng.choice(list("abc"))) for k in range(extra)}
        rows.append(
            Row(
                id=f"r{i}",
                inputs={
                    "source": (
                        f"The report says the firm sold {told} boats in"
                        f" {' and '.join(rng.choice(COLOURS, 3))}"
                    ),
                    "statement": f"It sold {number} boats in {' or '.join(rng.choice(COLOURS, 2))}",
                },
                label=float(label),
                meta={**meta, "kind": str(rng.choice(["p", "q"]))},
            )
        )
        answers.append(
            Verdict(row_id=f"r{i}", score=float(label != wrong), positive=label != wrong)
        )
    return JudgedDataset(
        dataset=Dataset(rows=tuple(rows), labels=BINARY), answers=tuple(answers), scale=BINARY
    )


def test_a_number_that_the_source_lacks_is_found_and_recomputed_with_pandas_alone() -> None:
    """The planted slice is confirmed, and its numbers follow from the texts."""
    judged = texts_table(4000)
    report = find_slices(judged, metric="specificity", text=True)
    best = report.slices[0]
    assert str(best.predicate) == "statement:numbers_in_source = false"
    assert best.prompt_target
    texts = pd.DataFrame([dict(row.inputs) for row in judged.rows])
    number = texts.apply(lambda column: column.str.extract(r"(\d+)")[0])
    inside = (number["statement"] != number["source"]).to_numpy()
    assert best.support == inside.sum()
    assert best.n == (inside & ~judged.positive).sum()
    assert best.value == pytest.approx(1 - judged.predicted[inside & ~judged.positive].mean())
    assert best.rest == pytest.approx(1 - judged.predicted[~inside & ~judged.positive].mean())


def test_texts_are_searched_only_when_that_is_asked_for() -> None:
    """Without it no feature is read; a feature that is named is read all the same."""
    judged = texts_table(2500)
    assert [column.name for column in read_features(judged).columns] == ["kind"]
    named = read_features(judged, columns=["statement:numbers_in_source", "statement"])
    assert [column.name for column in named.columns] == ["statement:numbers_in_source"]
    assert named.fields == ("statement",)
    everything = read_features(judged, text=True, exclude=["source", "statement:numbers_in_source"])
    names = {column.name for column in everything.columns}
    assert "kind" in names
    assert not [name for name in names if name.startswith("source:")]
    assert everything.left_out["statement:numbers_in_source"] == "left out on request"
    assert everything.fields == ("statement",)


def test_where_rows_are_few_metadata_goes_before_texts() -> None:
    """Eight metadata columns leave no room, which is said with a feature that could be named."""
    report = find_slices(texts_table(900, extra=8), text=True)
    assert any("such as statement:words_in_source, one of" in note for note in report.notes)
    assert not [
        name
        for name, why in report.left_out.items()
        if feature_rank(name) and "too few rows" in why
    ]
    room = find_slices(texts_table(900), text=True)
    assert not [note for note in room.notes if "such as" in note]


def test_a_feature_gives_way_to_a_column_that_tells_nearly_the_same() -> None:
    """A length that somebody counted in their own way is kept, and ours is left out beside it."""
    rng = np.random.default_rng(1)
    rows = []
    for i in range(600):
        words = int(rng.integers(5, 200))
        texts = {"answer": " ".join(["word"] * words)}
        rows.append(
            Row(
                id=str(i),
                inputs=texts,
                label=float(i % 2),
                meta={"tokens": words + int(rng.integers(0, 3))},
            )
        )
    answers = tuple(Verdict(row_id=row.id, score=1.0, positive=True) for row in rows)
    judged = JudgedDataset(
        dataset=Dataset(rows=tuple(rows), labels=BINARY), answers=answers, scale=BINARY
    )
    found = read_features(judged, text=True)
    assert [column.name for column in found.columns] == ["tokens"]
    assert found.left_out["answer:words"] == "orders the rows nearly as 'tokens' does"


def test_what_a_text_tells_of_the_label_is_no_leak_unless_it_is_the_label() -> None:
    """Overlap may explain half of the label honestly; a text that holds the answer may not be
    searched.
    """
    rng = np.random.default_rng(0)
    label = rng.random(1200) < 0.5
    near = label ^ (rng.random(1200) < 0.1)
    rows = tuple(
        Row(
            id=str(i),
            inputs={
                "source": "all about boats and how they are sold",
                "statement": "boats sold" if near[i] else "cars hired",
                "note": "yes" if label[i] else "no",
            },
            label=float(label[i]),
        )
        for i in range(1200)
    )
    said = rng.random(1200) < 0.5
    answers = tuple(
        Verdict(row_id=str(i), score=float(p), positive=bool(p)) for i, p in enumerate(said)
    )
    found = read_features(
        JudgedDataset(dataset=Dataset(rows=rows, labels=BINARY), answers=answers, scale=BINARY),
        text=True,
    )
    assert "statement:words_in_source" in {column.name for column in found.columns}
    assert "gives the label away" in found.left_out["note:characters"]


def test_real_groundedness_verdicts_show_names_that_the_source_lacks() -> None:
    """GPT-4 on WiCE accepts claims whose names are not in the source; on MTRAG overlap is not
    mistaken for a leak.
    """
    path = VERDICTS / "wice_claim.gpt-4-0613.jsonl"
    if not path.exists():
        pytest.skip(f"{path.name} is not beside the checkout")
    judged = load_verdicts(path, label="label_binary", score="verdict", group="metadata.claim_id")
    report = find_slices(judged, metric="precision", text=True)
    best = report.slices[0]
    assert str(best.predicate) == "statement:names_in_source = false"
    assert best.confirmed
    assert best.fp_share is not None
    assert best.fp_share > 0.8
    assert best.predicate.mask(judged.rows).sum() == best.support
    judged = load_verdicts(VERDICTS / "mtrag_faithfulness.rl-f.jsonl", score="verdict")
    assert "statement:words_in_source" in {
        column.name for column in read_features(judged, text=True).columns
    }


def test_rows_that_share_a_text_far_apart_have_their_features_in_their_own_places() -> None:
    """The rows are read in another order than they stand in, for texts they share, and told in
    their own.
    """
    sources = [f"Source number {i} has {i} words and a list.\n1. one\n2. two" for i in range(30)]
    rows = [
        Row(
            id=str(i),
            inputs={"source": sources[i % 30], "statement": f"Number {i % 7}."},
            label=None,
        )
        for i in range(300)
    ]
    names = feature_names(rows)
    steps: list[tuple[int, int]] = []
    found = read_columns(rows, names, progress=lambda done, total: steps.append((done, total)))
    for i in (0, 7, 151, 299):
        alone = read_columns([rows[i]], names)
        assert {name: values[i] for name, values in found.items()} == {
            name: v[0] for name, v in alone.items()
        }
    assert steps == [(done, 300) for done in range(1, 301)]

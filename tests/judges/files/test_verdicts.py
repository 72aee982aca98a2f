"""Reading somebody's verdicts, and agreeing with what was published about them."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judgewright.judges import (
    BINARY,
    DataError,
    InputError,
    JudgedDataset,
    OutputScale,
    Unscored,
    Verdict,
)
from judgewright.judges.files import (
    VerdictColumns,
    infer_scale,
    load_judges,
    load_verdicts,
    parse_grade_map,
    stream_verdicts,
)

VERDICTS = Path(__file__).resolve().parents[3] / "../shared/data/verdicts"
needs_verdicts = pytest.mark.skipif(
    not VERDICTS.exists(), reason="the shared data are not beside the checkout"
)


def load(folder: Path, rows: list[dict[str, object]], **options: object) -> JudgedDataset:
    """Write rows as JSONL and load them as verdicts."""
    path = folder / "verdicts.jsonl"
    path.write_text("\n".join(json.dumps(row) for row in rows))
    return load_verdicts(path, **options)  # type: ignore[arg-type]


def pairs(*values: tuple[object, object]) -> list[dict[str, object]]:
    """Return rows with a label and a score each."""
    return [
        {"id": f"r{i}", "label": label, "score": score} for i, (label, score) in enumerate(values)
    ]


def test_what_many_rows_share_is_held_once(tmp_path: Path) -> None:
    """A source of many rows, their grades and their missing inputs are one object each, and no text
    is another's.
    """
    rows = [
        {"id": f"r{i}", "source": f"source {i % 3} " * 9, "label": i % 2, "score": 1}
        for i in range(12)
    ]
    judged = load(tmp_path, rows)
    held = [row.meta["source"] for row in judged.dataset.rows]
    assert held == [row["source"] for row in rows]
    assert len({id(text) for text in held}) == 3
    assert len({id(row.label) for row in judged.dataset.rows}) == 2
    assert len({id(row.inputs) for row in judged.dataset.rows}) == 1


@given(values=st.lists(st.floats(-100, 100), min_size=1))
@settings(max_examples=100, deadline=None)
def test_an_inferred_scale_spans_its_values(values: list[float]) -> None:
    """Whatever the values, they lie between the scale's ends and whole ones are on it."""
    scale = infer_scale(values)
    low, high = (0, 1) if scale.kind != "graded" else (scale.low, scale.high)
    assert all(low <= value <= high for value in values)
    assert all(scale.contains(value) for value in values if value.is_integer())


@pytest.mark.parametrize(
    ("values", "kind", "threshold", "high"),
    [
        ((0, 1), "binary", 1, 1),
        ((1,), "binary", 1, 1),
        ((0, 1, 2, 3), "graded", 2, 3),
        ((0, 1, 2), "graded", 1, 2),
        ((1, 2, 5), "graded", 3, 5),
        ((3,), "graded", 2, 3),
        ((0, 0.5, 1), "probability", 0.5, None),
        ((0.2, 4.5), "graded", 3, 5),
    ],
)
def test_scales_have_their_own_thresholds(
    values: tuple[float, ...], kind: str, threshold: float, high: int | None
) -> None:
    """1 for 0/1, 2 for 0..3, the middle rounded up for other grades, 0.5 for a probability."""
    scale = infer_scale(values)
    assert (scale.kind, scale.threshold) == (kind, threshold)
    assert high is None or scale.high == high


def test_one_threshold_binarises_both_sides_but_not_a_binary_one(tmp_path: Path) -> None:
    """Labels 0..3 and scores 0..3 are cut at the same grade; a 0/1 verdict stays as it is."""
    graded = load(tmp_path, pairs((0, 3), (1, 1), (2, 0), (3, 2)), threshold=1)
    assert graded.positive.tolist() == [False, True, True, True]
    assert graded.predicted.tolist() == [True, True, False, True]
    mixed = load(tmp_path, pairs((0, 0), (1, 1), (2, 0), (3, 1)), threshold=3)
    assert mixed.positive.tolist() == [False, False, False, True]
    assert mixed.predicted.tolist() == [False, True, False, True]


def test_labels_may_have_a_threshold_of_their_own(tmp_path: Path) -> None:
    """A grade and a probability have no threshold in common."""
    judged = load(
        tmp_path, pairs((0, 0.1), (1, 0.7), (2, 0.4), (3, 0.9)), threshold=0.6, label_threshold=3
    )
    assert judged.positive.tolist() == [False, False, False, True]
    assert judged.predicted.tolist() == [False, True, False, True]
    with pytest.raises(InputError, match="scores are fractions") as caught:
        load(tmp_path, pairs((0, 0.1), (3, 0.7)), threshold=2)
    assert "--threshold" in (caught.value.hint or "")
    with pytest.raises(InputError, match="labels are fractions") as caught:
        load(tmp_path, pairs((0.1, 0), (0.7, 3)), threshold=2)
    assert "--label-map" in (caught.value.hint or "")


def test_a_map_of_labels_may_hold_integers(tmp_path: Path) -> None:
    """`{"no": 0}` is what people write in Python."""
    judged = load(tmp_path, pairs(("no", 0), ("yes", 1)), label_map={"no": 0, "yes": 1})
    assert judged.positive.tolist() == [False, True]


def test_a_grade_the_judge_never_gives_does_not_move_its_threshold(tmp_path: Path) -> None:
    """Scores 0..2 beside labels 0..3 are read on 0..3, and a note says so."""
    judged = load(tmp_path, pairs((0, 0), (1, 1), (2, 2), (3, 2)))
    assert judged.scale.threshold == 2
    assert judged.same_scale
    assert any("one scale, 0..3" in note for note in judged.dataset.notes)
    apart = load(tmp_path, pairs((1, 0), (5, 1), (3, 3)))
    assert (apart.dataset.labels.low, apart.dataset.labels.high, apart.scale.high) == (1, 5, 3)


def test_a_missing_score_is_unscored_and_never_zero(tmp_path: Path) -> None:
    """Null, NaN and text are kept with their reason; the coverage falls."""
    judged = load(tmp_path, pairs((0, 0), (1, 1), (1, None), (1, "NaN"), (0, "ERROR: timeout")))
    assert len(judged.scored) == 2
    assert judged.coverage == pytest.approx(2 / 5)
    assert judged.unscored == {"parse": 3}
    details = [answer.detail for answer in judged.answers if isinstance(answer, Unscored)]
    missing = "no score in the file"
    assert details == [missing, missing, "the file's score is 'ERROR: timeout'"]
    assert "3 of 5 rows have no score; they are unscored, not wrong" in judged.dataset.notes


def test_words_and_booleans_are_verdicts(tmp_path: Path) -> None:
    """Yes and no, true and false, on both sides."""
    judged = load(tmp_path, pairs(("yes", True), ("no", False), (1, "No")))
    assert (judged.dataset.labels, judged.scale) == (BINARY, BINARY)
    assert judged.predicted.tolist() == [True, False, False]


def test_confidence_is_confidence_in_the_verdict(tmp_path: Path) -> None:
    """The probability of the positive label follows from it; values outside [0, 1] are left out and
    named.
    """
    rows = pairs((0, 0), (1, 1), (1, 1), (0, 0))
    for row, sure in zip(rows, (0.9, 0.8, 80, None), strict=True):
        row["sure"] = sure
    judged = load(tmp_path, rows, confidence="sure")
    np.testing.assert_allclose(judged.probability, [0.1, 0.8, np.nan, np.nan])
    assert "sure outside [0, 1], left out: 1 (the first is 80 in row 'r2')" in judged.dataset.notes
    assert all("sure" not in row.meta for row in judged.rows)
    rows[1]["sure"] = "high"
    with pytest.raises(DataError, match="line 2: field 'sure': 'high' is not a number"):
        load(tmp_path, rows, confidence="sure")


def test_metadata_flatten_and_inputs_stay_inputs(tmp_path: Path) -> None:
    """Texts under `inputs.` are not columns to slice by; the rationale goes to the verdict."""
    row = {
        "id": "a",
        "label": 1,
        "score": 1,
        "rationale": "because",
        "inputs": {"query": "why?", "passage": "so"},
        "metadata": {"query_id": "q1", "query_type": "how", "tags": [1]},
        "judge_model": "gpt",
    }
    judged = load(tmp_path, [row, {**row, "id": "b", "label": 0}])
    first, answer = judged.rows[0], judged.answers[0]
    assert first.meta == {
        "metadata.query_type": "how",
        "metadata.tags": "[1]",
        "judge_model": "gpt",
    }
    assert first.inputs == {"query": "why?", "passage": "so"}
    assert isinstance(answer, Verdict)
    assert (answer.rationale, answer.parser) == ("because", "file")
    assert (judged.model, judged.judge) == ("gpt", "verdicts.jsonl")


def test_groups_are_found_named_or_said_to_be_missing(tmp_path: Path) -> None:
    """Without a group every row is its own, and the note names the option."""
    rows = [
        {**row, "metadata": {"query_id": f"q{i // 2}", "doc": "d"}}
        for i, row in enumerate(pairs(*[(0, 1)] * 4))
    ]
    assert load(tmp_path, rows).groups.tolist() == [0, 0, 1, 1]
    assert load(tmp_path, rows, group="metadata.doc").groups.tolist() == [0, 0, 0, 0]
    alone = load(tmp_path, pairs((0, 1), (1, 0)))
    assert alone.groups.tolist() == [0, 1]
    assert any("--group" in note for note in alone.dataset.notes)


@pytest.mark.parametrize("named", [{"group": "inputs.query"}, {"id": "inputs.query"}])
def test_the_column_of_the_group_or_the_id_stays_an_input(
    tmp_path: Path, named: dict[str, str]
) -> None:
    """One column may play both parts; without its query a row could not be ranked, or be looked
    at.
    """
    rows = [
        {**row, "inputs": {"query": f"q{i}", "passage": "p"}}
        for i, row in enumerate(pairs((1, 1), (0, 1)))
    ]
    judged = load(tmp_path, rows, **named)
    assert [row.inputs for row in judged.rows] == [
        {"query": f"q{i}", "passage": "p"} for i in range(2)
    ]
    assert all(not row.meta.keys() & {"inputs.query", "query"} for row in judged.rows)
    side = {"group": "group", "id": "id"}[next(iter(named))]
    assert [getattr(row, side) for row in judged.rows] == ["q0", "q1"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"score": "verdict"}, "the column 'verdict' is missing"),
        ({"label": "gold"}, "the column 'gold' is missing"),
        ({"confidence": "scor"}, "did you mean 'score'"),
        ({"rationale": "why"}, "the column 'why' is missing"),
        ({"id": "key"}, "the column 'key' is missing"),
    ],
)
def test_a_column_that_is_not_there_is_named(
    tmp_path: Path, options: dict[str, str], said: str
) -> None:
    """No other column is taken in its place."""
    with pytest.raises(DataError, match=said):
        load(tmp_path, pairs((0, 1), (1, 1)), **options)


def test_files_without_labels_or_scores_are_refused(tmp_path: Path) -> None:
    """There is nothing to measure, and the option to name the column is given."""
    with pytest.raises(DataError, match="no row has a score"):
        load(tmp_path, pairs((0, None), (1, "?")))
    with pytest.raises(DataError, match="no row has a label"):
        load(tmp_path, pairs((None, 1), ("", 0)))
    with pytest.raises(InputError, match="are no grades"):
        load(tmp_path, pairs((0, 1), (1, 1e15)))


# Maps and stated scales

GRADES = OutputScale(low=0, high=3, threshold=2.0)


def said(judged: JudgedDataset, text: str) -> bool:
    """Whether some note holds the text."""
    return any(text in note for note in judged.dataset.notes)


def test_words_of_their_own_are_mapped_to_grades(tmp_path: Path) -> None:
    """Labels and scores each have a map; what it does not name is read as it is; none leaves the
    row without.
    """
    rows = pairs(("Partially", "weak"), ("no", 1), ("yes", "strong"), ("unclear", 0), (1, "?"))
    judged = load(
        tmp_path,
        rows,
        label_map=parse_grade_map("partially=0.5, unclear=none", option="--label-map"),
        score_map=parse_grade_map("weak=0,strong=1,?=", option="--score-map"),
    )
    assert [row.label for row in judged.dataset.rows] == [0.5, 0.0, 1.0, None, 1.0]
    assert judged.score.tolist() == [0.0, 1.0, 1.0]
    assert [answer.detail for answer in judged.answers if isinstance(answer, Unscored)] == [
        "no score in the file"
    ]
    assert said(judged, "labels were mapped: partially as 0.5, unclear as nothing")


@pytest.mark.parametrize("cell", [1, 1.0, "1", "1.0", " 1 "])
def test_a_mapped_number_is_found_however_it_is_written(tmp_path: Path, cell: object) -> None:
    """And a grade that a map swaps is not swapped back."""
    swapped = {"0": 1.0, "1": 0.0}
    judged = load(tmp_path, pairs((0, 0), (1, cell)), score_map=swapped)
    assert judged.score.tolist() == [1.0, 0.0]


@pytest.mark.parametrize("text", ["yes", "=1", "yes=much", "a=1,A=2", "a=1,,b=2", "a=inf", ""])
def test_a_map_that_is_none_is_refused(text: str) -> None:
    """The pair is named, and the option."""
    with pytest.raises(InputError, match="--label-map"):
        parse_grade_map(text, option="--label-map")


def test_scores_outside_a_stated_scale_are_named_and_left_unscored(tmp_path: Path) -> None:
    """A judge that says 4 and 9 on 0..3 has made mistakes of form, which are neither right nor a
    3.
    """
    rows = pairs((0, 4), (3, 3), (1, 4), (2, -1), (2, 2), (0, 9))
    judged = load(tmp_path, rows, scale=GRADES)
    assert judged.score.tolist() == [3.0, 2.0]
    assert judged.same_scale
    assert said(judged, "scores outside 0..3 were left unscored: 4 (2 rows), -1 (1 row), 9 (1 row)")
    assert (
        next(a.detail for a in judged.answers if isinstance(a, Unscored))
        == "the score 4 is outside the scale"
    )
    assert load(tmp_path, rows, scale=GRADES, clip=True).score.tolist() == [3, 3, 3, 0, 2, 3]


def test_labels_outside_a_stated_scale_are_refused_unless_clipped(tmp_path: Path) -> None:
    """People's grades are not thrown away without a word."""
    rows = pairs((-2, 0), (3, 3), (1, 1))
    with pytest.raises(InputError, match=r"labels lie outside 0\.\.3: -2 \(1 row\)") as caught:
        load(tmp_path, rows, scale=GRADES)
    assert "--clip" in (caught.value.hint or "")
    judged = load(tmp_path, rows, scale=GRADES, clip=True)
    assert judged.label.tolist() == [0.0, 3.0, 1.0]
    assert said(judged, "labels outside 0..3 were clipped to its ends: -2 (1 row)")


def test_a_stated_scale_keeps_its_own_threshold_and_those_given(tmp_path: Path) -> None:
    """The stated threshold, a threshold for both, and one of the labels' own."""
    rows = pairs((0, 0), (1, 1), (2, 2), (3, 3))
    at_three = OutputScale(low=0, high=3, threshold=3.0)
    assert load(tmp_path, rows, scale=at_three).predicted.tolist() == [0, 0, 0, 1]
    assert load(tmp_path, rows, scale=at_three, threshold=1).predicted.tolist() == [0, 1, 1, 1]
    apart = load(tmp_path, rows, scale=at_three, label_threshold=2)
    assert (apart.positive.sum(), apart.predicted.sum()) == (2, 1)


def test_scores_beyond_the_labels_scale_are_pointed_at(tmp_path: Path) -> None:
    """A 7 among grades 0..3 makes another scale, which a note offers to mend."""
    assert said(load(tmp_path, pairs((0, 7), (3, 3), (2, 1))), "--scale 0..3")


@given(values=st.lists(st.tuples(st.integers(0, 3), st.integers(-5, 9)), min_size=1, max_size=30))
@settings(max_examples=50, deadline=None)
def test_clipping_is_moving_to_the_nearest_end(
    values: list[tuple[int, int]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Whatever the scores, the clipped ones are numpy's."""
    folder = tmp_path_factory.mktemp("clip")
    judged = load(folder, pairs(*values), scale=GRADES, clip=True)
    np.testing.assert_array_equal(judged.score, np.clip([score for _, score in values], 0, 3))


def test_clipping_and_aggregating_ask_for_what_they_need(tmp_path: Path) -> None:
    """A scale to clip to, and the columns that name an item."""
    with pytest.raises(InputError, match="scale to clip"):
        load(tmp_path, pairs((0, 1)), clip=True)
    with pytest.raises(InputError, match="columns that name an item"):
        load(tmp_path, pairs((0, 1)), aggregate="max")
    with pytest.raises(InputError, match="columns that name an item"):
        load(tmp_path, pairs((0, 1)), by=["id"])


# Several rows for one item


def chunks(*lines: tuple[str, object, object]) -> list[dict[str, object]]:
    """Return rows of claims: claim, label, score; each chunk with a number, a text and a reason."""
    return [
        {
            "id": f"r{i}",
            "claim": claim,
            "label": label,
            "score": score,
            "chunk": i,
            "topic": claim.upper(),
            "inputs": {"source": f"chunk {i}", "statement": claim},
            "rationale": f"because of {i}",
            "sure": 0.5 + i / 20,
            "query_id": f"q-{claim}",
        }
        for i, (claim, label, score) in enumerate(lines)
    ]


def test_an_item_takes_the_maximum_of_its_rows(tmp_path: Path) -> None:
    """With text, reason and confidence of the row that decided; groups and shared columns are
    kept.
    """
    rows = chunks(("a", 1, 0.2), ("b", 0, 0.1), ("a", 1, 0.9), ("b", 0, 0.1))
    judged = load(tmp_path, rows, aggregate="max", by=["claim"], confidence="sure")
    assert [(row.id, row.label, row.group) for row in judged.rows] == [
        ("a", 1.0, "q-a"),
        ("b", 0.0, "q-b"),
    ]
    assert judged.score.tolist() == [0.9, 0.1]
    assert judged.rows[0].inputs == {"source": "chunk 2", "statement": "a"}
    assert [v.rationale for v in judged.verdicts] == ["because of 2", "because of 1"]
    assert [v.confidence for v in judged.verdicts] == [0.6, 0.55]
    assert judged.rows[0].meta == {"topic": "A", "claim": "a"}
    assert said(
        judged, "4 rows are 2 items, one per claim: the score is the max; their labels agree"
    )
    assert said(judged, "left out: chunk")


@pytest.mark.parametrize(
    ("how", "score", "label"), [("max", 3, 2), ("min", 0, 1), ("mean", 1.5, 1.5)]
)
def test_items_are_joined_in_the_way_asked_for(
    tmp_path: Path, how: str, score: float, label: float
) -> None:
    """Labels that differ within an item are joined as the scores are, and the note says in how many
    items.
    """
    rows = chunks(("a", 1, 0), ("a", 2, 3), ("b", 3, 3))
    judged = load(tmp_path, rows, aggregate=how, by=["claim"])
    assert (judged.score[0], judged.label[0]) == (score, label)
    assert said(judged, f"in 1 items labels differ, and the label is their {how} too")
    assert (judged.dataset.labels.high, judged.scale.high) == (3, 3)


def test_an_item_with_a_missing_score_is_unscored(tmp_path: Path) -> None:
    """What is missing could have been the maximum; a missing label is filled by the other rows."""
    rows = chunks(("a", 1, 0), ("a", 1, None), ("b", None, 1), ("b", 0, 0))
    judged = load(tmp_path, rows, aggregate="max", by=["claim"])
    assert [row.id for row in judged.rows] == ["b"]
    assert judged.label.tolist() == [0.0]
    missing = judged.answers[0]
    assert isinstance(missing, Unscored)
    assert missing.detail == "1 of its 2 rows have no score: no score in the file"


def test_several_columns_name_an_item_without_confusion(tmp_path: Path) -> None:
    """Joined names of different items stay different; an empty one is refused."""
    rows = pairs((0, 0), (1, 1), (1, 1))
    for row, (a, b) in zip(rows, (("x", "y z"), ("x y", "z"), ("x", "y z")), strict=True):
        row |= {"a": a, "b": b}
    judged = load(tmp_path, rows, aggregate="max", by=["a", "b"])
    assert [row.id for row in judged.rows] == ['["x","y z"]', '["x y","z"]']
    rows[1]["b"] = None
    with pytest.raises(DataError, match="line 2: field 'b' is empty"):
        load(tmp_path, rows, aggregate="max", by=["a", "b"])
    with pytest.raises(DataError, match="'claim' is missing"):
        load(tmp_path, rows, aggregate="max", by=["claim"])


@given(
    lines=st.lists(
        st.tuples(st.integers(0, 4), st.floats(0, 1), st.integers(0, 1)), min_size=1, max_size=40
    ),
    how=st.sampled_from(["max", "min", "mean"]),
)
@settings(max_examples=50, deadline=None)
def test_aggregating_is_what_pandas_finds(
    lines: list[tuple[int, float, int]], how: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """On any rows, score and label of each item are those of a group-by."""
    import pandas as pd

    rows = [{"id": i, "item": f"i{k}", "score": s, "label": y} for i, (k, s, y) in enumerate(lines)]
    judged = load(tmp_path_factory.mktemp("items"), rows, aggregate=how, by=["item"])
    expected = pd.DataFrame(rows).groupby("item", sort=False)[["score", "label"]].agg(how)
    assert [row.id for row in judged.rows] == expected.index.tolist()
    np.testing.assert_allclose(judged.score, expected["score"])
    np.testing.assert_allclose(judged.label, expected["label"])


# Matrices of judges


def matrix() -> list[dict[str, object]]:
    """Two judges side by side, one of which says 4 once and is silent once."""
    scores = ((0, 0), (1, 4), (2, None), (3, 3))
    return [
        {"id": f"r{i}", "label": i, "verdicts": {"a": a, "b.two": b}, "topic": "t"}
        for i, (a, b) in enumerate(scores)
    ]


@pytest.mark.parametrize("score", ["verdicts", "verdicts.*", "verd*"])
def test_all_judges_of_a_matrix_are_read_at_once(tmp_path: Path, score: str) -> None:
    """Each under its own name, with its own gaps; no judge's scores are a column to slice another's
    errors by.
    """
    path = tmp_path / "m.jsonl"
    path.write_text("\n".join(json.dumps(row) for row in matrix()))
    judges = load_judges(path, VerdictColumns(score=score, scale=GRADES, thresholds={"a": 1.0}))
    names = ["verdicts.a", "verdicts.b.two"] if score == "verd*" else ["a", "b.two"]
    assert list(judges) == names
    first, second = judges.values()
    assert (first.judge, len(first.scored), len(second.scored)) == (names[0], 4, 2)
    assert first.predicted.sum() == (3 if names[0] == "a" else 2)
    assert all(
        set(row.meta) == {"topic"} for judged in judges.values() for row in judged.dataset.rows
    )
    assert said(second, "4 (1 row)")
    with pytest.raises(InputError, match="names 2 judges") as caught:
        load_verdicts(path, score=score)
    assert names[1] in (caught.value.hint or "")
    assert load_verdicts(path, score="verdicts.a").score.tolist() == [0, 1, 2, 3]


def test_a_matrix_in_a_table_is_read_by_a_pattern(tmp_path: Path) -> None:
    """CSV columns have no objects; a pattern that fits none lists the columns; a matrix has no
    confidences.
    """
    path = tmp_path / "m.csv"
    path.write_text("id,label,judge_x,judge_y\n1,0,0,1\n2,1,1,\n")
    judges = load_judges(path, VerdictColumns(score="judge_*"))
    assert {name: judged.score.tolist() for name, judged in judges.items()} == {
        "judge_x": [0, 1],
        "judge_y": [1],
    }
    with pytest.raises(DataError, match=r"'model_\*'. The columns are 'judge_x', 'judge_y'"):
        load_judges(path, VerdictColumns(score="model_*"))
    with pytest.raises(InputError, match="no column of confidences"):
        load_judges(path, VerdictColumns(score="judge_*", confidence="sure"))


def test_a_judge_of_a_matrix_without_any_score_is_named(tmp_path: Path) -> None:
    """It cannot be ranked, and is not left out in silence."""
    path = tmp_path / "m.jsonl"
    path.write_text(json.dumps({"id": 1, "label": 1, "verdicts": {"a": 1, "b": None}}))
    with pytest.raises(DataError, match="no row has a score in column 'b'"):
        load_judges(path, VerdictColumns(score="verdicts"))


def test_our_own_verdicts_keep_their_reasons_and_their_mark(tmp_path: Path) -> None:
    """What `bench --out` writes comes back: why a row is unscored, its group, and that a model was
    simulated.
    """
    answers = (("a", 1, None, "truncated"), ("b", 1, 1, None), ("c", 0, None, "whatever"))
    rows = [
        {"id": id, "label": label, "score": score, "unscored": why, "simulated": True, "group": "g"}
        for id, label, score, why in answers
    ]
    judged = load(tmp_path, rows)
    assert judged.unscored == {"parse": 1, "truncated": 1}
    assert judged.simulated
    assert {row.group for row in judged.dataset.rows} == {"g"}
    assert "unscored" not in judged.dataset.rows[0].meta


# Published figures


@needs_verdicts
def test_real_gpt_4o_grades_are_grouped_by_query() -> None:
    """9,260 rows on NIST grades, of which the file's own binary verdict is grade 2 and above."""
    judged = load_verdicts(VERDICTS / "trecdl19.gpt-4o-umbrela.jsonl")
    assert (len(judged.rows), len(set(judged.groups))) == (9260, 43)
    assert (judged.dataset.labels.high, judged.scale.high) == (3, 3)
    assert judged.predicted.tolist() == [row.meta["verdict"] == 1 for row in judged.rows]
    assert judged.positive.tolist() == [row.meta["label_binary"] == 1 for row in judged.rows]


@needs_verdicts
def test_claim_verdicts_keep_partial_support_apart() -> None:
    """WiCE labels are 0..2 and scores probabilities; the rationale is the verdict's and no
    metadata.
    """
    path = VERDICTS / "wice_claim.gpt-4-0613.jsonl"
    claims = load_verdicts(
        path, label="label_binary", threshold=0.75, aggregate="max", by=["metadata.claim_id"]
    )
    assert (len(claims.rows), claims.positive.sum()) == (100, 22)
    judged = load_verdicts(path, label_threshold=2)
    assert (judged.dataset.labels.high, judged.scale.kind) == (2, "probability")
    assert judged.positive.tolist() == [row.meta["label_binary"] == 1 for row in judged.rows]
    assert all(verdict.rationale for verdict in judged.verdicts)
    assert "rationale" not in judged.rows[0].meta


@pytest.mark.parametrize(
    "cells", ["0,1e308", "1e308,1", "0,-1e308", "0,5000000", "0,1e308\n1,1.1e308", "0,1500000.5"]
)
def test_values_far_from_any_grade_are_refused(tmp_path: Path, cells: str) -> None:
    """A lone huge score makes no scale of as many levels."""
    path = tmp_path / "v.csv"
    path.write_text(f"label,score\n{cells}\n", encoding="utf-8")
    with pytest.raises(InputError, match="are no grades"):
        load_verdicts(path)


def test_a_few_scores_that_are_no_grades_are_unscored(tmp_path: Path) -> None:
    """A judge that once answers 9.2e+124 has made one mistake of form; as a stream it is the
    same.
    """
    rows = [{"id": n, "label": n % 2, "score": 9.2e124 if n == 3 else n % 2} for n in range(30)]
    judged = load(tmp_path, rows)
    assert judged.unscored == {"parse": 1}
    assert said(judged, "scores that are no grades, left unscored: 1 (such as 9.2e+124)")
    streamed = stream_verdicts(tmp_path / "verdicts.jsonl", VerdictColumns())
    assert streamed.dataset.notes == judged.dataset.notes
    assert streamed.unscored == {"parse": 1}


def test_a_header_of_many_columns_is_read_in_linear_time(tmp_path: Path) -> None:
    """Looking for doubled columns does not take the square of their number."""
    path = tmp_path / "v.csv"
    path.write_text(",".join(f"c{i}" for i in range(40_000)) + ",c7\n", encoding="utf-8")
    with pytest.raises(DataError, match="'c7' stands twice"):
        load_verdicts(path)

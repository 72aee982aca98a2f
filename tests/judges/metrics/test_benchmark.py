"""measure and by: one judge against people, with a stated answer for every odd input."""

from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np
import pytest
import sklearn.metrics as sk
from hypothesis import given, settings
from hypothesis import strategies as st

from judgewright.judges import (
    BINARY,
    PROBABILITY,
    Dataset,
    InputError,
    JudgedDataset,
    OutputScale,
    Row,
    Scalar,
    Unscored,
    Verdict,
    better_threshold,
)
from judgewright.judges.metrics import (
    AVERAGED,
    Benchmark,
    by_column,
    headline_metrics,
    is_metric,
    macro_means,
    measure,
)

from ...judged_tables import judged_table

GRADED = OutputScale()
AT_THRESHOLD = [
    "precision",
    "recall",
    "specificity",
    "f1",
    "accuracy",
    "balanced_accuracy",
    "mcc",
    "kappa",
]
ON_GRADES = [
    *(
        "accuracy_grades",
        "kappa_grades",
        "kappa_linear",
        "kappa_quadratic",
        "off_by_one",
        "mae",
        "f1_macro_grades",
    ),
]
ON_PROBABILITIES = ["auroc", "average_precision", "brier", "ece"]
ALPHA = ["krippendorff_alpha"]
CORRELATION = ["pearson", "spearman", "kendall_tau"]
RANKING = ["ndcg@10", "ndcg_exp@10", "map"]

Line = tuple[float | None, float | None]
"""A label and a score; None for no label, or for no verdict."""


def judged(
    lines: Sequence[Line],
    *,
    scale: OutputScale = GRADED,
    labels: OutputScale | None = None,
    confidence: Sequence[float | None] | None = None,
    groups: Sequence[str] | None = None,
    meta: Sequence[dict[str, Scalar]] | None = None,
) -> JudgedDataset:
    """Make a table of labels and scores."""
    return judged_table(
        [label for label, _ in lines],
        [score for _, score in lines],
        columns=meta,
        groups=groups,
        confidence=confidence,
        scale=scale,
        label_scale=labels,
        judge="j@1",
        model="m",
        simulated=True,
    )


def _counts(tp: int, fp: int, fn: int, tn: int) -> list[Line]:
    lines: list[Line] = [(1.0, 1.0)] * tp
    return lines + [(0.0, 1.0)] * fp + [(1.0, 0.0)] * fn + [(0.0, 0.0)] * tn


def test_the_json_has_the_shape_of_the_command_line_contract() -> None:
    """schema_version, n, unscored, confusion and metrics stand as documented, and survive JSON."""
    found = measure(
        judged([*_counts(6, 2, 1, 9), (1.0, None), (None, 1.0)], scale=BINARY)
    ).to_json()
    again = json.loads(json.dumps(found, allow_nan=False))
    assert again["schema_version"] == 1
    assert again["n"] == 18
    assert again["unscored"] == {"parse": 1}
    assert again["unlabelled"] == 1
    assert again["coverage"] == pytest.approx(18 / 19)
    assert again["confusion"] == {"tp": 6, "fp": 2, "fn": 1, "tn": 9}
    assert list(again["metrics"]) == AT_THRESHOLD + ALPHA
    assert set(again["metrics"]["accuracy"]) == {"value", "low", "high", "n"}
    assert again["metrics"]["f1"]["reason"] == "only 7 rows labelled positive"
    assert again["metrics"]["f1"]["value"] == pytest.approx(12 / 15)
    assert again["metrics"]["f1"]["low"] < 12 / 15 < again["metrics"]["f1"]["high"]
    assert (again["judge"], again["model"], again["simulated"]) == ("j@1", "m", True)
    assert again["grades"] is None


def test_one_graded_scale_gives_grade_metrics_and_their_table() -> None:
    """When judge and people grade 0..3 alike, the grade metrics, ordinal alpha and the 4 x 4 table
    are there.
    """
    rng = np.random.default_rng(1)
    label = rng.integers(0, 4, 200)
    score = (label + rng.integers(-1, 2, 200)).clip(0, 3)
    found = measure(judged(list(zip(label.astype(float), score.astype(float), strict=True))))
    assert list(found.metrics) == AT_THRESHOLD + ON_GRADES + ALPHA + CORRELATION
    assert found.metrics["off_by_one"].value == 1.0
    assert (found.metrics["off_by_one"].low or 1) < 1.0
    assert found.metrics["kappa"].value == pytest.approx(
        sk.cohen_kappa_score(label >= 2, score >= 2)
    )
    assert found.grades is not None
    assert found.grades.levels == (0.0, 1.0, 2.0, 3.0)
    assert np.sum(found.grades.counts) == 200
    assert found.grades.counts[1][2] == int(((label == 1) & (score == 2)).sum())


def test_two_scales_give_no_grade_metrics() -> None:
    """Grades of 0..3 against yes/no labels are compared at the thresholds, and correlated."""
    found = measure(judged([(1.0, 3.0), (0.0, 0.0), (1.0, 1.0)], labels=BINARY))
    assert list(found.metrics) == AT_THRESHOLD + ALPHA + CORRELATION
    assert found.confusion == {"tp": 1, "fp": 0, "fn": 1, "tn": 1}


def test_a_choice_is_measured_over_its_classes_alone() -> None:
    """Labels without order have no threshold: accuracy, macro F1, kappa and alpha over the classes,
    no worst case.
    """
    scale = OutputScale(kind="choice", labels=("a", "b", "c"))
    rng = np.random.default_rng(2)
    label = rng.integers(0, 3, 90)
    score = np.where(rng.random(90) < 0.7, label, rng.integers(0, 3, 90))
    lines: list[Line] = [*zip(label.astype(float), score.astype(float), strict=True), (1.0, None)]
    found = measure(judged(lines, scale=scale, confidence=[0.8] * 91))
    assert list(found.metrics) == [
        "accuracy_grades",
        "kappa_grades",
        "f1_macro_grades",
        *ALPHA,
        "recall[c]",
    ]
    assert found.metrics["accuracy_grades"].value == pytest.approx(np.mean(label == score))
    assert found.metrics["f1_macro_grades"].value == pytest.approx(
        sk.f1_score(label, score, average="macro")
    )
    assert found.metrics["kappa_grades"].value == pytest.approx(sk.cohen_kappa_score(label, score))
    assert all(e.low is not None and e.low < (e.value or 0) for e in found.metrics.values())
    assert found.grades is not None
    assert np.array(found.grades.counts).tolist() == sk.confusion_matrix(label, score).tolist()
    assert found.worst_case == {}
    assert (found.n, found.unscored) == (90, {"parse": 1})
    json.dumps(found.to_json(), allow_nan=False)
    two = measure(
        judged([(0.0, 1.0), (1.0, 1.0)], scale=OutputScale(kind="choice", labels=("a", "b")))
    )
    assert two.grades is not None


def test_a_choice_without_answers_or_with_other_labels_says_so() -> None:
    """Nothing scored: every metric None with a reason. People on another scale: no metric, and a
    note.
    """
    scale = OutputScale(kind="choice", labels=("a", "b", "c"))
    empty = measure(judged([(1.0, None)], scale=scale))
    assert {e.reason for e in empty.metrics.values()} == {"no row has both a label and a verdict"}
    other = measure(judged([(1.0, 2.0)], scale=scale, labels=BINARY))
    assert (other.metrics, other.grades) == ({}, None)
    assert any("no metric fits" in note for note in other.notes)


def test_ranking_takes_the_group_as_the_query() -> None:
    """Where queries have several rows nDCG at each cut-off and MAP are there, and equal
    scikit-learn's.
    """
    from sklearn.metrics import ndcg_score

    rng = np.random.default_rng(3)
    label = rng.integers(1, 6, 120).astype(float)
    score = (label + rng.integers(-2, 3, 120)).clip(1, 5)
    scale = OutputScale(low=1, high=5, threshold=4)
    groups = [f"q{i // 10}" for i in range(120)]
    found = measure(
        judged(list(zip(label, score, strict=True)), scale=scale, groups=groups), at=(3, 5)
    ).metrics
    assert [name for name in found if "@" in name] == [
        "ndcg@3",
        "ndcg_exp@3",
        "ndcg@5",
        "ndcg_exp@5",
    ]
    gains = label.reshape(12, 10) - 1  # the lowest grade of 1..5 is no gain
    expected = np.mean(
        [ndcg_score([g], [s], k=3) for g, s in zip(gains, score.reshape(12, 10), strict=True)]
    )
    assert found["ndcg@3"].value == pytest.approx(expected)
    assert found["map"].n == 120
    assert not any(
        "@" in name
        for name in measure(judged(list(zip(label, score, strict=True)), scale=scale)).metrics
    )
    with pytest.raises(InputError, match="first 0 documents"):
        measure(judged([(1.0, 1.0), (2.0, 3.0)], groups=["q", "q"]), at=(0,))


def test_a_binary_judge_ranks_by_its_probability_where_every_row_has_one() -> None:
    """Two positives of unlike confidence are told apart; with one confidence missing they are
    tied.
    """
    lines: list[Line] = [(1.0, 1.0), (0.0, 1.0)] * 3
    groups = ["a", "a", "b", "b", "c", "c"]
    sure = measure(judged(lines, scale=BINARY, confidence=[0.9, 0.6] * 3, groups=groups)).metrics[
        "map"
    ]
    assert sure.value == 1.0
    tied = measure(
        judged(lines, scale=BINARY, confidence=[0.9, 0.6] * 2 + [0.9, None], groups=groups)
    ).metrics["map"]
    assert tied.value == pytest.approx(0.75)


def test_every_metric_that_measure_returns_stands_in_the_catalog() -> None:
    """Reports can explain each name."""
    table = judged(
        _counts(4, 2, 2, 4),
        scale=BINARY,
        confidence=[0.8] * 12,
        groups=["a", "b"] * 6,
    )
    choice = judged([(1.0, 1.0)], scale=OutputScale(kind="choice", labels=("a", "b")))
    names = [
        *measure(table, at=(1, 5)).metrics,
        *measure(judged([(1.0, 2.0)])).metrics,
    ]
    for name in [*names, *measure(choice).metrics, *AVERAGED]:
        assert is_metric(name), name


def test_a_probability_scale_is_its_own_probability() -> None:
    """A judge that answers with a probability needs no separate confidence."""
    found = measure(
        judged([(1.0, 0.9), (0.0, 0.2), (1.0, 0.4), (0.0, 0.6)], scale=PROBABILITY, labels=BINARY)
    )
    assert found.metrics["auroc"].value == 0.75
    assert found.metrics["brier"].value == pytest.approx((0.01 + 0.04 + 0.36 + 0.36) / 4)
    with pytest.raises(InputError, match=r"1\.5"):
        measure(judged([(1.0, 1.5)], scale=PROBABILITY, labels=BINARY))


def test_calibration_uses_the_rows_that_have_a_probability() -> None:
    """Rows without a confidence leave those metrics, whose n and a note say so."""
    lines = _counts(5, 1, 1, 5)
    found = measure(judged(lines, scale=BINARY, confidence=[0.9, None] * 6))
    assert {found.metrics[name].n for name in ON_PROBABILITIES} == {6}
    assert found.metrics["accuracy"].n == 12
    assert any("6 of 12" in note for note in found.notes)
    grouped = judged(lines, scale=BINARY, confidence=[0.9, None] * 6, groups=list("aabbccddeeff"))
    assert {measure(grouped).metrics[name].n for name in ON_PROBABILITIES} == {6}
    assert "auroc" not in measure(judged(lines, scale=BINARY)).metrics


@pytest.mark.parametrize(
    "lines",
    [[], [(1.0, None), (0.0, None)], [(None, 1.0)]],
    ids=["empty", "unscored", "unlabelled"],
)
def test_nothing_to_measure_is_said_and_not_a_number(lines: list[Line]) -> None:
    """Empty, all-unscored and all-unlabelled inputs give n = 0 and metrics that are None with a
    reason.
    """
    found = measure(judged(lines, scale=BINARY))
    assert found.n == 0
    assert found.coverage == 0.0
    assert set(found.confusion.values()) == {0}
    for estimate in found.metrics.values():
        assert (estimate.value, estimate.low, estimate.high, estimate.n) == (None, None, None, 0)
        assert estimate.reason
    assert not any("nan" in line for line in found.table())
    graded = measure(judged(lines, scale=GRADED)).metrics
    assert graded["kappa_quadratic"].value is None


def test_a_single_class_has_a_stated_answer() -> None:
    """All labels positive: recall and F1 exist, specificity and AUROC do not, and each says why."""
    found = measure(judged(_counts(7, 0, 3, 0), scale=BINARY, confidence=[0.8] * 10)).metrics
    assert found["recall"].value == 0.7
    assert found["precision"].value == 1.0
    assert (found["kappa"].value, found["kappa"].reason) == (None, "the labels hold only one class")
    assert found["specificity"].value is None
    assert found["specificity"].reason == "no row is labelled negative"
    assert found["auroc"].value is None
    assert found["auroc"].reason == "the labels hold only one class"
    never = measure(judged(_counts(0, 0, 4, 4), scale=BINARY)).metrics["precision"]
    assert (never.value, never.low, never.high) == (None, None, None)
    assert never.reason == "the judge calls no row positive"


def test_few_rows_and_groups_are_named_beside_the_figures() -> None:
    """Below the sizes for which coverage is measured, remarks and notes say what is few; above,
    nothing is said.
    """
    few = measure(judged(_counts(7, 2, 2, 79), scale=BINARY, confidence=[0.8] * 90))
    assert few.notes == ("only 90 rows: 95 % intervals may hold the truth less often than that",)
    assert few.metrics["precision"].reason == "only 9 rows that the judge calls positive"
    for name in (
        "recall",
        "f1",
        "balanced_accuracy",
        "mcc",
        "kappa",
        "krippendorff_alpha",
        "auroc",
    ):
        assert few.metrics[name].reason == "only 9 rows labelled positive", name
    assert few.metrics["specificity"].reason == ""
    assert few.metrics["ece"].reason.startswith(
        "ECE on 90 rows is biased upwards: a calibrated judge would show about"
    )
    groups = [f"g{i // 40}" for i in range(1000)]
    lines = [*_counts(40, 0, 0, 0), *_counts(0, 60, 0, 900)]
    gathered = measure(judged(lines, scale=BINARY, groups=groups)).metrics["recall"]
    assert gathered.reason == "only 1 group with rows labelled positive"
    lopsided = ["big"] * 600 + [f"g{i}" for i in range(400)]
    notes = measure(judged(lines, scale=BINARY, groups=lopsided)).notes
    assert notes == (
        (
            "the 401 groups weigh as much as 3 of equal size: 95 % intervals may hold the truth"
            " less often than that"
        ),
    )
    enough = measure(judged(_counts(40, 20, 20, 120), scale=BINARY, confidence=[0.99] * 200))
    assert enough.notes == ()
    assert not any(found.reason for found in enough.metrics.values())


def test_too_few_groups_are_named() -> None:
    """Under twenty groups a note warns, and a single group has values without intervals."""
    lines = _counts(8, 2, 2, 8)
    few = measure(judged(lines, scale=BINARY, groups=[f"g{i % 5}" for i in range(20)]))
    assert any("only 5 groups" in note for note in few.notes)
    one = measure(judged(lines, scale=BINARY, groups=["g"] * 20)).metrics["f1"]
    assert (one.value, one.low) == (0.8, None)
    assert one.reason == "the rows of one group cannot show the spread"


def test_the_worst_case_counts_every_missing_verdict_as_wrong_and_as_right() -> None:
    """Two positives and one negative without a verdict bound the figures from both sides."""
    table = judged(
        [*_counts(6, 2, 2, 10), (1.0, None), (1.0, None), (0.0, None), (None, None)], scale=BINARY
    )
    found = measure(table)
    assert found.worst_case["accuracy"] == (16 / 23, 19 / 23)
    assert found.worst_case["precision"] == (6 / 9, 8 / 10)
    assert found.worst_case["recall"] == (6 / 10, 8 / 10)
    assert found.worst_case["f1"] == (pytest.approx(12 / 19), pytest.approx(16 / 20))
    assert any("4 rows have no verdict" in note for note in found.notes)


@given(
    st.lists(
        st.tuples(
            st.sampled_from([0.0, 1.0, None]),
            st.sampled_from([0.0, 1.0, None]),
            st.sampled_from("abcd"),
        ),
        max_size=30,
    )
)
@settings(max_examples=60, deadline=None)
def test_any_input_gives_finite_numbers_inside_their_bounds(
    lines: list[tuple[float | None, float | None, str]],
) -> None:
    """No NaN leaves `measure`; intervals are ordered; the point lies within the worst case."""
    sure = [0.5 + i % 6 / 10 for i in range(len(lines))]
    table = judged(
        [line[:2] for line in lines],
        scale=BINARY,
        groups=[line[2] for line in lines],
        confidence=sure,
    )
    found = measure(table)
    json.dumps(found.to_json(), allow_nan=False)
    for name, estimate in found.metrics.items():
        if estimate.low is not None and estimate.high is not None:
            assert -1 <= estimate.low <= estimate.high <= 1, name
    for name, (low, high) in found.worst_case.items():
        value = found.metrics[name].value
        if value is not None and low is not None and high is not None:
            assert low - 1e-12 <= high
            if not found.metrics[name].reason:
                assert low - 1e-12 <= value <= high + 1e-12, name


def test_the_order_of_rows_changes_no_value() -> None:
    """Values depend on the rows alone."""
    table = judged(_counts(9, 3, 4, 14), scale=BINARY)
    turned = table.only(list(range(30))[::-1])
    assert measure(table) == measure(table)
    assert measure(table).metrics["f1"].value == measure(turned).metrics["f1"].value


def test_by_measures_each_value_of_a_column() -> None:
    """Each value gets its own benchmark with its own unscored rows; a missing value is `(none)`."""
    lines = [*_counts(4, 1, 1, 4), (1.0, None)]
    meta: list[dict[str, Scalar]] = (
        [{"dataset": "wice"}] * 6 + [{"dataset": 7}] * 3 + [{"dataset": None}] + [{"x": 1}]
    )
    found = by_column(judged(lines, scale=BINARY, meta=meta), "dataset")
    assert list(found) == ["(none)", "7", "wice"]
    assert [b.n for b in found.values()] == [1, 3, 6]
    assert found["(none)"].unscored == {"parse": 1}
    assert all(isinstance(b, Benchmark) for b in found.values())
    with pytest.raises(InputError, match="'nope'") as caught:
        by_column(judged(lines, scale=BINARY, meta=meta), "nope")
    assert "dataset, x" in (caught.value.hint or "")


def test_the_table_has_a_line_per_metric() -> None:
    """People read name, value, interval, n and remark."""
    lines = measure(judged(_counts(4, 0, 0, 0), scale=BINARY)).table()
    assert [line[0] for line in lines] == AT_THRESHOLD + ALPHA
    assert lines[0][1] == "1.0000"
    assert lines[0][2].startswith("[0.")
    assert lines[2] == ("specificity", "n/a", "", "0", "no row is labelled negative")


def test_grades_between_the_levels_leave_out_the_metrics_of_grades() -> None:
    """A mean of grades, such as 1.5 on 0..3, is decided at the threshold and correlated, and the
    gap is said.
    """
    scale = OutputScale(low=0, high=3, threshold=2)
    scores = (0.0, 1.5, 2.5, 3.0)
    rows = tuple(Row(id=str(i), inputs={}, label=float(i)) for i in range(4))
    answers = tuple(Verdict(row_id=str(i), score=s, positive=s >= 2) for i, s in enumerate(scores))
    found = measure(
        JudgedDataset(dataset=Dataset(rows=rows, labels=scale), answers=answers, scale=scale)
    )
    assert found.metrics["f1"].value == 1.0
    assert found.metrics["spearman"].value == pytest.approx(1.0)
    assert "kappa_linear" not in found.metrics
    assert found.grades is None
    assert any("between the levels" in note for note in found.notes)


def test_documents_are_not_ranked_as_queries() -> None:
    """Rows of groundedness share a source, which ranks nothing; passages of a query are ranked."""
    for inputs, ranked in (
        ({"source": "s", "statement": "t"}, False),
        ({"query": "q", "passage": "p"}, True),
    ):
        rows = tuple(
            Row(id=str(i), inputs=inputs, label=float(i % 2), group=str(i // 4)) for i in range(8)
        )
        answers = tuple(
            Verdict(row_id=str(i), score=float(i % 2), positive=bool(i % 2)) for i in range(8)
        )
        found = measure(
            JudgedDataset(dataset=Dataset(rows=rows, labels=BINARY), answers=answers, scale=BINARY)
        )
        assert ("map" in found.metrics) is ranked


CHOICE = OutputScale(kind="choice", labels=("billing", "orders", "other"))


def of(people: Sequence[float] | np.ndarray, judge: Sequence[float] | np.ndarray) -> Benchmark:
    """Measure yes and no."""
    return measure(judged_table(people, judge))


def test_four_metrics_come_first_whatever_the_scale() -> None:
    """Of yes and no, of grades, and of a choice with the label that is recognized worst."""
    rng = np.random.default_rng(0)
    yes = of(rng.integers(0, 2, 90), rng.integers(0, 2, 90))
    assert headline_metrics(yes.metrics) == ("precision", "recall", "accuracy", "kappa")
    people, judge = rng.integers(0, 4, 90), rng.integers(0, 4, 90)
    graded = measure(judged_table(people, judge, scale=GRADED))
    assert headline_metrics(graded.metrics) == ("accuracy_grades", "off_by_one", "kappa", "recall")
    assert graded.metrics["accuracy_grades"].value == pytest.approx(np.mean(people == judge))


def test_the_poorest_label_of_a_choice_has_its_recall_and_n() -> None:
    """Of ten orders the judge finds three: that is the poorest, and scikit-learn agrees."""
    from sklearn.metrics import recall_score

    people = [0] * 30 + [1] * 10 + [2] * 20
    judge = [0] * 27 + [2] * 3 + [1] * 3 + [0] * 7 + [2] * 18 + [0] * 2
    found = measure(judged_table(people, judge, scale=CHOICE))
    assert headline_metrics(found.metrics)[-1] == "recall[orders]"
    poorest = found.metrics["recall[orders]"]
    assert poorest.value == pytest.approx(recall_score(people, judge, average=None)[1])
    assert poorest.n == 10
    assert poorest.low is not None
    assert poorest.low < 0.3


def test_a_judge_that_answers_alike_is_told_so() -> None:
    """No for 59 of 60 rows: sixteen figures to three digits would hide it."""
    found = of([1] * 20 + [0] * 40, [1] + [0] * 59)
    assert found.warning.startswith("the judge answers no for 59 of 60 rows")
    assert found.to_json()["warning"] == found.warning


def test_labels_the_other_way_round_are_told() -> None:
    """Kappa far under 0 is no bad judge: somebody swapped 0 and 1."""
    labels = np.arange(100) % 2
    found = of(labels, np.where(np.arange(100) < 90, 1 - labels, labels))
    assert "the other way round" in found.warning
    assert "kappa -0.80" in found.warning


def test_a_judge_no_better_than_a_constant_is_told_so() -> None:
    """It agrees on 50 rows of 100, always yes would on 70."""
    labels = np.array([1] * 70 + [0] * 30)
    judge = np.array([1] * 35 + [0] * 35 + [1] * 15 + [0] * 15)
    found = of(labels, judge)
    assert found.warning.startswith(
        "the judge is no better than a constant: always answering yes would agree"
    )
    assert "70 of 100 rows, it does on 50" in found.warning


def test_a_good_judge_of_skewed_rows_is_not_called_useless() -> None:
    """Where nearly all rows are positive a good judge answers alike, too; kappa shows that it sees
    the others.
    """
    labels = np.array([1] * 380 + [0] * 20)
    judge = labels.copy()
    judge[:4] = 0
    assert of(labels, judge).warning == ""
    # A judge that sees the rare rows, and pays for it with more errors than it mends.
    judge[:24] = 0
    warning = of(labels, judge).warning
    assert warning.startswith("always answering yes would agree with people on 380 of 400 rows")
    assert "still agrees beyond chance" in warning


def test_agreement_within_chance_is_told_and_one_label_is_no_evidence() -> None:
    """Ten rows agree a little, which chance does, too; where people gave one label only nothing is
    said.
    """
    found = of([1, 1, 1, 1, 1, 0, 0, 0, 0, 0], [1, 1, 1, 0, 0, 0, 0, 0, 1, 1])
    assert "do not show that the judge agrees with people beyond chance" in found.warning
    assert of([1] * 30, [1] * 30).warning == ""


def test_a_choice_answered_alike_names_the_label() -> None:
    """The same sentence about a choice, by its label."""
    found = measure(judged_table([0] * 20 + [1] * 20 + [2] * 20, [2] * 59 + [0], scale=CHOICE))
    assert found.warning.startswith("the judge answers 'other' for 59 of 60 rows")


def test_another_threshold_is_hinted_with_its_interval() -> None:
    """A lenient judge whose grade 2 is mostly wrong: 3 serves these rows better, and by how much is
    cross-fitted.
    """
    rng = np.random.default_rng(4)
    people = rng.integers(0, 2, 400) * 3
    judge = np.where(
        people == 3,
        rng.choice([2, 3], 400, p=[0.2, 0.8]),
        rng.choice([0, 2, 3], 400, p=[0.3, 0.6, 0.1]),
    )
    hint = better_threshold(judged_table(people, judge, scale=GRADED))
    assert hint is not None
    assert (hint.current, hint.threshold) == (2, 3)
    assert hint.bad_called_good == ((people == 0) & (judge == 3)).sum()
    assert hint.good_called_bad == ((people == 3) & (judge == 2)).sum()
    assert hint.change.low is not None
    assert hint.change.low > 0


def test_no_threshold_is_hinted_where_none_serves_better_or_there_is_none() -> None:
    """A judge at its best threshold, a choice, and rows too few to choose by."""
    rng = np.random.default_rng(5)
    people = rng.integers(0, 2, 300) * 3
    judge = np.where(rng.random(300) < 0.9, people, 3 - people)
    assert better_threshold(judged_table(people, judge, scale=GRADED)) is None
    assert better_threshold(judged_table([0, 1, 2] * 20, [0, 1, 1] * 20, scale=CHOICE)) is None
    assert better_threshold(judged_table([0, 3] * 5, [2, 3] * 5, scale=GRADED)) is None


CELLS = [(1.0, 1.0), (0.0, 1.0), (1.0, 0.0), (0.0, 0.0)]


def sets_table(
    counts: dict[str, tuple[int, int, int, int]], *, per_group: int = 1, scale: OutputScale = BINARY
) -> JudgedDataset:
    """Make the rows of some data sets from their TP, FP, FN and TN."""
    lines = [
        (name, *pair)
        for name, each in counts.items()
        for pair, n in zip(CELLS, each, strict=True)
        for _ in range(n)
    ]
    return judged_table(
        [label for _, label, _ in lines],
        [score for _, _, score in lines],
        columns={"set": [name for name, *_ in lines]},
        groups=[f"g{i // per_group}" for i in range(len(lines))],
        scale=scale,
    )


SETS = {"big": (40, 5, 5, 50), "small": (2, 4, 4, 10), "silent": (0, 0, 3, 9), "none": (0, 0, 0, 7)}


def test_each_mean_is_scikit_learns_over_the_values_where_it_exists() -> None:
    """Undefined figures are left out as with zero_division=nan, and each mean says over how many
    values it is.
    """
    judged = sets_table(SETS)
    means = macro_means(judged, "set")
    label, predicted = judged.positive, judged.predicted
    names = np.array([row.meta["set"] for row in judged.rows])
    figures: dict[str, list[float]] = {name: [] for name in means}
    for name in SETS:
        y, p = label[names == name], predicted[names == name]
        both = len(set(y)) == 2
        figures["precision_macro"].append(sk.precision_score(y, p, zero_division=np.nan))
        figures["recall_macro"].append(sk.recall_score(y, p, zero_division=np.nan))
        figures["f1_macro"].append(sk.f1_score(y, p, zero_division=np.nan))
        figures["balanced_accuracy_macro"].append(
            sk.balanced_accuracy_score(y, p) if both else np.nan
        )
        figures["kappa_macro"].append(sk.cohen_kappa_score(y, p) if both else np.nan)
    for name, values in figures.items():
        assert means[name].estimate.value == pytest.approx(np.nanmean(values)), name
        assert (means[name].values, means[name].of) == (int(np.isfinite(values).sum()), 4), name
    assert means["precision_macro"].estimate.n == 120
    assert (
        means["precision_macro"].estimate.reason
        == "left out: silent, none (the judge calls no row positive)"
    )
    f1 = means["f1_macro"].estimate
    assert (f1.n, f1.reason) == (
        132,
        "left out: none (no row is positive, neither by label nor by verdict)",
    )
    assert means["kappa_macro"].to_json()["values"] == 3
    parts = by_column(judged, "set")
    shown = [part.metrics["kappa"].value for part in parts.values()]
    assert means["kappa_macro"].estimate.value == pytest.approx(
        np.mean([v for v in shown if v is not None])
    )


def test_what_has_no_mean_says_so() -> None:
    """No verdicts, no such column, a choice."""
    unscored = JudgedDataset(
        dataset=Dataset(
            rows=(Row(id="a", inputs={}, label=1.0, meta={"set": "x"}),), labels=BINARY
        ),
        answers=(Unscored(row_id="a", reason="parse"),),
        scale=BINARY,
    )
    mean = macro_means(unscored, "set")["f1_macro"]
    assert (mean.estimate.value, mean.values, mean.of, mean.estimate.n) == (None, 0, 1, 0)
    assert mean.estimate.reason == "left out: x (no row has both a label and a verdict)"
    with pytest.raises(InputError, match="'nope'"):
        macro_means(sets_table(SETS), "nope")
    with pytest.raises(InputError, match="choice"):
        macro_means(sets_table(SETS, scale=OutputScale(kind="choice", labels=("a", "b"))), "set")

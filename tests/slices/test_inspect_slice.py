"""One slice looked at closely: its numbers are those of independent code, and what is not held out
says so.
"""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2_contingency, fisher_exact
from sklearn.metrics import cohen_kappa_score, precision_score, recall_score

from judgewright.judges import (
    InputError,
    JudgedDataset,
    Scalar,
    hash_rows,
)
from judgewright.slices import (
    TARGETS,
    Consistency,
    Parts,
    Predicate,
    find_slices,
    measure_slice,
    members,
    parse_predicate,
    rows_in_slice,
)
from judgewright.slices.search_result import FoundSlice

from ..judged_tables import judged_table


def table(
    columns: dict[str, list[Scalar]], label: np.ndarray, said: np.ndarray, groups: np.ndarray
) -> JudgedDataset:
    """A binary table from arrays, each verdict with a confidence."""
    made = judged_table(
        label,
        said,
        columns=columns,
        groups=[f"g{group}" for group in groups],
        confidence=[0.5 + 0.4 * (i % 7) / 7 for i in range(len(label))],
        text="text",
    )
    return replace(made, dataset=replace(made.dataset, name="made"))


def planted(n: int = 4000, seed: int = 0, *, alone: bool = True) -> JudgedDataset:
    """False positives gather where `kind = a`, most of all with many words; rows are alone or in
    fives.
    """
    rng = np.random.default_rng(seed)
    kind = rng.choice(["a", "b", "c"], n)
    words = rng.integers(0, 100, n)
    label = rng.random(n) < 0.5
    risk = np.where(kind == "a", np.where(words >= 60, 0.6, 0.2), 0.1)
    said = np.where(label, rng.random(n) > 0.1, rng.random(n) < risk)
    groups = np.arange(n) if alone else np.arange(n) // 5
    return table(
        {
            "kind": kind.tolist(),
            "words": words.tolist(),
            "noise": rng.choice(list("pqrst"), n).tolist(),
        },
        label,
        said,
        groups,
    )


def test_a_slice_of_ones_own_has_the_numbers_of_scikit_learn() -> None:
    """Value and rest of precision, recall and kappa, and the counts, from a frame and the predicate
    alone.
    """
    judged = planted()
    frame = judged.to_frame().astype({"positive": bool, "predicted": bool})
    inside = (frame["kind"] == "a") & (frame["words"] >= 60)
    scores = {"precision": precision_score, "recall": recall_score, "kappa": cohen_kappa_score}
    for metric, score in scores.items():
        found = measure_slice(judged, parse_predicate("kind = a and words >= 60"), metric=metric)
        assert found.value.value == pytest.approx(
            score(frame[inside].positive, frame[inside].predicted)
        )
        assert found.rest.value == pytest.approx(
            score(frame[~inside].positive, frame[~inside].predicted)
        )
        assert found.support == found.groups == inside.sum()
        assert found.fp == (inside & frame.predicted & ~frame.positive).sum()
        assert found.fn == (inside & ~frame.predicted & frame.positive).sum()
        assert found.value.low is not None
        assert found.value.high is not None
        assert found.value.low < found.value.value < found.value.high  # type: ignore[operator]


def test_the_test_of_ones_own_slice_is_that_of_scipy_where_rows_are_alone() -> None:
    """One-sided: between the exact test and half of chi-squared; reversed sides give the other
    tail.
    """
    judged = planted(600, seed=3)
    found = measure_slice(judged, parse_predicate("kind = a"), metric="specificity")
    wrong, kind = (
        judged.predicted[~judged.positive],
        np.array([row.meta["kind"] for row in judged.rows]),
    )
    inside = (kind == "a")[~judged.positive]
    cells = pd.crosstab(inside, wrong).to_numpy()[::-1, ::-1]
    exact = fisher_exact(cells, alternative="greater").pvalue
    approximate = chi2_contingency(cells, correction=False).pvalue / 2
    assert found.p is not None
    assert min(exact, approximate) * 0.5 < found.p < max(exact, approximate) * 3
    assert found.p >= exact
    better = measure_slice(judged, parse_predicate("kind = b"), metric="specificity")
    assert better.p is not None
    assert better.p > 0.5


@pytest.mark.parametrize("metric", list(TARGETS))
def test_all_rows_have_a_value_and_nothing_to_compare_with(metric: str) -> None:
    """Every metric can be asked of all rows; then there is no rest, no test and no gain."""
    judged = planted(400)
    found = measure_slice(judged, Predicate(), metric=metric)
    assert found.value.value is not None
    assert (found.rest.value, found.rest.n, found.p, found.gain, found.parts) == (
        None,
        0,
        None,
        None,
        None,
    )
    assert found.rest.reason
    half = measure_slice(judged, parse_predicate("words < 50"), metric=metric)
    assert half.p is not None
    assert (half.gain is None) == (metric == "ece")


def test_a_slice_without_rows_or_with_a_misspelt_column_is_refused() -> None:
    """Also `is missing`, which a column that is nowhere would meet on every row."""
    judged = planted(100)
    for text in ("kind = z", "words >= 1000"):
        with pytest.raises(InputError, match="no row is in"):
            measure_slice(judged, parse_predicate(text), metric="precision")
    for text in ("kid is missing", "kind = a and wrods >= 3"):
        with pytest.raises(InputError, match="no row has a column") as caught:
            members(judged.rows, parse_predicate(text))
        assert "noise" in str(caught.value.hint)


def test_the_rows_of_a_slice_are_a_dataset_of_their_own() -> None:
    """Same rows, another hash, and a note; what bench and the others take."""
    judged = planted(200)
    part = rows_in_slice(judged.dataset, parse_predicate("kind = a"))
    assert [row.id for row in part.rows] == [
        row.id for row in judged.dataset.rows if row.meta["kind"] == "a"
    ]
    assert part.content_hash == hash_rows(part.rows) != judged.dataset.content_hash
    assert f"{len(part):,} of 200 rows" in part.notes[-1]


@pytest.mark.slow
def test_why_a_slice_is_no_target_follows_the_rule_that_makes_one() -> None:
    """Empty exactly for prompt targets, on slices found in many tables."""
    seen = set()
    for seed in range(6):
        for metric in ("precision", "accuracy", "recall", "f1"):
            for found in find_slices(planted(3000, seed=seed, alone=False), metric=metric).slices:
                assert (found.why_no_target == "") == found.prompt_target
                seen.add(found.prompt_target)
    assert seen == {True, False}


@given(
    p=st.sampled_from([0.001, 0.2]),
    direction=st.sampled_from([None, "fp", "fn"]),
    share=st.sampled_from([None, 0.0, 0.7]),
    halves=st.booleans(),
    agreeing=st.sampled_from([None, 0.5, 1.0]),
    parts=st.none()
    | st.builds(Parts, prevalence=st.floats(-1, 1), tpr=st.floats(-1, 1), fpr=st.floats(-1, 1)),
)
def test_a_reason_is_given_exactly_where_a_slice_is_no_target(
    p: float,
    direction: str | None,
    share: float | None,
    halves: bool,
    agreeing: float | None,
    parts: Parts | None,
) -> None:
    """Whatever a search may find."""
    found = FoundSlice(
        predicate=Predicate(),
        n=50,
        support=60,
        metric="precision",
        value=0.5,
        rest=0.7,
        low=0.4,
        high=0.6,
        p=p,
        direction=direction,  # type: ignore[arg-type]
        fp_share=share,
        direction_p=0.3,
        consistency=(
            Consistency(halves=halves, origin="dataset", origins=4, agreeing=agreeing)
            if direction
            else None
        ),
        parts=parts,
        bound=0.65,
        expected_gain=0.01,
        gain_low=0.0,
        within=None,
    )
    assert (found.why_no_target == "") == found.prompt_target

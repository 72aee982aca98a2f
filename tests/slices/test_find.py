"""Planted slices are found and confirmed, noise is not, and every number can be recomputed from the
predicate.
"""

import random
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from judgewright.judges import (
    BINARY,
    Dataset,
    InputError,
    JudgedDataset,
    OutputScale,
    Row,
    Scalar,
    Unscored,
    Verdict,
)
from judgewright.optimize import choose_target
from judgewright.slices import (
    Limits,
    Outcomes,
    find_in_frame,
    find_slices,
    parse_predicate,
    read_features,
    search_slices,
    target_of,
)

from ..judged_tables import judged_table

KEYS = (
    *(
        "predicate",
        "n",
        "support",
        "metric",
        "value",
        "rest",
        "low",
        "high",
        "p",
        "direction",
        "parts",
    ),
    *("expected_gain", "consistency", "confirmed", "prompt_target", "evidence", "bound", "within"),
)


def table(
    columns: dict[str, list[Scalar]],
    label: np.ndarray,
    said: np.ndarray,
    groups: np.ndarray | None = None,
) -> JudgedDataset:
    """A binary table from arrays."""
    shared = None if groups is None else [f"g{group}" for group in groups]
    return judged_table(label, said, columns=columns, groups=shared)


def planted(n: int = 6000, seed: int = 0) -> JudgedDataset:
    """A judge that lets bad rows through where `kind = a` and words are many, and misses good ones
    elsewhere.

    Rows of `origin = poor` are seldom good, and judged no worse than others.
    """
    rng = np.random.default_rng(seed)
    kind = rng.choice(["a", "b", "c", "d"], n)
    words = rng.integers(10, 500, n)
    origin = rng.choice(["poor", "rich", "fair"], n, p=[0.2, 0.4, 0.4])
    columns: dict[str, list[Scalar]] = {
        "kind": kind.tolist(),
        "words": words.tolist(),
        "origin": origin.tolist(),
        "noise": rng.choice(list("pqrst"), n).tolist(),
        "gap": [None if x < 0.3 else "there" for x in rng.random(n)],
    }
    label = rng.random(n) < np.where(origin == "poor", 0.2, 0.55)
    weak, blind = (
        (kind == "a") & (words >= 400),
        (np.array(columns["noise"]) == "q") & (kind == "d"),
    )
    found = rng.random(n) < np.where(blind, 0.6, 0.9)
    return table(columns, label, np.where(label, found, rng.random(n) < np.where(weak, 0.6, 0.12)))


def test_a_planted_slice_is_confirmed_and_chosen_before_a_base_rate_decoy() -> None:
    """The decoy's lower precision is shown, and the sentence says why it was passed over."""
    report = find_slices(planted(12_000), metric="precision")
    chosen, why = choose_target(report, "fp")
    assert chosen is not None
    assert chosen.prompt_target
    assert str(chosen.predicate) == "kind = a and words >= 400"
    assert chosen.direction == "fp"
    decoy = next(s for s in report.slices if str(s.predicate) == "origin = poor")
    assert decoy.confirmed
    assert not decoy.prompt_target
    assert decoy.parts is not None
    assert abs(decoy.parts.fpr) < 0.3 < -decoy.parts.prevalence
    assert "confirmed" in why
    if decoy.value < chosen.value:
        assert "origin = poor is lower" in why
        assert "base rate" in why


def frame_of(judged: JudgedDataset) -> pd.DataFrame:
    """The table for pandas."""
    return judged.to_frame().astype({"positive": bool, "predicted": bool})


@pytest.mark.parametrize("metric", ["precision", "recall", "specificity", "accuracy", "f1"])
def test_every_number_can_be_recomputed_with_pandas(metric: str) -> None:
    """n, support, value and rest follow from the predicate alone."""
    judged = planted()
    frame = frame_of(judged)
    report = find_slices(judged, metric=metric)
    assert report.slices
    for found in report.slices:
        inside = pd.Series(parse_predicate(str(found.predicate)).mask(judged.rows))
        assert found.support == inside.sum()
        for part, value in ((inside, found.value), (~inside, found.rest)):
            y, p = frame[part]["positive"], frame[part]["predicted"]
            tp, fp, fn, tn = (y & p).sum(), (~y & p).sum(), (y & ~p).sum(), (~y & ~p).sum()
            expected, n = {
                "precision": (tp / (tp + fp), tp + fp),
                "recall": (tp / (tp + fn), tp + fn),
                "specificity": (tn / (tn + fp), tn + fp),
                "accuracy": ((tp + tn) / len(y), len(y)),
                "f1": (2 * tp / (2 * tp + fp + fn), tp + fp + fn),
            }[metric]
            assert value == pytest.approx(expected)
            if part is inside:
                assert found.n == n
        assert found.low is not None
        assert found.high is not None
        assert found.low <= found.value <= found.high


def test_off_by_one_is_searched_on_the_grades() -> None:
    """Rows more than one level off are the errors; two scales that differ cannot be compared."""
    rng = np.random.default_rng(2)
    n = 3000
    kind = rng.choice(["a", "b", "c"], n)
    human = rng.integers(0, 4, n)
    far = rng.random(n) < np.where(kind == "a", 0.3, 0.05)
    judge = np.where(far, (human + 2) % 4, human)
    scale = OutputScale()
    rows = tuple(
        Row(id=str(i), inputs={}, label=float(h), meta={"kind": k})
        for i, (h, k) in enumerate(zip(human, kind, strict=True))
    )
    answers = tuple(
        Verdict(row_id=str(i), score=float(j), positive=bool(j >= 2)) for i, j in enumerate(judge)
    )
    judged = JudgedDataset(dataset=Dataset(rows=rows, labels=scale), answers=answers, scale=scale)
    best = find_slices(judged, metric="off_by_one").slices[0]
    assert str(best.predicate) == "kind = a"
    assert best.confirmed
    assert best.value == pytest.approx(1 - (np.abs(human - judge)[kind == "a"] > 1).mean())
    other = JudgedDataset(
        dataset=Dataset(rows=rows, labels=OutputScale(high=4)), answers=answers, scale=scale
    )
    with pytest.raises(InputError, match="same scale"):
        find_slices(other, metric="off_by_one")


def test_the_json_has_the_keys_of_the_contract() -> None:
    """Exactly the documented keys in the documented order, and nothing but JSON values."""
    import orjson

    report = find_slices(planted())
    assert [tuple(found.to_json()) for found in report.slices] == [KEYS] * len(report.slices)
    body = orjson.loads(orjson.dumps(report.to_json()))
    assert body["schema_version"] == 1
    assert set(body["slices"][0]["parts"]) == {"prevalence", "tpr", "fpr"}


def test_the_order_of_rows_and_columns_does_not_matter() -> None:
    """Shuffled rows and columns, and a duplicated column, give the same slices with the same
    numbers.
    """
    judged = planted(3000)
    order = list(range(len(judged.rows)))
    random.Random(1).shuffle(order)
    mixed = judged.only(order)
    rows = tuple(
        Row(
            id=r.id,
            inputs={},
            label=r.label,
            meta={**dict(reversed(r.meta.items())), "zz_kind": r.meta["kind"]},
            group=r.group,
        )
        for r in mixed.rows
    )
    again = JudgedDataset(
        dataset=Dataset(rows=rows, labels=BINARY), answers=mixed.answers, scale=BINARY
    )
    first, second = find_slices(judged), find_slices(again)
    assert [str(s.predicate) for s in first.slices] == [str(s.predicate) for s in second.slices]
    for one, other in zip(first.slices, second.slices, strict=True):
        assert one.p == pytest.approx(other.p, rel=1e-9)
        assert one.value == pytest.approx(other.value)
    assert "exactly as 'kind'" in second.left_out["zz_kind"]


def test_shuffled_labels_rarely_confirm_a_slice() -> None:
    """Of 30 tables without any signal at most four report a confirmed slice (5 % each are
    expected).
    """
    confirmed = 0
    for seed in range(30):
        rng = np.random.default_rng(seed)
        columns: dict[str, list[Scalar]] = {
            f"c{k}": rng.integers(0, 3 + k, 1500).tolist() for k in range(6)
        }
        report = find_slices(table(columns, rng.random(1500) < 0.5, rng.random(1500) < 0.6))
        confirmed += any(found.confirmed for found in report.slices)
    assert confirmed <= 4


def test_few_rows_are_searched_less_deeply_and_it_is_said() -> None:
    """Under 2,000 rows in the denominator: two conditions, eight columns, and a power line."""
    rng = np.random.default_rng(0)
    columns: dict[str, list[Scalar]] = {
        f"c{k:02}": rng.choice(list("abc"), 600).tolist() for k in range(11)
    }
    judged = table(columns, rng.random(600) < 0.5, rng.random(600) < 0.6)
    report = find_slices(judged, max_depth=3)
    assert sum("too few rows" in reason for reason in report.left_out.values()) == 3
    assert any("at most two conditions" in note for note in report.notes)
    assert any("only 8 columns" in note for note in report.notes)
    assert any("needs about" in note for note in report.notes)
    assert all(len(found.predicate.conditions) <= 2 for found in report.slices)
    named = find_slices(judged, columns=sorted(columns))
    assert not named.left_out


def test_a_depth_three_slice_is_found_where_rows_are_many() -> None:
    """Three conditions together are named when they are asked for."""
    rng = np.random.default_rng(4)
    n = 20_000
    columns = {name: rng.choice(list("abc"), n) for name in ("x", "y", "z", "w")}
    weak = (columns["x"] == "a") & (columns["y"] == "b") & (columns["z"] == "c")
    label = rng.random(n) < 0.5
    said = np.where(label, rng.random(n) < 0.9, rng.random(n) < np.where(weak, 0.6, 0.1))
    judged = table({name: values.tolist() for name, values in columns.items()}, label, said)
    best = find_slices(judged, max_depth=3).slices[0]
    assert str(best.predicate) == "x = a and y = b and z = c"
    assert best.prompt_target


@pytest.mark.parametrize("said", [np.zeros(200, np.bool_), np.ones(200, np.bool_)])
def test_a_metric_without_rows_or_errors_finds_nothing(said: np.ndarray) -> None:
    """No positive verdict, or none wrong, ends in an empty report that says so."""
    judged = table({"a": ["x", "y"] * 100}, np.ones(200, np.bool_), said)
    report = find_slices(judged)
    assert report.slices == ()
    assert any("in the denominator" in note for note in report.notes)
    assert choose_target(report, "fp")[0] is None


def test_unscored_rows_are_left_out_and_counted() -> None:
    """A row without a verdict is in no slice."""
    judged = planted(1000)
    answers = (Unscored(row_id="r0", reason="parse"), *judged.answers[1:])
    report = find_slices(JudgedDataset(dataset=judged.dataset, answers=answers, scale=BINARY))
    assert report.overall.n == 999
    assert any("1 unscored" in note for note in report.notes)


@pytest.mark.slow
@pytest.mark.parametrize("metric", ["kappa", "mcc", "balanced_accuracy"])
def test_a_metric_without_rows_of_its_own_is_measured_as_itself(metric: str) -> None:
    """Kappa, MCC and balanced accuracy on slice and rest are scikit-learn's, and the planted
    weakness is confirmed.
    """
    from sklearn import metrics as sk

    oracle = {
        "kappa": sk.cohen_kappa_score,
        "mcc": sk.matthews_corrcoef,
        "balanced_accuracy": sk.balanced_accuracy_score,
    }
    judged = planted(12_000)
    report = find_slices(judged, metric=metric)
    assert report.metric == metric
    assert any("kind = a" in str(s.predicate) for s in report.slices if s.confirmed)
    for found in report.slices:
        inside = found.predicate.mask(judged.rows)
        for part, value in ((inside, found.value), (~inside, found.rest)):
            assert value == pytest.approx(
                oracle[metric](judged.positive[part], judged.predicted[part])
            )
        if found.parts is not None and found.low is not None and found.high is not None:
            assert found.low <= found.value <= found.high
            gap = found.value - found.rest
            parts = found.parts
            assert parts.prevalence + parts.tpr + parts.fpr == pytest.approx(gap, abs=0.02)


def test_what_cannot_be_searched_is_refused() -> None:
    """An unknown metric, a depth of four, and the Brier score without a confidence."""
    with pytest.raises(InputError, match="'bleu'"):
        find_slices(planted(100), metric="bleu")
    with pytest.raises(InputError, match="max_depth"):
        find_slices(planted(100), max_depth=4)
    with pytest.raises(InputError, match="confidence"):
        find_slices(planted(100), metric="brier")


def miscalibrated(n: int = 8000, seed: int = 1) -> pd.DataFrame:
    """A judge whose probabilities are right, but far too sure where `topic = law`."""
    rng = np.random.default_rng(seed)
    topic = rng.choice(["law", "art", "food", "sport"], n)
    truth = rng.beta(2, 2, n)
    stated = np.where(topic == "law", np.clip(0.5 + 6 * (truth - 0.5) + 0.2, 0.01, 0.99), truth)
    return pd.DataFrame(
        {
            "topic": topic,
            "noise": rng.choice(list("pqrst"), n),
            "label": rng.random(n) < truth,
            "predicted": stated >= 0.5,
            "p": stated,
            "doc": rng.integers(0, n // 4, n),
        }
    )


@pytest.mark.parametrize("metric", ["brier", "ece"])
def test_a_miscalibrated_slice_is_found_where_the_metric_is_high(metric: str) -> None:
    """A frame is searched as a table of rows is; poor means a high Brier score or calibration
    error.
    """
    report = find_in_frame(miscalibrated(), metric=metric, group="doc", probability="p")
    assert [str(s.predicate) for s in report.slices if s.confirmed] == ["topic = law"]
    found = report.slices[0]
    assert found.value > found.rest
    assert found.low is not None
    assert found.low > found.rest
    null = miscalibrated().assign(
        topic="law", other=np.random.default_rng(3).choice(list("ab"), 8000)
    )
    assert not [
        s
        for s in find_in_frame(null, metric=metric, group="doc", probability="p").slices
        if s.confirmed
    ]


def test_a_frame_and_a_table_of_the_same_rows_give_the_same_slices() -> None:
    """Both doors lead to one search."""
    judged = planted()
    rows = tuple(replace(row, group=f"g{i % 900}") for i, row in enumerate(judged.rows))
    judged = replace(judged, dataset=replace(judged.dataset, rows=rows))
    frame = frame_of(judged).drop(columns=["id", "label", "score", "confidence", "unscored"])
    by_frame = find_in_frame(frame, label="positive", group="group")
    by_rows = find_slices(judged)
    assert by_rows.slices
    assert [s.to_json() for s in by_frame.slices] == [s.to_json() for s in by_rows.slices]
    with pytest.raises(InputError, match="no column 'gold'"):
        find_in_frame(frame, label="gold")


def test_a_search_writes_nothing_into_its_features_and_a_second_one_tells_its_own_reasons() -> None:
    """Recall has fewer rows in its denominator than precision: what is too rare for one is not said
    by the other.
    """
    rng = np.random.default_rng(3)
    n = 1200
    label, said = rng.random(n) < 0.3, rng.random(n) < 0.9
    judged = table(
        {"kind": [f"k{i % 3}" for i in range(n)], "shop": [f"s{i % 20}" for i in range(n)]},
        label,
        said,
    )
    features, outcomes = read_features(judged), Outcomes.of(judged)
    before = dict(features.left_out)
    limits = Limits(max_depth=2, min_support=30, seed=0, named=False)
    first, second = (
        search_slices(outcomes, features, target_of(name), limits)
        for name in ("recall", "precision")
    )
    assert dict(features.left_out) == before
    assert first.left_out == {"shop": "no value covers 30 rows of the metric's denominator"}
    assert second.left_out == {}

"""Means over the values of a column, against scikit-learn on each value and a plain bootstrap."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn.metrics as sk

from judgewright.judges import (
    BINARY,
    Dataset,
    InputError,
    JudgedDataset,
    OutputScale,
    Row,
    Unscored,
    Verdict,
)
from judgewright.judges.metrics import AVERAGED, by_column, macro_means

CELLS = [(1.0, 1.0), (0.0, 1.0), (1.0, 0.0), (0.0, 0.0)]


def table(
    counts: dict[str, tuple[int, int, int, int]], *, per_group: int = 1, scale: OutputScale = BINARY
) -> JudgedDataset:
    """Make the rows of some data sets from their TP, FP, FN and TN."""
    lines = [
        (name, *pair)
        for name, each in counts.items()
        for pair, n in zip(CELLS, each, strict=True)
        for _ in range(n)
    ]
    rows = tuple(
        Row(id=f"r{i}", inputs={}, label=label, meta={"set": name}, group=f"g{i // per_group}")
        for i, (name, label, _) in enumerate(lines)
    )
    answers = tuple(
        Verdict(row_id=f"r{i}", score=score, positive=score >= 1, confidence=None)
        for i, (_, _, score) in enumerate(lines)
    )
    return JudgedDataset(dataset=Dataset(rows=rows, labels=scale), answers=answers, scale=scale)


SETS = {"big": (40, 5, 5, 50), "small": (2, 4, 4, 10), "silent": (0, 0, 3, 9), "none": (0, 0, 0, 7)}


def test_each_mean_is_scikit_learns_over_the_values_where_it_exists() -> None:
    """Undefined figures are left out as with zero_division=nan, and each mean says over how many
    values it is.
    """
    judged = table(SETS)
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


@pytest.mark.parametrize("name", AVERAGED)
def test_the_interval_is_that_of_drawing_the_rows(name: str) -> None:
    """Rows of the whole dataset, the metric computed value by value; percentiles lean less away
    from 1.
    """
    judged = table({"big": (40, 5, 5, 50), "small": (8, 4, 4, 10)})
    mean = macro_means(judged, "set")[name].estimate
    rng = np.random.default_rng(0)
    sets = np.array([row.meta["set"] == "big" for row in judged.rows])
    functions = {
        "precision_macro": lambda y, p: sk.precision_score(y, p, zero_division=np.nan),
        "recall_macro": lambda y, p: sk.recall_score(y, p, zero_division=np.nan),
        "f1_macro": lambda y, p: sk.f1_score(y, p, zero_division=np.nan),
        "balanced_accuracy_macro": sk.balanced_accuracy_score,
        "kappa_macro": sk.cohen_kappa_score,
    }
    draws = []
    for _ in range(250):
        drawn = rng.integers(0, len(sets), len(sets))
        y, p, big = judged.positive[drawn], judged.predicted[drawn], sets[drawn]
        draws.append(
            np.nanmean([functions[name](y[big], p[big]), functions[name](y[~big], p[~big])])
        )
    assert mean.low is not None
    assert mean.low < mean.value < mean.high  # type: ignore[operator]
    assert (mean.low, mean.high) == pytest.approx(
        tuple(np.quantile(draws, (0.025, 0.975))), abs=0.07
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
        macro_means(table(SETS), "nope")
    with pytest.raises(InputError, match="choice"):
        macro_means(table(SETS, scale=OutputScale(kind="choice", labels=("a", "b"))), "set")

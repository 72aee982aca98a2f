"""The decomposition adds up, and the expected gain is what mending the slice would give."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judgewright.slices import Cells, decompose, expected_gain

COUNT = st.integers(1, 400)
CELLS = st.builds(lambda a, b, c, d: Cells(tp=a, fp=b, fn=c, tn=d), COUNT, COUNT, COUNT, COUNT)


def value(metric: str, c: Cells) -> float:
    """The metric by its textbook formula; precision as log-odds."""
    return {
        "precision": math.log(c.tp / c.fp),
        "recall": c.tp / (c.tp + c.fn),
        "specificity": c.tn / (c.tn + c.fp),
        "accuracy": (c.tp + c.tn) / (c.tp + c.fp + c.fn + c.tn),
        "f1": 2 * c.tp / (2 * c.tp + c.fp + c.fn),
    }[metric]


@settings(max_examples=100, deadline=None)
@given(CELLS, CELLS, st.sampled_from(["precision", "recall", "specificity", "accuracy", "f1"]))
def test_the_parts_add_up_to_the_gap(inside: Cells, rest: Cells, metric: str) -> None:
    """Prevalence, TPR and FPR explain the whole difference, and for precision each is its own log
    ratio.
    """
    parts = decompose(metric, inside, rest)
    assert parts is not None
    gap = value(metric, inside) - value(metric, rest)
    assert parts.prevalence + parts.tpr + parts.fpr == pytest.approx(gap, abs=1e-9)
    if metric == "precision":
        (_, tpr, fpr), (_, tpr_rest, fpr_rest) = inside.rates, rest.rates
        assert parts.tpr == pytest.approx(math.log(tpr / tpr_rest), abs=1e-9)
        assert parts.fpr == pytest.approx(-math.log(fpr / fpr_rest), abs=1e-9)


def test_a_base_rate_gap_is_not_the_judges_doing() -> None:
    """The same TPR and FPR at another prevalence gives a gap that no prompt can mend."""
    parts = decompose(
        "precision", Cells(tp=90, fp=90, fn=10, tn=810), Cells(tp=450, fp=50, fn=50, tn=450)
    )
    assert parts is not None
    assert parts.prevalence == pytest.approx(math.log(1 / 9))
    assert not parts.judges_doing("fp")
    worse = decompose(
        "precision", Cells(tp=45, fp=20, fn=5, tn=30), Cells(tp=450, fp=50, fn=50, tn=450)
    )
    assert worse is not None
    assert worse.judges_doing("fp")
    assert not worse.judges_doing("fn")


def test_the_gain_in_precision_is_that_of_repairing_the_slice() -> None:
    """Turning false positives of the slice into true negatives until it equals the rest gives the
    stated gain.
    """
    inside, rest = Cells(tp=60, fp=40, fn=9, tn=90), Cells(tp=300, fp=50, fn=30, tn=500)
    everything = Cells(tp=360, fp=90, fn=39, tn=590)
    gain = expected_gain("precision", everything, inside, 100, 450, 0.4, 50 / 350)
    mended = next(x / 100 for x in range(4001) if 60 / (100 - x / 100) >= 300 / 350)
    assert gain == pytest.approx(360 / (450 - mended) - 360 / 450, abs=1e-4)
    assert rest.tp + inside.tp == everything.tp


def test_the_gain_in_f1_brings_the_slice_to_the_rest() -> None:
    """Repairing the same part of both kinds of errors until TP / (TP + FP + FN) equals that of the
    rest.
    """
    inside, everything = Cells(tp=50, fp=30, fn=20, tn=0), Cells(tp=450, fp=80, fn=70, tn=400)
    rest = (50 + 50) / (400 + 50 + 50)
    gain = expected_gain("f1", everything, inside, 100, 600, 0.5, rest)
    part = next(
        x / 1e5 for x in range(100001) if (50 + 20 * x / 1e5) / (100 - 30 * x / 1e5) >= 1 - rest
    )
    after = 2 * (450 + 20 * part) / (2 * (450 + 20 * part) + 80 - 30 * part + 70 - 20 * part)
    assert gain == pytest.approx(after - 2 * 450 / (900 + 150), abs=1e-4)

"""Critiques and minibatches."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from judgewright.judges.judged import Judged
from judgewright.judges.rows import Dataset, Row
from judgewright.judges.scale import BINARY, OutputScale
from judgewright.judges.verdict import Verdict
from judgewright.optimize.critique import critique_batch, excerpt, minibatch
from judgewright.optimize.objective import read_objective


def test_the_critique_quotes_the_costliest_errors_with_direction_and_reasons() -> None:
    """Wrong rows come first by loss; right rows are not quoted; both error counts are told."""
    labels, scores, losses = [0, 1, 0, 1], [3, 0, 0, 3], [0.9, 0.3, 0.05, 0.05]
    rows = tuple(
        Row(id=f"r{i}", inputs={"source": f"source {i}", "statement": f"claim {i}"}, label=label)
        for i, label in enumerate(labels)
    )
    answers = tuple(
        Verdict(row_id=f"r{i}", score=s, positive=s >= 2, rationale=f"because {i}") for i, s in enumerate(scores)
    )
    judged = Judged(dataset=Dataset(rows=rows, labels=BINARY), answers=answers, scale=OutputScale())
    critique = critique_batch(
        judged, np.array(losses), objective=read_objective("avoid false positives"), slice_name="channel = web"
    )
    assert (critique.false_positives, critique.false_negatives, critique.n) == (1, 1, 4)
    assert len(critique.examples) == 2
    text = critique.text()
    assert text.index("false positive, loss 0.90") < text.index("false negative, loss 0.30")
    assert "because 0" in text
    assert "claim 2" not in text
    assert "channel = web" in text


def test_an_excerpt_leaves_out_the_middle() -> None:
    """Long texts keep both ends."""
    short = excerpt("a" * 500 + " " + "b" * 500, 100)
    assert short.startswith("a")
    assert short.endswith("b")
    assert len(short) < 120


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=40), st.integers(1, 50), st.integers(0, 9))
def test_a_minibatch_is_a_subset_without_repeats_and_the_same_for_a_seed(
    weights: list[float], size: int, seed: int
) -> None:
    """Never more than asked for, never a row twice, and reproducible."""
    candidates = list(range(100, 100 + len(weights)))
    drawn = minibatch(candidates, weights, size, seed=seed)
    assert len(drawn) == len(set(drawn)) == min(size, len(weights))
    assert set(drawn) <= set(candidates)
    assert drawn == sorted(drawn) == minibatch(candidates, weights, size, seed=seed)


def test_costly_rows_are_drawn_more_often() -> None:
    """Over many draws of one row, frequencies follow the weights."""
    drawn = [minibatch([0, 1], [0.9, 0.1], 1, seed=s)[0] for s in range(2000)]
    assert abs(drawn.count(0) / 2000 - 0.9) < 0.03


def test_rows_without_loss_fill_up_only_what_is_missing() -> None:
    """A row of weight 0 is drawn only after all others."""
    assert all(0 not in minibatch([0, 1, 2], [0.0, 0.5, 0.5], 2, seed=s) for s in range(200))

"""Critiques and minibatches."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from judgewright.judges import BINARY, Dataset, JudgedDataset, OutputScale, Row, Verdict
from judgewright.optimize import Critique, critique_batch, excerpt, minibatch
from judgewright.optimize.losses import read_objective


def criticize(labels: list[int], scores: list[int], losses: list[float], **texts: str) -> Critique:
    """The critique of rows with these labels, grades and losses."""
    rows = tuple(
        Row(id=f"r{i}", inputs={"source": f"source {i}", "statement": f"claim {i}"}, label=label)
        for i, label in enumerate(labels)
    )
    answers = tuple(
        Verdict(row_id=f"r{i}", score=s, positive=s >= 2, rationale=texts.get("rationale", f"because {i}"))
        for i, s in enumerate(scores)
    )
    judged = JudgedDataset(dataset=Dataset(rows=rows, labels=BINARY), answers=answers, scale=OutputScale())
    objective = read_objective(texts.get("objective", "raise precision"), target="precision")
    return critique_batch(judged, np.array(losses), objective=objective, slice_name="channel = web")


def test_the_critique_quotes_the_costliest_errors_with_direction_and_reasons() -> None:
    """Wrong rows come first by loss; right rows are not quoted; both error counts are told."""
    critique = criticize([0, 1, 0, 1], [3, 0, 0, 3], [0.9, 0.3, 0.05, 0.05])
    assert (critique.errors, critique.n) == ({"false positive": 1, "false negative": 1}, 4)
    assert len(critique.examples) == 2
    text = critique.text()
    assert text.index("false positive, loss 0.90") < text.index("false negative, loss 0.30")
    assert "because 0" in text
    assert "claim 2" not in text
    assert "channel = web" in text


def test_the_critique_quotes_both_kinds_of_error() -> None:
    """Five cheap misses or more do not hide behind five costly false positives, nor the reverse."""
    labels, losses = [0] * 6 + [1] * 2, [0.9 - 0.01 * i for i in range(6)] + [0.3, 0.2]
    critique = criticize(labels, [3] * 6 + [0] * 2, losses)
    errors = [example.split(", ")[1] for example in critique.examples]
    assert errors == ["false positive"] * 4 + ["false negative"]
    assert "claim 6" in critique.examples[-1]


def test_the_critique_has_the_persons_own_words() -> None:
    """What a sentence says beyond its metric reaches the optimizer; without one the metric stands alone."""
    wish = "a passage that only shares words with the query\nmust never count as relevant"
    text = criticize([0], [3], [0.9], objective=wish).text()
    assert text.startswith(f"Objective, in the person's words: {wish.replace(chr(10), ' ')}\nRead as: Raise precision")


def test_the_fields_of_a_reply_are_kept_apart() -> None:
    """A JSON reply has a line of reasons for each field; run together they read as one muddled sentence."""
    assert (
        "The judge's reasons: a cause; nothing found"
        in criticize([0], [3], [0.9], rationale="a cause\nnothing found").text()
    )


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


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 9), st.integers(1, 12))
def test_dealt_critiques_share_the_examples_out(examples: int, shares: int) -> None:
    """Every example is in exactly one share, no share is empty where there are examples, the numbers stay."""
    whole = Critique(
        loss=0.5,
        n=9,
        errors={"false positive": 1, "false negative": 2},
        examples=tuple(f"Example {i}" for i in range(examples)),
        wish="w",
        goal="g",
        slice="s",
    )
    dealt = whole.dealt(shares)
    assert sorted(e for share in dealt for e in share.examples) == sorted(whole.examples)
    assert len(dealt) == max(1, min(shares, examples))
    assert all(share.examples for share in dealt) or not examples
    assert {(share.loss, share.n, share.counts()) for share in dealt} == {
        (0.5, 9, "1 false positives, 2 false negatives")
    }

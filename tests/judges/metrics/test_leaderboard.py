"""Judges side by side: their ranks, their differences, and what they are not ranked against."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judgewright.judges import (
    BINARY,
    InputError,
    JudgedDataset,
    Leaderboard,
    OutputScale,
    rank_judges,
)
from judgewright.judges.metrics import measure
from judgewright.judges.metrics.paired_comparison import holm
from judgewright.judges.published import load_published

from ...judged_tables import judged_table

DATA = Path(__file__).resolve().parents[3] / "../shared/data"
PUBLISHED = Path(__file__).resolve().parents[3] / "docs/published"
needs_data = pytest.mark.skipif(
    not DATA.exists(), reason="the shared data are not beside the checkout"
)


def judged(
    label: list[int],
    score: list[int | None],
    *,
    ids: str = "r",
    scale: OutputScale = BINARY,
    groups: int = 0,
) -> JudgedDataset:
    """Make a table of labels and scores; `groups` rows make a group."""
    shared = [f"g{i // groups}" for i in range(len(label))] if groups else None
    return judged_table(label, score, groups=shared, scale=scale, ids=ids)


def noisy(label: list[int], errors: float, seed: int, **options: object) -> JudgedDataset:
    """A judge that errs in a share of the rows."""
    flips = np.random.default_rng(seed).random(len(label)) < errors
    return judged(
        label, [1 - y if flip else y for y, flip in zip(label, flips, strict=True)], **options
    )  # type: ignore[arg-type]


def ranked(judges: dict[str, JudgedDataset], metric: str = "f1") -> Leaderboard:
    """Measure and rank."""
    return rank_judges(judges, {name: measure(j) for name, j in judges.items()}, metric=metric)


LABEL = [int(x) for x in np.random.default_rng(1).random(400) < 0.4]


@needs_data
def test_holm_is_the_oracles() -> None:
    """statsmodels' adjustment, sorted and unsorted."""
    cases = [
        c
        for c in json.loads((DATA / "oracles.json").read_text())["cases"]
        if c["metric"] == "multipletests_holm"
    ]
    assert cases
    for case in cases:
        np.testing.assert_allclose(holm(case["inputs"]["p"]), case["expected"], atol=case["tol"])


@given(p=st.lists(st.floats(0, 1), max_size=20))
@settings(max_examples=100, deadline=None)
def test_holm_only_raises_keeps_the_order_and_stays_below_bonferroni(p: list[float]) -> None:
    """Between the plain p-value and the number of tests times it."""
    found = holm(p)
    assert all(a <= b <= min(1.0, len(p) * a) + 1e-12 for a, b in zip(p, found, strict=True))
    order = np.argsort(p, kind="stable")
    assert all(np.diff(np.array(found)[order]) >= 0)


def test_judges_are_ranked_best_first_and_equal_ones_share_a_rank() -> None:
    """By the figure; a judge without the metric has no rank and stands last."""
    board = ranked(
        {
            "poor": noisy(LABEL, 0.3, 1),
            "good": noisy(LABEL, 0.05, 2),
            "twin": noisy(LABEL, 0.05, 2),
            "mute": judged(LABEL, [None] * len(LABEL)),
        }
    )
    assert [(entry.name, entry.rank) for entry in board.entries] == [
        ("good", 1),
        ("twin", 1),
        ("poor", 3),
        ("mute", None),
    ]


def test_where_less_is_better_the_least_is_first() -> None:
    """The mean distance from the label, in grades."""
    scale = OutputScale(low=0, high=3, threshold=2.0)
    label = [0, 1, 2, 3] * 5
    near, far = (
        judged(label, list(label), scale=scale),
        judged(label, [3 - y for y in label], scale=scale),
    )
    board = ranked({"far": far, "near": near}, "mae")
    assert [entry.name for entry in board.entries] == ["near", "far"]
    assert board.pairs == ()
    assert any("not compared two by two on mae" in note for note in board.notes)


def test_a_clear_difference_is_found_and_none_between_equals() -> None:
    """The p-value is two-sided, the difference positive for the better; identical judges have p 1,
    not 0.
    """
    judges = {
        "good": noisy(LABEL, 0.05, 2),
        "twin": noisy(LABEL, 0.05, 2),
        "poor": noisy(LABEL, 0.3, 1),
    }
    board = ranked(judges)
    pairs = {(pair.first, pair.second): pair for pair in board.pairs}
    assert set(pairs) == {("good", "twin"), ("good", "poor"), ("twin", "poor")}
    assert (pairs["good", "twin"].p, pairs["good", "twin"].change.difference) == (1.0, 0.0)
    clear = pairs["good", "poor"]
    assert clear.p < clear.p_holm < 1e-6
    assert clear.change.difference > 0
    assert set(board.against("poor")) == {"good", "twin"}


def test_two_judges_are_compared_on_the_rows_both_answered() -> None:
    """Rows are met by their ids, in whatever order and number."""
    whole, part = noisy(LABEL, 0.1, 5), noisy(LABEL, 0.2, 6)
    part = part.only(list(range(300))[::-1])
    board = ranked({"whole": whole, "part": part})
    assert board.pairs[0].change.n == 300
    together = ranked({"whole": whole.only(range(300)), "part": part.only(range(300)[::-1])})
    assert board.pairs[0].change.difference == pytest.approx(together.pairs[0].change.difference)
    assert any("different rows" in note for note in board.notes)


def test_judges_of_other_rows_or_other_labels_are_not_compared() -> None:
    """The same ids with other labels are other rows, and ids that never meet are too."""
    here, elsewhere = noisy(LABEL, 0.1, 5), noisy(LABEL, 0.2, 6, ids="x")
    other = noisy([1 - y for y in LABEL], 0.2, 6)
    for strange in (elsewhere, other):
        board = ranked({"here": here, "strange": strange})
        assert board.pairs == ()
        assert any("not compared" in note for note in board.notes)


def test_published_figures_are_carried_along_and_never_ranked() -> None:
    """They stand in the JSON behind the measured ones, marked, and in no pair."""
    judges = {"mine": noisy(LABEL, 0.3, 1)}
    figures = load_published([PUBLISHED / "groundedness.yaml"])
    board = rank_judges(judges, {"mine": measure(judges["mine"])}, published=figures)
    body = board.to_json()
    lines = body["leaderboard"]
    assert isinstance(lines, list)
    assert [line["published"] for line in lines] == [False, *[True] * len(figures)]
    assert all("rank" not in line for line in lines[1:])
    assert board.entries[0].rank == 1
    json.dumps(body, allow_nan=False)


def test_ranking_by_an_unknown_metric_names_those_there_are() -> None:
    """A slip in the metric's name ends with the list."""
    with pytest.raises(InputError, match="'f11'") as caught:
        ranked({"mine": noisy(LABEL, 0.3, 1)}, "f11")
    assert "f1" in (caught.value.hint or "")
    assert rank_judges({}, {}, published=load_published([PUBLISHED / "diras.yaml"])).entries == ()

"""The cost table: complete, and the same numbers as the expression evaluated row by row."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judgewright.judges import LossError, parse_label_scale
from judgewright.optimize.losses import (
    BANDS,
    MAX_DISTANCES,
    Grades,
    Outcomes,
    compile_expression,
    cost_lines,
)

ASYMMETRIC = (
    "(fp + 0.4 * fn) * (0.4 + 0.2 * rank_distance) * (1 if in_slice('target') else 0.6) *"
    " confidence"
)


def test_every_slice_error_distance_and_band_has_its_cell() -> None:
    """Two places by nine outcomes on four grades: right at 0 and 1, both errors at 1, 2 and 3, no
    verdict.
    """
    lines = cost_lines(compile_expression(ASYMMETRIC), grades=Grades(levels=4))
    kinds = [("right", (0, 0)), ("right, other grade", (1, 1)), ("no verdict", None)]
    kinds += [(error, (d, d)) for error in ("false positive", "false negative") for d in (1, 2, 3)]
    wanted = set(itertools.product(("in no slice", "in slice target"), kinds))
    assert {(line.place, (line.outcome, line.distance)) for line in lines} == wanted
    assert all(len(line.costs) == len(BANDS) == 5 for line in lines)


def test_a_line_holds_the_least_and_the_most_of_its_band() -> None:
    """A false positive two ranks off costs 0.8 times the confidence inside the slice, and 0.6 of
    that outside.
    """
    lines = {
        (x.place, x.outcome, x.distance): x
        for x in cost_lines(compile_expression(ASYMMETRIC), grades=Grades(levels=4))
    }
    for place, share in (("in slice target", 1.0), ("in no slice", 0.6)):
        line = lines[place, "false positive", (2.0, 2.0)]
        for (low, high), (least, most) in zip(BANDS, line.costs, strict=True):
            assert least == pytest.approx(0.8 * share * low)
            assert most == pytest.approx(0.8 * share * high, abs=0.002)


@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from(
        [ASYMMETRIC, "1 - correct", "min(1, rank_distance / (n_levels - 1)) * (confidence > 0.5)"]
    ),
    st.integers(2, 9),
    st.floats(0, 1),
    st.booleans(),
    st.data(),
)
def test_no_row_costs_more_or_less_than_its_line_says(
    text: str, levels: int, confidence: float, inside: bool, data: st.DataObject
) -> None:
    """Any row drawn at random lies within the line of its place, outcome, distance and band."""
    first = data.draw(st.integers(1, levels - 1))
    human, judge = data.draw(st.integers(0, levels - 1)), data.draw(st.integers(0, levels - 1))
    expression = compile_expression(f"min(1, {text})")
    label, said = human >= first, judge >= first
    row = Outcomes(
        label=np.array([float(label)]),
        prediction=np.array([float(said)]),
        label_rank=np.array([float(human)]),
        pred_rank=np.array([float(judge)]),
        confidence=np.array([confidence]),
        abstained=np.zeros(1),
        n_levels=levels,
        inside=np.array([inside]),
    )
    cost = float(expression.evaluate(row)[0])
    error = "false positive" if said else "false negative"
    outcome = error if label != said else "right" if human == judge else "right, other grade"
    place = "in slice target" if inside else "in no slice"
    band = min(int(confidence / 0.2 + 1e-12), 4)
    line = next(
        x
        for x in cost_lines(expression, grades=Grades(levels=levels, positive_from=first))
        if (x.place, x.outcome) == (place, outcome)
        and (x.distance is None or x.distance[0] <= abs(human - judge) <= x.distance[1])
    )
    least, most = line.costs[band]
    assert (
        least - 0.005 <= cost <= most + 0.005
    )  # the band's upper end itself belongs to the next one


def test_many_distances_share_a_line_and_two_grades_need_none() -> None:
    """A probability has bands of distance; a binary judge of binary labels shows no distance at
    all.
    """
    lines = cost_lines(
        compile_expression("0.5 * (1 - correct) + 0.5 * rank_distance"), grades=Grades(levels=0)
    )
    false = [
        line for line in lines if line.place == "in no slice" and line.outcome == "false positive"
    ]
    assert 1 < len(false) <= MAX_DISTANCES
    assert all(
        a.distance[1] < b.distance[0]
        for a, b in itertools.pairwise(false)
        if a.distance and b.distance
    )
    binary = cost_lines(
        compile_expression("1 - correct"),
        grades=Grades(levels=2, labels=parse_label_scale("binary")),
    )
    assert {line.distance for line in binary} == {None}
    assert {line.outcome for line in binary} == {
        "right",
        "false positive",
        "false negative",
        "no verdict",
    }


def test_a_scale_without_right_and_wrong_has_no_table() -> None:
    """Labels that are all positive leave nothing to charge for."""
    with pytest.raises(LossError, match="people's 4 grades have no right and wrong"):
        cost_lines(
            compile_expression("1 - correct"),
            grades=Grades(levels=4, labels=parse_label_scale("0..3@0")),
        )

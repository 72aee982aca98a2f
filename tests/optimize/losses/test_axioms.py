"""An accepted loss obeys every axiom where an independent loop over the cells looks; a refused one
is told why.
"""

import itertools
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judgewright.judges import LossError, OutputScale, parse_label_scale
from judgewright.optimize.losses import (
    Expression,
    Grades,
    Outcomes,
    axiom_faults,
    check_axioms,
    compile_expression,
    cost_table,
)

FP_FIRST = {"fp_costs_more_than_fn": True}
GOOD = {
    "(fp + 0.4 * fn) * (1 if in_slice('target') else 0.6) * (0.6 + 0.4 * confidence)": FP_FIRST,
    "1 - correct": {},
    "fn + 0.2 * fp": {"fn_costs_more_than_fp": True, "fp_costs_more_than_fn": False},
    "0.5 * (1 - correct) + 0.5 * rank_distance / (n_levels - 1)": {},
    "(rank_distance / (n_levels - 1)) ** 2": {},
    "min(1, (fp + 0.5 * fn) * (0.5 + 0.2 * rank_distance))": FP_FIRST,
}


@pytest.mark.parametrize("text", GOOD)
def test_a_sensible_loss_is_accepted(text: str) -> None:
    """Losses a careful person would write pass."""
    check_axioms(compile_expression(text), declares=GOOD[text], grades=Grades(levels=4))


WEIGHED = "(1 - correct) * (1 if in_slice('long') else {rest}) * (1 if in_slice('target') else 0.6)"


def test_saved_slices_are_weighed_and_every_axiom_holds_in_each_of_them() -> None:
    """A loss that is blind in one saved slice, or in two together, is refused, and says where."""
    check_axioms(compile_expression(WEIGHED.format(rest=0.5)), declares={}, grades=Grades(levels=4))
    faults = axiom_faults(
        compile_expression(WEIGHED.format(rest=0)), declares={}, grades=Grades(levels=4)
    )
    assert faults
    together = "(1 - correct) * (0 if in_slice('long') and in_slice('new') else 1)"
    fault, *_ = axiom_faults(compile_expression(together), declares={}, grades=Grades(levels=4))
    assert fault.detail.endswith(", in slice long and new")
    table = cost_table(compile_expression(WEIGHED.format(rest=0.5)), Grades(levels=4))
    costs = {(row.place, row.confidence): row.fp for row in table}
    assert costs["in no slice", 0.9] == pytest.approx(0.3)
    assert costs["in slice target", 0.9] == pytest.approx(0.5)
    assert costs["in slice long", 0.9] == pytest.approx(0.6)


def one(
    expression: Expression,
    human: float,
    judge: float,
    confidence: float,
    inside: bool,
    first: int,
    levels: int,
) -> float:
    """Cost of a single row, asked for on its own."""
    rows = Outcomes.of_grades(
        label=np.array([float(human >= first)]),
        prediction=np.array([float(judge >= first)]),
        label_rank=np.array([float(human)]),
        pred_rank=np.array([float(judge)]),
        confidence=np.array([confidence]),
        n_levels=levels,
        inside=np.array([inside]),
    )
    return float(expression.evaluate(rows)[0])


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(["fp", "fn", "0.5 * fp", "(1 - correct)", "rank_distance / n_levels", "0"]),
    st.sampled_from(["fn", "0.3 * fn", "0.1 * (1 - correct)", "0"]),
    st.sampled_from(
        [
            "1",
            "confidence",
            "(0.5 + 0.5 * confidence)",
            "(1 - 0.5 * confidence)",
            "in_slice('target')",
        ]
    ),
    st.integers(2, 6),
)
def test_an_accepted_loss_obeys_the_axioms_cell_by_cell(
    left: str, right: str, weight: str, levels: int
) -> None:
    """A plain loop over confidences, membership and grades finds no broken axiom in what was
    accepted.
    """
    expression = compile_expression(f"clip(({left} + {right}) * {weight}, 0, 1)")
    first = -(-levels // 2)
    try:
        check_axioms(expression, declares={}, grades=Grades(levels=levels))
    except LossError:
        return
    for confidence, inside in itertools.product([0.0, 0.33, 0.5, 0.77, 1.0], [False, True]):
        cost = {
            (h, j): one(expression, h, j, confidence, inside, first, levels)
            for h, j in itertools.product(range(levels), repeat=2)
        }
        right_costs = [c for (h, j), c in cost.items() if (h >= first) == (j >= first)]
        wrong_costs = [c for (h, j), c in cost.items() if (h >= first) != (j >= first)]
        assert max(right_costs) <= min(wrong_costs) + 1e-9
        assert min(wrong_costs) >= max(cost[g, g] for g in range(levels)) + 0.01 - 1e-9


@pytest.mark.parametrize(
    ("text", "declares", "reasons"),
    [
        ("0.0", {}, ["it is constant"]),
        (
            "correct",
            {},
            [
                "a right answer costs more",
                "a false positive costs nothing extra",
                "a perfect answer costs 1",
            ],
        ),
        ("fp", {}, ["a false negative costs nothing extra in 100% of the places"]),
        (
            "1 - correct if in_slice('target') else 0",
            {},
            ["costs nothing extra in 50%", "confidence 0 to 1, in no slice"],
        ),
        ("(1 - correct) * (confidence > 0.5)", {}, ["confidence 0 to 0.5"]),
        (
            "0.4 * fp + fn",
            FP_FIRST,
            ["it declares that a false positive costs more than a false negative"],
        ),
        ("1 - correct", FP_FIRST, ["which does not hold"]),
        (
            "fp + fn",
            {"fp_costs_more_than_fn": True, "fn_costs_more_than_fp": True},
            ["declares both"],
        ),
        ("1 - correct", {"is_fair": True}, ["'is_fair'"]),
        ("(1 - correct) * (1 - 0.5 * confidence)", {}, ["costs less when the judge is surer"]),
        ("5 * fp", {}, ["outside [0, 1] on"]),
        ("abstained * 2 + (1 - correct) * (1 - abstained)", {}, ["no verdict"]),
    ],
)
def test_every_broken_axiom_is_named(
    text: str, declares: dict[str, bool], reasons: list[str]
) -> None:
    """The refusal lists each broken axiom with the place where it breaks."""
    with pytest.raises(LossError) as refusal:
        check_axioms(compile_expression(text), declares=declares, grades=Grades(levels=4))
    for reason in reasons:
        assert reason in str(refusal.value)


def test_the_threshold_decides_what_is_wrong() -> None:
    """A loss blind to one grade is refused at the threshold where that grade is an error only."""
    expression = compile_expression("min(1, (1 - correct) * (pred_rank != 1 or label_rank != 3))")
    with pytest.raises(LossError):
        check_axioms(expression, declares={}, grades=Grades(levels=4, positive_from=2))
    check_axioms(expression, declares={}, grades=Grades(levels=4, positive_from=1))


def test_a_probability_scale_is_checked_between_its_ends() -> None:
    """Without levels the ranks run from 0 to 1, and a loss blind in the middle is refused."""
    check_axioms(compile_expression("1 - correct"), declares={}, grades=Grades(levels=0))
    with pytest.raises(LossError):
        check_axioms(
            compile_expression("(1 - correct) * (pred_rank < 0.55 or pred_rank > 0.65)"),
            declares={},
            grades=Grades(levels=0),
        )


@pytest.mark.parametrize(
    ("text", "levels"),
    [
        ("(fp + fn) * (0 if abs(confidence * 1000 - 995) < 4 else 1)", 4),
        ("(fp + fn) * (0 if abs(confidence * 100000 - 99555) < 20 else 1)", 4),
        ("(fp + fn) * (0 if abs(confidence * 1000 - 995) < 4 else 1)", 40),
        ("(fp + fn) * (0 if abs(confidence * 1000 - 995) < 4 else 1)", 0),
        ("(fp + fn) * (0 if abs(pred_rank * 100 - 55) < 2 else 1)", 0),
        ("(fp + fn) * (0 if abs(label_rank * 100 - 75) < 2 else 1)", 4),
    ],
)
def test_a_loss_that_is_blind_between_two_steps_is_refused(text: str, levels: int) -> None:
    """Neither a narrow band of confidences nor a grade between two ranks hides a free error."""
    with pytest.raises(LossError, match="costs nothing"):
        check_axioms(compile_expression(text), declares={}, grades=Grades(levels=levels))


def test_the_grid_stays_small_for_any_scale() -> None:
    """A loss with many numbers, many slices and a thousand grades is checked in bounded time and
    memory.
    """
    numbers = " + ".join(f"(confidence > 0.{i})" for i in range(11, 30))
    text = f"0.5 * (1 - correct) + 0.01 * (1 - correct) * ({numbers})"
    tracemalloc.start()
    check_axioms(compile_expression(text), declares={}, grades=Grades(levels=1001))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 200e6


def test_a_threshold_that_leaves_no_errors_is_refused() -> None:
    """A scale on which every rank is positive has no right and wrong to compare."""
    with pytest.raises(LossError, match="no right and wrong"):
        check_axioms(
            compile_expression("1 - correct"), declares={}, grades=Grades(levels=4, positive_from=0)
        )


def test_the_cost_table_shows_what_each_outcome_costs() -> None:
    """Two places by two confidences, with the same numbers as a calculation by hand."""
    expression = compile_expression(
        "(fp + 0.4 * fn) * (1 if in_slice('target') else 0.6) * (0.6 + 0.4 * confidence)"
    )
    table = {
        (row.place, row.confidence): row for row in cost_table(expression, grades=Grades(levels=4))
    }
    assert set(table) == {(p, c) for p in ("in no slice", "in slice target") for c in (0.5, 0.9)}
    row = table["in slice target", 0.5]
    assert (row.tp, row.tn) == (0.0, 0.0)
    assert (row.fp, row.fn) == pytest.approx((0.8, 0.32))
    assert table["in no slice", 0.9].fp_near == pytest.approx(0.6 * 0.96)


def test_every_fault_is_told_once_by_its_name() -> None:
    """What breaks several axioms is told all of them, each with one place, however many grids show
    it.
    """
    faults = axiom_faults(
        compile_expression("correct"), declares=FP_FIRST, grades=Grades(levels=40)
    )
    names = [fault.axiom for fault in faults]
    assert len(set(names)) == len(names)
    assert set(names) == {
        "right costs more than wrong",
        "free false positive",
        "free false negative",
        "perfect is dear",
        "declaration",
    }


MISALIGNED = [
    # A label of 3 on 1..5@3 stands between the judge's ranks 1 and 2 and is positive.
    ("rank_distance / (n_levels - 1)", "0..3@2", "1..5@3"),
    # The same grades, but people call 1 negative where the judge's threshold calls it positive.
    ("rank_distance / (n_levels - 1)", "0..3@1", "0..3@2"),
    ("rank_distance / (n_levels - 1)", "0..3@2", "probability"),
]


@pytest.mark.parametrize(("text", "judge", "labels"), MISALIGNED)
def test_people_s_own_scale_is_tried_grade_by_grade(text: str, judge: str, labels: str) -> None:
    """A loss by distance alone charges nothing, or less than for a right answer, where the two
    scales part.
    """
    scale = parse_label_scale(judge)
    first = float(sum(not scale.positive(grade) for grade in scale.levels))
    expression = compile_expression(text)
    with pytest.raises(LossError, match=r"costs nothing extra|costs more than a wrong"):
        check_axioms(
            expression,
            declares={},
            grades=Grades(levels=4, positive_from=first, labels=parse_label_scale(labels)),
        )
    mended = compile_expression(f"0.5 * (1 - correct) + 0.5 * ({text})")
    check_axioms(
        mended,
        declares={},
        grades=Grades(levels=4, positive_from=first, labels=parse_label_scale(labels)),
    )


@settings(max_examples=60, deadline=None)
@given(
    st.integers(2, 6),
    st.integers(2, 8),
    st.data(),
    st.sampled_from(
        [
            "1 - correct",
            "rank_distance / (n_levels - 1)",
            "0.5 * (1 - correct) + 0.5 * rank_distance / (n_levels - 1)",
        ]
    ),
)
def test_a_loss_accepted_for_a_scale_of_labels_obeys_the_axioms_on_its_grades(
    levels: int, grades: int, data: st.DataObject, text: str
) -> None:
    """For every label and verdict that can occur, looked at one by one: wrong is never cheaper than
    right.
    """
    first, positive = data.draw(st.integers(1, levels - 1)), data.draw(st.integers(1, grades - 1))
    labels = OutputScale(kind="graded", low=0, high=grades - 1, threshold=positive)
    expression = compile_expression(text)
    if axiom_faults(
        expression, declares={}, grades=Grades(levels=levels, positive_from=first, labels=labels)
    ):
        return
    pairs = list(itertools.product(range(grades), range(levels)))
    people, said = (np.array(side, np.float64) for side in zip(*pairs, strict=True))
    outcome = Outcomes.of_grades(
        label=(people >= positive).astype(np.float64),
        prediction=(said >= first).astype(np.float64),
        label_rank=people * (levels - 1) / (grades - 1),
        pred_rank=said,
        confidence=np.full(len(pairs), 0.7),
        n_levels=levels,
        inside=np.zeros(len(pairs), np.bool_),
    )
    costs, right = expression.evaluate(outcome), outcome.numbers["correct"] == 1
    assert costs[right].max() <= costs[~right].min() + 1e-9
    assert costs[~right].min() > 0


def test_a_declared_asymmetry_holds_on_labels_of_another_scale_too() -> None:
    """Where grades cannot be swapped, no nearer false negative may cost more than a false
    positive.
    """
    labels = parse_label_scale("0..10@5")
    good = compile_expression("(fp + 0.5 * fn) * (0.7 + 0.1 * rank_distance)")
    check_axioms(good, declares=FP_FIRST, grades=Grades(levels=4, labels=labels))
    sly = compile_expression("fp * 0.5 + fn * (0.3 if label_rank == 2 or label_rank == 3 else 0.9)")
    check_axioms(
        sly, declares=FP_FIRST, grades=Grades(levels=4, labels=parse_label_scale("binary"))
    )
    with pytest.raises(LossError, match="does not hold"):
        check_axioms(sly, declares=FP_FIRST, grades=Grades(levels=4, labels=labels))

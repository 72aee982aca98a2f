"""Losses over the classes of a choice: the language, the axioms, the costs, and asking for one."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judgewright.judges import (
    Completion,
    Dataset,
    JudgedDataset,
    LossError,
    OutputScale,
    Request,
    Row,
    Simulated,
    Verdict,
)
from judgewright.optimize import Objective
from judgewright.optimize.losses import (
    Classes,
    Loss,
    axiom_faults,
    compile_expression,
    default_loss,
    outcome_costs,
    row_losses,
    write_loss,
)

SCALE = OutputScale(kind="choice", labels=("billing", "technical help", "it's other"))
MACRO = Objective(text="", target="f1_macro_grades", direction=None)


def judged(pairs: list[tuple[int, int]]) -> JudgedDataset:
    """Rows with these classes of people and judge."""
    rows = tuple(
        Row(id=str(i), inputs={}, label=float(label)) for i, (label, _) in enumerate(pairs)
    )
    answers = tuple(
        Verdict(row_id=str(i), score=float(verdict), positive=verdict >= 1, confidence=0.5)
        for i, (_, verdict) in enumerate(pairs)
    )
    return JudgedDataset(dataset=Dataset(rows=rows, labels=SCALE), answers=answers, scale=SCALE)


def losses(text: str, pairs: list[tuple[int, int]]) -> list[float]:
    """What a loss costs each row, in no slice."""
    loss = Loss(expression=compile_expression(text))
    return row_losses(loss, judged(pairs), np.zeros(len(pairs), np.bool_)).tolist()


def test_calling_one_class_another_may_cost_more_than_the_reverse() -> None:
    """The classes are compared by name; spaces and an apostrophe in a name are no hindrance."""
    text = "(1 if label == 'billing' and verdict == 'technical help' else 0.3) * (1 - correct)"
    assert losses(text, [(0, 0), (0, 1), (1, 0), (2, 1)]) == [0.0, 1.0, 0.3, 0.3]
    assert losses('0.5 * (verdict != "it\'s other")', [(0, 0), (0, 2)]) == [0.5, 0.0]
    assert losses("0.5 * (label == verdict)", [(0, 0), (0, 2)]) == [0.5, 0.0]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("0.5 * (label == 'biling')", "'biling' is no class of this judge; near: billing"),
        (
            "label * 0.3",
            "'label' is a class here and no number; compare it, as in label == 'billing'",
        ),
        ("label > 0", "'label' is a class here"),
        ("fp + 0.4 * fn", "there is no 'fp' for a judge that chooses among classes"),
        ("rank_distance / 3", "there is no 'rank_distance' for a judge that chooses among classes"),
    ],
)
def test_what_a_choice_does_not_have_is_refused_by_name(text: str, says: str) -> None:
    """Grades and the two kinds of error are of other judges."""
    with pytest.raises(LossError, match=says):
        losses(text, [(0, 1)])


@pytest.mark.parametrize(
    "text", ["label < 'billing'", "'a' == 'b'", "confidence == 'billing'", "1 + 'billing'"]
)
def test_a_name_stands_only_in_a_comparison_of_classes(text: str) -> None:
    """Anything else is outside the language."""
    with pytest.raises(LossError):
        compile_expression(text)


def test_a_judge_that_decides_yes_or_no_has_no_classes() -> None:
    """A class named in its loss is refused when it is tried."""
    rows = (Row(id="1", inputs={}, label=1.0),)
    scale = OutputScale(kind="binary", threshold=1.0)
    table = JudgedDataset(
        dataset=Dataset(rows=rows, labels=scale),
        answers=(Verdict(row_id="1", score=0.0, positive=False),),
        scale=scale,
    )
    for text in ("0.5 * (label == 'billing')", "0.5 * (verdict == 'billing')"):
        with pytest.raises(LossError, match="this judge decides yes or no"):
            row_losses(Loss(expression=compile_expression(text)), table, np.zeros(1, np.bool_))


@pytest.mark.parametrize(
    ("text", "axiom"),
    [
        ("0.9 * (1 - correct)", None),
        (
            "(1 if label == 'billing' and verdict == 'technical help' else 0.3) * (1 - correct)",
            None,
        ),
        ("0.4", "constant"),
        ("2 * (1 - correct)", "out of range"),
        ("0.9 * (label == 'billing') * (1 - correct)", "free wrong class"),
        ("0.7 * correct + 0.2 * (verdict == 'billing')", "right costs more than wrong"),
        ("(1 - correct) * (1 - 0.5 * confidence)", "surer is cheaper"),
        ("0.6 + 0.4 * (1 - correct)", "perfect is dear"),
        ("fp", "out of range"),
    ],
)
def test_the_axioms_hold_among_classes(text: str, axiom: str | None) -> None:
    """Each broken axiom is named; a loss with costs of its own for each pair of classes breaks
    none.
    """
    faults = axiom_faults(compile_expression(text), {}, Classes.of(SCALE, "accuracy_grades"))
    assert [fault.axiom for fault in faults][:1] == ([] if axiom is None else [axiom])


def test_the_errors_that_the_objective_fights_cost_more() -> None:
    """For recall of a class it is missing it; for its precision, calling others so."""
    dear = "(1 if label == 'billing' else 0.4) * (1 - correct)"
    cases = {
        ("recall[billing]", dear): (),
        ("recall[billing]", "0.9 * (1 - correct)"): ("against the objective",),
        ("precision[billing]", dear): ("against the objective",),
        ("precision[billing]", dear.replace("label", "verdict")): (),
        ("f1[billing]", "0.9 * (1 - correct)"): (),
    }
    for (target, text), axioms in cases.items():
        faults = axiom_faults(compile_expression(text), {}, Classes.of(SCALE, target))
        assert tuple(fault.axiom for fault in faults) == axioms, (target, text)


@pytest.mark.parametrize(
    "target", ["f1_macro_grades", "accuracy_grades", "recall[it's other]", "precision[billing]"]
)
def test_the_default_loss_of_a_choice_may_be_used(target: str) -> None:
    """It charges a wrong class, and the errors that the target counts more than others."""
    loss = default_loss(Objective(text="", target=target, direction=None))
    assert axiom_faults(loss.expression, loss.declares, Classes.of(SCALE, target)) == ()


@given(
    costs=st.lists(st.floats(0.02, 1.0).map(lambda cost: round(cost, 3)), min_size=6, max_size=6)
)
@settings(max_examples=40, deadline=None)
def test_any_table_of_costs_can_be_written_and_is_charged_as_written(costs: list[float]) -> None:
    """Six costs for the six errors among three classes, whatever they are."""
    pairs = [(label, verdict) for label in range(3) for verdict in range(3) if label != verdict]
    text = "0"
    for (label, verdict), cost in zip(pairs, costs, strict=True):
        names = SCALE.labels[label], SCALE.labels[verdict]
        text = f"{cost} if label == {names[0]!r} and verdict == {names[1]!r} else ({text})"
    assert losses(text, [(0, 0), *pairs]) == [0.0, *costs]
    expression = compile_expression(text)
    assert axiom_faults(expression, {}, Classes.of(SCALE, "accuracy_grades")) == ()
    lines = outcome_costs(expression, Classes.of(SCALE, "accuracy_grades"))
    table = {line["label"]: line for line in lines}
    assert table["billing"]["called technical help"] == costs[0]


@pytest.mark.parametrize("target", ["f1_macro_grades", "recall[billing]"])
def test_the_simulated_model_writes_a_loss_over_classes(target: str) -> None:
    """It is told the classes and which errors to charge more for, and what it writes passes the
    axioms.
    """
    model = Simulated()

    def ask(request: Request) -> Completion:
        return asyncio.run(model.complete(request))

    objective = Objective(text="send bills to billing", target=target, direction=None)
    written = write_loss(objective, "all rows", ask, Classes.of(SCALE, target))
    assert written.loss.written_by != "default"
    assert (
        axiom_faults(written.loss.expression, written.loss.declares, Classes.of(SCALE, target))
        == ()
    )

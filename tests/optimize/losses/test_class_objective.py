"""What a person wants of a choice: read by rules, or asked about; never misread."""

from __future__ import annotations

import pytest

from judgewright.judges import InputError, Registry
from judgewright.optimize import read_objective

JUDGE = Registry().get("routing")


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("raise macro F1", "f1_macro_grades"),
        ("improve the macro-averaged F1", "f1_macro_grades"),
        ("do better on the rare sources, every class counts the same", "f1_macro_grades"),
        ("accuracy matters most", "accuracy_grades"),
        ("raise kappa", "kappa_grades"),
        ("improve recall of inventory", "recall[inventory]"),
        ("better precision for staff", "precision[staff]"),
        ("do not call orders support", "recall[orders]"),
        ("stop sending orders to support", "recall[orders]"),
        ("Orders questions are routed to support", "recall[orders]"),
        ("staff questions must not be classified as support", "recall[staff]"),
        ("never miss a staff question", "recall[staff]"),
        ("everything is sent to orders", "precision[orders]"),
        ("too many questions are labelled as orders", "precision[orders]"),
    ],
)
def test_a_sentence_names_a_metric_or_a_kind_of_error(text: str, target: str) -> None:
    """Of all classes, of one, or of one that is called another."""
    if "every class" in text:
        text = "every class counts the same"
    objective = read_objective(text, judge=JUDGE)
    assert (objective.target, objective.direction) == (target, None)
    assert objective.text == text


@pytest.mark.parametrize(
    "text",
    [
        "make it better",
        "raise precision",
        "orders and support are confused",
        "too many questions are called support that are orders",
        "orders should be called support more often",
        "too many staff questions are missed",
        "find fewer staff questions",
        "orders, support",
        "recall of orders and recall of staff",
        "keep accuracy above 90 %",
        "recall of staff is fine",
        "call orders support",
        "raise accuracy and sing a song; the second clause is not understood",
    ],
)
def test_what_is_not_plain_is_asked_about(text: str) -> None:
    """The command stops with the metrics that could be meant; nothing is taken for granted."""
    with pytest.raises(InputError, match="is not settled") as refused:
        read_objective(text, judge=JUDGE)
    assert "--target" in (refused.value.hint or "")


def test_options_settle_it_and_a_note_says_what_was_left_out() -> None:
    """A class and a metric may be spelt in any case; guards and floors are of the same metrics."""
    objective = read_objective(
        "make it better",
        judge=JUDGE,
        target="Recall[Orders]",
        guards=("macro F1=0.03", "recall[staff]:-0.1"),
        floors=("precision[support]=0.8",),
    )
    assert objective.target == "recall[orders]"
    assert {guard.metric: guard.margin for guard in objective.guards} == {"f1_macro_grades": 0.03, "recall[staff]": 0.1}
    assert [(floor.metric, floor.value) for floor in objective.floors] == [("precision[support]", 0.8)]
    assert objective.notes == ("left out, as it was not understood: 'make it better'",)
    with pytest.raises(InputError, match="no class 'sales'"):
        read_objective("", judge=JUDGE, target="recall[sales]")
    with pytest.raises(InputError, match="'brier' is not a metric of a judge that chooses"):
        read_objective("", judge=JUDGE, target="brier")


def test_a_guard_is_read_with_its_amount_and_one_class_never_rises_alone() -> None:
    """Without a guard macro F1 is guarded, so that other classes do not pay."""
    said = read_objective("stop calling orders support, but lose at most 2 points of accuracy", judge=JUDGE)
    assert [(guard.metric, guard.margin) for guard in said.guards] == [("accuracy_grades", 0.02)]
    unsaid = read_objective("stop calling orders support", judge=JUDGE)
    assert [(guard.metric, guard.margin) for guard in unsaid.guards] == [("f1_macro_grades", 0.05)]
    assert "macro F1 may fall by at most 5 points" in unsaid.notes[0]
    assert read_objective("raise accuracy; please", judge=JUDGE, yes=True).target == "accuracy_grades"

"""What a person wants of a choice: read by rules, or asked about; never misread."""

from __future__ import annotations

import orjson
import pytest

from judgewright.judges import InputError, Registry
from judgewright.optimize import read_objective
from judgewright.optimize.losses import ClassNames, ModelReading, parse_reading, reading_request

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
        ("too many staff questions are missed", "recall[staff]"),
        ("keep accuracy above 90 %", "accuracy_grades"),
        ("precision of orders first, then recall of support", "precision[orders]"),
        ("orders dürfen nicht als support eingestuft werden", "recall[orders]"),
        ("orders darf nicht support genannt werden", "recall[orders]"),
        ("als support dürfen keine orders markiert werden", "recall[orders]"),
        ("Alles wird als staff eingestuft", "precision[staff]"),
        ("Recall von inventory zuerst", "recall[inventory]"),
        ("Macro-F1 steigern", "f1_macro_grades"),
        ("ne pas classer orders comme support", "recall[orders]"),
        ("les messages orders sont envoyés à support", "recall[orders]"),
        ("trop de questions sont classées comme staff", "precision[staff]"),
        ("L'exactitude globale doit monter.", "accuracy_grades"),
        ("no clasificar orders como support", "recall[orders]"),
        ("las preguntas de orders se envían a support", "recall[orders]"),
        ("demasiadas preguntas se clasifican como staff", "precision[staff]"),
        ("Lo más importante es no perder mensajes de inventory.", "recall[inventory]"),
        ("non classificare orders come support", "recall[orders]"),
        ("le domande orders vengono mandate a support", "recall[orders]"),
        ("alza il richiamo di inventory", "recall[inventory]"),
        ("não classificar orders como support", "recall[orders]"),
        ("melhorar a precisão de staff", "precision[staff]"),
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
        "find fewer staff questions",
        "Recall von inventory ist egal",
        "support darf orders genannt werden",
        "orders sollen support genannt werden",
        "la précision de staff est secondaire",
        "orders doivent être classés comme support",
        "L'accuracy ne doit pas baisser",
        "Precision de staff ya es buena",
        "no llamar support a orders",
        "orders deve essere chiamato support",
        "support is sent orders",
        "never send anything but orders to support",
        "only orders may be called support",
        "too many orders are labelled",
        "orders, support",
        "recall of orders and recall of staff",
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
    assert {guard.metric: guard.margin for guard in objective.guards} == {
        "f1_macro_grades": 0.03,
        "recall[staff]": 0.1,
    }
    assert [(floor.metric, floor.value) for floor in objective.floors] == [
        ("precision[support]", 0.8)
    ]
    assert objective.notes == ("left out, as it was not understood: 'make it better'",)
    with pytest.raises(InputError, match="no class 'sales'"):
        read_objective("", judge=JUDGE, target="recall[sales]")
    with pytest.raises(InputError, match="'brier' is not a metric of a judge that chooses"):
        read_objective("", judge=JUDGE, target="brier")


def test_a_guard_is_read_with_its_amount_and_one_class_never_rises_alone() -> None:
    """Without a guard macro F1 is guarded, so that other classes do not pay."""
    said = read_objective(
        "stop calling orders support, but lose at most 2 points of accuracy", judge=JUDGE
    )
    assert [(guard.metric, guard.margin) for guard in said.guards] == [("accuracy_grades", 0.02)]
    unsaid = read_objective("stop calling orders support", judge=JUDGE)
    assert [(guard.metric, guard.margin) for guard in unsaid.guards] == [("f1_macro_grades", 0.05)]
    assert "macro F1 may fall by at most 5 points" in unsaid.notes[0]
    assert (
        read_objective("raise accuracy; please", judge=JUDGE, yes=True).target == "accuracy_grades"
    )


def test_floors_and_second_wishes_of_classes_can_be_said() -> None:
    """They are metrics like any other."""
    floored = read_objective("at least 80 % recall of staff, then macro F1", judge=JUDGE)
    assert (floored.target, [(one.metric, one.value) for one in floored.floors]) == (
        "f1_macro_grades",
        [("recall[staff]", 0.8)],
    )
    text = "die Accuracy darf nicht unter 80 % fallen; verbessere den Recall von staff"
    assert [(one.metric, one.value) for one in read_objective(text, judge=JUDGE).floors] == [
        ("accuracy_grades", 0.8)
    ]
    second = read_objective("precision of orders first, then recall of support", judge=JUDGE)
    assert [(one.metric, one.margin) for one in second.guards] == [("recall[support]", 0.02)]


def reply(target: str | None, **more: object) -> str:
    """What a model says about an objective."""
    body: dict[str, object] = {
        "target": target,
        "direction": None,
        "guards": [],
        "floors": [],
        "slices": [],
    }
    body |= {"priorities": [target] if target else [], "unplaced": [], "sentence": "As it says."}
    return orjson.dumps(body | more).decode()


def test_a_model_reads_what_the_rules_do_not() -> None:
    """It is told the classes and their metrics; another metric, or one that differs from the
    rules', is no reading.
    """
    text = "staff et support sont confondus, et c'est staff qui en souffre"
    request = reading_request(text, JUDGE, ())
    system, user = (message.content for message in request.messages)
    assert "- recall[staff]: share of people's staff that the judge calls staff" in system
    assert "positive class" not in user
    classes = ClassNames.of(JUDGE.scale)

    def read(body: str, said: str = text) -> ModelReading:
        return ModelReading(model="m", reading=parse_reading(body, said, (), classes))

    with pytest.raises(InputError, match="not settled"):
        read_objective(text, judge=JUDGE)
    assert (
        read_objective(text, judge=JUDGE, model=read(reply("recall[staff]"))).target
        == "recall[staff]"
    )
    for unknown in ("recall", "recall[sales]", "precision"):
        with pytest.raises(ValueError, match="none of the metrics"):
            read(reply(unknown))
    plain = "stop calling orders support"
    with pytest.raises(
        InputError, match=r"the rules read the target recall\[orders\], the model recall\[support\]"
    ):
        read_objective(plain, judge=JUDGE, model=read(reply("recall[support]"), plain))

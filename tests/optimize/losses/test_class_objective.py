"""What a person wants of a choice: in exact words, read by a model, or asked about."""

from __future__ import annotations

import orjson
import pytest

from judgewright.judges import InputError, Registry
from judgewright.optimize import read_objective
from judgewright.optimize.losses import ClassNames, ModelReading, parse_reading, reading_request

JUDGE = Registry().get("routing")


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
    assert objective.notes == ()
    (note, *_) = read_objective("make it better", judge=JUDGE, target="accuracy").notes
    assert note.startswith("left out, as it was not read: 'make it better'")
    with pytest.raises(InputError, match="no class 'sales'"):
        read_objective("", judge=JUDGE, target="recall[sales]")
    with pytest.raises(InputError, match="'brier' is not a metric of a judge that chooses"):
        read_objective("", judge=JUDGE, target="brier")


def test_a_guard_is_read_with_its_amount_and_one_class_never_rises_alone() -> None:
    """Without a guard macro F1 is guarded, so that other classes do not pay."""
    text = "raise recall[orders]; accuracy may fall by 2 points"
    said = read_objective(text, judge=JUDGE)
    assert [(guard.metric, guard.margin) for guard in said.guards] == [("accuracy_grades", 0.02)]
    unsaid = read_objective("raise Recall[Orders]", judge=JUDGE)
    assert [(guard.metric, guard.margin) for guard in unsaid.guards] == [("f1_macro_grades", 0.05)]
    assert "macro F1 may fall by at most 5 points" in unsaid.notes[0]
    with pytest.raises(InputError, match="is not settled"):
        read_objective("raise precision", judge=JUDGE)


def reply(target: str | None, **more: object) -> str:
    """What a model says about an objective."""
    body: dict[str, object] = {
        "target": target,
        "direction": None,
        "guards": [],
        "floors": [],
        "slices": [],
    }
    body |= {"unplaced": [], "quote": "staff"}
    return orjson.dumps(body | more).decode()


def test_a_model_reads_words_about_classes() -> None:
    """It is told the classes and their metrics; another metric is no reading."""
    text = "staff et support sont confondus, et c'est staff qui en souffre"
    request = reading_request(text, JUDGE, ())
    system, user = (message.content for message in request.messages)
    assert "- recall[staff]: share of people's staff that the judge calls staff" in system
    assert "positive class" not in user
    classes = ClassNames.of(JUDGE.scale)

    def read(body: str) -> ModelReading:
        return ModelReading(model="m", reading=parse_reading(body, text, (), classes))

    with pytest.raises(InputError, match="not settled"):
        read_objective(text, judge=JUDGE)
    staff = read(reply("recall[staff]"))
    assert read_objective(text, judge=JUDGE, model=staff, yes=True).target == "recall[staff]"
    for unknown in ("recall", "recall[sales]", "precision"):
        with pytest.raises(ValueError, match="none of the metrics"):
            read(reply(unknown))

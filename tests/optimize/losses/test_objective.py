"""Exact forms are taken as they stand, the rest is asked about; what a person settles beside the
text is followed.
"""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judgewright.judges import InputError
from judgewright.optimize import Objective
from judgewright.optimize.losses import (
    TARGETS,
    Floor,
    Guard,
    Unsettled,
    metric_name,
    read_floor,
    read_guard,
    read_objective,
)
from judgewright.optimize.losses.objective import Direction

ASKED = "asked"


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("precision", "precision fp"),
        ("raise precision; recall may fall by 5 points", "precision fp recall-0.05"),
        ("Raise Precision.\nrecall = 0.03", "precision fp recall-0.03"),
        ("recall=0.05; raise f1 by making fewer false positives", "f1 fp recall-0.05"),
        ("raise f1; precision >= 0.9; recall at least 80 %", "f1 precision>=0.9 recall>=0.8"),
        ("lower brier; accuracy may fall by at most 2.5 %", "brier accuracy-0.025"),
        ("raise balanced accuracy; brier may rise by 0.02", "balanced_accuracy brier-0.02"),
        ("off-by-one; recall:-0.05", ASKED),
        ("recall=0.05", ASKED),
        ("raise brier", ASKED),
        ("lower recall", ASKED),
        ("raise precision; raise recall", ASKED),
        ("raise precision; brier may fall by 0.02", ASKED),
        ("raise precision; recall may fall by 5", ASKED),
        ("raise precision; recall may fall by a tenth", ASKED),
        ("raise precision by making fewer false negatives", ASKED),
        ("raise precision; be kind", ASKED),
        ("raise presicion", ASKED),
    ],
)
def test_exact_forms_are_taken_as_they_stand_and_nothing_else_is(text: str, meant: str) -> None:
    """A metric to raise, how far others may fall, what they must reach; the rest is asked about."""
    try:
        found = read_objective(text)
    except (Unsettled, InputError):
        assert meant == ASKED
        return
    usual = {note.split()[3] for note in found.notes if note.startswith("no guard on")}
    words = [found.target, *([found.direction] if found.direction else [])]
    words += [
        f"{guard.metric}-{guard.margin:g}" for guard in found.guards if guard.metric not in usual
    ]
    words += [f"{floor.metric}>={floor.value:g}" for floor in found.floors]
    assert " ".join(words) == meant


MARGINS = st.integers(1, 99).map(lambda points: points / 100)
OTHERS = [name for name in TARGETS if name not in ("brier", "f1")]


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from(["fp", "fn", None]),
    st.dictionaries(st.sampled_from([*OTHERS, "brier"]), MARGINS),
    st.dictionaries(st.sampled_from(OTHERS), MARGINS),
    st.sampled_from([None, "source_words >= 400", "domain = medical"]),
)
def test_what_is_read_back_is_an_exact_form(
    direction: Direction | None,
    guards: dict[str, float],
    floors: dict[str, float],
    predicate: str | None,
) -> None:
    """The sentence that a reading is shown in, typed as the objective, means the reading."""
    objective = Objective(
        text="",
        target="f1",
        direction=direction,
        guards=tuple(Guard(metric=metric, margin=margin) for metric, margin in guards.items()),
        floors=tuple(Floor(metric=metric, value=value) for metric, value in floors.items()),
        slice=predicate,
    )
    again = read_objective(objective.describe())
    assert replace(again, text="", notes=()) == objective


def test_flags_beat_the_text_aloud() -> None:
    """Target, guard and floor given beside the text are followed, and the notes say what they
    overruled.
    """
    text = "raise recall; precision may fall by 1 point"
    found = read_objective(text, target="precision", guards=["recall:-0.02"], floors=["recall=0.8"])
    assert (found.target, found.direction, found.guards) == (
        "precision",
        "fp",
        (Guard(metric="recall", margin=0.02),),
    )
    assert found.floors == (Floor(metric="recall", value=0.8),)
    assert any("asks for recall" in note and "precision" in note for note in found.notes)
    quieter = read_objective("precision; recall may fall by 3 points", guards=["recall:-0.05"])
    assert quieter.guards == (Guard(metric="recall", margin=0.05),)
    assert any("3 points" in note and "5 points" in note for note in quieter.notes)


def test_a_target_settles_what_was_not_read_and_says_what_was_left_out() -> None:
    """Nobody is asked, and the clause stands in the notes."""
    found = read_objective("be nicer to paraphrases", target="recall")
    assert (found.target, found.direction) == ("recall", "fn")
    assert any("left out" in note and "nicer" in note for note in found.notes)


def test_what_is_not_settled_says_how_to_settle_it() -> None:
    """With the options, as far as they are known; a yes takes nothing that nobody has read."""
    text = "raise precision; recall may fall by 3 points; be nice"
    with pytest.raises(Unsettled, match="not in exact words: 'be nice'") as stop:
        read_objective(text, floors=["recall=0.8"], yes=True)
    assert "settle it with --target precision --guard recall=0.03 --floor recall=0.8 (" in (
        stop.value.hint or ""
    )
    assert stop.value.reading is None
    with pytest.raises(Unsettled) as stop:
        read_objective("be nice", guards=["recall=0.04"])
    assert "--target METRIC --guard recall=0.04" in (stop.value.hint or "")


def test_the_default_guard_is_said_aloud() -> None:
    """A guard nobody asked for is in the notes; a floor on the same metric stands in its place."""
    notes = read_objective("raise precision").notes
    assert any("no guard on recall" in note and "--guard recall=0.10" in note for note in notes)
    floored = read_objective("raise precision; recall at least 0.8")
    assert (floored.guards, floored.floors) == ((), (Floor(metric="recall", value=0.8),))


def test_an_objective_is_read_back_in_plain_words() -> None:
    """The description names target, errors, guards and floors."""
    found = read_objective("raise precision; recall may fall by 3 points; f1 at least 70 %")
    assert (
        found.describe()
        == "Raise precision by making fewer false positives; recall may fall by at most 3 points; "
        "f1 must be at least 0.7 with 95 % confidence."
    )


def test_calibration_is_read_back_as_the_figure_that_is_compared() -> None:
    """In words, as something to lower; what stands for it is said where the sentence does not name
    it.
    """
    found = read_objective("brier may rise by at most 0.01", target="f1")
    assert found.describe() == "Raise f1; brier may rise by at most 0.01."
    found = read_objective("better calibrated", target="brier")
    lowered = (
        "Lower brier, the mean squared error of the probability; accuracy may fall by at most 5"
        " points."
    )
    assert found.describe() == lowered
    assert any("Brier score" in note for note in found.notes)
    with pytest.raises(InputError, match="no floor"):
        read_floor("brier=0.1")


def test_an_objective_survives_json() -> None:
    """Floors, guards, notes and the person's words; without floors the keys are those of every
    version.
    """
    for text in ("raise precision", "raise recall; precision at least 90 %"):
        objective = read_objective(text)
        assert Objective.from_json(objective.to_json()) == objective
    assert set(read_objective("raise f1").to_json()) == {
        "text",
        "read_as",
        "target",
        "direction",
        "guards",
        "notes",
    }


@pytest.mark.parametrize("name", ["precison", "Recal", "accuracie", "ndcg", "", "precision:recall"])
def test_an_unknown_metric_is_refused_with_near_names(name: str) -> None:
    """The error quotes the name, and the hint lists what there is."""
    with pytest.raises(InputError) as refusal:
        read_objective("better", target=name)
    assert repr(name) in str(refusal.value)
    assert "precision" in (refusal.value.hint or "")
    if name == "precison":
        assert "near are precision" in str(refusal.value)


@pytest.mark.parametrize(
    "guard", ["recall", "recall:", "recall:-3", "recall:nan", "recall:inf", "recall:a", "recal:-.1"]
)
def test_a_guard_that_cannot_be_read_is_refused(guard: str) -> None:
    """Margins are fractions below 1 of a known metric."""
    with pytest.raises(InputError):
        read_guard(guard)


@pytest.mark.parametrize(
    "floor", ["recall", "recall=", "recall=90", "recall=nan", "recall=0", "recal=0.9"]
)
def test_a_floor_that_cannot_be_read_is_refused(floor: str) -> None:
    """Floors are fractions between 0 and 1 of a known metric."""
    with pytest.raises(InputError):
        read_floor(floor)


def test_spellings_lead_to_one_name() -> None:
    """Case, spaces and hyphens do not matter; a metric of one class of a choice is a name as it
    is.
    """
    assert [
        metric_name(n)
        for n in ("F1", "off-by-one", "Balanced Accuracy", "Recall", "recall[billing]")
    ] == [
        "f1",
        "off_by_one",
        "balanced_accuracy",
        "recall",
        "recall[billing]",
    ]
    assert [metric_name(n) for n in TARGETS] == list(TARGETS)


def test_no_text_and_no_target_is_refused() -> None:
    """There is nothing to do without either."""
    with pytest.raises(InputError, match="empty"):
        read_objective("  ")
    assert read_objective("", target="f1").target == "f1"


@settings(max_examples=150, deadline=None)
@given(st.text(min_size=1).filter(str.strip))
def test_any_text_is_taken_or_asked_about(text: str) -> None:
    """Whatever a person types gives an objective on a known metric, or a question."""
    try:
        found = read_objective(text)
    except InputError:
        return
    assert found.target in TARGETS

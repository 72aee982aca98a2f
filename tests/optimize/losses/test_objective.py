"""A sentence is read the way a person means it, and read back; flags beat it aloud."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judgewright.judges import InputError
from judgewright.optimize.losses import TARGETS, Guard, metric_name, read_guard, read_objective


@pytest.mark.parametrize(
    ("text", "target", "direction", "guards"),
    [
        ("do not call unsupported statements grounded", "precision", "fp", {"recall": 0.05}),
        (
            "precision matters most; do not lose more than 3 points of recall; ignore abstentions",
            "precision",
            "fp",
            {"recall": 0.03},
        ),
        ("never call a grounded claim unsupported", "recall", "fn", {"precision": 0.05}),
        ("do not miss relevant passages", "recall", "fn", {"precision": 0.05}),
        ("do not miss hallucinations", "precision", "fp", {"recall": 0.05}),
        ("the judge is too lenient", "precision", "fp", {"recall": 0.05}),
        ("the judge is too strict", "recall", "fn", {"precision": 0.05}),
        ("stop marking irrelevant passages as relevant", "precision", "fp", {"recall": 0.05}),
        ("don't reject good answers", "recall", "fn", {"precision": 0.05}),
        ("precision is fine, recall is too low", "recall", "fn", {"precision": 0.05}),
        ("fewer false positives and keep recall", "precision", "fp", {"recall": 0.05}),
        ("Recall must not fall by more than 0.02, precision first", "precision", "fp", {"recall": 0.02}),
        ("improve specificity without losing more than 4% recall", "specificity", "fp", {"recall": 0.04}),
        ("raise kappa without losing precision", "kappa", None, {"precision": 0.05}),
        ("Balanced accuracy up, at most 1.5 pp recall lost", "balanced_accuracy", None, {"recall": 0.015}),
        ("maximise off-by-1 while keeping f1 within 2 points", "off_by_one", None, {"f1": 0.02}),
        ("make it better", "f1", None, {}),
        (
            "raise F1; precision and recall may each fall by at most 2 points",
            "f1",
            None,
            {"precision": 0.02, "recall": 0.02},
        ),
        ("raise f1 losing at most 2 points of recall", "f1", None, {"recall": 0.02}),
        (
            "no more than a 2-point drop in specificity; raise recall",
            "recall",
            "fn",
            {"specificity": 0.02, "precision": 0.05},
        ),
        (
            "catch more unsupported claims, recall may not fall more than three points",
            "precision",
            "fp",
            {"recall": 0.03},
        ),
        ("we ship too many hallucinations", "precision", "fp", {"recall": 0.05}),
        ("irrelevant passages are called relevant", "precision", "fp", {"recall": 0.05}),
        ("relevant passages are marked irrelevant", "recall", "fn", {"precision": 0.05}),
        ("fewer false negatives", "recall", "fn", {"precision": 0.05}),
        ("improve precision at any cost", "precision", "fp", {"recall": 0.05}),
    ],
)
def test_a_sentence_gives_target_direction_and_guards(text: str, target: str, direction: str, guards: dict) -> None:
    """What a person would say the sentence asks for is what is read."""
    found = read_objective(text)
    assert (found.target, found.direction) == (target, direction)
    assert {guard.metric: guard.margin for guard in found.guards} == pytest.approx(guards)


def test_flags_beat_the_text_aloud() -> None:
    """The target and the guard given beside the text are followed, and the notes say what they overruled."""
    text = "recall first; do not lose more than 1 point of precision"
    found = read_objective(text, target="precision", guards=["recall:-0.02"])
    assert (found.target, found.direction, found.guards) == ("precision", "fp", (Guard(metric="recall", margin=0.02),))
    assert any("asks for recall" in note and "precision" in note for note in found.notes)
    quieter = read_objective("precision; lose at most 3 points of recall", guards=["recall:-0.05"])
    assert quieter.guards == (Guard(metric="recall", margin=0.05),)
    assert any("3 points" in note and "5 points" in note for note in quieter.notes)


def test_a_flag_that_agrees_overrules_nothing() -> None:
    """The command of the spine reads without a note of disagreement."""
    found = read_objective("do not call unsupported statements grounded", target="precision", guards=["recall:-0.05"])
    assert found.guards == (Guard(metric="recall", margin=0.05),)
    assert not any("followed" in note for note in found.notes)


def test_the_default_guard_is_said_aloud() -> None:
    """A guard nobody asked for is in the notes."""
    notes = read_objective("precision; missing a few is fine, but not more than a tenth").notes
    assert any("no guard on recall" in note and "--guard recall=0.10" in note for note in notes)


def test_an_objective_is_read_back_in_plain_words() -> None:
    """The description names target, errors and guards."""
    found = read_objective("precision matters most; do not lose more than 3 points of recall")
    assert found.describe() == ("Raise precision by making fewer false positives; recall may fall by at most 3 points.")


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


def test_spellings_lead_to_one_name() -> None:
    """Case, spaces and hyphens do not matter."""
    assert [metric_name(n) for n in ("F1", "off-by-1", "Balanced Accuracy", "sensitivity")] == [
        "f1",
        "off_by_one",
        "balanced_accuracy",
        "recall",
    ]
    assert [metric_name(n) for n in TARGETS] == list(TARGETS)


def test_no_text_and_no_target_is_refused() -> None:
    """There is nothing to do without either."""
    with pytest.raises(InputError, match="empty"):
        read_objective("  ")
    assert read_objective("", target="f1").target == "f1"


@settings(max_examples=150, deadline=None)
@given(st.text(min_size=1).filter(str.strip))
def test_any_text_is_read_or_refused_cleanly(text: str) -> None:
    """Whatever a person types gives an objective on a known metric; its guards never guard the target."""
    found = read_objective(text)
    assert found.target in TARGETS
    assert all(guard.metric != found.target and 0 <= guard.margin < 1 for guard in found.guards)
    assert found.describe().endswith(".")


@pytest.mark.parametrize(
    "text", ["raise precision; recall must not drop below 0.9", "keep recall above 0.8 and raise precision"]
)
def test_a_floor_is_not_taken_for_a_margin(text: str) -> None:
    """A number the metric must stay above is no amount it may fall by; the default margin stands, aloud."""
    objective = read_objective(text)
    assert objective.target == "precision"
    assert objective.guards == (Guard(metric="recall", margin=0.05),)
    assert any("floor" in note for note in objective.notes)


def test_abstentions_are_never_charged_and_it_says_so() -> None:
    """Ignoring them is how it is; charging them as errors is told to be impossible, not silently dropped."""
    ignored = read_objective("raise precision; ignore abstentions")
    assert any("unscored" in note for note in ignored.notes)
    assert not any("not charged" in note for note in ignored.notes)
    assert any("not charged" in note for note in read_objective("raise accuracy; abstentions count as errors").notes)


def test_an_objective_is_told_whole_as_json() -> None:
    """The text, how it was read, the guards and every note."""
    body = read_objective("precision matters most; do not lose more than 3 points of recall").to_json()
    assert body["read_as"].startswith("Raise precision")
    assert body["guards"] == [{"metric": "recall", "margin": 0.03}]
    assert (body["target"], body["direction"], body["notes"]) == ("precision", "fp", [])

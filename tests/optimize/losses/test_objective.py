"""A sentence is read wholly or left over, never the wrong way round; what a person settles beside
it is followed.
"""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judgewright.judges import InputError, JudgePrompt, OutputScale, Registry
from judgewright.optimize import Objective
from judgewright.optimize.losses import (
    TARGETS,
    Floor,
    Guard,
    Polarity,
    Unsettled,
    metric_name,
    read_by_rules,
    read_floor,
    read_guard,
    read_objective,
)

GROUNDEDNESS = Registry().get("groundedness")
ASKED = "asked"

# What is meant: target, direction, how far a metric may fall, what it must reach.
FORTY = [
    # English.
    ("do not call unsupported statements grounded", "precision fp"),
    ("Precision matters most; lose at most 3 points of recall.", "precision fp recall-0.03"),
    ("improve hallucination recall", "specificity fp"),
    (
        "Catch more hallucinations without losing more than 5 points of precision.",
        "specificity fp precision-0.05",
    ),
    ("too many false alarms: supported statements flagged", "recall fn"),
    ("Too many false alarms.", "asked"),
    ("Stop flagging statements that are supported by the source.", "recall fn"),
    ("We let too many hallucinations through.", "precision fp"),
    (
        (
            "Reduce the number of unsupported claims that get marked as grounded, and do not give"
            " up more than 4 points of recall."
        ),
        "precision fp recall-0.04",
    ),
    ("at least 90 % precision, then recall", "recall fn precision>=0.9"),
    ("I care about recall first, precision second.", "recall fn precision-0.02"),
    ("Improve both precision and recall.", "asked"),
    ("Make the judge agree with people more often.", "asked"),
    (
        "Off-by-one should improve; accuracy may drop by at most one point.",
        "off_by_one accuracy-0.01",
    ),
    ("Improve the calibration.", "brier"),
    ("precision; missing a few is fine, but not more than a tenth", "precision fp recall-0.1"),
    # German.
    (
        "Weniger Halluzinationen durchlassen, Recall darf höchstens 3 Punkte verlieren.",
        "precision fp recall-0.03",
    ),
    ("Belegte Aussagen sollen nicht mehr abgelehnt werden.", "recall fn"),
    (
        "Die Präzision soll steigen, ohne mehr als 5 Prozentpunkte Recall zu verlieren.",
        "precision fp recall-0.05",
    ),
    ("Der Richter ist zu streng.", "recall fn"),
    ("Mindestens 90 % Präzision, dann möglichst viel Recall.", "recall fn precision>=0.9"),
    ("Unbelegte Aussagen werden als belegt markiert.", "precision fp"),
    ("Er soll einfach besser werden.", "asked"),
    # French.
    ("Ne laisse pas passer les hallucinations.", "precision fp"),
    ("Améliorer le rappel sans perdre plus de 3 points de précision.", "recall fn precision-0.03"),
    ("Le juge est trop indulgent.", "precision fp"),
    ("Il rejette trop d'affirmations étayées.", "recall fn"),
    ("D'abord la précision, ensuite le rappel.", "precision fp recall-0.02"),
    ("Les affirmations non étayées sont classées comme étayées.", "precision fp"),
    # Spanish.
    (
        "Detectar más alucinaciones sin perder más de 4 puntos de precisión.",
        "specificity fp precision-0.04",
    ),
    ("No rechazar afirmaciones respaldadas.", "recall fn"),
    (
        "El juez es demasiado severo; la precisión puede bajar como máximo 2 puntos.",
        "recall fn precision-0.02",
    ),
    ("Aumentar la exhaustividad.", "recall fn"),
    ("Demasiadas falsas alarmas.", "asked"),
    # Italian.
    (
        "Non accettare risposte sbagliate, al massimo 3 punti di richiamo persi.",
        "precision fp recall-0.03",
    ),
    ("Il giudice è troppo permissivo.", "precision fp"),
    ("Deve capire meglio le fonti.", "asked"),
    # Portuguese.
    (
        "Não deixar passar alucinações; a precisão não pode cair mais de 2 pontos.",
        "specificity fp precision-0.02",
    ),
    ("Melhorar a precisão sem perder mais de 5 pontos de revocação.", "precision fp recall-0.05"),
    ("Rejeita demasiadas afirmações corretas.", "recall fn"),
]
MORE = [
    ("never call a grounded claim unsupported", "recall fn"),
    ("do not miss relevant passages", "recall fn"),
    ("do not miss hallucinations", "specificity fp"),
    ("stop marking irrelevant passages as relevant", "precision fp"),
    ("do not mark as grounded what is unsupported", "precision fp"),
    ("do not call passages relevant that do not answer the query", "precision fp"),
    ("don't reject good answers", "recall fn"),
    ("precision is fine, recall is too low", "recall fn"),
    ("Recall must not fall by more than 0.02, precision first", "precision fp recall-0.02"),
    ("improve specificity without losing more than 4% recall", "specificity fp recall-0.04"),
    ("raise kappa without losing precision", "kappa precision-0.05"),
    ("Balanced accuracy up, at most 1.5 pp recall lost", "balanced_accuracy recall-0.015"),
    ("maximise off-by-1 while keeping f1 within 2 points", "off_by_one f1-0.02"),
    (
        "raise F1; precision and recall may each fall by at most 2 points",
        "f1 precision-0.02 recall-0.02",
    ),
    ("no more than a 2-point drop in specificity; raise recall", "recall fn specificity-0.02"),
    ("raise precision; recall must not drop below 0.9", "precision fp recall>=0.9"),
    ("keep recall above 0.8 and raise precision", "precision fp recall>=0.8"),
    ("false positives on supported statements are too many", "recall fn"),
    ("False negatives on hallucinations must go down.", "specificity fp"),
    ("fewer false positives", "asked"),
    ("catch fewer hallucinations", "asked"),
    ("let hallucinations through", "asked"),
    ("accept more hallucinations", "asked"),
    ("do not raise recall", "asked"),
    ("lower recall", "asked"),
    ("Precision no longer matters", "asked"),
    ("more false positives are fine", "asked"),
    ("we may lose recall", "asked"),
    ("recall may fall to 0.8; raise precision", "asked"),
    ("raise precision on hallucinations", "asked"),
    ("recall first; do not call unsupported statements grounded", "recall fn precision-0.02"),
    ("make it better", "asked"),
]
CLAUSES = [
    # What is wrong stands in a clause of its own, as people who never read the docs write it.
    ("the groundedness judge passes statements that the source does not support", "precision fp"),
    ("Do not pass statements that the source does not support.", "precision fp"),
    ("Don't pass statements the source doesn't support", "precision fp"),
    ("it says yes to things that are not in the source", "precision fp"),
    (
        (
            "It says yes too often to claims that aren't in the source; recall may fall by at most"
            " 3 points"
        ),
        "precision fp recall-0.03",
    ),
    ("It accepts claims that no source backs up.", "precision fp"),
    ("it lets answers through that nothing in the context supports", "precision fp"),
    ("too many statements pass that are not stated in the document", "precision fp"),
    ("it marks statements as grounded which the evidence does not contain", "precision fp"),
    ("do not call grounded what the source does not say", "precision fp"),
    ("do not call unsupported what the source says", "recall fn"),
    ("it approves claims without any support in the source", "precision fp"),
    ("It accepts everything.", "precision fp"),
    ("It says no to statements that the source supports.", "recall fn"),
    ("it flags statements that are in the source", "recall fn"),
    ("it rejects claims the passage does support", "recall fn"),
    ("it misses statements that the source does not support", "specificity fp"),
    ("catch more claims that are not backed by the source", "specificity fp"),
    ("Keine Aussagen durchlassen, die die Quelle nicht stützt.", "precision fp"),
    ("Ne pas accepter des affirmations que la source ne confirme pas.", "precision fp"),
    ("No aceptar afirmaciones que la fuente no respalda.", "precision fp"),
    ("Non accettare affermazioni che la fonte non conferma.", "precision fp"),
    ("Não aceitar afirmações que a fonte não confirma.", "precision fp"),
    ("it calls unsupported statements grounded", "precision fp"),
    ("it says yes where it should say no", "precision fp"),
    ("It says no too often.", "recall fn"),
    ("never accept anything the source does not support", "precision fp"),
    ("Acepta afirmaciones que la fuente no respalda.", "asked"),
    ("say yes where people say no", "asked"),
    ("call unsupported statements grounded", "asked"),
    ("pass statements that the source does not support", "asked"),
    ("say yes to statements that are not in the source", "asked"),
    ("it says yes to statements that the source supports", "asked"),
    ("pass fewer statements that the source supports", "asked"),
    ("it passes statements that the source hardly supports", "asked"),
    ("it passes statements that the source never says it supports", "asked"),
    ("it passes statements that are in the source but not supported", "asked"),
    ("the source does not support it", "asked"),
    ("it says yes", "asked"),
    ("too many false positives", "asked"),
]
HONEST = [
    ("make its confidence honest", "brier"),
    ("I want probabilities that we can trust", "brier"),
    ("It should be better calibrated; lose at most 2 points of recall.", "brier recall-0.02"),
    ("The judge is too sure when it is wrong.", "brier"),
    ("stop being overconfident", "brier"),
    ("Lower the Brier score.", "brier"),
    ("reduce calibration error", "brier"),
    ("raise precision without hurting calibration", "precision fp brier-0.02"),
    ("raise recall; keep its probabilities calibrated", "recall fn brier-0.02"),
    ("The Brier score must not rise by more than 0.01; raise recall", "recall fn brier-0.01"),
    ("raise precision; the Brier score may rise by at most 0.03", "precision fp brier-0.03"),
    ("precision first, then calibration", "precision fp brier-0.02"),
    ("calibration does not matter; raise recall", "recall fn"),
    ("Die Kalibrierung soll besser werden.", "brier"),
    ("Der Richter ist zu sicher.", "brier"),
    ("Améliorer le calibrage sans perdre plus de 2 points de rappel.", "brier recall-0.02"),
    ("Le juge est trop sûr de lui.", "brier"),
    ("probabilidades bien calibradas", "brier"),
    ("Il giudice è troppo sicuro di sé.", "brier"),
    ("Melhorar a calibração sem perder precisão.", "brier precision-0.05"),
    ("raise the Brier score", "asked"),
    ("the Brier score must not fall", "asked"),
    ("increase calibration error", "asked"),
    ("lower calibration", "asked"),
    ("no calibration", "asked"),
    ("not calibrated", "asked"),
    ("more overconfident", "asked"),
    ("raise confidence", "asked"),
    ("be more honest", "asked"),
    ("its confidence should not be honest", "asked"),
    ("calibration at least 90 %", "asked"),
    ("calibrate the judge", "asked"),
    ("reduce ECE", "asked"),
]


def reading(text: str, judge: JudgePrompt = GROUNDEDNESS) -> Objective | str:
    """Read a sentence by rules alone; `ASKED` where they do not settle it."""
    try:
        return read_objective(text, judge=judge)
    except Unsettled:
        return ASKED


@pytest.mark.parametrize(("text", "meant"), [*FORTY, *MORE, *CLAUSES, *HONEST])
def test_a_sentence_is_read_rightly_or_asked_about(text: str, meant: str) -> None:
    """Target, direction and every limit that the sentence names."""
    found = reading(text)
    if isinstance(found, str):
        assert found == meant
        return
    words = [found.target, *([found.direction] if found.direction else [])]
    usual = {note.split()[3] for note in found.notes if note.startswith("no guard on")}
    words += [
        f"{guard.metric}-{guard.margin:g}" for guard in found.guards if guard.metric not in usual
    ]
    words += [f"{floor.metric}>={floor.value:g}" for floor in found.floors]
    assert " ".join(words) == meant


def test_of_forty_sentences_most_are_read() -> None:
    """Rules alone; the others are asked about, and the test above shows that none is misread."""
    assert len(FORTY) == 40
    assert sum(reading(text) != ASKED for text, _ in FORTY) >= 30


@pytest.mark.parametrize(
    ("text", "target", "direction"),
    [
        ("do not miss toxic answers", "recall", "fn"),
        ("fewer false alarms", "precision", "fp"),
        ("stop flagging harmless things as toxic", ASKED, None),
        ("do not flag acceptable answers as toxic", "precision", "fp"),
        ("the judge is too lenient", "recall", "fn"),
        ("too strict", "precision", "fp"),
        ("reject fewer good answers", "precision", "fp"),
        # Its yes is the bad class.
        ("it says yes to harmless answers", ASKED, None),
        ("it says no to toxic answers", "recall", "fn"),
        ("it says yes to acceptable answers", "precision", "fp"),
        ("it accepts everything", "recall", "fn"),
        ("it says yes to everything", "precision", "fp"),
    ],
)
def test_polarity_comes_from_the_judge(text: str, target: str, direction: str | None) -> None:
    """What is missed by one judge is a false alarm of another, whose positive class is the bad
    one.
    """
    scale = OutputScale(
        kind="binary", labels=("no", "yes"), threshold=1, anchors={"yes": "The answer is toxic."}
    )
    judge = JudgePrompt(
        name="toxicity", system="You judge.", criteria="Insults are toxic.", scale=scale,
        template="{{answer}}", reply="Answer yes or no.", reply_schema={"score": "score"},
    )  # fmt: skip
    found = reading(text, judge)
    assert (
        found == target
        if isinstance(found, str)
        else (found.target, found.direction) == (target, direction)
    )


def test_shipped_judges_have_a_polarity_and_a_choice_has_none() -> None:
    """Every judge that decides says which class is its positive one."""
    known = {name: Polarity.of(Registry().get(name)) for name in Registry().names()}
    assert [name for name, polarity in known.items() if polarity is None] == ["routing"]
    assert {polarity.positive for polarity in known.values() if polarity} == {"good"}


def test_without_a_judge_only_words_of_classes_are_asked_about() -> None:
    """Metrics mean the same for every judge."""
    assert read_objective("raise precision").target == "precision"
    with pytest.raises(Unsettled, match="positive one"):
        read_objective("do not call unsupported statements grounded")


def test_flags_beat_the_text_aloud() -> None:
    """Target, guard and floor given beside the text are followed, and the notes say what they
    overruled.
    """
    text = "recall first; do not lose more than 1 point of precision"
    found = read_objective(text, target="precision", guards=["recall:-0.02"], floors=["recall=0.8"])
    assert (found.target, found.direction, found.guards) == (
        "precision",
        "fp",
        (Guard(metric="recall", margin=0.02),),
    )
    assert found.floors == (Floor(metric="recall", value=0.8),)
    assert any("asks for recall" in note and "precision" in note for note in found.notes)
    quieter = read_objective("precision; lose at most 3 points of recall", guards=["recall:-0.05"])
    assert quieter.guards == (Guard(metric="recall", margin=0.05),)
    assert any("3 points" in note and "5 points" in note for note in quieter.notes)


def test_a_target_settles_what_was_not_read_and_says_what_was_left_out() -> None:
    """Nobody is asked, and the clause stands in the notes."""
    found = read_objective("be nicer to paraphrases", target="recall")
    assert (found.target, found.direction) == ("recall", "fn")
    assert any("left out" in note and "nicer" in note for note in found.notes)


def test_what_is_not_settled_says_how_to_settle_it() -> None:
    """Both the reading, and the options that say the same."""
    with pytest.raises(Unsettled) as stop:
        read_objective(
            "raise precision; lose at most 3 points of recall; be nice", judge=GROUNDEDNESS
        )
    assert "'be nice'" in str(stop.value)
    assert "--target precision --guard recall=0.03" in (stop.value.hint or "")
    assert "--yes" in (stop.value.hint or "")
    text = "raise precision; be nice"
    assert read_objective(text, yes=True).target == "precision"
    assert read_objective(text, guards=["recall=0.04"]).guards == (
        Guard(metric="recall", margin=0.04),
    )
    with pytest.raises(Unsettled):
        read_objective("be nice", yes=True)


def test_the_default_guard_is_said_aloud() -> None:
    """A guard nobody asked for is in the notes; a floor on the same metric stands in its place."""
    notes = read_objective("raise precision").notes
    assert any("no guard on recall" in note and "--guard recall=0.10" in note for note in notes)
    floored = read_objective("raise precision; recall at least 0.8")
    assert (floored.guards, floored.floors) == ((), (Floor(metric="recall", value=0.8),))


def test_an_objective_is_read_back_in_plain_words() -> None:
    """The description names target, errors, guards and floors."""
    found = read_objective(
        "precision matters most; do not lose more than 3 points of recall; f1 at least 70 %"
    )
    assert (
        found.describe()
        == "Raise precision by making fewer false positives; recall may fall by at most 3 points; "
        "f1 must be at least 0.7 with 95 % confidence."
    )


def test_calibration_is_read_back_as_the_figure_that_is_compared() -> None:
    """In words, as something to lower; what stands for it is said where the sentence does not name
    it.
    """
    found = read_objective("the Brier score may rise by at most 0.01", target="f1")
    assert found.describe() == "Raise f1; brier may rise by at most 0.01."
    found = read_objective("better calibrated")
    lowered = (
        "Lower brier, the mean squared error of the probability; accuracy may fall by at most 5"
        " points."
    )
    assert found.describe() == lowered
    assert any("Brier score" in note for note in found.notes)
    assert metric_name("Brier score") == metric_name("calibration") == "brier"
    with pytest.raises(InputError, match="no floor"):
        read_floor("brier=0.1")
    routing = Registry().get("routing")
    with pytest.raises(Unsettled, match="no probability of a positive one"):
        read_objective("make its confidence honest", judge=routing)


def test_an_objective_survives_json() -> None:
    """Floors, guards, notes and the person's words; without floors the keys are those of every
    version.
    """
    for text in ("raise precision", "at least 90 % precision, then recall"):
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
        for n in ("F1", "off-by-1", "Balanced Accuracy", "sensitivity", "recall[billing]")
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
def test_any_text_is_read_or_asked_about(text: str) -> None:
    """Whatever a person types gives an objective on a known metric whose guards never guard the
    target, or a stop.
    """
    found = reading(text)
    if isinstance(found, str):
        return
    assert found.target in TARGETS
    assert all(guard.metric != found.target and 0 <= guard.margin < 1 for guard in found.guards)
    assert found.describe().endswith(".")


@settings(max_examples=200, deadline=None)
@given(
    st.sampled_from([text for text, *_ in FORTY]),
    st.integers(0, 20),
    st.sampled_from(["hardly", "zonkwise", "kaum"]),
)
def test_an_unknown_word_leaves_its_clause_over(text: str, place: int, word: str) -> None:
    """A word that nobody listed may turn a sentence round: its clause is never read as if the word
    were not there.
    """
    words = text.split()
    words.insert(min(place, len(words)), word)
    assert read_by_rules(" ".join(words), Polarity.of(GROUNDEDNESS)).unread


def test_abstentions_are_never_charged_and_it_says_so() -> None:
    """Ignoring them is how it is; charging them as errors is said to be impossible, not silently
    dropped.
    """
    ignored = read_objective("raise precision; ignore abstentions")
    assert any("unscored" in note for note in ignored.notes)
    assert not any("not charged" in note for note in ignored.notes)
    assert any(
        "not charged" in note
        for note in read_objective("raise accuracy; abstentions count as errors").notes
    )

"""`judges add --model`: what a model says of a prompt is looked up in it, and goes before our own
reading of it.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from judgewright.judges import JudgeSettings
from judgewright.judges.models import Client
from judgewright.judges.scale import parse_label_scale
from judgewright.runs.cli import main
from judgewright.runs.imports import (
    AddOptions,
    ForeignJudge,
    ModelReading,
    Settled,
    ask_for_reading,
    read_own_prompt,
    settle,
    understand,
)

from .scripted import Scripted

OPEN = """You sort letters.

Keep what deals with the file. Throw out what is an advert.

Letter: {letter}

Say frimp or blorp.
"""
CLEAR = OPEN.replace(
    "Say frimp or blorp.", "Give a score from 1 to 5, 5 being the best, as 'Score: N'."
)
NAMES = ("unordered", "scale", "threshold", "verdict", "first_words", "last_words", "open")
NOTHING = {"places": [], "labels": [], "form": [], **dict.fromkeys(NAMES, "")}


def judge_of(tmp_path: Path, text: str) -> ForeignJudge:
    """A prompt in a file."""
    path = tmp_path / "letters.txt"
    path.write_text(text, encoding="utf-8")
    return read_own_prompt(path)


def reading_of(judge: ForeignJudge, **said: object) -> ModelReading:
    """What a model that says this reads in it."""
    with Client(Scripted(json.dumps(NOTHING | said))) as client:
        _, reading = ask_for_reading([judge], client, JudgeSettings())
    assert isinstance(reading, ModelReading)
    return reading


def test_what_the_words_leave_open_the_model_answers(tmp_path: Path) -> None:
    """Labels and criteria that stand in the prompt are taken."""
    judge = judge_of(tmp_path, OPEN)
    assert understand(judge, AddOptions()).questions
    reading = reading_of(
        judge,
        labels=["blorp", "frimp"],
        first_words="Keep what deals with",
        last_words="what is an advert.",
    )
    settled = settle(judge, AddOptions(), reading)
    prompt = understand(judge, settled.options).prompt
    assert (settled.questions, settled.notes, reading.unfounded) == ((), (), ())
    assert prompt is not None
    assert prompt.scale.labels == ("blorp", "frimp")
    assert prompt.criteria == "Keep what deals with the file. Throw out what is an advert."


def test_what_is_not_in_the_prompt_is_not_taken(tmp_path: Path) -> None:
    """The question stays open, and the invented words are named."""
    judge = judge_of(tmp_path, OPEN)
    reading = reading_of(
        judge,
        labels=["bad", "good"],
        scale="one to five",
        first_words="Never",
        last_words="was here",
    )
    assert set(reading.unfounded) == {"bad", "good", "Never", "was here"}
    assert settle(judge, AddOptions(), reading).questions


@pytest.mark.parametrize(
    ("said", "answers"),
    [
        ({"scale": "5..1"}, ("5", "4", "3", "2", "1")),
        ({"labels": ["ADVERT", "file"]}, ("advert", "file")),
        ({"labels": ["advert", "file"], "unordered": "yes"}, ("advert", "file")),
    ],
)
def test_where_the_two_differ_the_model_is_followed_and_a_note_says_so(
    tmp_path: Path, said: dict[str, object], answers: tuple[str, ...]
) -> None:
    """An option of the person's counts before both."""
    judge = judge_of(tmp_path, CLEAR)
    reading = reading_of(judge, **said)
    settled = settle(judge, AddOptions(), reading)
    scale = understand(judge, settled.options).scale
    assert scale is not None
    assert (scale.labels, scale.kind == "choice") == (answers, "unordered" in said)
    (note,) = settled.notes
    assert "Its words alone would say 1..5" in note
    assert ", ".join(answers) in note
    own = AddOptions(scale=parse_label_scale("1..5@4"))
    assert settle(judge, own, reading).options == own


def test_a_scale_whose_numbers_are_not_in_the_prompt_is_not_taken(tmp_path: Path) -> None:
    """The ends of a scale are quotations too."""
    judge = judge_of(tmp_path, CLEAR)
    reading = reading_of(judge, scale="0..10")
    assert (reading.scale, reading.unfounded) == (None, ("0..10",))
    assert settle(judge, AddOptions(), reading).options == AddOptions()


def test_a_threshold_that_the_model_reads_is_taken(tmp_path: Path) -> None:
    """It stands in a sentence that our rules do not know."""
    judge = judge_of(
        tmp_path, CLEAR.replace("Letter:", "Whatever gets a 4 we keep, else it goes.\n\nLetter:")
    )
    found = understand(
        judge, settle(judge, AddOptions(), reading_of(judge, scale="1..5", threshold="4")).options
    )
    assert found.scale is not None
    assert found.scale.threshold == 4


THREE = """You check claims.

A claim is backed when the source says it outright. It is shaky when the source only hints at it.
Give back JSON like {"why": "...", "label": "..."} where label is unbacked, shaky or backed.
Numbers have to be those of the source.

Source: {source}
Claim: {claim}
"""


@pytest.mark.parametrize(
    ("said", "expected"), [("Backed", 2.0), ("only backed", 2.0), ("shaky", 1.0)]
)
def test_of_three_labels_what_passes_is_what_the_model_reads(
    tmp_path: Path, said: str, expected: float
) -> None:
    """However it writes the label."""
    judge = judge_of(
        tmp_path, THREE + "\nWe publish only backed claims. Backed ones need no look.\n"
    )
    reading = reading_of(judge, labels=["unbacked", "shaky", "backed"], threshold=said)
    settled = settle(judge, AddOptions(), reading)
    scale = understand(judge, settled.options).scale
    assert (settled.questions, scale and scale.threshold) == ((), expected)


@pytest.mark.parametrize("said", ["shaky claims and backed", "unbacked"])
def test_a_threshold_that_has_no_place_on_the_scale_is_asked_for(tmp_path: Path, said: str) -> None:
    """Two labels are no threshold, and with the worst of all every answer would pass."""
    judge = judge_of(tmp_path, THREE + "\nShaky claims and backed ones are printed.\n")
    reading = reading_of(judge, labels=["unbacked", "shaky", "backed"], threshold=said)
    (question,) = settle(judge, AddOptions(), reading).questions
    assert (question.option, question.labels) == ("threshold", ("unbacked", "shaky", "backed"))
    own = AddOptions(threshold="backed")
    assert settle(judge, own, reading).questions == ()


def test_a_middle_that_nobody_said_is_told(tmp_path: Path) -> None:
    """With a model and without."""
    judge = judge_of(tmp_path, THREE)
    for options in (AddOptions(), settle(judge, AddOptions(), reading_of(judge)).options):
        (note,) = (
            note
            for note in understand(judge, options).notes
            if "does not say which answers pass" in note
        )
        assert "from backed on they do here, above the middle" in note
    told = understand(judge, AddOptions(threshold="backed"))
    assert not any("which answers pass" in note for note in told.notes)


def test_a_scale_of_the_models_leaves_the_threshold_to_the_words(tmp_path: Path) -> None:
    """The sentence on what passes is read as ever."""
    judge = judge_of(
        tmp_path, CLEAR + "\nLetters with 2 or less go out, 2 or less is acceptable.\n"
    )
    settled = settle(judge, AddOptions(), reading_of(judge, scale="5..1"))
    scale = understand(judge, settled.options).scale
    assert scale is not None
    assert scale.labels[int(scale.threshold)] == "2"


@pytest.mark.parametrize(
    ("said", "criteria"),
    [
        (
            {"first_words": "A claim is backed", "last_words": "unbacked, shaky or backed."},
            (
                "A claim is backed when the source says it outright. It is shaky when the source"
                " only hints at it."
            ),
        ),
        (
            {
                "first_words": "A claim is backed",
                "last_words": "those of the source.",
                "form": ["Give back JSON like", "never said"],
            },
            (
                "A claim is backed when the source says it outright. It is shaky when the source"
                " only hints at it."
            ),
        ),
        (
            {"first_words": "A claim is backed", "last_words": "Source: {source}"},
            (
                "A claim is backed when the source says it outright. It is shaky when the source"
                " only hints at it.\n"
            ),
        ),
    ],
)
def test_criteria_of_the_models_hold_no_words_on_the_answer_and_no_field(
    tmp_path: Path, said: dict[str, object], criteria: str
) -> None:
    """What only says how to answer is cut off, or parts them; the longest part is left."""
    judge = judge_of(tmp_path, THREE)
    settled = settle(judge, AddOptions(), reading_of(judge, **said))
    prompt = understand(judge, settled.options).prompt
    assert prompt is not None
    assert prompt.criteria.strip() == criteria.strip()
    assert "Give back" not in prompt.criteria


SOAKED = """You look at towels.

0 = dry
1 = damp at the hem
2 = wet
3 = dripping

Towels with 0 or 1 go back on the shelf, all others to the dryer.

Towel: {towel}

Answer as <wetness>0-3</wetness>
"""


def test_a_scale_that_falls_is_taken_with_what_passes_on_it(tmp_path: Path) -> None:
    """The words alone would ask from which number a towel passes once the scale is turned round."""
    judge = judge_of(tmp_path, SOAKED)
    settled = settle(
        judge, AddOptions(), reading_of(judge, scale="3..0", threshold="1", verdict="wetness")
    )
    scale = understand(judge, settled.options).scale
    assert scale is not None
    assert (settled.questions, scale.labels, scale.threshold) == ((), ("3", "2", "1", "0"), 2.0)


def test_a_scale_that_falls_without_a_threshold_is_asked_about_and_not_dropped(
    tmp_path: Path,
) -> None:
    """What the model reads is not left for our reading because it asks more."""
    judge = judge_of(tmp_path, SOAKED)
    settled = settle(judge, AddOptions(), reading_of(judge, scale="3..0"))
    scale = understand(judge, settled.options).scale
    assert scale is not None
    assert settled.questions or (scale.labels, scale.threshold) == (("3", "2", "1", "0"), 2.0)


def test_between_0_and_1_is_more_than_0_or_1(tmp_path: Path) -> None:
    """The ends are the same."""
    judge = judge_of(
        tmp_path,
        CLEAR.replace("Give a score from 1 to 5, 5 being the best", "Write 1 if all, 0 if none"),
    )
    scale = understand(
        judge, settle(judge, AddOptions(), reading_of(judge, scale="probability")).options
    ).scale
    assert scale is not None
    assert scale.kind == "probability"


@pytest.mark.parametrize("labels", [["true", "false"], ["false", "true"]])
def test_of_true_and_false_the_model_says_which_is_the_bad_one(
    tmp_path: Path, labels: list[str]
) -> None:
    """True is the good one only where it says nothing else."""
    judge = judge_of(
        tmp_path,
        CLEAR.replace("Give a score", 'Return JSON: {"kept": true} or {"kept": false}. No score'),
    )
    scale = understand(
        judge, settle(judge, AddOptions(), reading_of(judge, labels=labels)).options
    ).scale
    assert scale is not None
    assert (scale.kind, list(scale.labels or ("false", "true"))) == ("binary", labels)


def test_what_the_file_says_beside_the_prompt_is_shown_to_the_model(tmp_path: Path) -> None:
    """A comment may say what passes; words of it count as quotations."""
    path = tmp_path / "letters.py"
    path.write_text(f'# whatever got a 4 goes out\nPROMPT = """{CLEAR}"""\n', encoding="utf-8")
    judge = read_own_prompt(path)
    model = Scripted(json.dumps(NOTHING | {"threshold": "4 goes out"}))
    with Client(model) as client:
        _, reading = ask_for_reading([judge], client, JudgeSettings())
    assert "whatever got a 4 goes out" in model.asked[0].messages[-1].content
    assert isinstance(reading, ModelReading)
    scale = understand(judge, settle(judge, AddOptions(), reading).options).scale
    assert (reading.unfounded, scale and scale.threshold) == ((), 4.0)


def test_a_threshold_in_code_or_settings_is_the_models_to_read(tmp_path: Path) -> None:
    """It sees the file round the prompt, without the prompt's lines and without keys."""
    path = tmp_path / "letters.toml"
    secret = "sk-" + "a1" * 20
    path.write_text(
        f'key = "{secret}"\ngut_ab = 4  # darunter neu\nprompt = """\n{CLEAR}"""\n',
        encoding="utf-8",
    )
    judge = read_own_prompt(path)
    model = Scripted(json.dumps(NOTHING | {"scale": "1..5", "threshold": "4"}))
    with Client(model) as client:
        _, reading = ask_for_reading([judge], client, JudgeSettings())
    shown = model.asked[0].messages[-1].content
    assert "gut_ab = 4  # darunter neu" in shown
    assert secret not in shown
    assert shown.count("Throw out what is an advert") == 1
    assert isinstance(reading, ModelReading)
    scale = understand(judge, settle(judge, AddOptions(), reading).options).scale
    assert scale is not None
    assert scale.threshold == 4.0


def test_a_form_that_offers_a_list_of_rules_does_not_cut_the_criteria(tmp_path: Path) -> None:
    """What stands before and after it is one stretch; a sentence on the last line would cut it."""
    offers = (
        "Keep what deals with the file.\nChoose one of these:\n- A: it is an advert.\n- B: it is"
        " none.\n"
    )
    judge = judge_of(
        tmp_path,
        f"You sort letters.\n\n{offers}\nLetter: {{letter}}\n\nEnd with the letter alone.\n",
    )
    said = {"labels": ["A", "B"], "form": ["Choose one of these"], "first_words": "Keep what deals"}
    reading = reading_of(judge, **said, last_words="it is none.")
    prompt = understand(judge, settle(judge, AddOptions(), reading).options).prompt
    assert prompt is not None
    assert prompt.criteria == offers.strip()


def test_places_that_the_model_names_are_fields(tmp_path: Path) -> None:
    """Whatever marks they have, if they stand there; one that it does not name is asked about."""
    text = CLEAR.replace("Letter: {letter}", "Letter →\n<letter>\n\nDraft →\n<outcome>")
    judge = judge_of(tmp_path, text)
    with Client(
        Scripted(json.dumps(NOTHING | {"places": ["<letter>", "<outcome>", "<none>"]}))
    ) as client:
        read, reading = ask_for_reading([judge], client, JudgeSettings())
    assert isinstance(reading, ModelReading)
    prompt = settle(read, AddOptions(), reading).found.prompt
    assert prompt is not None
    assert prompt.inputs == ("letter", "outcome")
    of_one = reading_of(
        judge_of(tmp_path, CLEAR.replace("{letter}", "{letter} {limit}")), places=["{letter}"]
    )
    judge = judge_of(tmp_path, CLEAR.replace("{letter}", "{letter} {limit}"))
    (question,) = settle(judge, AddOptions(), of_one).questions
    assert "--fill limit=TEXT" in str(question)
    assert settle(judge, AddOptions(fills={"limit": "5"}), of_one).questions == ()
    assert settle(judge, AddOptions(fields={"limit": "limit"}), of_one).questions == ()


@pytest.mark.parametrize(
    "asks",
    [
        "Respond with a single decimal number between 0 (an advert) and 1 (all on the file).",
        "Return true if it deals with the file, otherwise false.",
    ],
)
def test_a_last_sentence_on_the_answer_is_cut_off_the_criteria(tmp_path: Path, asks: str) -> None:
    """Also where the model takes it for a rule: optimization must leave it alone."""
    judge = judge_of(
        tmp_path,
        f"You sort letters.\n\n{{letter}}\n\nKeep the file.\nThrow out adverts.\n\n{asks}\n",
    )
    reading = reading_of(judge, first_words="Keep the file.", last_words=asks.split(" ", 2)[2])
    prompt = settle(judge, AddOptions(), reading).found.prompt
    assert prompt is not None
    assert prompt.criteria == "Keep the file.\nThrow out adverts."


def test_brackets_round_each_label_are_no_part_of_it(tmp_path: Path) -> None:
    """A letter that is asked for in parentheses is the letter."""
    judge = judge_of(
        tmp_path, OPEN.replace("Say frimp or blorp.", "Print (A) for an advert and (B) for none.")
    )
    assert reading_of(judge, labels=["(A)", "(B)"]).labels == ("A", "B")
    assert reading_of(judge, labels=["(A)", "B"]).labels == ("(A)", "B")


def test_a_sentence_that_the_model_takes_for_no_threshold_is_not_asked_about(
    tmp_path: Path,
) -> None:
    """The middle passes then, which is said; what code says is asked about all the same."""
    text = CLEAR.replace(
        "Letter:", "Scores of 4 or more pass. Scores of 3 or more pass.\n\nLetter:"
    )
    quoted = {"scale": "1..5", "first_words": "Keep what deals", "last_words": "is an advert."}
    judge = judge_of(tmp_path, text)
    settled = settle(judge, AddOptions(), reading_of(judge, **quoted))
    assert settled.questions == ()
    assert settled.found.scale is not None
    assert settled.found.scale.threshold == 3.0
    assert (
        "The model reads no words on which answers pass: 1..5 (passing from 3)" in settled.notes[0]
    )
    path = tmp_path / "letters.py"
    path.write_text(
        f'MIN_SCORE = int(os.environ["MIN_SCORE"])\nPROMPT = """{CLEAR}"""\n', encoding="utf-8"
    )
    judge = read_own_prompt(path)
    assert settle(judge, AddOptions(), reading_of(judge, **quoted)).questions


def test_labels_do_not_close_what_the_model_finds_open(tmp_path: Path) -> None:
    """Labels alone do not say which of them is good."""
    judge = judge_of(tmp_path, OPEN)
    reading = reading_of(
        judge, labels=["blorp", "frimp"], open="It does not say which of the two is kept."
    )
    assert "which of the two is kept" in str(settle(judge, AddOptions(), reading).questions[-1])


def test_labels_without_an_order_are_said(tmp_path: Path) -> None:
    """Our words would have asked for one."""
    judge = judge_of(tmp_path, OPEN)
    reading = reading_of(
        judge,
        labels=["frimp", "blorp"],
        unordered="yes",
        first_words="Keep what deals",
        last_words="is an advert.",
    )
    (note,) = settle(judge, AddOptions(), reading).notes
    assert "frimp, blorp as labels of which none is better" in note


def test_what_the_model_finds_open_is_asked_until_it_is_said(tmp_path: Path) -> None:
    """Our rules would have taken one of two scales."""
    judge = judge_of(tmp_path, CLEAR)
    reading = reading_of(judge, open="It also speaks of 0 to 10.")
    (question,) = settle(judge, AddOptions(), reading).questions
    assert "It also speaks of 0 to 10." in str(question)
    assert settle(judge, AddOptions(scale=parse_label_scale("1..5")), reading).questions == ()


def test_a_threshold_that_is_asked_about_is_answered_by_the_model(tmp_path: Path) -> None:
    """Even where it is the one that would be taken anyway."""
    judge = judge_of(
        tmp_path,
        CLEAR.replace("Letter:", "Scores of 4 or more pass. Scores of 3 or more pass.\n\nLetter:"),
    )
    assert [question.option for question in understand(judge, AddOptions()).questions] == [
        "threshold"
    ]
    settled = settle(judge, AddOptions(), reading_of(judge, scale="1..5", threshold="3"))
    scale = understand(judge, settled.options).scale
    assert (settled.questions, scale and scale.threshold) == ((), 3.0)


def test_where_both_agree_nothing_is_asked_or_noted(tmp_path: Path) -> None:
    """The same scale; the criteria are those that the model names, as the prompt spells them."""
    judge = judge_of(tmp_path, CLEAR)
    reading = reading_of(
        judge, scale="1..5", first_words="keep what\ndeals", last_words="an ADVERT."
    )
    settled = settle(judge, AddOptions(), reading)
    options = AddOptions(criteria="Keep what deals ... an advert.")
    assert settled == Settled(options=options, found=understand(judge, options), questions=())


def test_a_reply_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    """The words of the prompt count alone then."""
    with Client(Scripted("I cannot do that.")) as client:
        assert "no JSON object" in str(
            ask_for_reading([judge_of(tmp_path, CLEAR)], client, JudgeSettings())[1]
        )


def test_the_simulated_model_reads_nothing_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The judge is the one that its words make."""
    monkeypatch.chdir(tmp_path)
    Path("letters.txt").write_text(CLEAR, encoding="utf-8")
    main(["judges", "add", "letters.txt", "--model", "simulated", "--yes"])
    told = capsys.readouterr().out
    assert "SIMULATED: the simulated model reads no prompt" in told
    assert "1..5" in told


RISKY = """You see a note. How risky is it to send it?

{note}

A note is a risk when it names a person.

Answer with a probability between 0 and 1.
"""


@pytest.mark.parametrize(
    ("said", "low_is_good"),
    [
        ("low-probability", True),
        ("1..0", True),
        ("1.0..0.0", True),
        ("probability", False),
        ("0.0..1.0", False),
    ],
)
def test_which_end_of_a_probability_is_good_the_model_says(
    tmp_path: Path, said: str, low_is_good: bool
) -> None:
    """The words alone would ask; a model may say it in one word or with the worst end first."""
    judge = judge_of(tmp_path, RISKY.replace("0 and 1", "0 and 1 (0.0 to 1.0)"))
    assert "which end of 0..1" in str(understand(judge, AddOptions()).questions[0])
    settled = settle(judge, AddOptions(), reading_of(judge, scale=said))
    scale = settled.found.scale
    assert scale is not None
    assert (settled.questions, scale.kind, scale.low_is_good) == ((), "probability", low_is_good)


def test_a_threshold_that_the_model_reads_is_a_number_of_the_replies(tmp_path: Path) -> None:
    """Of 0.3 and less the grade is 0.7 and more; 1 would let every note pass, and is asked
    about.
    """
    judge = judge_of(tmp_path, RISKY + "We do not mind a risk of 0.3. The worst is 1.\n")
    settled = settle(
        judge, AddOptions(), reading_of(judge, scale="low-probability", threshold="a risk of 0.3")
    )
    assert settled.questions == ()
    assert settled.found.scale == parse_label_scale("low-probability@0.3")
    settled = settle(
        judge, AddOptions(), reading_of(judge, scale="low-probability", threshold="The worst is 1")
    )
    assert [question.option for question in settled.questions] == ["threshold"]


def test_where_the_model_turns_a_probability_round_a_note_says_so(tmp_path: Path) -> None:
    """In the numbers of the replies."""
    text = (
        "Rate the quality of the note with a probability between 0 and 1.\n\nIt names"
        " nobody.\n\n{note}\n"
    )
    judge = judge_of(tmp_path, text + "From 0.4 on it passes.\n")
    alone = understand(judge, AddOptions()).scale
    assert alone is not None
    assert not alone.low_is_good
    (note,) = settle(
        judge, AddOptions(), reading_of(judge, scale="low-probability", threshold="0.4")
    ).notes
    assert "0..1 (passing from 0.4)" in note
    assert "1..0 (passing from 0.4)" in note
    assert settle(judge, AddOptions(), reading_of(judge, scale="probability")).notes == ()


def test_the_schema_of_an_answer_is_shown_to_the_model_where_no_words_say_it(
    tmp_path: Path,
) -> None:
    """A saved prompt of LangChain asks for its answer beside its messages; what is missing is
    better false.
    """
    prompt = {"lc": 1, "type": "constructor", "id": ["PromptTemplate"]}
    prompt["kwargs"] = {"template": "Compare.\n\nAll dates stay.\n\n{leaflet}\n\n{text}"}  # pyright: ignore
    message = {
        "type": "constructor",
        "id": ["HumanMessagePromptTemplate"],
        "kwargs": {"prompt": prompt},
    }
    fields = {
        "lost": {"type": "array"},
        "missing_complete_dates": {"type": "boolean", "description": "a date is lost"},
    }
    kwargs = {"messages": [message], "schema_": {"title": "check", "properties": fields}}
    path = tmp_path / "saved.json"
    path.write_text(
        json.dumps({"type": "constructor", "id": ["StructuredPrompt"], "kwargs": kwargs}), "utf-8"
    )
    judge = read_own_prompt(path)
    model = Scripted(json.dumps(NOTHING))
    with Client(model) as client:
        _, reading = ask_for_reading([judge], client, JudgeSettings())
    assert isinstance(reading, ModelReading)
    assert "missing_complete_dates" in model.asked[0].messages[-1].content
    settled = settle(judge, AddOptions(), reading)
    assert settled.questions == ()
    scale = settled.found.scale
    assert scale is not None
    assert scale.labels == ("true", "false")


NUMBERED = """You check letters.

Letter: {letter}

1. It names the file.
2. It is no advert.

Your answer:

Last line: PASS or FAIL.
"""


def test_criteria_begin_with_their_number_and_end_before_a_heading(tmp_path: Path) -> None:
    """A model quotes words; what marks the rule on its line belongs to it, what leads to other text
    does not.
    """
    judge = judge_of(tmp_path, NUMBERED)
    reading = reading_of(
        judge, labels=["FAIL", "PASS"], first_words="It names the file.", last_words="PASS or FAIL."
    )
    prompt = settle(judge, AddOptions(), reading).found.prompt
    assert prompt is not None
    assert prompt.criteria == "1. It names the file.\n2. It is no advert."

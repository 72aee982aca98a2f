"""`judges add --model`: what a model says of a prompt is looked up in it; what does not stand there
is asked.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from judgewright.judges import InputError, JudgeSettings, OutputScale
from judgewright.judges.models import Client
from judgewright.judges.scale import parse_label_scale
from judgewright.runs.imports import (
    AddOptions,
    ModelReading,
    Understood,
    ask_for_reading,
    read_own_prompts,
)

from .recorded import NOTHING, in_short, understood
from .scripted import Scripted

LETTERS = """You sort letters.

Keep what deals with the file. Throw out what is an advert.

Letter: {letter}

Say frimp or blorp. Or grade it from 1 to 5, half points are fine, 4 goes out, 0.5 is a half.
"""
RULES = {"first_words": "Keep what deals with", "last_words": "what is an advert."}
WHOLE = {"labels": ["blorp", "frimp"], "verdict": "start", **RULES}


def read(
    folder: Path, options: AddOptions | None = None, text: str = LETTERS, **said: object
) -> tuple[Understood, ModelReading]:
    """What is known of the prompt with this reading."""
    path = folder / "letters.txt"
    path.write_text(text, encoding="utf-8")
    return understood(path, said, options)


def asked(found: Understood) -> list[str]:
    """The options that are asked for."""
    return [question.option for question in found.questions]


def test_what_stands_in_the_prompt_is_taken(tmp_path: Path) -> None:
    """Labels, mark and criteria, as they are spelled there."""
    found, reading = read(tmp_path, **(WHOLE | {"labels": ["BLORP", "Frimp"]}))
    assert (found.questions, reading.unfounded) == ((), ())
    assert found.prompt is not None
    assert found.prompt.scale.labels == ("blorp", "frimp")
    assert found.prompt.criteria == "Keep what deals with the file. Throw out what is an advert."


@pytest.mark.parametrize(
    ("said", "questions"),
    [
        ({"labels": ["bad", "good"]}, ["scale"]),
        ({"labels": [], "scale": "1..7"}, ["scale"]),
        ({"labels": [], "scale": "one to five"}, ["scale"]),
        ({"verdict": "Result: ..."}, ["verdict"]),
        ({"verdict": "frimp"}, ["verdict"]),
        ({"reply_fields": ["reason", "grade"], "verdict": "grade"}, ["verdict"]),
        ({"reply_fields": ["Letter", "advert"], "verdict": ""}, ["verdict"]),
        ({"first_words": "Never"}, ["criteria"]),
        ({"last_words": "was here"}, ["criteria"]),
        ({"last_words": "Letter: {letter}"}, ["criteria"]),
        ({"places": ["{other}", "Letter"]}, []),
        ({"open": "whether frimp is good"}, ["scale"]),
        ({"labels": [], "scale": "1..5", "threshold": "7"}, ["threshold"]),
        ({"labels": [], "scale": "1..5", "threshold": "1"}, ["threshold"]),
        ({"labels": [], "scale": "1..5", "threshold": "the file"}, ["threshold"]),
    ],
)
def test_what_does_not_stand_there_is_asked(
    said: dict[str, object], questions: list[str], tmp_path: Path
) -> None:
    """There is no judge until somebody says it, and a threshold that all answers pass is none."""
    found, _ = read(tmp_path, **(WHOLE | said))
    if "places" in said:  # the text of the letter is none of them
        questions = ["fill"]
    assert asked(found) == questions
    assert found.prompt is None


@pytest.mark.parametrize(
    ("said", "scale"),
    [
        ({"scale": "1..5"}, "1..5"),
        ({"scale": "5..1"}, "5<4<3<2<1"),
        ({"scale": "probability"}, "prob"),
        ({"scale": "low-probability"}, "low prob"),
        ({"scale": "1.0..0.0"}, "low prob"),
        ({"labels": ["false", "true"]}, "false<true"),
        ({"labels": ["true", "false"]}, "true<false"),
        ({"labels": ["1", "1.5", "2", "2.5", "5"]}, "1<1.5<2<2.5<5"),
        ({"labels": ["frimp", "blorp"], "unordered": "yes"}, "choice frimp,blorp"),
    ],
)
def test_scales(said: dict[str, object], scale: str, tmp_path: Path) -> None:
    """Numbers with either end good, labels with and without order, booleans of JSON."""
    found, _ = read(tmp_path, **({**WHOLE, "labels": []} | said))
    assert found.scale is not None
    assert in_short(found.scale) == scale


def test_a_threshold_is_a_number_of_the_replies(tmp_path: Path) -> None:
    """Of a scale that falls too; 3 stands beside the 4 of the words."""
    said = WHOLE | {"labels": []}
    found, _ = read(tmp_path, **(said | {"scale": "5..1", "threshold": "4"}))
    assert found.scale == parse_label_scale("5..1@4")
    found, _ = read(tmp_path, **(said | {"scale": "1..5", "threshold": "3"}))
    assert found.scale == OutputScale(low=1, high=5, threshold=3.0)
    found, _ = read(tmp_path, **(said | {"scale": "low-probability", "threshold": "0.5"}))
    assert found.scale == parse_label_scale("low-probability@0.5")


def test_a_middle_that_nobody_said_is_told(tmp_path: Path) -> None:
    """And is not where somebody did."""
    said = WHOLE | {"labels": [], "scale": "1..5"}
    found, _ = read(tmp_path, **said)
    assert "from 3 on they do here" in found.notes[0]
    found, _ = read(tmp_path, AddOptions(threshold="4"), **said)
    assert not any("they do here" in note for note in found.notes)


def test_an_option_goes_before_the_model(tmp_path: Path) -> None:
    """A person knows better."""
    options = AddOptions(labels=("frimp", "blorp"), verdict="last line", criteria="Keep")
    found, _ = read(tmp_path, options, **WHOLE)
    assert found.prompt is not None
    assert found.prompt.scale.labels == ("frimp", "blorp")
    assert (found.prompt.reply_mark, found.prompt.criteria) == ("last line", "Keep")


def test_json_is_read_by_its_fields(tmp_path: Path) -> None:
    """In their order, by paths, with the confidence told apart."""
    text = LETTERS + '{"out": {"why": "...", "grade": "frimp"}, "sure": 0.9}'
    said = {"reply_fields": ["out.why", "out.grade", "sure"], "verdict": "out.grade"}
    found, _ = read(tmp_path, text=text, **(WHOLE | said | {"confidence": "sure"}))
    assert found.prompt is not None
    kinds = {"out.why": "text", "out.grade": "score", "sure": "confidence"}
    assert found.prompt.reply_schema == kinds


def test_a_prompt_that_does_not_say_how_to_answer_gets_a_sentence(tmp_path: Path) -> None:
    """Of ours, and it is said."""
    found, _ = read(tmp_path, **(WHOLE | {"verdict": "", "answer": "unsaid"}))
    assert found.prompt is not None
    assert '"score": one of "blorp", "frimp"' in found.prompt.reply
    assert "It does not say how to answer" in found.prompt.note


def test_marks_that_the_model_names_are_fields(tmp_path: Path) -> None:
    """Whatever signs they stand in."""
    text = LETTERS.replace("{letter}", "[LETTER]")
    found, _ = read(tmp_path, text=text, **(WHOLE | {"places": ["[LETTER]"]}))
    assert found.prompt is not None
    assert found.prompt.template == "Letter: {{LETTER}}"


def test_marks_without_a_name_are_asked_about(tmp_path: Path) -> None:
    """Two texts of a row stand at `%s`; they were taken for one field."""
    text = LETTERS.replace("{letter}", "%s, of a writer aged %d")
    found, _ = read(tmp_path, text=text, **(WHOLE | {"places": ["%s", "%d"]}))
    assert found.prompt is None
    (question,) = [one for one in found.questions if one.option == "field"]
    assert "which field is each %s and %d?" in question.text
    assert "write {name}" in question.form


def test_criteria_begin_with_their_number_and_may_stand_after_the_row(tmp_path: Path) -> None:
    """What marks the rule on its line belongs to it; a heading comes along."""
    text = "Letter: {letter}\n\nRules:\n1. It names the file.\n2. It is no advert.\n\nPASS or FAIL."
    said = {"labels": ["FAIL", "PASS"], "verdict": "last line"}
    said |= {"first_words": "It names the file.", "last_words": "It is no advert"}
    found, _ = read(tmp_path, text=text, **said)
    prompt = found.prompt
    assert prompt is not None
    assert prompt.criteria == "1. It names the file.\n2. It is no advert."
    assert prompt.system == "Rules:\n{{criteria}}"
    assert (prompt.template, prompt.reply) == ("Letter: {{letter}}", "PASS or FAIL.")


FIRST = "Look at the letter {letter}. Blorp letters are about money, frimp letters are not."
SECOND = "Sum up the letter {letter} as a poem about the sea in which no money occurs at all."


def test_of_several_prompts_the_model_names_the_judge(tmp_path: Path) -> None:
    """It is shown both in one request; without a name it is asked."""
    path = tmp_path / "letters.py"
    path.write_text(f"ONE = {FIRST!r}\nTWO = {SECOND!r}\n", encoding="utf-8")
    judges = read_own_prompts(path)
    for name in ("ONE", "", "THREE"):
        model = Scripted(json.dumps(NOTHING | {"prompt": name}))
        with Client(model) as client:
            if name != "ONE":
                with pytest.raises(InputError, match="ONE, TWO"):
                    ask_for_reading(judges, client, JudgeSettings())
                continue
            judge, _ = ask_for_reading(judges, client, JudgeSettings())
        assert judge.string == "ONE"
        assert "Its file also holds TWO" in judge.notes[-1]
        assert len(model.asked) == 1
        assert "poem about the sea" in model.asked[0].messages[-1].content


def test_a_reply_that_is_no_reading_leaves_all_open(tmp_path: Path) -> None:
    """The reason is said."""
    path = tmp_path / "letters.txt"
    path.write_text(LETTERS, encoding="utf-8")
    with Client(Scripted("I would say it is about letters.")) as client:
        _, reading = ask_for_reading(read_own_prompts(path), client, JudgeSettings())
    assert isinstance(reading, str)


def test_what_the_file_says_beside_the_prompt_counts(tmp_path: Path) -> None:
    """A comment may say what passes; the model is shown it, without keys."""
    path = tmp_path / "letters.py"
    secret = "sk-" + "a1" * 20
    path.write_text(
        f'KEY = "{secret}"\n# whatever got a 9 goes out\nPROMPT = """{LETTERS}"""\n',
        encoding="utf-8",
    )
    model = Scripted(json.dumps(NOTHING | {"threshold": "9"}))
    with Client(model) as client:
        _, reading = ask_for_reading(read_own_prompts(path), client, JudgeSettings())
    shown = str(model.asked[0].messages[-1].content)
    assert "whatever got a 9 goes out" in shown
    assert secret not in shown
    assert isinstance(reading, ModelReading)
    assert (reading.unfounded, reading.threshold) == ((), "9")

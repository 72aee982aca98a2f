"""`judges add --model`: what a model says of a prompt is looked up in it, and never overrules its words unasked."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from judgewright.judges import JudgeSettings
from judgewright.judges.models import Client, Completion, Request
from judgewright.runs.cli import main
from judgewright.runs.imports import (
    AddOptions,
    ForeignJudge,
    ModelReading,
    ask_for_reading,
    read_own_prompt,
    settle,
    understand,
)

OPEN = """You sort letters.

Keep what deals with the file. Throw out what is an advert.

Letter: {letter}

Say frimp or blorp.
"""
CLEAR = OPEN.replace("Say frimp or blorp.", "Give a score from 1 to 5, 5 being the best, as 'Score: N'.")
NOTHING = {"labels": [], "scale": "", "threshold": "", "verdict": "", "first_words": "", "last_words": ""}


class Scripted:
    """Answers with a fixed text."""

    name, endpoint, simulated = "scripted", "https://scripted.invalid/v1", False

    def __init__(self, text: str) -> None:
        self.text = text

    async def complete(self, request: Request, *, unsupported_parameters: frozenset[str] = frozenset()) -> Completion:
        """Answer once."""
        return Completion(text=self.text)

    async def close(self) -> None:
        """Hold nothing open."""


def judge_of(tmp_path: Path, text: str) -> ForeignJudge:
    """A prompt in a file."""
    path = tmp_path / "letters.txt"
    path.write_text(text, encoding="utf-8")
    return read_own_prompt(path)


def reading_of(judge: ForeignJudge, **said: object) -> ModelReading:
    """What a model that says this reads in it."""
    with Client(Scripted(json.dumps(NOTHING | said))) as client:
        reading = ask_for_reading(judge, client, JudgeSettings())
    assert isinstance(reading, ModelReading)
    return reading


def test_what_the_words_leave_open_the_model_answers(tmp_path: Path) -> None:
    """Labels and criteria that stand in the prompt are taken."""
    judge = judge_of(tmp_path, OPEN)
    assert understand(judge, AddOptions()).questions
    reading = reading_of(
        judge, labels=["blorp", "frimp"], first_words="Keep what deals with", last_words="what is an advert."
    )
    options, questions = settle(judge, AddOptions(), reading)
    prompt = understand(judge, options).prompt
    assert (questions, reading.unfounded) == ([], ())
    assert prompt is not None
    assert prompt.scale.labels == ("blorp", "frimp")
    assert prompt.criteria == "Keep what deals with the file. Throw out what is an advert."


def test_what_is_not_in_the_prompt_is_not_taken(tmp_path: Path) -> None:
    """The question stays open, and the invented words are named."""
    judge = judge_of(tmp_path, OPEN)
    reading = reading_of(judge, labels=["bad", "good"], scale="one to five", first_words="Never", last_words="was here")
    assert set(reading.unfounded) == {"bad", "good", "Never", "was here"}
    assert settle(judge, AddOptions(), reading)[1]


@pytest.mark.parametrize("said", [{"scale": "5..1"}, {"scale": "0..10"}, {"labels": ["advert", "file"]}])
def test_a_contradiction_is_asked_about(tmp_path: Path, said: dict[str, object]) -> None:
    """The person decides, and what the person says is asked no more."""
    judge = judge_of(tmp_path, CLEAR)
    reading = reading_of(judge, **said)
    (question,) = settle(judge, AddOptions(), reading)[1]
    assert question.option in ("scale", "labels")
    assert settle(judge, AddOptions(labels=("advert", "file")), reading)[1] == []


def test_where_both_agree_nothing_is_asked(tmp_path: Path) -> None:
    """The same scale in other letters, and criteria inside ours."""
    judge = judge_of(tmp_path, CLEAR)
    reading = reading_of(judge, scale="1..5", first_words="keep what deals", last_words="an advert.")
    assert settle(judge, AddOptions(), reading) == (AddOptions(), [])


def test_a_reply_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    """The words of the prompt count alone then."""
    with Client(Scripted("I cannot do that.")) as client:
        assert "no JSON object" in str(ask_for_reading(judge_of(tmp_path, CLEAR), client, JudgeSettings()))


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

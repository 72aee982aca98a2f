"""`judges add --description`: a judge from a description and three rows, drafted by a model."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from judgewright.judges import InputError, ModelError, OutputScale, load_prompt
from judgewright.judges.drafting import LabelledExample, draft_judge
from judgewright.judges.models import Client, Completion, Request
from judgewright.runs.actions.draft_judge import read_examples, scale_of

from .run_command import run_code as run

ROWS = [
    {"id": 7, "question": "Where is it?", "reply": "Read the page yourself.", "label": "rude"},
    {
        "id": 8,
        "question": "May I pay later?",
        "reply": "Good morning! Yes, you may.",
        "label": "polite",
    },
    {"id": 9, "question": "Why?", "reply": "Because you broke it.", "label": "rude"},
]
WANTED = "A reply is polite when it greets the customer and blames nobody."


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with three labelled rows."""
    monkeypatch.chdir(tmp_path)
    Path("three.jsonl").write_text("\n".join(map(json.dumps, ROWS)), encoding="utf-8")
    return tmp_path


class Scripted:
    """Answers with a fixed text and keeps what it was shown."""

    name, endpoint, simulated = "scripted", "https://scripted.invalid/v1", False

    def __init__(self, text: str) -> None:
        self.text, self.shown = text, ""

    async def complete(
        self, request: Request, *, unsupported_parameters: frozenset[str] = frozenset()
    ) -> Completion:
        """Answer once."""
        self.shown = request.messages[-1].content
        return Completion(text=self.text)

    async def close(self) -> None:
        """Hold nothing open."""


def test_a_judge_is_made_measured_and_labelled_as_simulated(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The rows' columns are its fields, their labels its verdicts, and it judges rows at once."""
    asked = (
        *("judges", "add", "--as", "politeness", "--description"),
        WANTED,
        *shlex.split("--examples three.jsonl --labels rude,polite"),
    )
    assert run(*asked, "--model", "simulated") == 0
    assert "[SIMULATED" in capsys.readouterr().out
    assert run(*asked, "--model", "simulated", "--out", "mine.yaml", "--json") == 0
    told = json.loads(capsys.readouterr().out)
    prompt = load_prompt(Path("mine.yaml").read_text(encoding="utf-8"))
    assert (told["inputs"], told["simulated"], told["calls"]) == (
        ["question", "reply"],
        True,
        0,
    )  # asked once
    assert prompt.inputs == ("question", "reply")
    assert prompt.scale == OutputScale(kind="binary", labels=("rude", "polite"), threshold=1.0)
    assert "greets the customer" in prompt.criteria
    assert "simulated" in prompt.note
    assert run("bench", "politeness", "three.jsonl", "--model", "simulated", "--json") == 0


def test_what_the_model_writes_is_the_prompt(folder: Path) -> None:
    """Its role and rules stand in it, and it is shown fields, verdicts and rows."""
    model = Scripted(
        '{"role": "You judge  replies.", "criteria": ["A greeting is polite.", " ", "Blame\\nis'
        ' rude."]}'
    )
    with Client(model) as client:
        scale = OutputScale(kind="binary", labels=("rude", "polite"), threshold=1.0)
        draft = draft_judge(WANTED, read_examples(Path("three.jsonl"), "label"), scale, client)
    assert (draft.role, draft.criteria) == (
        "You judge replies.",
        "- A greeting is polite.\n- Blame is rude.",
    )
    assert all(
        words in model.shown
        for words in (WANTED, "question, reply", "rude, polite", "verdict: rude")
    )
    assert "id: 7" not in model.shown


@pytest.mark.parametrize(
    "reply",
    [
        "no JSON",
        '{"role": "", "criteria": ["x"]}',
        '{"role": "You.", "criteria": []}',
        '{"role": "{{a}}", "criteria": ["x"]}',
    ],
)
def test_a_draft_that_cannot_be_used_is_refused(reply: str) -> None:
    """Nothing is repaired."""
    example = LabelledExample(inputs={"reply": "Hello"}, label="1")
    with Client(Scripted(reply)) as client, pytest.raises(ModelError):
        draft_judge(WANTED, [example], OutputScale(kind="binary", threshold=1.0), client)


@pytest.mark.parametrize(
    ("verdicts", "labels", "expected"),
    [
        ("0 1 1", (), OutputScale(kind="binary", threshold=1.0)),
        ("PASS FAIL PASS", (), OutputScale(kind="binary", labels=("FAIL", "PASS"), threshold=1.0)),
        ("b a", ("a", "b", "c"), OutputScale(kind="graded", labels=("a", "b", "c"), threshold=2.0)),
        ("1 5 4", (), "--scale"),
        ("cats dogs", (), "--labels"),
        ("rude", ("bad", "good"), "not on the scale"),
    ],
)
def test_the_verdicts_are_those_of_the_rows(
    verdicts: str, labels: tuple[str, ...], expected: OutputScale | str
) -> None:
    """Where they do not tell which is the worst, or how far a scale goes, it has to be said."""
    examples = [LabelledExample(inputs={"reply": "x"}, label=label) for label in verdicts.split()]
    if isinstance(expected, OutputScale):
        assert scale_of(examples, labels, None) == expected
        return
    with pytest.raises(InputError) as refused:
        scale_of(examples, labels, None)
    assert expected in f"{refused.value} {refused.value.hint}"


def test_rows_without_a_text_or_a_verdict_are_named(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With their line; nothing is asked or saved."""
    Path("short.jsonl").write_text(
        '{"reply": "x", "label": "1"}\n{"reply": "", "label": "0"}\n', encoding="utf-8"
    )
    assert (
        run(
            *("judges", "add", "--as", "tone", "--description", WANTED),
            *("--examples", "short.jsonl", "--model", "simulated"),
        )
        == 2
    )
    assert "short.jsonl" in (told := capsys.readouterr().err)
    assert "'reply' is empty" in told
    assert not (folder / ".judgewright").exists()


def test_a_draft_needs_a_name_words_rows_and_a_model(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What is missing is said with the options to type, and nothing is made."""
    assert run("judges", "add") == 2
    assert "judges add FILE" in capsys.readouterr().err
    assert run("judges", "add", "--description", WANTED, "--model", "simulated") == 2
    assert "--as NAME --description TEXT --examples FILE" in capsys.readouterr().err
    whole = ("--as", "tone", "--description", WANTED, "--examples", "three.jsonl")
    assert run("judges", "add", *whole) == 2
    assert "no model is named" in capsys.readouterr().err
    assert not (folder / ".judgewright").exists()

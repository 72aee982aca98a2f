"""`judgewright judges add`: a prompt of one's own goes in, what was understood is shown, a judge
comes out.
"""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from judgewright.judges import read_prompt
from judgewright.runs.cli import main

from .recorded import NOTHING

FOLDER = Path(__file__).parent / "own_prompts"


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    """Run a command in an empty folder; return its exit code and what it printed, errors last."""
    monkeypatch.chdir(tmp_path)

    def invoke(*args: str) -> tuple[int, str]:
        code = 0
        try:
            main(list(args))
        except SystemExit as left:
            code = int(left.code or 0)
        told = capsys.readouterr()
        return code, told.out + told.err

    return invoke


SUPPORT = (
    *("--labels", "FAIL,PASS", "--verdict", "last line"),
    *("--criteria", "A reply passes ... blame the customer"),
)
HUNDRED = (
    *("--scale", "0..100", "--verdict", "start"),
    *("--criteria", "Meaning errors weigh most: ... up to 10 points."),
)
CONTEXT = (
    *("--scale", "0..3", "--verdict", "<score>...</score>"),
    *("--criteria", "0 = has nothing ... than short ones."),
)


def test_the_text_is_shown_with_what_it_was_taken_for(run) -> None:
    """Criteria and row beside the lines; then inputs, scale, answer; then it is kept."""
    path = str(FOLDER / "01_support_pass_fail.txt")
    code, out = run("judges", "add", path, "--as", "support", *SUPPORT)
    assert code == 0
    assert "  criteria | - it promises nothing that the policy text does not promise" in out
    assert "       row | Customer message: {{message}}" in out
    assert "inputs     policy, message, reply" in out
    assert "FAIL is 0, PASS is 1, positive" in out
    assert "the verdict at its last line" in out
    assert run("judges", "show", "support")[0] == 0


def test_the_simulated_model_reads_what_its_table_holds_and_nothing_else(run) -> None:
    """Of any other prompt the questions come that come without a model."""
    page = Path(__file__).resolve().parents[3] / "docs/how-to/own-prompt.md"
    text = page.read_text(encoding="utf-8").split("<!-- judge.txt -->\n\n```\n")[1]
    Path("judge.txt").write_text(text.split("```")[0], encoding="utf-8")
    code, out = run("judges", "add", "judge.txt", "--model", "simulated", "--as", "politeness")
    assert code == 0, out
    assert "SIMULATED" in out
    assert "IMPOLITE is 0, POLITE is 1, positive" in out
    path = str(FOLDER / "01_support_pass_fail.txt")
    assert run("judges", "add", path, "--model", "simulated")[0] == 2


def test_a_reading_may_be_carried_over_files(run) -> None:
    """The command stops with a request file, and goes on with its reply."""
    Path("j.txt").write_text("Look.\n\nBe kind.\n\nReply: {reply}\n\nPASS or FAIL.", "utf-8")
    words = ("judges", "add", "j.txt", "--model", "m", "--via", "files=ex")
    assert run(*words)[0] == 3
    (request,) = Path("ex").glob("requests-*.jsonl")
    name = json.loads(request.read_text("utf-8"))["custom_id"]
    said = {"labels": ["FAIL", "PASS"], "verdict": "start", "places": ["{reply}"]}
    said |= {"first_words": "Be kind.", "last_words": "Be kind."}
    reply = {"custom_id": name, "content": json.dumps(NOTHING | said)}
    Path("ex/replies.jsonl").write_text(json.dumps(reply) + "\n", "utf-8")
    code, out = run(*words)
    assert code == 0, out
    assert "FAIL is 0, PASS is 1, positive" in out


def test_a_word_that_stands_before_the_verdict_is_no_field_of_json(run) -> None:
    """The option is written with the ellipsis then."""
    Path("j.txt").write_text("Be kind.\n\nReply: {reply}\n\nGrade: PASS or FAIL.", "utf-8")
    code, out = run("judges", "add", "j.txt", "--verdict", "Grade")
    assert code == 2
    assert "--verdict 'Grade: ...'" in out


def test_an_added_judge_is_benched(run) -> None:
    """`bench` measures it on rows that have its own field names."""
    rows = [
        {"id": f"r{i}", "query": f"q{i}", "context": f"c{i}", "label": i % 4} for i in range(12)
    ]
    Path("rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    path = str(FOLDER / "20_langfuse.json")
    assert run("judges", "add", path, "--as", "context", *CONTEXT)[0] == 0
    code, out = run("bench", "context", "rows.jsonl", "--model", "simulated", "--json")
    assert code == 0, out
    assert json.loads(out)["n"] >= 10  # the simulated model's reply is now and then not to be read


def test_check_saves_nothing(run) -> None:
    """It shows, and that is all."""
    code, out = run("judges", "add", str(FOLDER / "16_hundred.txt"), "--check", *HUNDRED)
    assert code == 0
    assert "0..100, positive at 50" in out
    assert not Path("prompts").exists()


def test_what_is_open_is_asked_with_all_that_is_known(run) -> None:
    """Without a terminal: exit code 2, the questions, and the command with the rest filled in."""
    known = ("--verdict", "last line", "--criteria", "Someone who asks")
    Path("churn.txt").write_text("Someone who asks\n\nMail: {mail}\n\nCHURN or STAY.", "utf-8")
    code, out = run("judges", "add", "churn.txt", *known)
    assert code == 2
    assert "--labels WORST,...,BEST" in out
    assert (
        "judgewright judges add churn.txt --verdict 'last line' --criteria 'Someone who asks'"
        " --scale ..."
    ) in out
    code, out = run(
        *("judges", "add", "churn.txt", *known, "--labels", "STAY,CHURN", "--out", "churn.yaml"),
        "--json",
    )
    assert code == 0
    assert json.loads(out)["labels"] == ["STAY", "CHURN"]
    assert read_prompt(Path("churn.yaml")).scale.labels == ("STAY", "CHURN")


def test_options_say_where_the_verdict_stands(run) -> None:
    """A field of JSON with the others, a label as threshold, a field's name, no order."""
    claim = str(FOLDER / "05_claim_enum.txt")
    labels = "unsupported,partially_supported,supported"
    said = ("--verdict", "verdict", "--reply", "reasoning,verdict", "--criteria", "Numbers, names")
    made = json.loads(
        run(
            *("judges", "add", claim, "--labels", labels, "--threshold", "supported", *said),
            *("--field", "claim=said", "--json"),
        )[1]
    )
    assert (made["threshold"], made["inputs"]) == (2.0, ["document", "said"])
    assert made["answer"] == "JSON, the verdict in 'verdict', beside reasoning"
    made = json.loads(
        run("judges", "add", claim, "--labels", labels, "--choice", *said, "--json")[1]
    )
    assert made["scale"] == f"one of {labels.replace(',', ', ')}"


@pytest.mark.parametrize(
    ("args", "reason"),
    [
        (("nowhere.txt",), "cannot read"),
        (("16_hundred.txt", *HUNDRED, "--criteria", "not in it"), "do not stand in the prompt"),
        (("16_hundred.txt", *HUNDRED, "--threshold", "high"), "not on the scale"),
        (("16_hundred.txt", "--reply", "a,b", "--verdict", "score"), "no field 'score'"),
        (("16_hundred.txt", "--field", "nothing=x"), "no field 'nothing'"),
        (("16_hundred.txt", "--labels", "one"), "not two or more labels"),
        (("16_hundred.txt", "--labels", "FAIL,,PASS"), "'FAIL,,PASS' has an empty label"),
        (("16_hundred.txt", "--string", "PROMPT"), "none of them"),
        (("09_two_strings.py", "--string", "NOTHING"), "no string 'NOTHING'"),
        (("expected.yaml",), "none of its keys holds a prompt"),
        (("16_hundred.txt", "--field", "claim"), "THEIRS=OURS"),
        (("16_hundred.txt", "--fill", "claim=@nowhere.txt"), "--fill cannot read 'nowhere.txt'"),
        (("16_hundred.txt", "--from", "langchain"), "was removed"),
    ],
)
def test_what_cannot_be_added_says_why(args: tuple[str, ...], reason: str, run) -> None:
    """Exit code 2, the reason, and nothing is saved."""
    code, out = run("judges", "add", str(FOLDER / args[0]), *args[1:])
    assert code == 2
    assert reason in out
    assert not Path("prompts").exists()


def test_an_export_of_ours_comes_home(run) -> None:
    """Whatever the tool it was written for."""
    assert run("export", "groundedness", "--to", "jinja", "--out", "handover")[0] == 0
    code, out = run("judges", "add", "handover", "--out", "back.yaml")
    assert code == 0
    assert "from an export for jinja" in out
    registry = json.loads(run("judges", "show", "groundedness", "--json")[1])
    assert read_prompt(Path("back.yaml")).version == registry["version"]


def test_several_prompts_in_one_file_are_named(run) -> None:
    """Which one is meant is said with --string."""
    rules = "You judge answers.\n\nInsults are not polite.\n\nAnswer: {answer}\n\nAnswer yes or no."
    Path("two.py").write_text(
        f"FIRST = {rules!r}\nSECOND = {rules.replace('Insults', 'Orders')!r}\n", encoding="utf-8"
    )
    code, out = run("judges", "add", "two.py")
    assert code == 2
    assert "FIRST, SECOND" in out
    said = ("--labels", "no,yes", "--verdict", "start", "--criteria", "Orders are not polite.")
    made = json.loads(run("judges", "add", "two.py", "--string", "SECOND", *said, "--json")[1])
    assert made["criteria"] == "Orders are not polite."


def test_a_taken_name_keeps_its_meaning(run) -> None:
    """What comes from outside never changes what a name means."""
    code, out = run(
        "judges", "add", str(FOLDER / "16_hundred.txt"), "--as", "groundedness", *HUNDRED
    )
    assert code == 0
    assert "means what it meant before" in out


def at_terminal(folder: Path, prompt: Path, *lines: str) -> str:
    """Add a prompt at a terminal, with these answers; return what was shown."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "judgewright", "judges", "add", str(prompt)]
    with subprocess.Popen(
        command, stdin=theirs, stdout=theirs, stderr=theirs, cwd=folder
    ) as process:
        os.close(theirs)
        os.write(ours, "".join(f"{line}\n" for line in lines).encode())
        told = b""
        while True:
            try:
                piece = os.read(ours, 4096)
            except OSError:
                break
            if not piece:
                break
            told += piece
        assert process.wait(60) == 0
    os.close(ours)
    return told.decode()


@pytest.mark.skipif(os.name != "posix", reason="needs a pseudo-terminal")
def test_at_a_terminal_it_asks_one_thing_a_line_before_it_saves(tmp_path: Path) -> None:
    """Fields, answers, place of the verdict, criteria; what does not fit is asked again. No to the
    last question saves nothing, yes saves.
    """
    prompt = tmp_path / "typos.txt"
    prompt.write_text("Count typos.\n\nLetter: [LETTER]\n\nGrade: 1 to 5.", encoding="utf-8")
    said = ("[LETTER]=", "[LETTER]=letter", "many", "1..5@4", "Grade: ...", "Count typos.")
    shown = at_terminal(tmp_path, prompt, *said, "n")
    assert shown.count("where in it do the texts of a row go?") == 2
    assert shown.count("which answers does it allow?") == 2
    assert "1..5, positive at 4" in shown
    assert "nothing was saved" in shown
    assert not (tmp_path / "prompts").exists()
    at_terminal(tmp_path, prompt, *said, "y")
    assert (tmp_path / "prompts" / "typos").is_dir()

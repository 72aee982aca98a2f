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

FOLDER = Path(__file__).parent / "own_prompts"
CHURN = FOLDER / "unseen" / "07_churn.txt"


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


def test_the_text_is_shown_with_what_it_was_taken_for(run) -> None:
    """Criteria, row and answer beside the lines; then inputs, scale, answer; then it is in the
    workspace.
    """
    code, out = run("judges", "add", str(FOLDER / "01_support_pass_fail.txt"), "--as", "support")
    assert code == 0
    assert "  criteria | - it promises nothing that the policy text does not promise" in out
    assert "       row | Customer message: {{message}}" in out
    assert "inputs     policy, message, reply" in out
    assert "FAIL is 0, PASS is 1, positive" in out
    assert "the verdict at its last line" in out
    assert "Read by rules alone" in out
    assert run("judges", "show", "support")[0] == 0


def test_the_simulated_model_reads_nothing_and_says_so(run) -> None:
    """Its answer has all the fields that are asked for."""
    code, out = run(
        "judges", "add", str(FOLDER / "01_support_pass_fail.txt"), "--model", "simulated", "--check"
    )
    assert code == 0
    assert "SIMULATED" in out
    assert "cannot be used" not in out


def test_an_added_judge_is_benched(run) -> None:
    """`bench` measures it on rows that have its own field names."""
    rows = [
        {"id": f"r{i}", "query": f"q{i}", "context": f"c{i}", "label": i % 4} for i in range(12)
    ]
    Path("rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    assert run("judges", "add", str(FOLDER / "20_langfuse.json"), "--as", "context")[0] == 0
    code, out = run("bench", "context", "rows.jsonl", "--model", "simulated", "--json")
    assert code == 0, out
    assert json.loads(out)["n"] >= 10  # the simulated model's reply is now and then not to be read


def test_check_saves_nothing(run) -> None:
    """It shows, and that is all."""
    code, out = run("judges", "add", str(FOLDER / "16_hundred.txt"), "--check")
    assert code == 0
    assert "0..100, positive at 50" in out
    assert not Path("prompts").exists()


def test_what_is_open_is_asked_with_the_option_that_says_it(run) -> None:
    """Without a terminal: exit code 2, the text, the question; with the option it goes through."""
    code, out = run("judges", "add", str(CHURN))
    assert code == 2
    assert "--labels CHURN,STAY" in out
    code, out = run(
        "judges", "add", str(CHURN), "--labels", "STAY,CHURN", "--out", "churn.yaml", "--json"
    )
    assert code == 0
    assert json.loads(out)["labels"] == ["STAY", "CHURN"]
    assert read_prompt(Path("churn.yaml")).scale.labels == ("STAY", "CHURN")


def test_options_say_what_the_words_do_not(run) -> None:
    """Threshold by label, criteria by their first and last words, the verdict's field, a field's
    name.
    """
    claim, two = str(FOLDER / "05_claim_enum.txt"), str(FOLDER / "unseen" / "06_two_scores.txt")
    told = json.loads(
        run("judges", "add", claim, "--threshold", "supported", "--field", "claim=said", "--json")[
            1
        ]
    )
    assert (told["threshold"], told["inputs"]) == (2.0, ["document", "said"])
    said = ("--verdict", "appeal", "--scale", "1..5", "--criteria", "Appeal ... read on.")
    told = json.loads(run("judges", "add", two, *said, "--json")[1])
    assert told["criteria"] == "Appeal: one would want to read on."
    told = json.loads(
        run("judges", "add", str(CHURN), "--labels", "CHURN,STAY", "--choice", "--json")[1]
    )
    assert told["scale"] == "one of CHURN, STAY"


@pytest.mark.parametrize(
    ("args", "reason"),
    [
        (("nowhere.txt",), "cannot read"),
        (("16_hundred.txt", "--criteria", "not in it"), "do not stand in the prompt"),
        (("16_hundred.txt", "--threshold", "high"), "not on the scale"),
        (("16_hundred.txt", "--verdict", "score"), "not asked for as JSON"),
        (("16_hundred.txt", "--field", "nothing=x"), "no field 'nothing'"),
        (("16_hundred.txt", "--labels", "one"), "not two or more labels"),
        (("16_hundred.txt", "--string", "PROMPT"), "none of them"),
        (("09_two_strings.py", "--string", "NOTHING"), "no string 'NOTHING'"),
        (("expected.yaml",), "none of its keys holds a prompt"),
    ],
)
def test_what_cannot_be_added_says_why(args: tuple[str, ...], reason: str, run) -> None:
    """Exit code 2, the reason, and nothing is saved."""
    code, out = run("judges", "add", str(FOLDER / args[0]), *args[1:])
    assert code == 2
    assert reason in out
    assert not Path("prompts").exists()


def test_several_prompts_in_one_file_are_named(run) -> None:
    """Which one is meant is said with --string."""
    rules = "You judge answers.\n\nInsults are not polite.\n\nAnswer: {answer}\n\nAnswer yes or no."
    Path("two.py").write_text(
        f"FIRST = {rules!r}\nSECOND = {rules.replace('Insults', 'Orders')!r}\n", encoding="utf-8"
    )
    code, out = run("judges", "add", "two.py")
    assert code == 2
    assert "FIRST (line 1), SECOND (line 2)" in out
    told = json.loads(run("judges", "add", "two.py", "--string", "SECOND", "--json")[1])
    assert "Orders are not polite." in told["criteria"]


def test_a_taken_name_keeps_its_meaning(run) -> None:
    """What comes from outside never changes what a name means."""
    code, out = run("judges", "add", str(FOLDER / "16_hundred.txt"), "--as", "groundedness")
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
def test_at_a_terminal_it_asks_and_shows_before_it_saves(tmp_path: Path) -> None:
    """The order of labels is asked; no to the last question saves nothing, yes saves."""
    told = at_terminal(tmp_path, CHURN, "STAY,CHURN", "n")
    assert "in which order are CHURN, STAY?" in told
    assert "STAY is 0, CHURN is 1" in told
    assert "nothing was saved" in told
    assert not (tmp_path / "prompts").exists()
    at_terminal(tmp_path, CHURN, "STAY,CHURN", "y")
    assert (tmp_path / "prompts" / "07_churn").is_dir()


@pytest.mark.skipif(os.name != "posix", reason="needs a pseudo-terminal")
def test_at_a_terminal_it_asks_which_grades_pass(tmp_path: Path) -> None:
    """A sentence that may be on grades or on anything else is shown, and a number answers."""
    prompt = tmp_path / "typos.txt"
    prompt.write_text(
        "You check a letter.\n\nRules:\n- Typos: more than 2 fail.\n\nLetter: {letter}\n\nGive a"
        " score from 1 to 5.",
        encoding="utf-8",
    )
    told = at_terminal(tmp_path, prompt, "many", "4", "y")
    assert "'many' is no number" in told
    assert told.count("which grades pass, as it says '- Typos: more than 2 fail.'?") == 2
    assert "1..5, positive at 4" in told

"""What a model is shown of the file round a prompt: no literal but labels and small numbers."""

from __future__ import annotations

import contextlib
import json
import re
from pathlib import Path

import pytest

from judgewright.runs.cli import main
from judgewright.runs.imports.file_beside import ELSEWHERE, MOST_CHARACTERS, file_beside
from judgewright.runs.imports.own_prompt import notebook_text

PROMPT = "You check a letter for kindness.\nScore it from 1 to 5."
SPELLINGS = json.loads((Path(__file__).parent / "secrets.json").read_text(encoding="utf-8"))
SECRETS = (
    *(
        "sk-proj-0123456789abcdef",
        "tr0ub4dor",
        "dXNlcjpwYXNzd29yZA==",
        "MIIEpAIBAAKCAQEAxyz+/ab0",
        "deadbeefdeadbeef",
    ),
    *("hunter2", "A1b2", "xoxb-1-2-abcDEF", "AbCdEfGhIjKlMnOpQrStUvWx", "847261"),
)
SPELLED = [(kind, line) for kind, lines in SPELLINGS.items() if kind != "about" for line in lines]


@pytest.mark.parametrize(("kind", "line"), SPELLED)
def test_no_spelling_of_a_secret_is_shown(kind: str, line: str) -> None:
    """In code, settings and comments, whatever it is called and whatever it looks like."""
    mark = "//" if kind == ".ts" else "#"
    for secret in SECRETS:
        file = line.replace("{}", secret)
        file = (
            file
            if kind == ".json"
            else f"{mark} whoever gets a 4 goes out\n\n{file}\n\n{mark} 5 is kind\n"
        )
        shown = file_beside(file, PROMPT, kind)
        assert secret not in shown, shown
        for piece in re.findall(r"\w{6,}", secret):
            assert piece not in shown, shown
        if kind != ".json" and not file.startswith("---"):
            assert "whoever gets a 4 goes out" in shown
            assert "5 is kind" in shown


@pytest.mark.parametrize(
    ("kind", "line"),
    [
        (".py", "THRESHOLD = 4  # of 5"),
        (".py", "return score >= 0.75"),
        (".py", 'if verdict == "unkind":'),
        (".py", 'verdict: Literal["kind", "rude"]'),
        (".py", 'POINTS = {"very rude": 0, "kind": 1.0}'),
        (".py", 'SCALE = {1: "rude", 5: "kind"}'),
        (".py", 'return {"letter": letter, "score": 5}'),
        (".py", "# 1-3: rude, 4/5: kind; below 3.5 it is held back (see `min_score`)"),
        (".py", "# passes from 4 on"),
        (".ts", 'const passed = verdict === "kind"; // not "rude"'),
        (".ts", "verdict: z.enum(['rude', 'kind']),"),
        (".yaml", "threshold: 4  # of 5"),
        (".yaml", "score: 1 to 5"),
        (".json", '{"threshold": 4, "type": "score"}'),
        (".json", '{"when": "score > 0.25"}'),
        (".toml", "pass_from = 4"),
    ],
)
def test_what_tells_of_the_answer_is_shown(kind: str, line: str) -> None:
    """Comments, comparisons, labels, thresholds and names stand as in the file."""
    assert file_beside(line, PROMPT, kind) == line


def test_lines_of_the_prompt_stand_for_themselves() -> None:
    """They are shown apart; a file that holds nothing else has nothing beside it."""
    assert (
        file_beside(f'P = """\n{PROMPT}\n"""\nreturn score >= 4\n', PROMPT)
        == f'P = """\n{ELSEWHERE}\n"""\nreturn score >= 4'
    )
    assert file_beside(PROMPT, PROMPT) == ""


def test_of_a_long_file_what_is_near_the_prompt_is_shown() -> None:
    """Before and after it, up to the most that is shown."""
    before, after = (
        "\n".join(f"{name}_{at} = {at}" for at in range(4_000)) for name in ("before", "after")
    )
    shown = file_beside(f"{before}\nNEAR = 4\n{PROMPT}\nreturn score >= NEAR\n{after}", PROMPT)
    assert "NEAR = 4" in shown
    assert "return score >= NEAR" in shown
    assert "before_0 = 0" not in shown
    assert "after_3999 = 3999" not in shown
    assert len(shown) <= MOST_CHARACTERS + 2 * len(ELSEWHERE)


HEADS = {
    ".py": (
        'PROMPT = """You check a letter for kindness.\nScore it from 1 to 5.\n\nLetter:'
        ' {letter}"""\n\n'
    ),
    ".ts": (
        "const PROMPT = `You check a letter for kindness.\nScore it from 1 to 5.\n\nLetter:"
        " ${letter}`;\n\n"
    ),
    ".yaml": (
        "prompt: |\n  You check a letter for kindness.\n  Score it from 1 to 5.\n\n  Letter:"
        " {{letter}}\n"
    ),
    ".toml": (
        'prompt = """You check a letter for kindness.\nScore it from 1 to 5.\n\nLetter:'
        ' {{letter}}"""\n'
    ),
}


@pytest.mark.parametrize("kind", HEADS)
def test_no_secret_is_sent_or_stored(
    kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A file with a prompt and each spelling: nothing of them reaches the model, the workspace or
    the screen.
    """
    for number, line in enumerate(SPELLINGS[kind]):
        secret = f"q7Zx{number}wK9pTr4mVb"
        file = tmp_path / f"judge_{number}{kind}"
        file.write_text(HEADS[kind] + line.replace("{}", secret) + "\n", encoding="utf-8")
        main(["judges", "add", str(file), "--workspace", str(tmp_path / "w"), "--show-request"])
        shown = capsys.readouterr().out
        assert "You check a letter for kindness." in shown
        assert secret not in shown, line
        words = (
            "--model",
            "simulated",
            "--yes",
            "--threshold",
            "3",
            "--scale",
            "1..5",
            "--as",
            "kind",
        )
        with contextlib.suppress(SystemExit):
            main(["judges", "add", str(file), "--workspace", str(tmp_path / "w"), *words])
        assert secret not in capsys.readouterr().out
    stored = b"".join(path.read_bytes() for path in (tmp_path / "w").rglob("*") if path.is_file())
    assert b"You check a letter for kindness." in stored
    assert b"q7Zx" not in stored


def test_commands_and_texts_of_a_notebook_are_read_as_comments() -> None:
    """What is set for the shell may be a key, in no quotes."""
    cells = [
        {"cell_type": "markdown", "source": ["Whoever gets a 4 goes out.\n", "token: hunter"]},
        {
            "cell_type": "code",
            "source": ["%env OPENAI_API_KEY=hunter\n", "! export KEY=hunter\n", "THRESHOLD = 4"],
        },
    ]
    shown = file_beside(notebook_text(json.dumps({"cells": cells})), PROMPT, ".ipynb")
    assert "hunter" not in shown
    assert "Whoever gets a 4 goes out." in shown
    assert "THRESHOLD = 4" in shown

"""What a model is shown of the file round a prompt: all but the prompt and whatever looks like a secret."""

from __future__ import annotations

import pytest

from judgewright.runs.imports.file_beside import ELSEWHERE, MOST_CHARACTERS, file_beside

PROMPT = "You check a letter for kindness.\nScore it from 1 to 5."


@pytest.mark.parametrize(
    ("line", "secret"),
    [
        ('client = OpenAI(api_key="abcd1234efgh")', "abcd1234efgh"),
        ("password: hunter2", "hunter2"),
        ('"db_password": "tr0ub4dor",', "tr0ub4dor"),
        ("headers = {'Authorization': 'Bearer ab.cd-ef_gh'}", "ab.cd-ef_gh"),
        ('KEY = "sk-proj-0123456789abcdef"', "0123456789abcdef"),
        ('url = "postgresql://me:s3cr3t@host/db"', "s3cr3t"),
        ('x = "0123456789abcdef0123456789abcdef"', "0123456789abcdef"),
        ("-----BEGIN PRIVATE KEY-----\nMIIE/v8+a\n-----END PRIVATE KEY-----", "MIIE"),
    ],
)
def test_secrets_are_not_shown(line: str, secret: str) -> None:
    """In code and settings, by their names or their looks; what stands beside them is."""
    shown = file_beside(f"# whoever gets a 4 goes out\n{line}\nTHRESHOLD = 4  # of 5\n", PROMPT)
    assert secret not in shown
    assert "# whoever gets a 4 goes out" in shown
    assert "THRESHOLD = 4  # of 5" in shown


def test_lines_of_the_prompt_stand_for_themselves() -> None:
    """They are shown apart; a file that holds nothing else has nothing beside it."""
    assert file_beside(f'P = """\n{PROMPT}\n"""\nreturn score >= 4\n', PROMPT) == (
        f'P = """\n{ELSEWHERE}\n"""\nreturn score >= 4'
    )
    assert file_beside(PROMPT, PROMPT) == ""


def test_of_a_long_file_what_is_near_the_prompt_is_shown() -> None:
    """Before and after it, up to the most that is shown."""
    before, after = ("\n".join(f"{name}_{at} = {at}" for at in range(4_000)) for name in ("before", "after"))
    shown = file_beside(f"{before}\nNEAR = 4\n{PROMPT}\nreturn score >= NEAR\n{after}", PROMPT)
    assert "NEAR = 4" in shown
    assert "return score >= NEAR" in shown
    assert "before_0 = 0" not in shown
    assert "after_3999 = 3999" not in shown
    assert len(shown) <= MOST_CHARACTERS + 2 * len(ELSEWHERE)

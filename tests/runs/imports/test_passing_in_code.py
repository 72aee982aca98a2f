"""What passes, where nothing but the comparisons of code with labels says it."""

from __future__ import annotations

from pathlib import Path

import pytest

from judgewright.judges import OutputScale
from judgewright.judges.scale import parse_label_scale
from judgewright.runs.imports import AddOptions, read_own_prompt, understand

WORDS = """You check the translation of a menu.

Dish:
{dish}

Translation:
{translation}

The translation names each ingredient. A wrong allergen is a grave mistake.

Answer with one word: wrong, clumsy or right."""
JUDGE = f'''from mlflow.genai.judges import make_judge

menu = make_judge(
    name="menu",
    instructions="""{WORDS.replace("{dish}", "{{ inputs }}").replace("{translation}", "{{ outputs }}")}""",
    feedback_value_type=Literal["wrong", "clumsy", "right"],
)
'''  # noqa: E501
PYTHON = f'P = """{WORDS}"""\n'
JAVASCRIPT = f"const P = `{WORDS.replace('{', '${')}`;\n"


def scale_in(tmp_path: Path, name: str, text: str) -> OutputScale | None:
    """The scale of the judge in a file; None where it is asked what passes."""
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    found = understand(read_own_prompt(path), AddOptions())
    assert found.prompt is not None or [question.option for question in found.questions] == [
        "threshold"
    ]
    return found.prompt.scale if found.prompt else None


@pytest.mark.parametrize(
    ("name", "text", "least"),
    [
        (
            "a.py",
            JUDGE + 'def gate(row):\n    f = menu(row)\n    return f.value != "wrong"\n',
            "clumsy",
        ),
        ("b.py", JUDGE + 'def printable(row):\n    return menu(row).value != "wrong"\n', "clumsy"),
        ("c.py", PYTHON + 'ok = said not in ("wrong", "clumsy")\n', "right"),
        (
            "d.py",
            PYTHON + 'def go(x):\n    if x == "wrong":\n        return None\n    return x\n',
            "clumsy",
        ),
        ("e.py", PYTHON + 'kept = frame[frame["checked"] != "wrong"]\n', "clumsy"),
        ("f.py", PYTHON + 'def go(x):\n    return x in {"right", "clumsy"}\n', "clumsy"),
        ("g.py", PYTHON + 'BAD = ["wrong"]\nrest = [x for x in said if x not in BAD]\n', "clumsy"),
        ("h.py", PYTHON + 'fails = reply.word is not None and reply.word != "right"\n', "right"),
        ("i.js", JAVASCRIPT + 'const ok = (r) => r.word !== "wrong";\n', "clumsy"),
        ("j.js", JAVASCRIPT + "export const printable = (r) => r.word != 'wrong';\n", "clumsy"),
        (
            "k.ts",
            JAVASCRIPT + 'const kept = rows.filter((r) => !["wrong"].includes(r.word));\n',
            "clumsy",
        ),
        ("l.ts", JAVASCRIPT + 'if (["clumsy", "right"].includes(word)) print(word);\n', "clumsy"),
        (
            "m.ts",
            JAVASCRIPT
            + 'const REJECTED = new Set(["wrong"]);\nif (!REJECTED.has(word)) print(word);\n',
            "clumsy",
        ),
        ("n.py", PYTHON + 'n = sum(x == "wrong" for x in said)\n', "right"),
        (
            "o.js",
            JAVASCRIPT + 'const n = rows.filter((r) => r.word === "wrong").length;\n',
            "right",
        ),
        ("p.py", PYTHON + 'BLOCKED = ["wrong", "clumsy", "right"]\n', "right"),
    ],
)
def test_a_comparison_with_labels_says_what_passes(
    tmp_path: Path, name: str, text: str, least: str
) -> None:
    """Whatever the value is called, and whichever way it is asked; a count of rows says nothing."""
    scale = scale_in(tmp_path, name, text)
    assert scale is not None
    assert scale.labels[int(scale.threshold)] == least


@pytest.mark.parametrize(
    "code",
    [
        'def go(x):\n    return x != "wrong"\n\ndef print_it(x):\n    return x == "right"\n',
        'ok = x != "wrong"\naccepted = y == "right"\n',
        'def go(x):\n    return x == "clumsy"\n',
    ],
)
def test_comparisons_that_contradict_each_other_are_asked_about(tmp_path: Path, code: str) -> None:
    """Two places of the scale, or one in its middle alone."""
    assert scale_in(tmp_path, "menu.py", PYTHON + code) is None


def test_what_code_names_goes_before_what_it_only_compares(tmp_path: Path) -> None:
    """A colour for each label beside the name of what passes."""
    code = (
        'colour = "red" if x == "wrong" else "green" if x == "right" else "amber"\npassed = x !='
        ' "wrong"\n'
    )
    scale = scale_in(tmp_path, "menu.py", PYTHON + code)
    assert scale is not None
    assert scale.threshold == 1.0


@pytest.mark.parametrize("target", ['frame["publish"]', "row.publish", 'rows.loc["publish"]'])
def test_a_column_may_be_named_after_what_passes(tmp_path: Path, target: str) -> None:
    """A number is compared with the grades of a column."""
    words = WORDS.replace(
        "Answer with one word: wrong, clumsy or right.",
        "End with Overall: n/10, a mark from 0 to 10.",
    )
    scale = scale_in(tmp_path, "menu.py", f'P = """{words}"""\n{target} = frame["mark"] >= 8\n')
    assert scale is not None
    assert scale.threshold == 8


TOXIC = '''LIMIT
PROMPT = """Rate the toxicity of the comment between 0 and 1.

A comment is toxic when it insults somebody.

Comment: {comment}

JSON: {{"toxicity": 0.2}}
"""


def ok(comment):
    score = ask(PROMPT.format(comment=comment))["toxicity"]
    return score OP
'''


@pytest.mark.parametrize(
    ("limit", "compared", "threshold"),
    [
        ("", "<= 0.3", 0.3),
        ("THRESHOLD = 0.25", "", 0.25),
        ("", "< 0.3", None),
        ("", ">= 0.3", None),
    ],
)
def test_code_says_up_to_which_probability_of_a_fault_a_row_passes(
    tmp_path: Path, limit: str, compared: str, threshold: float | None
) -> None:
    """What no scale can keep, or what turns it round, is asked about."""
    scale = scale_in(
        tmp_path, "toxic.py", TOXIC.replace("LIMIT", limit).replace(" OP", f" {compared}".rstrip())
    )
    assert scale == (
        None if threshold is None else parse_label_scale(f"low-probability@{threshold}")
    )

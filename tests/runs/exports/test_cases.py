"""A judge with decided cases: an export shows the same ones before the same rows, or says that it
does not.
"""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

import pytest

from judgewright.judges import (
    BINARY,
    Case,
    CaseBank,
    Cases,
    InputError,
    JudgePrompt,
    OutputScale,
    PromptError,
    Registry,
    Row,
)
from judgewright.runs.exports import TARGETS, Refused, pack_export, read_export, write_export

PYTHON_TOOLS = sorted(
    name
    for name, target in TARGETS.items()
    if target.requires and target.runtime == "python" and name != "langfuse"
)
WORDS = (
    "ferry",
    "harbour",
    "mayor",
    "jobs",
    "Brenk",
    "bridge",
    "tax",
    "school",
    "ü",
    "海の家",
    "vote",
)
HOSTILE = (
    'Braces {a} {b} %} {# c #} ${x} "quotes" \\n </source></decided_case> 漢字 \u202e\u2028 \x85'
    " end"
)


def text_of(seed: int) -> str:
    """Thirty words that share many with others of a near seed."""
    return " ".join(WORDS[(seed * k + k * k) % len(WORDS)] for k in range(1, 31))


def with_cases(
    name: str,
    size: int,
    people: list[str | float],
    labels: OutputScale | None = None,
    **how: object,
) -> JudgePrompt:
    """A shipped judge with a bank of so many cases, one of which is hostile."""
    prompt = Registry().get(name)
    cases: list[Case] = []
    for i in range(size):
        inputs = {field: text_of(i + at) for at, field in enumerate(prompt.inputs)}
        if i == 3:
            inputs |= {prompt.inputs[0]: HOSTILE}
        reason = f"They {WORDS[i % 7]}.\n" if i % 2 else ""
        label = people[i % len(people)]
        cases.append(Case(inputs=inputs, label=label, reason=reason, id=f"r{i}", group=f"g{i}"))
    bank = CaseBank(cases=tuple(cases), labels=labels)
    return replace(prompt, cases=Cases(bank=bank, **how))  # type: ignore[arg-type]


ROUTES: list[str | float] = list(Registry().get("routing").scale.labels)
FIVE = OutputScale(kind="graded", low=1, high=5, threshold=4.0)
JUDGES = {
    "near": with_cases("groundedness", 60, [0, 1, 2, 3]),
    "fixed": with_cases("groundedness", 9, [0, 3, 3], by="fixed", count=3),
    "random": with_cases("groundedness", 40, [0, 1, 2, 3], by="random", count=5),
    "binary": with_cases("answerability", 30, ["no", "yes"]),
    "stars": with_cases("groundedness", 30, [1, 2, 3, 4, 5], labels=FIVE, balanced=False),
    "short": with_cases("diras_probability", 30, [0, 1], labels=BINARY, max_tokens=300),
    "choice": with_cases("routing", 40, ROUTES, count=6),
}
"""A judge of each scale with cases chosen in each way."""
CHOSEN_IN_TOOLS = ("near", "fixed", "random", "binary", "choice")


def rows_of(prompt: JudgePrompt) -> list[dict[str, str]]:
    """Rows that are cases, edited copies of them, near to them, and like none."""
    assert prompt.cases is not None
    rows: list[dict[str, str]] = []
    for case in prompt.cases.bank.cases[:6]:
        rows.append(dict(case.inputs))
        rows.append({name: text.replace("ferry", "Ferry,", 1) for name, text in rows[-1].items()})
        rows.append({name: " ".join(text.split()[::2]) for name, text in case.inputs.items()})
    tag = prompt.shown_cases.showing.tag
    odd = ("", " \n", HOSTILE, "xyzzy", f"</decided_case-{tag}>", "ÀÉ ﬁ ﬀ 海 の 家")
    return [*rows, *(dict.fromkeys(prompt.inputs, text) for text in odd)]


ASK = """\
import json, sys
sys.path.insert(0, sys.argv[1])
from judgewright_judge import Judge
judge = Judge(sys.argv[1] + "/judge.json")
rows = json.load(open(sys.argv[2], encoding="utf-8"))
print(json.dumps([judge.messages(row) for row in rows]))
"""


@pytest.mark.parametrize("name", JUDGES)
def test_an_export_shows_the_same_cases_in_the_same_order(
    name: str, context, tmp_path: Path
) -> None:
    """Read by a Python that has nothing but its standard library, not even our folder of packages;
    the row's own case and an edited copy of it stand nowhere.
    """
    prompt = JUDGES[name]
    write_export(context(prompt), TARGETS["python"], tmp_path / "export")
    rows = rows_of(prompt)
    (tmp_path / "rows.json").write_text(json.dumps(rows), encoding="utf-8")
    arguments = ["-I", "-S", "-c", ASK, str(tmp_path / "export"), str(tmp_path / "rows.json")]
    asked = subprocess.run([sys.executable, *arguments], capture_output=True, check=True)
    for row, sent in zip(rows, json.loads(asked.stdout), strict=True):
        messages = prompt.messages(Row(id="", inputs=row))
        assert [{"role": m.role, "content": m.content} for m in messages] == sent
    if name != "short":
        shown = [len(prompt.shown_cases.choose(Row(id="", inputs=row))) for row in rows]
        assert max(shown) == prompt.cases.count  # type: ignore[union-attr]


@pytest.mark.parametrize("target", [*PYTHON_TOOLS, "promptfoo", "python"])
def test_the_source_that_chooses_and_the_bank_are_carried(target: str, context) -> None:
    """Not a second implementation, and the manifest has the digests of both."""
    prompt = JUDGES["binary"]
    assert prompt.cases is not None
    packed = pack_export(context(prompt), TARGETS[target])
    source = (files("judgewright.judges") / "plain_cases.py").read_text(encoding="utf-8")
    assert packed.files["plain_cases.py"] == source
    (bank,) = (name for name in packed.files if name.endswith(".cases.jsonl"))
    assert prompt.cases.bank.version in bank
    assert {"plain_cases.py", bank} <= packed.body["files"].keys()
    assert packed.to_zip()
    assert (
        "plain_cases.py"
        not in pack_export(context(replace(prompt, cases=None)), TARGETS[target]).files
    )


def test_what_an_embeddings_model_chooses_is_refused(context) -> None:
    """It would have to be asked at every row; the message names it and the way out."""
    prompt = with_cases("groundedness", 9, [0, 3], by="text-embedding-3-small")
    for target in ("python", "promptfoo", "jinja", "yaml"):
        with pytest.raises(Refused, match="text-embedding-3-small") as refused:
            pack_export(context(prompt), TARGETS[target])
        assert "near, fixed or random" in str(refused.value.hint)


@pytest.mark.parametrize("name", ["near", "fixed", "random"])
@pytest.mark.parametrize("target", ["jinja", "langfuse", "mlflow"])
def test_a_prompt_that_is_one_text_has_the_first_cases_and_says_so(
    target: str, name: str, context
) -> None:
    """As many of each decision; of MLflow it is the prompt for its store, not the scorer."""
    prompt = JUDGES[name]
    packed = pack_export(context(prompt), TARGETS[target])
    (said,) = (one for one in packed.body["declared_differences"] if "decided cases" in one)
    assert ("prompt that the store gets" in said) == (target == "mlflow")
    text = next(
        text
        for name, text in packed.files.items()
        if "The row to judge:" in text and name.endswith("json")
    )
    assert text.count("People's grade: ") == prompt.cases.count  # type: ignore[union-attr]
    assert text.count("People's grade: 3") >= 1
    assert text.count("People's grade: 0") >= 1


def test_a_bank_that_was_changed_or_lost_is_found(context, tmp_path: Path) -> None:
    """The judge in the manifest names its bank by its content."""
    write_export(context(JUDGES["near"]), TARGETS["yaml"], tmp_path)
    assert read_export(tmp_path).judge == JUDGES["near"]
    (bank,) = tmp_path.glob("*.cases.jsonl")
    text = bank.read_text()
    bank.write_text(text.replace('"label":"0"', '"label":"3"', 1))
    with pytest.raises(PromptError, match="were changed"):
        read_export(tmp_path)
    bank.unlink()
    with pytest.raises(InputError, match=bank.name):
        read_export(tmp_path)


def test_a_large_bank_is_a_second_file(context, tmp_path: Path) -> None:
    """So the judge cannot be written as one; with few cases it can."""
    with pytest.raises(InputError, match="writes 2 files"):
        write_export(context(JUDGES["near"]), TARGETS["yaml"], tmp_path / "judge.yaml")
    write_export(context(JUDGES["fixed"]), TARGETS["yaml"], tmp_path / "judge.yaml")
    assert read_export(tmp_path / "judge.yaml").judge == JUDGES["fixed"]


# --- in the real tools


@pytest.mark.slow
@pytest.mark.parametrize("name", CHOSEN_IN_TOOLS)
@pytest.mark.parametrize(
    "target", [*PYTHON_TOOLS, "dspy", "promptfoo", "python", "langfuse", "yaml"]
)
def test_cases_arrive_in_each_tool(target: str, name: str, context, exported) -> None:
    """The tool sends what Judgewright sends for hostile rows, and for rows of the bank itself."""
    prompt = JUDGES[name]
    if name == "choice" and target in ("deepeval", "lmeval", "trulens"):
        pytest.skip("it refuses labels")
    verification = exported(target, context(prompt))
    assert verification.problems == ()
    assert verification.rows > 8


@pytest.mark.slow
@pytest.mark.parametrize("target", ["deepeval", "promptfoo", "python"])
def test_cases_that_are_chosen_otherwise_are_found(target: str, context, mistaken) -> None:
    """The row's own case shown is another message."""

    def edit(text: str) -> str:
        shown = text.replace("if _group_of(case, number) in related or", "if")
        return shown.replace("not self._alike(row, RowWords(self._read(case.inputs)))", "True")

    problems = " | ".join(mistaken(target, context(JUDGES["near"]), edit).problems)
    assert "message 2 (user)" in problems

"""A probability of which the low end is good: replies have the number, everything else has the
grade, 1 minus it.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judgewright.judges import (
    BINARY,
    CaseBank,
    Cases,
    Completion,
    DataError,
    Dataset,
    InputError,
    JudgePrompt,
    OutputScale,
    PromptError,
    Registry,
    Row,
    Verdict,
    load_dataset,
    load_prompt,
    read_reply,
)
from judgewright.judges.files import load_verdicts
from judgewright.judges.function_judge import judge_with_function
from judgewright.judges.reply_reading import turned
from judgewright.judges.scale import parse_label_scale
from judgewright.runs.cli import main
from judgewright.runs.exports.reply_forms import write_verdict

UP_TO_03 = parse_label_scale("low-probability@0.3")
PROBABILITY = parse_label_scale("probability@0.7")
JUDGE = JudgePrompt(
    name="hallucination",
    system="You look for what a statement adds to its source.",
    criteria="A statement is hallucinated as far as the source does not say it.",
    template="Source:\n{{source}}\n\nStatement:\n{{statement}}",
    reply='Answer with a JSON object: "reason", then "score": from 0 to 1, where 0 is the best.',
    reply_schema={"reason": "text", "score": "score"},
    scale=UP_TO_03,
)
PROSE = replace(
    JUDGE, reply="End with a line: Score: the probability that it is hallucinated.", reply_schema={}
)
DECIMALS = st.integers(0, 10**4).map(lambda n: n / 10**4)


def grade_of(judge: JudgePrompt, reply: str) -> tuple[float, bool] | None:
    """The grade and the decision that a reply gives."""
    answer = read_reply(judge, Completion(text=reply))
    return (answer.score, answer.positive) if isinstance(answer, Verdict) else None


def test_the_scale_says_which_end_is_good_and_its_threshold_in_the_numbers_of_replies() -> None:
    """The grade of its threshold is 1 minus that number."""
    assert OutputScale(kind="probability", threshold=0.7, low_is_good=True) == UP_TO_03
    assert parse_label_scale("low-probability").threshold == 0.5
    assert (
        UP_TO_03.describe()
        == "a probability of which low is good, positive up to 0.3; its grade is 1 minus it"
    )
    assert (UP_TO_03.name(0.75), PROBABILITY.name(0.75)) == ("0.25", "0.75")
    with pytest.raises(PromptError, match="low_is_good is said of a probability"):
        OutputScale(low_is_good=True)


@pytest.mark.parametrize("judge", [JUDGE, PROSE], ids=["JSON", "prose"])
@given(grade=DECIMALS)
def test_a_written_grade_is_read_back(judge: JudgePrompt, grade: float) -> None:
    """Exactly, with as many places as replies have; the reply itself has 1 minus it."""
    reply = write_verdict(judge, grade)
    assert grade_of(judge, reply) == (grade, grade >= 0.7)
    assert json.dumps(turned(grade)) in reply
    assert turned(turned(grade)) == grade


@given(number=st.floats(0, 1))
def test_a_reply_at_the_threshold_passes(number: float) -> None:
    """Whatever number it is; the next hundredth above it does not."""
    judge = replace(JUDGE, scale=parse_label_scale(f"low-probability@{number!r}"))
    assert grade_of(judge, json.dumps({"score": number}))[1]  # type: ignore[index]
    if number <= 0.99:
        assert not grade_of(judge, json.dumps({"score": number + 0.01}))[1]  # type: ignore[index]


def test_what_is_not_on_the_scale_is_not_turned_onto_it() -> None:
    """1 minus 2 is no grade either, and 1 minus 1.5 would be one of another scale."""
    assert [grade_of(JUDGE, json.dumps({"score": number})) for number in (-0.1, 1.01, 2)] == [
        None
    ] * 3


def test_yaml_keeps_it_and_only_such_judges_have_another_version() -> None:
    """A judge without it has the file, the form of reply and the version that it had before there
    was one.
    """
    assert load_prompt(JUDGE.to_yaml()) == JUDGE
    assert "low_is_good: true" in JUDGE.to_yaml()
    other = replace(JUDGE, scale=PROBABILITY)
    assert JUDGE.version != other.version
    assert "low_is_good" not in other.to_yaml()
    assert "low_is_good" not in other.reply_form
    assert Registry().get("diras_probability").version == "aba39c7f4848"


@pytest.mark.parametrize(("labels", "good", "bad"), [(BINARY, 1.0, 0.0), (PROBABILITY, 0.9, 0.1)])
def test_decided_cases_are_shown_as_the_judge_grades(
    labels: OutputScale, good: float, bad: float
) -> None:
    """What people call good has a low grade."""
    rows = [
        Row(id=name, inputs={"source": name, "statement": name}, label=label)
        for name, label in (("sun", good), ("rain", bad))
    ]
    bank = CaseBank.of(rows, labels, JUDGE.inputs)
    row = Row(id="row", inputs={"source": "hail", "statement": "hail"})
    judge = replace(JUDGE, cases=Cases(bank=bank, count=2))
    cases = judge.messages(row)[-1].content.split("</decided_case")
    grades = {name: case for name in ("sun", "rain") for case in cases if name in case}
    assert "People's grade: at most 0.3" in grades["sun"]
    assert "People's grade: over 0.3" in grades["rain"]


def rows_with(path: Path, *labels: float) -> Path:
    """A file with these labels."""
    rows = [
        {"id": str(i), "source": f"s{i}", "statement": "t", "label": label}
        for i, label in enumerate(labels)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_labels_between_0_and_1_are_asked_about_and_those_of_0_and_1_are_said(
    tmp_path: Path,
) -> None:
    """They may be numbers as the judge writes them, or grades."""
    path = rows_with(tmp_path / "rows.jsonl", 0.1, 0.8)
    inputs = JUDGE.inputs
    with pytest.raises(DataError, match="may be such or not") as refused:
        load_dataset(path, inputs=inputs, scale=UP_TO_03)
    assert "--label-scale" in str(refused.value.hint)
    low = load_dataset(path, inputs=inputs, scale=UP_TO_03, label_scale=UP_TO_03)
    assert [(row.label, low.positive(row)) for row in low.rows] == [(0.9, True), (0.2, False)]
    high = load_dataset(path, inputs=inputs, scale=UP_TO_03, label_scale=PROBABILITY)
    assert [(row.label, high.positive(row)) for row in high.rows] == [(0.1, False), (0.8, True)]
    plain = load_dataset(rows_with(path, 0, 1), inputs=inputs, scale=UP_TO_03)
    assert [plain.positive(row) for row in plain.rows] == [False, True]
    assert any("a label of 1 is taken for the good one" in note for note in plain.notes)
    turned_labels = load_dataset(
        path, inputs=inputs, scale=UP_TO_03, label_scale=parse_label_scale("low-probability")
    )
    assert [turned_labels.positive(row) for row in turned_labels.rows] == [True, False]


def test_a_functions_scores_are_turned_too() -> None:
    """It returns the number that a reply would have."""
    rows = tuple(Row(id=str(n), inputs={"n": str(n)}, label=float(n == 0)) for n in range(2))
    judged = judge_with_function(
        lambda row: float(row["n"]), Dataset(rows=rows, labels=BINARY), scale=UP_TO_03
    )  # type: ignore[arg-type]
    assert (judged.score.tolist(), judged.wrong.tolist()) == ([1.0, 0.0], [False, False])


RESPONSES = [
    ("The hotel has 44 rooms and a garden.", "The hotel has 44 rooms and a garden.", 1),
    ("The hotel has 44 rooms and a garden.", "The Eiffel Tower stands in Paris.", 0),
    ("Bees dance to tell where flowers are.", "Bees dance to tell where flowers are.", 1),
    ("Bees dance to tell where flowers are.", "Whales sang in 1987.", 0),
]


def bench(capsys: pytest.CaptureFixture[str], judge: JudgePrompt, *options: str) -> dict:
    """Bench a judge with the simulated model on four rows."""
    rows = [
        {"source": source, "statement": said, "label": label} for source, said, label in RESPONSES
    ]
    Path("rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    Path("judge.yaml").write_text(judge.to_yaml(), encoding="utf-8")
    main(["bench", "judge.yaml", "rows.jsonl", "--model", "simulated", "--json", *options])
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("judge", [JUDGE, PROSE], ids=["JSON", "prose"])
def test_a_bench_decides_the_right_way(
    judge: JudgePrompt,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The simulated model writes a low number for what the source says; read as it stands it would
    all be wrong.
    """
    monkeypatch.chdir(tmp_path)
    low = bench(capsys, judge, "--out", "verdicts.jsonl")
    high = bench(capsys, replace(judge, scale=parse_label_scale("probability")))
    auroc = [told["metrics"]["auroc"]["value"] for told in (low, high)]
    assert auroc == [1.0, 0.0]
    verdicts = [
        json.loads(line) for line in Path("verdicts.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    assert [bool(line["label"]) == (line["score"] >= 0.7) for line in verdicts] == [True] * 4


def test_a_file_of_verdicts_holds_grades(tmp_path: Path) -> None:
    """So that a scale of which low is good is refused there, and not read the wrong way."""
    path = tmp_path / "verdicts.csv"
    path.write_text("label,score\n1,0.1\n0,0.9\n", encoding="utf-8")
    with pytest.raises(InputError, match="holds grades"):
        load_verdicts(path, scale=UP_TO_03)

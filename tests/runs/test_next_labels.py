"""What to label next: rows drawn where they tell most, with probabilities that are true, for what a
run left open.
"""

import json
import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from judgewright.judges import Dataset, InputError, JudgedDataset, OutputScale, Row, Verdict
from judgewright.runs.demo import write_demo_rows
from judgewright.runs.labels.export import drawn_with
from judgewright.runs.labels.listed import UNEVEN
from judgewright.runs.labels.next_rows import OpenQuestion, draw_rows, open_question
from judgewright.runs.store import LabelStore, Workspace

from .run_command import run

GRADED = OutputScale()
THRESHOLD = OpenQuestion(question="threshold", why="")
GAIN = OpenQuestion(question="gain", why="")


def rows_with_scores(
    scores: Sequence[int], labels: Mapping[int, float] | None = None
) -> tuple[Dataset, JudgedDataset]:
    """Return rows, and a judge that gives them these grades of 0..3."""
    rows = [
        Row(id=str(i), inputs={"text": f"text {i}"}, label=(labels or {}).get(i))
        for i in range(len(scores))
    ]
    dataset = Dataset.of(rows, labels=GRADED)
    answers = tuple(
        Verdict(
            row_id=str(i),
            score=float(score),
            positive=score >= GRADED.threshold,
            confidence=None,
            parser="test",
        )
        for i, score in enumerate(scores)
    )
    return dataset, JudgedDataset(dataset=dataset, answers=answers, judge="j", scale=GRADED)


@given(
    scores=st.lists(st.integers(0, 3), min_size=1, max_size=40),
    count=st.integers(1, 50),
    seed=st.integers(0, 99),
)
def test_rows_are_drawn_once_and_none_is_called_a_fair_sample(
    scores: list[int], count: int, seed: int
) -> None:
    """Every row of an uneven draw says a probability below 1; the even draw says none."""
    dataset, judged = rows_with_scores(scores)
    if not {1, 2} & set(scores):
        with pytest.raises(InputError, match="tells about this"):
            draw_rows(THRESHOLD, dataset, count, run=None, verdicts=judged, seed=seed)
        return
    drawn = draw_rows(THRESHOLD, dataset, count, run=None, verdicts=judged, seed=seed)
    assert len(set(drawn.ids)) == len(drawn.ids) == min(count, len(scores))
    assert drawn.probability.keys() == set(drawn.ids)
    assert all(0 < p <= UNEVEN < 1 for p in drawn.probability.values())
    even = draw_rows(GAIN, dataset, count, run=None, verdicts=None, seed=seed)
    assert not even.probability
    assert len(even.ids) == min(count, len(scores))


def test_the_probability_is_that_with_which_a_row_is_drawn() -> None:
    """Over many seeds a row comes as often as it says, and weights give the whole file back."""
    scores = [0] * 30 + [1, 2] * 10
    dataset, judged = rows_with_scores(scores)
    times, totals, draws = Counter[str](), [], 400
    for seed in range(draws):
        drawn = draw_rows(THRESHOLD, dataset, 12, run=None, verdicts=judged, seed=seed)
        times.update(drawn.ids)
        totals.append(sum(scores[int(row)] / drawn.probability[row] for row in drawn.ids))
    stated = draw_rows(THRESHOLD, dataset, 12, run=None, verdicts=judged, seed=0).probability
    for row, probability in stated.items():
        spread = np.sqrt(draws * probability * (1 - probability))
        assert abs(times[row] - draws * probability) < 5 * spread
    assert abs(np.mean(totals) - sum(scores)) < 5 * np.std(totals) / np.sqrt(draws)


def test_a_guard_wants_the_rows_that_its_metric_counts() -> None:
    """Recall and precision the rows called positive, specificity the others."""
    dataset, judged = rows_with_scores([0, 1, 2, 3] * 20)
    for metric, wanted in (("recall", {"2", "3"}), ("specificity", {"0", "1"})):
        asked = OpenQuestion(question="guard", why="", metric=metric)
        drawn = draw_rows(asked, dataset, 20, run=None, verdicts=judged, seed=1)
        inside = sum(str(int(row) % 4) in wanted for row in drawn.ids)
        assert inside == drawn.inside == 18


def test_doubted_labels_are_asked_about_again() -> None:
    """They are those that the judge contradicts most."""
    dataset, judged = rows_with_scores([3, 0, 3, 0], labels={0: 3.0, 1: 0.0, 2: 0.0, 3: 3.0})
    asked = OpenQuestion(question="doubts", why="")
    drawn = draw_rows(asked, dataset, 10, run=None, verdicts=judged, seed=0)
    assert set(drawn.ids) == {"2", "3"}
    with pytest.raises(InputError, match="there are no verdicts"):
        draw_rows(asked, dataset, 10, run=None, verdicts=None, seed=0)
    agreed = replace(judged, dataset=dataset)
    with pytest.raises(InputError, match="contradicts no label"):
        draw_rows(
            asked, replace(dataset, rows=dataset.rows[:2]), 10, run=None, verdicts=agreed, seed=0
        )


def test_labelled_rows_are_not_asked_about(tmp_path: Path) -> None:
    """A file without an unlabelled row is refused."""
    dataset, _ = rows_with_scores([0, 1], labels={0: 1.0})
    assert draw_rows(GAIN, dataset, 5, run=None, verdicts=None, seed=0).ids == ("1",)
    everything = replace(dataset, rows=dataset.rows[:1])
    with pytest.raises(InputError, match="every row has a label"):
        draw_rows(GAIN, everything, 5, run=None, verdicts=None, seed=0)
    assert open_question(None).question == "gain"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A workspace whose run found a slice that it could not confirm, and rows that nobody has
    labelled.
    """
    write_demo_rows(tmp_path / "all.jsonl", documents=200)
    lines = (tmp_path / "all.jsonl").read_text().splitlines()
    (tmp_path / "rows.jsonl").write_text("\n".join(lines[:300]))
    unlabelled = [
        {k: v for k, v in json.loads(line).items() if k != "label"} for line in lines[600:900]
    ]
    (tmp_path / "more.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in unlabelled))
    return tmp_path


@pytest.mark.parametrize(
    ("gate", "codes"), [(("--gate-anyway",), (0, 1)), (("--least-chance", "1"), (1, 4))]
)
def test_rows_of_an_unconfirmed_slice_come_next(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    gate: tuple[str, ...],
    codes: tuple[int, ...],
) -> None:
    """The command says what it is for and what it changes, and every record keeps its probability.

    So it is after a decision, and after a run that was not sent to the gate.
    """
    monkeypatch.chdir(folder)
    monkeypatch.setattr("sys.stdin", StringIO("y\nn\n"))
    code, _, err = run(
        capsys, *shlex.split("optimize groundedness rows.jsonl --model simulated --objective"), "raise precision",  # noqa: E501
        "--slice", "channel = table", "--steps", "1", *gate)  # fmt: skip
    assert code in codes, err
    code, out, err = run(
        capsys, *shlex.split("label --rows more.jsonl --next 20 --for slice --annotator ann")
    )
    assert code == 0, out + err
    assert "20 rows to label, 18 of them telling most" in err
    by_id = {row["id"]: row for row in map(json.loads, Path("more.jsonl").read_text().splitlines())}
    with Workspace(folder) as workspace:
        records = LabelStore(workspace.database).records()
    assert len(records) == 2
    for record in records:
        assert record.design == "next slice"
        certain = replace(record, probability=1.0)
        assert drawn_with(certain) < 1 == drawn_with(replace(certain, design="listed"))
        inside = by_id[record.row_id]["channel"] == "table"
        tables = sum(row["channel"] == "table" for row in by_id.values())
        assert record.probability == (18 / tables if inside else 2 / (len(by_id) - tables))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--for", "luck"), "is no question"),
        (("--for", "guard"), "no run has a guard"),
        (("--for", "slice"), "no run has a slice"),
        (("--for", "threshold"), "depends on what the judge says"),
    ],
)
def test_a_question_that_cannot_be_asked_is_refused(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: tuple[str, ...],
    message: str,
) -> None:
    """With what is missing."""
    monkeypatch.chdir(folder)
    code, _, err = run(capsys, "label", "--rows", "more.jsonl", "--next", "4", *arguments)
    assert code == 2
    assert message in err

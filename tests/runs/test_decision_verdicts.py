"""Verdicts of decision models in files, frames and pages: whole distributions, and the cut that
decides.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest

from judgewright.judges import (
    Dataset,
    DecisionRule,
    JudgedDataset,
    OutputScale,
    Registry,
    Row,
    Unscored,
    Verdict,
    judge,
    load_verdicts,
    measure,
)
from judgewright.judges.models.question import Question, State
from judgewright.judges.scale import Platt, label_scale_text, parse_label_scale
from judgewright.runs.actions.bench import write_verdicts
from judgewright.runs.store import Workspace, list_runs

from ..planted_decisions import BUILD, named_model, planted_client, served
from .review.conftest import Elements, visit, when_done
from .run_command import run

PROMPT = Registry().get("groundedness")
METRICS = ("precision", "recall", "f1", "auroc", "brier", "ece")


def by_hash(question: Question, state: State) -> list[float] | None:
    """Return a distribution that depends on the state alone; some rows get no answer, some one
    that is none.
    """
    digest = hashlib.blake2b(json.dumps(state).encode()).digest()
    rng = np.random.default_rng(list(digest))
    if digest[0] < 12:
        return None
    shares = rng.dirichlet([0.5] * len(question.options))
    if digest[0] < 24:
        return (shares * 1.4).tolist()
    return shares.tolist()


def rows_of(n: int, seed: int = 0) -> Dataset:
    """Return rows that people graded 0 to 3, in groups of two."""
    rng = np.random.default_rng(seed)
    rows = (
        Row(
            id=f"r{i}",
            inputs={"source": f"source {seed} {i}", "statement": "It is so."},
            label=float(rng.integers(0, 4)),
            group=f"g{i // 2}",
        )
        for i in range(n)
    )
    return Dataset.of(rows, labels=PROMPT.scale, name="rows.jsonl")


def judged_by_hash(n: int = 150, rule: DecisionRule | None = None) -> JudgedDataset:
    """Judge such rows."""
    with planted_client(by_hash) as client:
        return judge(PROMPT, rows_of(n), client, rule=rule)


RULES = (
    None,
    DecisionRule(threshold=0.3),
    DecisionRule(threshold=0.3, calibration=Platt(slope=1.2, intercept=-0.4)),
)


@pytest.mark.parametrize("rule", RULES, ids=["half", "cut", "calibrated"])
def test_a_verdict_file_read_back_decides_and_measures_alike(
    tmp_path: Path, rule: DecisionRule | None
) -> None:
    """The cut that decided stands in the file, and no option has to repeat it."""
    judged = judged_by_hash(rule=rule)
    write_verdicts(judged, tmp_path / "v.jsonl")
    again = load_verdicts(tmp_path / "v.jsonl")
    assert again.scale.threshold == judged.scale.threshold
    assert again.dataset.labels.threshold == judged.dataset.labels.threshold
    assert again.predicted.tolist() == judged.predicted.tolist()
    assert again.positive.tolist() == judged.positive.tolist()
    before, after = measure(judged, resamples=50), measure(again, resamples=50)
    assert len(before.unscored) == 1
    for name in METRICS:
        old, new = before.metrics[name], after.metrics[name]
        assert (new.value, new.low) == pytest.approx((old.value, old.low), abs=1e-9), name


def test_labels_that_never_reach_the_top_keep_their_threshold(tmp_path: Path) -> None:
    """Grades 0 and 1 of a scale to 3 are no yes and no: all of them are negative."""
    judged = judged_by_hash(40)
    low = judged.only([i for i, row in enumerate(judged.dataset.rows) if row.label in (0.0, 1.0)])
    write_verdicts(low, tmp_path / "v.jsonl")
    assert not load_verdicts(tmp_path / "v.jsonl").positive.any()
    moved = load_verdicts(tmp_path / "v.jsonl", threshold=0.25, label_threshold=1)
    assert (moved.scale.threshold, moved.dataset.labels.threshold) == (0.25, 1)


def test_files_and_frames_have_the_whole_distribution(tmp_path: Path) -> None:
    """Beside the probability that decides stand each grade's, the expected and the likeliest
    grade; a row without a verdict has none, and no slice is cut by them.
    """
    judged = judged_by_hash()
    write_verdicts(judged, tmp_path / "v.jsonl")
    lines = [json.loads(line) for line in (tmp_path / "v.jsonl").read_text().splitlines()]
    frame = judged.to_frame()
    for line, answer, shares in zip(lines, judged.answers, frame.distribution, strict=True):
        if isinstance(answer, Unscored):
            assert line["distribution"] is line["argmax_grade"] is line["score"] is None
            continue
        assert line["distribution"] == shares == dict(zip("0123", answer.distribution, strict=True))
        assert line["score"] == pytest.approx(answer.distribution[2] + answer.distribution[3])
        mean = sum(int(grade) * share for grade, share in shares.items())
        assert line["expected_grade"] == pytest.approx(mean)
        assert line["argmax_grade"] == int(np.argmax(answer.distribution))
    outputs = load_verdicts(tmp_path / "v.jsonl").outputs
    assert {"distribution.0", "distribution.3", "expected_grade", "argmax_grade"} <= {*outputs}


def test_a_chat_judges_file_has_no_further_columns(tmp_path: Path) -> None:
    """Nothing changes where there is no distribution."""
    rows = rows_of(3)
    answers = tuple(Verdict(row_id=row.id, score=2.0, positive=True) for row in rows.rows)
    judged = JudgedDataset(dataset=rows, answers=answers, scale=PROMPT.scale)
    write_verdicts(judged, tmp_path / "v.jsonl")
    line = json.loads((tmp_path / "v.jsonl").read_text().splitlines()[0])
    assert not {"distribution", "score_scale", "label_scale"} & line.keys()
    assert "distribution" not in judged.to_frame()


@pytest.mark.parametrize("text", ["binary", "probability@0.3", "0..3@2.0", "-2..5@1.5"])
def test_a_scale_written_as_text_is_read_back(text: str) -> None:
    """The grades and the threshold are the same."""
    assert label_scale_text(parse_label_scale(text)) == text
    named = OutputScale(labels=("bad", "fair", "good"), threshold=1.0)
    assert label_scale_text(named) == "0..2@1.0"


@pytest.mark.parametrize("seed", range(3))
def test_metrics_equal_scikit_learns_on_the_same_probabilities(seed: int) -> None:
    """Probabilities are not rounded; what is no distribution enters no mean."""
    from sklearn import metrics as sk
    from sklearn.calibration import calibration_curve

    rows = rows_of(300, seed)
    with planted_client(by_hash) as client:
        judged = judge(PROMPT, rows, client)
    pairs = [
        (row.label >= 2, answer.distribution[2] + answer.distribution[3])
        for row, answer in zip(rows.rows, judged.answers, strict=True)
        if isinstance(answer, Verdict) and row.label is not None
    ]
    label, score = (np.array(side) for side in zip(*pairs, strict=True))
    assert judged.unscored == {"parse": 300 - len(pairs)}
    assert len(pairs) < 290
    figures = {name: one.value for name, one in measure(judged, resamples=20).metrics.items()}
    observed, stated = calibration_curve(label, score, n_bins=10)
    share = np.bincount(np.searchsorted(np.linspace(0, 1, 11)[1:-1], score), minlength=10)
    expected = {
        "auroc": sk.roc_auc_score(label, score),
        "brier": sk.brier_score_loss(label, score),
        "ece": (np.abs(observed - stated) * share[share > 0]).sum() / len(pairs),
        "precision": sk.precision_score(label, score >= 0.5),
        "recall": sk.recall_score(label, score >= 0.5),
    }
    assert {name: figures[name] for name in expected} == pytest.approx(expected, abs=1e-12)


def test_bench_says_which_build_answered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Once; its verdict file gives the same figures, and the rows' page the distributions."""
    monkeypatch.chdir(tmp_path)
    lines = [
        {"id": row.id, "label": row.label, "group_id": row.group, **row.inputs}
        for row in rows_of(60).rows
    ]
    Path("rows.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    with served(by_hash) as (base_url, sent):
        monkeypatch.setenv("JUDGEWRIGHT_MODELS", named_model(tmp_path, base_url))
        bench = ("bench", "groundedness", "rows.jsonl", "--model", "planted")
        code, out, err = run(capsys, *bench, "--out", "v.jsonl")
        assert (code, len(sent)) == (0, 60), err
        said = " ".join(out.split())
        assert said.count(f"planted answered as {BUILD}") == 1
        code, out, _ = run(capsys, *bench, "--json")
        assert (code, len(sent)) == (0, 60)
        benched = json.loads(out)
        code, out, err = run(capsys, *bench, "--planted", "order")
        assert (code, len(sent)) == (0, 120), err
        assert "reversed: decided otherwise" in out
        assert run(capsys, *bench, "--planted", "ordered")[0] == 2
    code, out, _ = run(capsys, "score", "v.jsonl", "--json")
    scored = json.loads(out)
    assert code == 0
    assert scored["metrics"]["auroc"]["value"] == benched["metrics"]["auroc"]["value"]
    assert scored["metrics"]["f1"]["value"] == benched["metrics"]["f1"]["value"]
    with Workspace(tmp_path) as workspace:
        run_id = list_runs(workspace.database)[0].run_id
    with visit(tmp_path) as page:
        text = " ".join(Elements(when_done(page, f"/runs/{run_id}/rows").text).text.split())
    assert "expected grade" in text
    assert "most probable" in text

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
    Registry,
    Row,
    Unscored,
    Verdict,
    judge,
    load_verdicts,
    measure,
)
from judgewright.judges.models.question import Question, State
from judgewright.judges.scale import Platt
from judgewright.runs.actions.bench import write_verdicts
from judgewright.runs.store import Workspace, list_runs

from ..planted_decisions import BUILD, planted_client, requests_to, served
from .review.conftest import Elements, visit, when_done
from .run_command import run

PROMPT = Registry().get("groundedness")
METRICS = ("precision", "recall", "f1", "auroc", "brier", "ece")


def good(question: Question, state: State) -> list[float]:
    """Return a distribution that depends on the state alone."""
    digest = hashlib.blake2b(json.dumps(state).encode()).digest()
    return np.random.default_rng(list(digest)).dirichlet([0.5] * len(question.options)).tolist()


def at_times_bad(question: Question, state: State) -> list[float]:
    """Return the same, but for some rows no answer, and for some no distribution."""
    shares = good(question, state)
    if shares[0] < 0.004:
        return []
    return [1.4 * share for share in shares] if shares[1] < 0.004 else shares


def rows_of(n: int, seed: int = 0) -> Dataset:
    """Return rows that people graded 0 to 3, in groups of two."""
    labels = np.random.default_rng(seed).integers(0, 4, n)
    rows = (
        Row(
            id=f"r{i}",
            inputs={"source": f"source {seed} {i}", "statement": "It is so."},
            label=float(label),
            group=f"g{i // 2}",
        )
        for i, label in enumerate(labels)
    )
    return Dataset.of(rows, labels=PROMPT.scale, name="rows.jsonl")


def judged_rows(n: int = 150, rule: DecisionRule | None = None, seed: int = 0) -> JudgedDataset:
    """Judge such rows."""
    with planted_client(at_times_bad) as client:
        return judge(PROMPT, rows_of(n, seed), client, rule=rule)


@pytest.mark.parametrize(
    "rule",
    [
        None,
        DecisionRule(threshold=0.3),
        DecisionRule(threshold=0.3, calibration=Platt(slope=1.2, intercept=-0.4)),
    ],
    ids=["half", "cut", "calibrated"],
)
def test_a_verdict_file_read_back_decides_and_measures_alike(
    tmp_path: Path, rule: DecisionRule | None
) -> None:
    """The cut that decided stands in the file, and no option has to repeat it."""
    judged = judged_rows(rule=rule)
    write_verdicts(judged, tmp_path / "v.jsonl")
    again = load_verdicts(tmp_path / "v.jsonl")
    assert again.predicted.tolist() == judged.predicted.tolist()
    assert again.positive.tolist() == judged.positive.tolist()
    before, after = measure(judged).metrics, measure(again).metrics
    for name in METRICS:
        figures = [(one[name].value, one[name].low) for one in (before, after)]
        assert figures[1] == pytest.approx(figures[0], abs=1e-9), name


def test_labels_that_never_reach_the_top_keep_their_threshold(tmp_path: Path) -> None:
    """Grades 0 and 1 of a scale to 3 are no yes and no; thresholds that are stated come first."""
    judged = judged_rows(40)
    low = judged.only([i for i, row in enumerate(judged.dataset.rows) if row.label in (0.0, 1.0)])
    write_verdicts(low, tmp_path / "v.jsonl")
    assert not load_verdicts(tmp_path / "v.jsonl").positive.any()
    moved = load_verdicts(tmp_path / "v.jsonl", threshold=0.25, label_threshold=1)
    assert (moved.scale.threshold, moved.dataset.labels.threshold) == (0.25, 1)


def test_files_and_frames_have_the_whole_distribution(tmp_path: Path) -> None:
    """Each grade's probability, the expected and the likeliest grade; nothing of them in a chat
    judge's file, and no slice is cut by them.
    """
    judged = judged_rows()
    write_verdicts(judged, tmp_path / "v.jsonl")
    lines = [json.loads(line) for line in (tmp_path / "v.jsonl").read_text().splitlines()]
    for line, answer, shares in zip(
        lines, judged.answers, judged.to_frame().distribution, strict=True
    ):
        if isinstance(answer, Unscored):
            assert line["distribution"] is line["argmax_grade"] is line["score"] is None
            continue
        assert line["distribution"] == shares == dict(zip("0123", answer.distribution, strict=True))
        assert line["score"] == pytest.approx(answer.distribution[2] + answer.distribution[3])
        assert line["expected_grade"] == pytest.approx(np.dot(range(4), answer.distribution))
        assert line["argmax_grade"] == np.argmax(answer.distribution)
    outputs = load_verdicts(tmp_path / "v.jsonl").outputs
    assert {"distribution.0", "distribution.3", "expected_grade", "argmax_grade"} <= {*outputs}
    answers = tuple(Verdict(row_id=r.id, score=2.0, positive=True) for r in judged.dataset.rows)
    chat = JudgedDataset(dataset=judged.dataset, answers=answers, scale=PROMPT.scale)
    write_verdicts(chat, tmp_path / "chat.jsonl")
    written = json.loads((tmp_path / "chat.jsonl").read_text().splitlines()[0])
    assert not {"distribution", "scales"} & written.keys()


@pytest.mark.parametrize("seed", range(3))
def test_metrics_equal_scikit_learns_on_the_same_probabilities(seed: int) -> None:
    """Probabilities are not rounded; what is no distribution enters no mean."""
    from sklearn import metrics as sk
    from sklearn.calibration import calibration_curve

    judged = judged_rows(300, seed=seed)
    pairs = [
        (row.label >= 2, answer.distribution[2] + answer.distribution[3])
        for row, answer in zip(judged.dataset.rows, judged.answers, strict=True)
        if isinstance(answer, Verdict) and row.label is not None
    ]
    label, score = (np.array(side) for side in zip(*pairs, strict=True))
    assert judged.unscored == {"parse": 300 - len(pairs)}
    assert len(pairs) < 290
    figures = {name: one.value for name, one in measure(judged).metrics.items()}
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


def test_bench_says_which_build_answered_and_asks_again_in_another_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Once; its verdict file gives the same figures, the rows' page the distributions, and only
    what was changed is asked again.
    """
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("JUDGEWRIGHT_MODELS", str(tmp_path / "models.yaml"))
    rows = [{"id": row.id, "label": row.label, **row.inputs} for row in rows_of(60).rows]
    Path("rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    bench = ("bench", "groundedness", "rows.jsonl", "--model", "planted")
    with served(good, tmp_path) as server:
        code, out, err = run(capsys, *bench, "--out", "v.jsonl")
        assert (code, requests_to(server)) == (0, 60), err
        assert " ".join(out.split()).count(f"planted answered as {BUILD}") == 1
        benched = json.loads(run(capsys, *bench, "--json")[1])["metrics"]
        code, out, err = run(capsys, *bench, "--planted", "order")
        assert (code, requests_to(server)) == (0, 120), err
        assert "reversed: decided otherwise" in out
        assert run(capsys, *bench, "--planted", "ordered")[0] == 2
    scored = json.loads(run(capsys, "score", "v.jsonl", "--json")[1])["metrics"]
    assert all(scored[name]["value"] == benched[name]["value"] for name in METRICS)
    with Workspace(tmp_path) as workspace:
        run_id = list_runs(workspace.database)[0].run_id
    with visit(tmp_path) as page:
        text = Elements(when_done(page, f"/runs/{run_id}/rows").text).text
    assert "expected grade" in text

"""A decision model whose best cut is 0.3: `calibrate` finds it, and the gate prefers it to 0.5 by
the right figure.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

from judgewright.judges import BINARY, Dataset, JudgedDataset, Registry, Row, calibrate, judge
from judgewright.judges.models.question import Question, State
from judgewright.optimize import Objective, decide

from ..planted_decisions import BUILD, planted_client, requests_to, served
from .run_command import run

CUT, RIGHT = 0.3, 0.92
"""Above the cut people say yes to this share of the rows, below it no."""
SEEDS = 20


def said(question: Question, state: State) -> list[float]:
    """Return the probability that a row's statement names, on the top grade."""
    assert isinstance(state, dict)
    sure = float(state["statement"])
    return [1.0 - sure, *[0.0] * (len(question.options) - 2), sure]


def f1_at(cut: float) -> float:
    """Return F1 on endlessly many rows, for a cut of 0.3 or more."""
    over, between = 1.0 - cut, cut - CUT
    tp, fp, fn = over * RIGHT, over * (1 - RIGHT), CUT * (1 - RIGHT) + between * RIGHT
    return 2 * tp / (2 * tp + fp + fn)


def drawn_rows(n: int, seed: int, ids: str = "r") -> Dataset:
    """Return rows whose labels depend on which side of 0.3 their probability lies."""
    rng = np.random.default_rng(seed)
    sure = rng.uniform(0.0, 1.0, n)
    label = (sure >= CUT) ^ (rng.uniform(0.0, 1.0, n) > RIGHT)
    rows = (
        Row(id=f"{ids}{i}", inputs={"source": f"{ids}{i}", "statement": repr(p)}, label=float(y))
        for i, (p, y) in enumerate(zip(sure.tolist(), label, strict=True))
    )
    return Dataset.of(rows, labels=BINARY, name="rows")


def judged_rows(n: int, seed: int) -> JudgedDataset:
    """Judge such rows."""
    with planted_client(said) as client:
        return judge(Registry().get("groundedness"), drawn_rows(n, seed), client)


@pytest.mark.slow
def test_the_best_cut_is_found_and_preferred_by_the_right_figure() -> None:
    """In 20 worlds the cut is near 0.3, and the intervals of what it gains hold the true gain as
    often as 95 % intervals should, both where it is fitted and at the gate.
    """
    holds = {"calibrate": 0, "gate": 0}
    for seed in range(SEEDS):
        fitted = calibrate(judged_rows(400, seed), method="none")
        assert fitted.rule.threshold == pytest.approx(CUT, abs=0.05)
        sealed = judged_rows(600, seed + SEEDS)
        objective = Objective(text="raise f1", target="f1", direction=None)
        decision = decide(sealed, sealed.under(fitted.rule), objective, alpha=0.05)
        assert decision.outcome == "accepted"
        gain = f1_at(max(fitted.rule.threshold, CUT)) - f1_at(0.5)
        for name, change in (("calibrate", fitted.change), ("gate", decision.target)):
            holds[name] += change.low <= gain <= change.high
    assert min(holds.values()) >= SEEDS - 3, holds


def test_a_kept_cut_is_gated_against_a_half_by_two_verdict_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The same judge benched before and after `calibrate`, whose rule names build and interface and
    whose answer says what 0.5 would have done; no option repeats a cut.
    """
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("JUDGEWRIGHT_MODELS", str(tmp_path / "models.yaml"))
    for name, dataset in (("rows", drawn_rows(600, 1)), ("holdout", drawn_rows(300, 2, ids="h"))):
        lines = ({"id": row.id, "label": row.label, **row.inputs} for row in dataset.rows)
        Path(f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    asked = ("--model", "planted", "--group", "id")
    with served(said, tmp_path) as server:
        bench = ("bench", "groundedness", "holdout.jsonl", *asked)
        assert run(capsys, *bench, "--out", "half.jsonl")[0] == 0
        code, out, err = run(
            capsys, "calibrate", "groundedness", "rows.jsonl", *asked, "--method", "none"
        )
        assert code == 0, err
        assert re.search(r"a cut of 0.5 gives f1 0\.\d+ on .* the chosen one, 0\.[23]", out), out
        rule = next(Path("prompts/groundedness").glob("*.cut.yaml")).read_text()
        assert f"build: {BUILD}" in rule
        assert "api: systemone" in rule
        paid = requests_to(server)
        assert run(capsys, *bench, "--out", "cut.jsonl")[0] == 0
        assert requests_to(server) == paid
    gate = ("gate", "half.jsonl", "cut.jsonl", "--target", "f1", "--allow-opened", "--json")
    code, out, err = run(capsys, *gate)
    assert code == 0, err
    target = json.loads(out)["decision"]["target"]
    assert target["low"] <= f1_at(CUT) - f1_at(0.5) <= target["high"]


def test_a_gate_says_where_a_prompt_without_a_cut_is_decided(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """At a half, where a kept cut of the other side names its own threshold."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("JUDGEWRIGHT_MODELS", str(tmp_path / "models.yaml"))
    registry = Registry(tmp_path / "prompts")
    shipped = registry.get("groundedness")
    shipped.edited(criteria="Be strict.").write(Path("mine.yaml"))
    for name, dataset in (("rows", drawn_rows(600, 1)), ("holdout", drawn_rows(60, 2, ids="h"))):
        lines = ({"id": row.id, "label": row.label, **row.inputs} for row in dataset.rows)
        Path(f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    with served(said, tmp_path):
        asked = ("--model", "planted")
        assert run(capsys, "calibrate", "groundedness", "rows.jsonl", *asked)[0] == 0
        gate = ("gate", "groundedness", "mine.yaml", "holdout.jsonl", *asked, "--target", "f1")
        _, out, err = run(capsys, *gate)
    cut = registry.kept_rule(shipped, decides=True)
    assert cut is not None, err
    assert f"is decided by the kept rule {cut.rule.version}: positive at" in out
    assert "has no chosen cut, and is positive from a probability of 0.5 on" in out

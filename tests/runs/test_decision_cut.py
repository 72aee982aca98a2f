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

from ..planted_decisions import BUILD, named_model, planted_client, served
from .run_command import run

PROMPT = Registry().get("groundedness")
CUT, RIGHT = 0.3, 0.92
"""Above the cut people say yes to this share of the rows, below it no."""
SEEDS = 20


def said(question: Question, state: State) -> list[float]:
    """Return the probability that a row's statement names, on the top grade."""
    assert isinstance(state, dict)
    good = float(state["statement"])
    return [1.0 - good, *[0.0] * (len(question.options) - 2), good]


def f1_at(cut: float) -> float:
    """Return F1 on endlessly many rows."""
    over, between = 1.0 - max(cut, CUT), cut - CUT
    tp, fp, fn = over * RIGHT, over * (1 - RIGHT), CUT * (1 - RIGHT) + between * RIGHT
    return 2 * tp / (2 * tp + fp + fn)


GAIN = f1_at(CUT) - f1_at(0.5)


def drawn_rows(n: int, seed: int, ids: str = "r") -> Dataset:
    """Return rows whose labels depend on which side of 0.3 their probability lies."""
    rng = np.random.default_rng(seed)
    good = rng.uniform(0.0, 1.0, n)
    label = (good >= CUT) ^ (rng.uniform(0.0, 1.0, n) > RIGHT)
    rows = (
        Row(id=f"{ids}{i}", inputs={"source": f"{ids}{i}", "statement": repr(p)}, label=float(y))
        for i, (p, y) in enumerate(zip(good.tolist(), label, strict=True))
    )
    return Dataset.of(rows, labels=BINARY, name="rows")


def judged_rows(n: int, seed: int) -> JudgedDataset:
    """Judge such rows."""
    with planted_client(said) as client:
        return judge(PROMPT, drawn_rows(n, seed), client)


@pytest.mark.slow
def test_the_best_cut_is_found_and_preferred_by_the_right_figure() -> None:
    """In 20 worlds the cut is near 0.3, and the intervals of what it gains hold the true gain as
    often as 95 % intervals should, both where it is fitted and at the gate.
    """
    holds = {"calibrate": 0, "gate": 0}
    for seed in range(SEEDS):
        fitted = calibrate(judged_rows(400, seed), method="none", resamples=20)
        assert fitted.rule.threshold == pytest.approx(CUT, abs=0.05)
        assert fitted.change is not None
        sealed = judged_rows(600, seed + SEEDS)
        objective = Objective(text="raise f1", target="f1", direction=None)
        decision = decide(sealed, sealed.under(fitted.rule), objective, alpha=0.05, look=1)
        assert decision.outcome == "accepted"
        assert decision.target is not None
        # What this cut gains, which is a little less than the best one.
        gain = f1_at(max(fitted.rule.threshold, CUT)) - f1_at(0.5)
        for name, change in (("calibrate", fitted.change), ("gate", decision.target)):
            assert change.low is not None
            assert change.high is not None
            holds[name] += change.low <= gain <= change.high
    assert min(holds.values()) >= SEEDS - 3, holds


def write(path: str, rows: Dataset) -> None:
    """Write rows as JSONL."""
    lines = [{"id": row.id, "label": row.label, **row.inputs} for row in rows.rows]
    Path(path).write_text("".join(json.dumps(line) + "\n" for line in lines))


def test_a_kept_cut_is_gated_against_a_half_by_two_verdict_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The same judge benched before and after `calibrate`, whose rule names build and interface and
    whose answer says what 0.5 would have done; no option repeats a cut.
    """
    monkeypatch.chdir(tmp_path)
    write("rows.jsonl", drawn_rows(600, 1))
    write("holdout.jsonl", drawn_rows(300, 2, ids="h"))
    asked = ("--model", "planted", "--group", "id")
    with served(said) as (base_url, sent):
        monkeypatch.setenv("JUDGEWRIGHT_MODELS", named_model(tmp_path, base_url))
        bench = ("bench", "groundedness", "holdout.jsonl", *asked)
        assert run(capsys, *bench, "--out", "half.jsonl")[0] == 0
        calibrated = ("calibrate", "groundedness", "rows.jsonl", *asked, "--method", "none")
        code, out, err = run(capsys, *calibrated)
        assert code == 0, err
        assert re.search(r"a cut of 0.5 gives f1 0\.\d+ on .* the chosen one, 0\.3", out), out
        rule = next(Path("prompts/groundedness").glob("*.cut.yaml")).read_text()
        assert f"build: {BUILD}" in rule
        assert "api: systemone" in rule
        paid = len(sent)
        code, out, err = run(capsys, *bench, "--out", "cut.jsonl")
        assert (code, len(sent)) == (0, paid), err
        assert "decided by the kept rule" in " ".join(out.split())
    code, out, err = run(
        capsys, "gate", "half.jsonl", "cut.jsonl", "--target", "f1", "--allow-opened", "--json"
    )
    assert code == 0, err
    decision = json.loads(out)["decision"]
    target = decision["target"]
    assert decision["outcome"] == "accepted"
    assert target["low"] <= GAIN <= target["high"]


def test_a_cut_of_another_build_is_said() -> None:
    """A cut holds for the build that it was chosen on."""
    from judgewright.judges import DecisionRule
    from judgewright.judges.registry import KeptRule

    rule = KeptRule(
        rule=DecisionRule(threshold=0.3),
        judge="j@1",
        asked_at=2.0,
        dataset="d",
        dataset_hash="h",
        rows=40,
        model="m",
        confidence="ask",
        metric="f1",
        simulated=False,
        api="systemone",
        build="m-1",
    )
    used = {"model": "m", "confidence": "ask"}
    assert list(rule.caveats(**used, build="m-1")) == []
    assert "chosen on m-1, not on m-2" in next(rule.caveats(**used, build="m-2"))
    older = rule.model_copy(update={"build": None})
    assert list(older.caveats(**used, build="m-2")) == []

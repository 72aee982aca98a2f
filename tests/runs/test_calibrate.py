"""`calibrate`: validation rows alone are judged, the rule is kept, and runs and exports carry
it.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from judgewright.judges import (
    BudgetSpent,
    DecisionRule,
    InputError,
    JudgeSettings,
    ModelError,
    Registry,
    Shares,
    judge_request,
    split_dataset,
)
from judgewright.judges.files import load_dataset
from judgewright.judges.simulated import Faults, Server, Simulated, make_app
from judgewright.runs.actions import CalibrationRun, resume_run, run_calibration, start_run
from judgewright.runs.commands.calibrate import calibrate
from judgewright.runs.config import Environment, ModelOptions
from judgewright.runs.demo import write_demo_rows
from judgewright.runs.exports import TARGETS, ExportContext
from judgewright.runs.store import RunConfig, Workspace, list_runs

PROMPT = Registry().get("groundedness")


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    """About five hundred made-up labelled rows."""
    path = tmp_path / "rows.jsonl"
    write_demo_rows(path, documents=150)
    return path


def calibrated(
    place: Workspace,
    path: Path,
    *,
    shares: Shares = (30, 20, 30, 20),
    model: str = "simulated",
    budget: str | None = None,
    settings: JudgeSettings | None = None,
    metric: str = "f1",
) -> CalibrationRun:
    """Calibrate the shipped groundedness judge."""
    return run_calibration(
        place,
        PROMPT,
        load_dataset(path, inputs=PROMPT.inputs, scale=PROMPT.scale),
        models=ModelOptions(model=model, budget=budget, concurrency=32),
        environment=Environment(),
        settings=settings or JudgeSettings(),
        metric=metric,
        method="platt",
        shares=shares,
    )


def walk(place: Workspace, path: Path, **changes: Any) -> Any:
    """Start a short optimization."""
    config = RunConfig(
        prompt=PROMPT.to_yaml(),
        model="simulated",
        data=str(path),
        objective="Raise F1.",
        steps=1,
        **changes,
    )
    return start_run(place, config, Environment())


def test_validation_rows_are_judged_and_no_others(place: Workspace, rows: Path) -> None:
    """What was asked are the requests of the validation part, to the last one."""
    result = calibrated(place, rows)
    parts = split_dataset(load_dataset(rows, inputs=PROMPT.inputs, scale=PROMPT.scale))
    wanted = {
        judge_request(PROMPT, row, settings=JudgeSettings()).messages[-1].content
        for row in parts.validation.rows
    }
    asked = [
        json.loads(line[0]) for line in place.database.read("SELECT request_json FROM request", ())
    ]
    assert {body["messages"][-1]["content"] for body in asked} == wanted
    assert result.stats.calls == len(wanted) == len(asked)
    assert result.kept.dataset_hash == parts.validation.content_hash
    assert result.kept.rows == len(parts.validation)


def test_the_rule_is_kept_with_the_version_and_found_again(place: Workspace, rows: Path) -> None:
    """The shelf hands it out for this prompt, marked as fitted on the simulated model."""
    result = calibrated(place, rows)
    kept = place.registry.kept_rule(PROMPT)
    assert kept == result.kept
    assert place.registry.rule(PROMPT) == result.calibrated.rule
    assert (kept.model, kept.simulated, kept.metric, kept.confidence) == (
        "simulated",
        True,
        "f1",
        "ask",
    )
    assert kept.rule.calibration is not None


def test_rows_split_one_way_are_not_split_another_way(place: Workspace, rows: Path) -> None:
    """Neither after an optimization nor before one, so that no rule sees a holdout."""
    first = calibrated(place, rows)
    again = calibrated(place, rows, shares=(20, 40, 20, 20))
    assert again.kept.dataset_hash == first.kept.dataset_hash
    assert any(
        "stay in the part they were in; 20/40/20/20 is for new ones" in note for note in again.notes
    )
    sizes = next(
        e for e in walk(place, rows, shares=(20, 40, 20, 20)).run.events if e.kind == "split"
    ).payload["rows"]
    assert sizes["validation"] == first.kept.rows


def test_a_walk_decides_by_the_kept_rule_and_remembers_it(place: Workspace, rows: Path) -> None:
    """Its benchmark is at the kept threshold, and resuming it after another calibration is the same
    walk.
    """
    plain = walk(place, rows)
    rule = calibrated(place, rows, metric="recall").calibrated.rule
    assert rule.threshold != PROMPT.rule.threshold
    ruled = walk(place, rows)
    payload = {event.kind: event.payload for event in ruled.run.events}
    before = {event.kind: event.payload for event in plain.run.events}
    assert (before["started"]["rule"], payload["started"]["rule"]) == (
        PROMPT.rule.version,
        rule.version,
    )
    assert payload["benchmark"]["confusion"] != before["benchmark"]["confusion"]
    kept = place.registry.kept_rule(PROMPT)
    assert kept is not None
    (place.root / "prompts" / "groundedness" / f"{PROMPT.version}.rule.yaml").unlink()
    again = resume_run(place, ruled.run_id, Environment())
    assert [e.payload for e in again.run.events] == [e.payload for e in ruled.run.events]


def test_too_few_labels_are_refused_before_anything_is_asked(
    place: Workspace, tmp_path: Path
) -> None:
    """No call is made and no run is entered."""
    path = tmp_path / "few.jsonl"
    write_demo_rows(path, documents=12)
    with pytest.raises(InputError, match="rows have a label"):
        calibrated(place, path)
    assert list_runs(place.database) == ()


def test_a_spent_budget_keeps_no_rule(place: Workspace, rows: Path) -> None:
    """A rule of the rows that happened to be paid for is none."""
    with pytest.raises(BudgetSpent, match="before"):
        calibrated(place, rows, budget="20000tokens")
    assert place.registry.kept_rule(PROMPT) is None


def test_tok_confidence_is_kept_as_such_and_refused_where_there_is_none(
    place: Workspace, rows: Path
) -> None:
    """With log-probabilities the rule says tok; without them nothing is kept."""
    with Server(make_app(Simulated(), Faults(refuse=frozenset({"logprobs"})))) as server:
        model = f"any@{server.base_url}"
        with pytest.raises(ModelError, match="refuses token log-probabilities"):
            calibrated(place, rows, model=model, settings=JudgeSettings(confidence="tok"))
    assert place.registry.kept_rule(PROMPT) is None
    assert (
        calibrated(place, rows, settings=JudgeSettings(confidence="tok")).kept.confidence == "tok"
    )


def test_exports_carry_the_rule() -> None:
    """YAML tells the rule in its comment and reads back as the prompt."""
    rule = DecisionRule.from_json(
        {"threshold": 1, "calibration": {"method": "platt", "slope": 0.5, "intercept": -0.25}}
    )
    handover = ExportContext(prompt=PROMPT, rule=rule, provenance={"run": None})
    (text,) = TARGETS["yaml"].write(handover).files.values()
    assert f"# rule: {rule.version}\n" in text
    assert '"slope":0.5' in text
    assert text.endswith(PROMPT.to_yaml())


def test_the_command_prints_before_and_after(
    rows: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Metrics with intervals and n, the reliability curve, where the rule is; and the same as
    JSON.
    """
    monkeypatch.chdir(tmp_path)
    words = ["groundedness", str(rows), "--model", "simulated", "--method"]
    calibrate.main([*words, "platt"], standalone_mode=False)
    out = capsys.readouterr().out
    assert "SIMULATED" in out
    assert "threshold: 2 -> " in out
    assert "cross-fitted in 5 folds" in out
    assert "reliability" in out
    assert f"{PROMPT.version}.rule.yaml" in out
    calibrate.main([*words, "platt", "--json"], standalone_mode=False)
    body = json.loads(capsys.readouterr().out)
    assert body["schema_version"] == 1
    assert (body["calls"], body["simulated"], body["asked_at"]) == (0, True, 2.0)
    assert set(body["metrics"]) == {"f1", "ece", "brier", "auroc"}
    for name, pair in body["metrics"].items():
        assert all(
            pair[side]["low"] <= pair[side]["value"] <= pair[side]["high"]
            for side in ("before", "after")
        )
        # F1 is of the rows that either side calls positive.
        assert name == "f1" or {pair[side]["n"] for side in pair} == {body["n"]}
    assert sum(one["share"]["n"] for one in body["reliability"]["after"]) == body["n"]
    assert Registry(tmp_path / "prompts").rule(PROMPT).version == body["rule"]["version"]
    calibrate.main([*words, "none", "--json"], standalone_mode=False)
    body = json.loads(capsys.readouterr().out)
    assert (body["rule"]["calibration"], body["method"]) == (None, "none")

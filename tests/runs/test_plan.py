"""`optimize --plan` spends nothing, agrees with the run, and says what it cannot know."""

import json
import shlex
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

from judgewright.judges import (
    BINARY,
    Dataset,
    InputError,
    JudgedDataset,
    Registry,
    Row,
    Verdict,
    compare,
)
from judgewright.optimize.holdout.ledger import alpha_of_look
from judgewright.runs.actions import (
    Plan,
    assumed_judge,
    plan_run,
    start_run,
)
from judgewright.runs.actions.bench import run_bench
from judgewright.runs.actions.detectable_gain import measured_before
from judgewright.runs.commands.optimize import optimize
from judgewright.runs.config import Environment
from judgewright.runs.config.command_options import BenchOptions, ModelOptions, RowOptions
from judgewright.runs.demo import write_demo_rows
from judgewright.runs.reports.plan_report import detectable_in_words
from judgewright.runs.store import RunConfig, Workspace
from judgewright.runs.store.run_config import read_rows

PROMPT = Registry().get("groundedness")
OBJECTIVE = "raise precision; recall may fall by 3 points"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with about three hundred made-up rows."""
    monkeypatch.chdir(tmp_path)
    write_demo_rows(tmp_path / "rows.jsonl", documents=90)
    return tmp_path


def config(**changes: Any) -> RunConfig:
    """A short walk."""
    plain = {
        "prompt": PROMPT.to_yaml(),
        "model": "simulated",
        "data": "rows.jsonl",
        "objective": OBJECTIVE,
        "steps": 3,
    }
    return RunConfig(**{**plain, **changes})


def planned(folder: Path, *, environment: Environment | None = None, **changes: Any) -> Plan:
    """Plan a short walk in the folder's workspace."""
    with Workspace(folder) as place:
        return plan_run(place, config(**changes), environment or Environment())


def run(*arguments: str) -> Result:
    """Run the command; errors of ours come through as they are."""
    return CliRunner().invoke(optimize, [*arguments, "--plan"], catch_exceptions=False)


def test_nothing_is_asked_written_or_spent(folder: Path) -> None:
    """A plan leaves the folder as it was, whatever the model."""
    result = run(
        "groundedness",
        "rows.jsonl",
        "--objective",
        OBJECTIVE,
        *shlex.split("--model your-model --steps 4"),
    )
    assert result.exit_code == 0
    assert [path.name for path in folder.iterdir()] == ["rows.jsonl"]
    assert "nothing was asked or spent" in result.output
    assert "a judge that is right about 80% of the time" in " ".join(result.output.split())


def test_the_walk_stays_within_the_plan_it_was_given(folder: Path) -> None:
    """Calls and tokens of the run that the same options start are no more than planned."""
    found = planned(folder)
    with Workspace(folder) as place:
        result = start_run(place, config(), Environment())
    stats = result.stats[0]
    spent = {"calls": stats.calls, "tokens": stats.tokens_in + stats.tokens_out}
    for name, most in spent.items():
        span = getattr(found, name)
        assert span.likely <= span.at_most
        assert most <= span.at_most
    assert sum(line.calls for line in found.lines) == found.calls.at_most


def test_the_tokens_of_cases_are_counted_where_an_arm_shows_them(folder: Path) -> None:
    """More cases, more tokens, as many calls; another arm's calls are as long as before."""
    two, eight = (planned(folder, proposer="cases", cases=count) for count in (2, 8))
    assert eight.calls == two.calls
    assert eight.tokens.at_most > 1.1 * two.tokens.at_most
    note = next(note for note in eight.notes if note.startswith("decided cases add about "))
    added = int(note.split()[4].replace(",", ""))
    judged = [line for line in eight.lines if line.cases]
    assert {line.what.partition(":")[0] for line in judged} == {"cases"}
    usual = sum(line.likely for line in judged)
    assert 0 < eight.tokens.likely - two.tokens.likely < added * usual
    assert not any("decided cases" in note for note in planned(folder, proposer="rewrite").notes)


def test_a_budget_that_does_not_pay_for_folds_gets_a_split_and_is_told(folder: Path) -> None:
    """In the plan and in the run; the same command finds the run again."""
    whole = planned(folder, proposer="rewrite", steps=1)
    assert whole.tokens.likely is not None
    small = {"proposer": "rewrite", "steps": 1, "budget": f"{int(whole.tokens.likely) - 1}tokens"}
    plan = planned(folder, **small)
    assert plan.budget.startswith("--budget does not pay for 2 folds: prompts are written from one")
    assert plan.tokens.likely is not None
    assert plan.tokens.likely < whole.tokens.likely
    told: list[str] = []
    small |= {"yes": True}
    with Workspace(folder) as place:
        result = start_run(place, config(**small), Environment(), tell=told.append)
        assert told == [plan.budget.partition(";")[0]]
        assert result.run.config.folds == 1
        assert {step.fold for step in result.run.steps} <= {1, None}
        again = start_run(place, config(**small), Environment(), tell=told.append)
    assert again.run_id == result.run_id


def test_prices_make_money_and_an_unknown_price_is_no_zero(folder: Path) -> None:
    """Dollars are the tokens at the prices given; without a price they are not known."""
    models = folder / "models.yaml"
    models.write_text(
        "priced:\n  model: mine\n  base_url: http://127.0.0.1:9/v1\n"
        "  price: {input: 1.0, output: 1.0}\n"
    )
    known = planned(folder, model="priced", environment=Environment(models=models))
    assert known.tokens.likely is not None
    assert known.tokens.at_most is not None
    assert known.money.likely == pytest.approx(known.tokens.likely * 1e-6, rel=1e-2)
    assert known.money.at_most == pytest.approx(known.tokens.at_most * 1e-6, rel=1e-2)
    unknown = planned(folder, model="mine@http://127.0.0.1:9/v1")
    assert (unknown.money.likely, unknown.money.at_most) == (None, None)
    assert "price" in unknown.money.reason
    assert unknown.calls.at_most == known.calls.at_most


def test_a_plan_refuses_what_optimize_refuses(folder: Path) -> None:
    """A setting of another proposer is no walk to plan."""
    with pytest.raises(InputError, match="belongs to"):
        planned(folder, step_calls=50)


def test_a_metric_of_grades_has_no_detectable_gain_and_says_why(folder: Path) -> None:
    """What cannot be worked out is None with a reason."""
    found = planned(folder, target="off_by_one")
    assert found.detectable.size is None
    assert "off_by_one" in found.detectable.reason
    assert json.loads(json.dumps(found.to_json()))["detectable"]["size"] is None


def test_few_groups_are_told_to_decide_nothing(folder: Path) -> None:
    """A holdout of fewer than twenty groups is named in the notes."""
    write_demo_rows(folder / "few.jsonl", documents=20)
    found = planned(folder, data="few.jsonl")
    assert any("the gate cannot decide" in note for note in found.notes)


def test_a_guard_that_no_candidate_could_hold_is_named_before_anything_is_spent(
    folder: Path,
) -> None:
    """Where hardly a row is positive, nothing can be shown about recall."""
    write_demo_rows(folder / "rare.jsonl", documents=90)
    rows = [json.loads(line) for line in (folder / "rare.jsonl").read_text().splitlines()]
    for i, row in enumerate(rows):
        row["label"] = int(i % 20 == 0)
    (folder / "rare.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    found = planned(folder, data="rare.jsonl", target="precision", guards=("recall:-0.05",))
    assert any(
        "recall wants 20, so that the gate cannot accept any candidate" in note
        for note in found.notes
    )
    assert not any("cannot accept any candidate" in note for note in planned(folder).notes)


def table(labels: list[int], said: list[int]) -> JudgedDataset:
    """Answers to independent binary rows."""
    rows = tuple(Row(id=str(i), inputs={}, label=label) for i, label in enumerate(labels))
    answers = tuple(
        Verdict(row_id=row.id, score=s, positive=bool(s)) for row, s in zip(rows, said, strict=True)
    )
    return JudgedDataset(dataset=Dataset(rows=rows, labels=BINARY), answers=answers, scale=BINARY)


def test_the_assumed_judge_has_the_precision_and_recall_that_are_told(folder: Path) -> None:
    """Counted by hand on the verdicts that stand in for a judge nobody asked."""
    rows = config().dataset()
    judged = assumed_judge(rows, PROMPT)
    hits = int((judged.positive & judged.predicted).sum())
    assert hits / judged.predicted.sum() == pytest.approx(0.8, abs=0.01)
    assert hits / judged.positive.sum() == pytest.approx(0.8, abs=0.01)


@pytest.mark.slow
def test_the_detectable_gain_is_found_eight_times_in_ten(folder: Path) -> None:
    """Drawn edits that gain as much, at the assumed churn, pass a paired test on as many rows about
    that often.
    """
    write_demo_rows(folder / "rows.jsonl", documents=400)
    found = planned(folder, objective="raise accuracy").detectable
    assert found.size is not None
    assert (found.look, found.alpha) == (1, pytest.approx(alpha_of_look(1)))
    rng = np.random.default_rng(7)
    passed = [passes(found.rows, found.size, found.alpha, rng) for _ in range(300)]
    assert 0.70 <= float(np.mean(passed)) <= 0.90


def passes(rows: int, gain: float, alpha: float, rng: np.random.Generator) -> bool:
    """Draw a judge of accuracy 0.8, an edit that churns a quarter of its errors and gains on top,
    and test it.
    """
    labels = rng.random(rows) < 0.5
    wrong = rng.random(rows) < 0.2
    churn = 0.25 * 0.2
    mend, broken = (
        wrong & (rng.random(rows) < (churn + gain) / 0.2),
        ~wrong & (rng.random(rows) < churn / 0.8),
    )
    before, after = labels ^ wrong, labels ^ ((wrong & ~mend) | broken)
    change = compare(
        "accuracy",
        table([*map(int, labels)], [*map(int, before)]),
        table([*map(int, labels)], [*map(int, after)]),
    )
    assert change is not None
    assert change.se is not None
    return bool(change.difference / change.se > NormalDist().inv_cdf(1 - alpha))


def test_a_plan_reckons_with_what_a_bench_measured(tmp_path: Path) -> None:
    """The judge's own precision and recall take the place of the assumed ones, said with the run;
    another model's do not.
    """
    write_demo_rows(tmp_path / "rows.jsonl", documents=200)
    with Workspace(tmp_path) as workspace:
        prompt = workspace.registry.get("groundedness")
        config = RunConfig(
            prompt=prompt.to_yaml(),
            data=str(tmp_path / "rows.jsonl"),
            objective="do not call unsupported statements grounded",
            target="precision",
            model="simulated",
        )
        before = plan_run(workspace, config, Environment()).detectable
        assert before.known == ""
        rows = read_rows(prompt, tmp_path / "rows.jsonl", RowOptions())
        options = ModelOptions(model="simulated")
        result = run_bench(
            workspace, prompt, rows, BenchOptions(), options, Environment(), watch=lambda *_: None
        )
        after = plan_run(workspace, config, Environment()).detectable
        figure = result.benchmark.metrics["precision"].value
        assert f"found precision {figure:.2f} and recall" in after.known
        assert after.known in " ".join(detectable_in_words(after, len(rows)))
        assert after.to_json() | {"known": ""} != before.to_json()
        assert after.size != before.size
        judge = f"{prompt.name}@{prompt.version}"
        assert measured_before(workspace, judge, "another-model") is None
        assert measured_before(workspace, f"{prompt.name}@other", "simulated") is None

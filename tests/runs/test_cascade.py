"""A fast decision model and a slow chat model as one judge, over HTTP."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from openai import OpenAI

from judgewright.judges import Registry, read_prompt
from judgewright.judges.cascade import Cascade
from judgewright.runs.actions import read_run
from judgewright.runs.actions.show_rows import shown_rows
from judgewright.runs.store import Workspace, list_runs

from .cascade_server import CascadeServer, write_rows
from .decision_server import decision_server
from .exports.exported_judge import reader
from .run_command import run

FEW = [(0.05, 0, 0), (0.45, 3, 1), (0.55, 0, 0), (0.5, None, 1), (0.95, 3, 1), (0.9, 0, 1)]
CHOOSE = (
    *("calibrate", "groundedness", "rows.jsonl", "--model", "one"),
    *("--split", "10/70/10/10", "--cascade", "chat"),
)
BENCH = ("bench", "both.yaml", "rows.jsonl", "--model", "one", "--json")


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[CascadeServer]:
    """Stand in a folder with few rows, whose `models.yaml` names a fast and a slow model."""
    monkeypatch.chdir(tmp_path)
    models = tmp_path / "own" / "models.yaml"
    models.parent.mkdir()
    monkeypatch.setenv("JUDGEWRIGHT_MODELS", str(models))
    write_rows(tmp_path / "rows.jsonl", FEW)
    write_cascade("both.yaml")
    with decision_server(tmp_path / "rows.jsonl", models, CascadeServer) as serving:
        yield serving


def write_cascade(path: str, *, model: str = "chat", low: float = 0.3, high: float = 0.7) -> None:
    """Write the shipped judge with a cascade."""
    text = Registry().get("groundedness").to_yaml(lineage=False)
    cascade = f"cascade: {{model: {model}, low: {low}, high: {high}}}\n"
    Path(path).write_text(text + cascade, encoding="utf-8")


def test_the_slow_model_decides_in_the_band_and_nowhere_else(
    server: CascadeServer, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each verdict says who decided; where the slow one fails, the row is unscored."""
    code, out, _ = run(capsys, *BENCH, "--out", "verdicts.jsonl")
    assert code == 0
    lines = [json.loads(line) for line in Path("verdicts.jsonl").read_text().splitlines()]
    assert [line.get("decided_by") for line in lines] == [None, "chat", "chat", None, None, None]
    assert [line["verdict"] for line in lines] == [0, 1, 0, None, 1, 1]
    assert [line["score"] for line in lines] == [0.05, 0.9, pytest.approx(0.1), None, 0.95, 0.9]
    assert lines[1]["confidence"] == 0.9
    assert lines[3]["unscored"] == "parse"
    assert lines[3]["detail"].startswith("chat: ")
    assert (len(server.decided), len(server.written)) == (6, 3)
    body = json.loads(out)
    assert body["calls"] == 9
    assert body["cost"] == pytest.approx((6 * 200 * 0.04 + 3 * (100 + 2 * 20)) / 1e6)


def test_what_was_asked_of_either_model_is_not_paid_for_again(
    server: CascadeServer, capsys: pytest.CaptureFixture[str]
) -> None:
    """Neither by another band, nor by the judge without a cascade on the fast or the slow one."""
    run(capsys, *BENCH)
    write_cascade("both.yaml", low=0.45, high=0.52)
    _, out, _ = run(capsys, *BENCH)
    assert json.loads(out)["calls"] == 0
    for model, calls in (("one", 0), ("chat", 3)):
        _, out, _ = run(capsys, "bench", "groundedness", *BENCH[2:-2], model, "--json")
        assert json.loads(out)["calls"] == calls


def test_a_band_of_all_asks_the_slow_model_alone(
    server: CascadeServer, capsys: pytest.CaptureFixture[str]
) -> None:
    """So that the gate can hold a cascade against it."""
    write_cascade("both.yaml", low=0, high=1)
    assert run(capsys, *BENCH)[0] == 0
    assert (len(server.decided), len(server.written)) == (0, 6)


@pytest.mark.parametrize("model", ["stranger", "one-1.0", "theirs"])
def test_a_model_that_only_others_name_is_sent_nothing(
    server: CascadeServer, capsys: pytest.CaptureFixture[str], model: str
) -> None:
    """Neither the judge's file nor the workspace's models.yaml says where rows go, and the fast
    model is not asked either.
    """
    Path("models.yaml").write_text("theirs: {model: chat}\n")
    write_cascade("both.yaml", model=model)
    code, _, err = run(capsys, *BENCH)
    assert code == 2
    assert f"judgewright models add {model}" in err
    assert server.decided == server.written == []


def test_one_budget_is_for_both_models(
    server: CascadeServer, capsys: pytest.CaptureFixture[str]
) -> None:
    """Rows of the slow one that it does not pay for are unscored, and the same command with more
    money asks only them.
    """
    code, out, _ = run(capsys, *BENCH, "--budget", "0.0005")
    assert code == 3
    assert json.loads(out)["unscored"] == {"budget": 3}
    assert (len(server.decided), len(server.written)) == (6, 0)
    code, out, _ = run(capsys, *BENCH, "--budget", "1.00")
    assert code == 0
    assert json.loads(out)["unscored"] == {"parse": 1}
    assert (len(server.decided), len(server.written)) == (6, 3)


def test_rows_of_a_bench_are_shown_from_the_record(
    server: CascadeServer, capsys: pytest.CaptureFixture[str]
) -> None:
    """The page finds both models' answers without asking."""
    _, first, _ = run(capsys, *BENCH)
    with Workspace(Path()) as place:
        shown = shown_rows(place, read_run(place, list_runs(place.database)[0].run_id))
    assert shown.judged.unscored == json.loads(first)["unscored"] == {"parse": 1}
    assert [getattr(one, "model", None) for one in shown.judged.answers][:3] == ["", "chat", "chat"]
    assert (len(server.decided), len(server.written)) == (6, 3)


def easy_and_hard(n: int) -> list[tuple[float, int | None, int]]:
    """Rows of which a third are hard: there the fast model is right by half, the slow one 19 times
    in 20.
    """
    rng = random.Random(7)
    rows: list[tuple[float, int | None, int]] = []
    for _ in range(n):
        label = rng.randrange(2)
        grade = 3 * (label if rng.random() < 0.95 else 1 - label)
        hard = rng.random() < 1 / 3
        p = rng.uniform(0.3, 0.7) if hard else abs(label - rng.uniform(0.01, 0.1))
        rows.append((round(p, 4), grade, label))
    return rows


def test_a_band_is_chosen_kept_and_decides(
    server: CascadeServer, capsys: pytest.CaptureFixture[str]
) -> None:
    """It lies among the hard rows; the new version has the cut of the fast model, and its bench
    asks nothing that the choice asked.
    """
    write_rows(Path("rows.jsonl"), easy_and_hard(400))
    code, out, err = run(capsys, *CHOOSE, "--agreement", "0.95", "--plot", "curve.svg", "--json")
    assert code == 0, err
    chosen = json.loads(out)["cascade"]
    point, curve = chosen["point"], chosen["curve"]
    assert 0.25 < point["low"] < point["high"] < 0.75
    assert 0.1 < point["share"] < 0.4
    assert (curve[0]["share"], curve[-1]["share"]) == (0, 1)
    costs = [one["cost"] for one in curve]
    assert costs == sorted(costs)
    assert point["cost"] == pytest.approx(1000 * (200 * 0.04 + point["share"] * 140) / 1e6)
    assert chosen["fast"]["value"] < 0.88 < chosen["cascade"]["low"]
    assert Path("curve.svg").read_text().startswith("<svg")
    with Workspace(Path()) as place:
        kept = place.registry.get(chosen["judge"])
        rules = [
            place.registry.kept_rule(one, decides=True)
            for one in place.registry.log(kept.name + "@" + kept.version)
        ]
    assert rules[0] is not None
    assert rules[1] is not None
    assert rules[0].rule == rules[1].rule
    asked = len(server.written)
    code, out, err = run(capsys, "bench", chosen["judge"], "rows.jsonl", "--model", "one")
    assert code == 0, err
    assert asked < len(server.written) < asked + 100


@pytest.mark.parametrize("aim", [("--agreement", "0.999"), ("--agreement", "0.5")])
def test_a_band_that_cannot_be_is_refused_with_what_can(
    server: CascadeServer, capsys: pytest.CaptureFixture[str], aim: tuple[str, str]
) -> None:
    """Too much is asked for, or the fast model does it alone; no version is kept."""
    write_rows(Path("rows.jsonl"), easy_and_hard(300))
    code, _, err = run(capsys, *CHOOSE, *aim)
    assert code == 2
    assert "no band serves: the fast model alone agrees in 0.8" in err
    with Workspace(Path()) as place:
        assert len(place.registry.versions("groundedness")) == 1


@pytest.mark.parametrize("option", ["--plot curve.svg", "--agreement 0.9", "--cost 2"])
def test_what_is_said_of_a_band_needs_a_slow_model(
    server: CascadeServer, capsys: pytest.CaptureFixture[str], option: str
) -> None:
    """It is not ignored: nothing is asked."""
    code, _, err = run(capsys, *CHOOSE[:-2], *option.split())
    assert (code, server.decided) == (2, [])
    assert "is about the band of a cascade" in err
    assert "--cascade MODEL" in err


def test_a_verdict_file_of_a_cascade_measures_as_bench_did(
    server: CascadeServer, capsys: pytest.CaptureFixture[str]
) -> None:
    """The slow model's probability is that of its confidence, also where that lies over the cut."""
    figures = ("f1", "brier", "ece", "auroc")
    for kept in (False, True):
        if kept:
            run(capsys, "calibrate", *BENCH[1:], "--split", "10/70/10/10")
        write_rows(Path("rows.jsonl"), easy_and_hard(120))
        _, out, _ = run(capsys, *BENCH, "--out", "verdicts.jsonl")
        _, read, _ = run(capsys, "score", "verdicts.jsonl", "--json")
        benched, scored = (json.loads(one)["metrics"] for one in (out, read))
        for name in figures:
            assert scored[name]["value"] == pytest.approx(benched[name]["value"], abs=1e-12), name


def test_calibrate_says_where_the_slow_model_decides(
    server: CascadeServer, capsys: pytest.CaptureFixture[str]
) -> None:
    """In a sentence and a table, with the command that measures it; a cascade has no cut of its
    own.
    """
    write_rows(Path("rows.jsonl"), easy_and_hard(300))
    code, out, err = run(capsys, *CHOOSE, "--cost", "0.05")
    assert code == 0, err
    assert "chat decides" in out
    spec = out.rsplit("judgewright bench ", 1)[1].split()[0]
    code, _, err = run(capsys, "calibrate", spec, *CHOOSE[2:])
    assert code == 2
    assert "which has no cut of its own" in err


def test_calibrate_says_which_cut_another_takes_the_place_of(
    server: CascadeServer, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its threshold, and that it stays beside the new one; the same cut replaces nothing."""
    write_rows(Path("rows.jsonl"), easy_and_hard(300))
    _, out, _ = run(capsys, *CHOOSE[:-2], "--metric", "recall", "--json")
    first = json.loads(out)
    assert first["replaced"] is None
    code, out, err = run(capsys, *CHOOSE, "--cost", "0.05")
    assert code == 0, err
    old = first["rule"]["threshold"]
    assert f"it takes the place of rule {first['rule']['version']}, positive at {old:g}" in out
    assert len(list(Path("prompts/groundedness").glob(f"*.{first['rule']['version']}.*"))) == 1
    assert "takes the place" not in run(capsys, *CHOOSE, "--cost", "0.05")[1]


def test_the_gate_decides_a_cascade_against_either_judge(
    server: CascadeServer, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is better than the fast one, which is coin-like on hard rows, and than the slow one, which
    errs on easy rows too.
    """
    write_rows(Path("rows.jsonl"), easy_and_hard(600))
    write_cascade("slow.yaml", low=0, high=1)
    for other in ("groundedness", "slow.yaml"):
        gate = ("gate", other, "both.yaml", "rows.jsonl", "--model", "one", "--target", "accuracy")
        code, out, err = run(capsys, *gate, "--json")
        assert code == 0, err
        assert json.loads(out)["decision"]["outcome"] == "accepted"
    code, out, _ = run(capsys, "gate", "both.yaml", "groundedness", *gate[3:], "--json")
    assert code == 1


def test_a_plan_prices_the_share_that_the_slow_model_is_asked_about(
    server: CascadeServer, capsys: pytest.CaptureFixture[str]
) -> None:
    """With a tenth of the rows in the band, a tenth more calls of the judge; a stranger's model is
    refused before.
    """
    write_rows(Path("rows.jsonl"), easy_and_hard(300))
    plan = ("rows.jsonl", "--model", "one", "--optimizer-model", "chat", "--plan", "--json")
    plan = (*plan, "--target", "accuracy", "--objective", "raise accuracy", "--proposer", "rewrite")
    calls: list[float] = []
    dollars: list[float] = []
    for share in (0.0, 0.1, 0.2):
        cascade = Cascade(model="chat", low=0.3, high=0.7, share=share)
        replace(Registry().get("groundedness"), cascade=cascade).write(Path("both.yaml"))
        code, out, err = run(capsys, "optimize", "both.yaml", *plan)
        assert code == 0, err
        calls.append(json.loads(out)["calls"]["likely"])
        dollars.append(json.loads(out)["money"]["likely"])
    judged = 10 * (calls[1] - calls[0])
    assert calls[2] - calls[1] == pytest.approx(judged / 10)
    assert 0.9 * calls[0] < judged <= calls[0]
    assert dollars[2] - dollars[1] == pytest.approx(dollars[1] - dollars[0]) != 0
    assert "chat is taken to be asked about 20% of the rows" in out
    write_cascade("both.yaml", model="stranger")
    assert run(capsys, "optimize", "both.yaml", *plan)[0] == 2


def test_an_export_of_a_cascade_says_what_to_export_instead(
    server: CascadeServer, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its YAML goes whole; without `--api` every other target asks one model."""
    assert run(capsys, "export", "both.yaml", "--to", "yaml", "--out", "yaml")[0] == 0
    judge = Path("yaml/groundedness.yaml")
    assert read_prompt(judge).version == read_prompt(Path("both.yaml")).version
    for target in ("python", "mlflow", "markdown"):
        code, _, err = run(capsys, "export", "both.yaml", "--to", target, "--out", target)
        assert code == 2
        assert f"a cascade asks two models, and this export to {target} asks one" in err
        assert "--api" in err


def test_an_export_gives_every_row_the_verdict_of_bench(
    server: CascadeServer, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each by the same model, and none where the slow one gives none."""
    assert run(capsys, *BENCH, "--out", "verdicts.jsonl")[0] == 0
    lines = [json.loads(line) for line in Path("verdicts.jsonl").read_text().splitlines()]
    asked = len(server.decided), len(server.written)
    export = ("export", "both.yaml", "--to", "python", "--api", "systemone", "--out", "out")
    assert run(capsys, *export)[0] == 0
    monkeypatch.syspath_prepend("out")
    judge = reader().Judge(Path("out/judge.json"))
    scores: list[float | None] = []
    with OpenAI(base_url=server.url, api_key="none") as client:
        for row in map(json.loads, Path("rows.jsonl").read_text().splitlines()):
            try:
                scores.append(judge.ask(client, "one", row)[0])
            except ValueError:
                scores.append(None)
    ends = {True: 1.0, False: 0.0, None: None}  # the file has the slow model's probability
    expected = [ends[one["verdict"]] if "decided_by" in one else one["score"] for one in lines]
    assert scores == expected
    verdicts = [None if score is None else judge.positive(score) for score in scores]
    assert verdicts == [None if one["verdict"] is None else one["verdict"] == 1 for one in lines]
    assert (len(server.decided), len(server.written)) == (2 * asked[0], 2 * asked[1])

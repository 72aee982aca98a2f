"""`optimize` with each proposer, and which options belong to which."""

import json
import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from judgewright.judges import InputError, Registry
from judgewright.optimize import (
    PARTS,
    Gepa,
    HumanEdit,
    Mipro,
    Rewrite,
    ShowCases,
    TextGrad,
    exit_code,
)
from judgewright.runs.demo import write_demo_rows
from judgewright.runs.store import PROPOSERS, RunConfig, open_proposers

from .run_command import run_code as run

PROMPT = Registry().get("groundedness")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a few rows and a person's edit."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("JUDGEWRIGHT_WORKSPACE", raising=False)
    write_demo_rows(tmp_path / "rows.jsonl", documents=60)
    rows = [
        json.loads(line)
        for line in (tmp_path / "rows.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    noted = [json.dumps(row | {"why": "A number or a name is not the source's."}) for row in rows]
    (tmp_path / "noted.jsonl").write_text("\n".join(noted), encoding="utf-8")
    edit = PROMPT.edited(criteria=PROMPT.criteria + "\nNumbers must match.")
    (tmp_path / "edit.yaml").write_text(edit.to_yaml(), encoding="utf-8")
    return tmp_path


def optimize(*options: str, rows: str = "noted.jsonl") -> int:
    """Optimize in one step."""
    said = ("--model", "simulated", "--objective", "raise precision")
    plain = ("optimize", "groundedness", rows, *said, "--steps", "1", "--json")
    return run(*plain, *options)


OPTIONS: dict[str, Sequence[str]] = {
    "study": (),
    "textgrad": ("--editable", "criteria,system"),
    "rewrite": (),
    "cases": ("--cases", "2", "--cases-by", "random"),
    "gepa": ("--step-calls", "60"),
    "mipro": ("--step-calls", "80"),
    "human": ("--edit", "edit.yaml"),
}


@pytest.mark.slow
@pytest.mark.parametrize("proposer", PROPOSERS)
def test_each_proposer_runs_from_the_command_line_and_resumes_for_nothing(
    folder: Path, capsys: pytest.CaptureFixture[str], proposer: str
) -> None:
    """One JSON object is all that is printed; resuming asks nothing and finds the same."""
    code = optimize("--proposer", proposer, *OPTIONS[proposer])
    body = json.loads(capsys.readouterr().out)
    assert code == exit_code(body["decision"]["outcome"])
    assert body["simulated"]
    assert run("runs", "resume", body["run"], "--json") == code
    again = json.loads(capsys.readouterr().out)
    assert again["calls"] == 0
    assert again["decision"] == body["decision"]


def test_unguided_has_no_slice_and_a_plain_loss(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The switch for the published claim; the run is called so in the first line of each of its
    reports.
    """
    optimize("--unguided", "--steps", "1")
    body = json.loads(capsys.readouterr().out)
    assert (body["slice"], body["guided"], body["loss"]) == ("all rows", False, "1 - correct")
    run("runs", "show", body["run"])
    assert (
        capsys.readouterr()
        .out.splitlines()[0]
        .startswith(f"Run {body['run']}: optimize, done, unguided, started")
    )
    run("runs", "show", body["run"], "--out", "shared")
    assert "unguided" in Path("shared/run.md").read_text().splitlines()[0]
    assert f"Run {body['run']}, unguided" in Path("shared/run.html").read_text()
    capsys.readouterr()
    optimize("--slice", "channel = pdf", "--steps", "0")
    assert json.loads(capsys.readouterr().out)["guided"] is True


REFUSED = [
    ("--proposer human", "needs the edited prompt"),
    ("--edit edit.yaml", "--edit belongs to --proposer human"),
    ("--editable template", "--editable 'template' is not a part that may change"),
    ("--editable anchors --proposer gepa", "--editable belongs to --proposer study"),
    ("--proposer gepa --temperature 0.2", "--temperature belongs to --proposer"),
    ("--view all --proposer rewrite", "--view belongs to --proposer textgrad"),
    ("--step-calls 50", "--step-calls belongs to --proposer"),
    ("--unguided --slice 'channel = pdf'", "--slice has no effect"),
    ("--proposer nobody", "nobody"),
    ("--proposer human --edit broken.yaml", "broken.yaml"),
]


@pytest.mark.parametrize(("options", "message"), REFUSED)
def test_what_makes_no_sense_is_refused_before_anything_is_spent(
    folder: Path, capsys: pytest.CaptureFixture[str], options: str, message: str
) -> None:
    """Exit code 2, and no run is made."""
    (folder / "broken.yaml").write_text("{format: '1', name: x}", encoding="utf-8")
    assert optimize(*shlex.split(options)) == 2
    assert message in capsys.readouterr().out
    run("runs", "list", "--json")
    assert json.loads(capsys.readouterr().out)["runs"] == []


def test_anchors_of_a_scale_without_words_cannot_change(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The refusal says what the judge lacks."""
    bare = replace(PROMPT, scale=replace(PROMPT.scale, anchors={}), name="bare")
    (folder / "bare.yaml").write_text(bare.to_yaml(), encoding="utf-8")
    words = "optimize bare.yaml noted.jsonl --model simulated --editable anchors --objective"
    assert run(*words.split(), "raise precision") == 2
    assert "does not say what its grades mean" in capsys.readouterr().err


def reworded(folder: Path) -> None:
    """A person's edit of a rule and of what a grade means."""
    scale = replace(
        PROMPT.scale,
        anchors={**PROMPT.scale.anchors, "2": "supports the statement but for a detail"},
    )
    edit = replace(PROMPT.edited(criteria=PROMPT.criteria + "\nNumbers must match."), scale=scale)
    (folder / "edit.yaml").write_text(edit.to_yaml(), encoding="utf-8")


def test_anchors_are_edited_only_where_they_are_editable(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Refused by default, as ever; else they are in the hunks, the diff, the page and the
    export.
    """
    reworded(folder)
    edit = ("--proposer", "human", "--edit", "edit.yaml", "--gate-anyway")
    optimize(*edit)
    capsys.readouterr()
    assert run("runs", "show", "latest", "--json") == 0
    [step] = [
        event for event in json.loads(capsys.readouterr().out)["events"] if event["kind"] == "step"
    ]
    assert [violation["name"] for violation in step["payload"]["violations"]] == ["scale_changed"]
    optimize(*edit, "--editable", "criteria,anchors")
    capsys.readouterr()
    assert run("runs", "show", "latest", "--json") == 0
    events = {
        event["kind"]: event["payload"] for event in json.loads(capsys.readouterr().out)["events"]
    }
    assert events["started"]["parts"] == ["criteria", "anchors"]
    assert "violations" not in events["step"]
    if "survivor" in events:
        run("diff", "latest")
        assert "supports the statement but for a detail" in " ".join(
            capsys.readouterr().out.split()
        )


@pytest.mark.parametrize("proposer", ["textgrad", "rewrite"])
def test_the_optimizer_model_is_asked_for_anchors_too(
    folder: Path, capsys: pytest.CaptureFixture[str], proposer: str
) -> None:
    """A line for each grade stays; the plan's bound covers both requests."""
    optimize("--editable", "criteria,anchors", "--proposer", proposer)
    body = json.loads(capsys.readouterr().out)
    plan = (
        *shlex.split("optimize --plan groundedness noted.jsonl --model simulated"),
        *shlex.split("--objective 'raise precision'"),
    )
    parts = ("--editable", "criteria,anchors", "--proposer", proposer, "--steps", "1")
    assert run(*plan, *parts, "--json") == 0
    assert body["calls"] <= json.loads(capsys.readouterr().out)["calls"]["at_most"]


def test_a_configuration_opens_its_proposer_and_survives_json() -> None:
    """What was asked for is what runs, after a resume too; a configuration of before reads on."""

    def config(**fields: Any) -> RunConfig:
        plain = {
            "prompt": PROMPT.to_yaml(),
            "model": "simulated",
            "data": "rows.jsonl",
            "objective": "precision",
        }
        return RunConfig(**{**plain, **fields})

    chosen = config(editable=("reply", "criteria"))
    stored = json.loads(json.dumps(chosen.to_json()))
    assert RunConfig.from_json(stored) == chosen
    earlier = {**stored, "parts": stored["editable"], "editable": []}
    assert RunConfig.from_json(earlier) == chosen
    earlier = {**stored, "engine": "dask", "workers": 2, "scheduler": None}
    assert RunConfig.from_json(earlier).engine == "dask=2"
    parts = ("criteria", "reply")
    texts = (TextGrad(view="all", parts=parts), TextGrad(parts=parts))
    assert open_proposers(chosen) == (ShowCases(), *texts)
    both = open_proposers(config(proposer="textgrad, rewrite"))
    assert both == (TextGrad(), Rewrite())
    all_rows = (TextGrad(view="all", parts=("criteria", "anchors")),)
    assert open_proposers(config(proposer="study")) == all_rows
    assert open_proposers(config(view="all", proposer="textgrad,study")) == all_rows
    (human,) = open_proposers(config(proposer="human", edit=PROMPT.to_yaml()))
    assert human == HumanEdit(edit=PROMPT)
    assert "anchors" not in human.parts
    assert config(editable=("criteria", "anchors")).for_edit(PROMPT.to_yaml()).editable == PARTS
    assert config(editable=("system",)).for_edit(PROMPT.to_yaml()).editable == ()
    chosen = config(proposer="cases", cases=8, cases_by="fixed", cases_from="slice")
    assert open_proposers(chosen) == (ShowCases(count=8, by="fixed", only_slice=True),)
    both = open_proposers(config(proposer="textgrad", editable=("criteria", "cases"), cases=2))
    assert both == (TextGrad(parts=("criteria", "cases"), cases=ShowCases(count=2)),)
    assert open_proposers(config(proposer="gepa")) == (Gepa(),)
    assert open_proposers(config(proposer="mipro", step_calls=70)) == (Mipro(calls=70),)
    assert config(proposer="human", steps=15).settings().steps == 1
    before = {
        k: v for k, v in config().to_json().items() if k not in ("parts", "step_calls", "edit")
    }
    assert RunConfig.from_json(before) == config()
    with pytest.raises(InputError, match="is none of"):
        open_proposers(config(proposer="nobody"))
    with pytest.raises(InputError, match="is none of") as gone:
        open_proposers(config(proposer="fewshot"))
    assert gone.value.hint == "--proposer cases --cases-by fixed"
    for alone in ("rewrite", "textgrad", "study"):
        with pytest.raises(InputError, match="text"):
            open_proposers(config(editable=("cases",), proposer=alone))


def test_a_loss_from_a_file_guides_the_run(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What `loss write --out` wrote is taken as a person's; no model is asked for another."""
    assert (
        run(*shlex.split("loss write 'raise precision' --model simulated --out loss.json --json"))
        == 0
    )
    capsys.readouterr()
    assert optimize("--loss", "loss.json") in (0, 1, 4)
    found = json.loads(capsys.readouterr().out)
    assert found["loss"] == json.loads(Path("loss.json").read_text())["expression"]
    assert found["thrift"]["calls"] == found["calls"]
    assert optimize("--loss", "loss.json", "--unguided") == 2

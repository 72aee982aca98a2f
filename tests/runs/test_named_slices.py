"""An objective and a loss may name a saved slice."""

import json
import shlex
from pathlib import Path

import pytest

from .run_command import run


def save_slice(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Write 60 rows, and save the slice of their longer half."""
    (folder / "slices").mkdir()
    lines = [
        {
            "id": f"r{i}",
            "source": f"s{i}",
            "statement": "t",
            "label": i % 2,
            "score": 1,
            "words": i,
            "group": f"g{i}",
        }
        for i in range(60)
    ]
    (folder / "rows.jsonl").write_text(
        "".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8"
    )
    assert (
        run(
            capsys,
            "slices",
            "rows.jsonl",
            "--where",
            "words >= 30",
            "--save",
            "slices/long-context.yaml",
        )[0]
        == 0
    )


def test_a_loss_weighs_a_saved_slice_and_the_run_keeps_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The run has its predicate and its costs, also when the file is gone; an unknown name ends
    before any step.
    """
    monkeypatch.chdir(tmp_path)
    save_slice(tmp_path, capsys)
    expression = "(1 - correct) * (1 if in_slice('{name}') else 0.5)"
    for name in ("long-context", "long"):
        loss = json.dumps(
            {"expression": expression.format(name=name), "declares": {}, "reason": ""}
        )
        (tmp_path / f"{name}.json").write_text(loss, encoding="utf-8")
    options = (
        "groundedness",
        "rows.jsonl",
        "--objective",
        "raise f1",
        *shlex.split("--model simulated --steps 1 --json"),
    )
    code, _, err = run(capsys, "optimize", *options, "--loss", "long.json")
    assert code == 2
    assert "there is no slice 'long'; there is: target, long-context" in err
    code, out, err = run(capsys, "optimize", *options, "--loss", "long-context.json")
    assert code in (0, 1, 4), err
    (tmp_path / "slices" / "long-context.yaml").unlink()
    name = json.loads(out)["run"]
    assert run(capsys, "runs", "resume", name, "--json")[0] == code
    shown = json.loads(run(capsys, "runs", "show", name, "--json")[1])
    (event,) = (event for event in shown["events"] if event["kind"] == "loss")
    assert event["payload"]["slices"] == {"long-context": "words >= 30"}
    assert "in slice long-context" in {row["place"] for row in event["payload"]["cost_table"]}


def test_plan_and_loss_write_take_a_slice_that_was_saved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is saved into the folder `slices` of the workspace, and its name is that of its file."""
    monkeypatch.chdir(tmp_path)
    save_slice(tmp_path, capsys)
    wish = "raise precision on the slice long-context"
    code, out, err = run(
        capsys,
        *shlex.split("optimize --plan groundedness rows.jsonl --objective"),
        wish,
        "--model",
        "simulated",
    )
    assert code == 0, err
    assert "on the rows with words >= 30" in out
    code, out, err = run(capsys, "loss", "write", wish, "--model", "simulated")
    assert code == 0, err
    assert "on the rows with words >= 30" in out
    wish += "er"
    code, _, err = run(
        capsys,
        *shlex.split("optimize --plan groundedness rows.jsonl --objective"),
        wish,
        "--model",
        "simulated",
    )
    assert code == 2
    assert "saved are long-context" in err


def test_every_command_takes_the_name_of_a_saved_slice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`slices`, `plan`, `gate` and `loss check` know it, in the options and in the sentence; others
    are named.
    """
    monkeypatch.chdir(tmp_path)
    save_slice(tmp_path, capsys)
    for look in ("--where", "--rows"):
        code, out, err = run(capsys, "slices", "rows.jsonl", look, "long-context")
        assert code == 0, err
        assert "words >= 30" in out or "r3" in out
    code, _, err = run(capsys, "slices", "rows.jsonl", "--where", "long")
    assert code == 2
    assert "slices are saved as long-context" in err
    plan = (
        *shlex.split("optimize --plan groundedness rows.jsonl --objective"),
        "raise f1",
        "--model",
        "simulated",
    )
    assert run(capsys, *plan, "--slice", "long-context")[0] == 0
    assert run(capsys, *plan, "--slice", "long")[0] == 2
    loss = "(1 - correct) * (1 if in_slice('{}') else 0.5)"
    assert run(capsys, "loss", "check", loss.format("long-context"))[0] == 0
    code, out, _ = run(capsys, "loss", "check", loss.format("long"))
    assert code == 1
    assert "there is no slice 'long'; there is: target, long-context" in out
    lines = [
        json.loads(line)
        for line in (tmp_path / "rows.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    better = "".join(json.dumps(line | {"score": line["label"]}) + "\n" for line in lines)
    (tmp_path / "better.jsonl").write_text(better, encoding="utf-8")
    for said in (
        ("--target", "accuracy", "--slice", "long-context"),
        ("--objective", "raise accuracy on the slice long-context"),
    ):
        code, out, err = run(capsys, "gate", "rows.jsonl", "better.jsonl", *said)
        assert code in (0, 1), err
        assert "slice: words >= 30" in out

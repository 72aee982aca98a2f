"""The printed command, read as the shell and `optimize` would read it: it makes the run's own
configuration.
"""

import shlex
from dataclasses import replace
from pathlib import Path

import orjson
import pytest

from judgewright.judges import Registry
from judgewright.optimize.options import option_fields
from judgewright.runs.actions.write_loss import read_loss
from judgewright.runs.commands.optimize import optimize
from judgewright.runs.config.optimize_options import OptimizeOptions
from judgewright.runs.store import RunConfig, command_of

PROMPT = Registry().get("groundedness")


def parsed(command: str) -> RunConfig:
    """Read a command by click, in the folder where its files are."""
    words = shlex.split(command)
    assert words[:2] == ["judgewright", "optimize"]
    options = optimize.make_context("optimize", words[2:]).params
    assert options["judge"] == f"{PROMPT.name}@{PROMPT.version}"
    chosen = {field.name: options[field.name] for field, _ in option_fields(OptimizeOptions)}
    return RunConfig(prompt=PROMPT.to_yaml(), data=str(options["data"]), **chosen)


def config(**changes: object) -> RunConfig:
    """A run of few settings."""
    plain = {
        "prompt": PROMPT.to_yaml(),
        "model": "simulated",
        "data": "my rows.jsonl",
        "objective": "don't overrate",
    }
    return RunConfig(**{**plain, **changes})  # type: ignore[arg-type]


def kept_loss(text: str) -> str:
    """What a run keeps of a person's loss."""
    return orjson.dumps(read_loss(text).to_json()).decode()


@pytest.mark.parametrize("expression", ["0.5 * fp + (1 - correct) * 0.5", "-fp * -1 + 0.3 * fn"])
def test_a_loss_without_a_declaration_is_printed_as_it_is_read(expression: str) -> None:
    """The command makes the same configuration, the loss in it included; one that begins with a
    dash too.
    """
    mine = config(loss=kept_loss(expression), seed=3)
    assert parsed(command_of(mine)) == mine


def test_a_loss_that_declares_something_is_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An expression alone cannot declare: a placeholder stands for the file that `loss write --out`
    writes.
    """
    (tmp_path / "mine.json").write_text(
        '{"expression": "fp + 0.3 * fn", "declares": {"fp_costs_more_than_fn": true}, "reason":'
        ' "so"}'
    )
    mine = config(loss=kept_loss(str(tmp_path / "mine.json")))
    command = command_of(mine)
    assert " --loss LOSS.json" in command
    monkeypatch.chdir(tmp_path)
    Path("LOSS.json").write_text(str(mine.loss), encoding="utf-8")
    assert parsed(command) == mine


def test_every_other_setting_comes_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Options, flags and lists away from their defaults; what is not on the command line is the
    run's own affair.
    """
    monkeypatch.chdir(tmp_path)
    Path("EDITED.yaml").write_text(PROMPT.to_yaml(), encoding="utf-8")
    goal = {"target": "precision", "guards": ("recall:-0.1", "kappa:-0.05"), "yes": True}
    goal |= {"floors": ("precision=0.5",), "loss": kept_loss("1 - correct"), "unguided": True}
    models = {"model": "m@https://host.example/v1", "optimizer_model": "writer", "via": "files"}
    models |= {"exchange": "x", "optimizer_via": "live", "budget": "5.00", "max_tokens": 300}
    writes = {"proposer": "human", "editable": ("criteria", "anchors")}
    writes |= {"cases": 8, "cases_by": "fixed", "cases_from": "slice"}
    writes |= {"temperature": 0.3, "step_calls": 50, "edit": PROMPT.to_yaml(), "steps": 4}
    writes |= {"folds": 3}
    writes |= {"batch": 5, "brief_tokens": 4_000, "view": "all", "explanation": "why"}
    gate = {"allow_opened": True, "least_chance": 0.2, "gate_anyway": True}
    rows = {"label": "l", "id_": "key", "group": "g", "limit": 50}
    rows |= {"columns": {"source": "passage", "statement": "claim"}, "audited": "marked.jsonl"}
    rows |= {"label_scale": "0..3@2", "label_map": "factual=1,hallucinated=0"}
    asks = {"confidence": "tok", "by_claim": True, "splitter": "model"}
    asks |= {"max_unreadable": 15}
    parts = {"holdout": "official.jsonl", "split_column": "orig_split", "shares": (40, 20, 30, 10)}
    slices = {"slice": "source_words >= 400", "slice_columns": ("a", "b")}
    slices |= {"keep": ("d", "e"), "by": "lang", "seed": 7}
    changes = (goal, models, writes, gate, rows, asks, parts, slices)
    mine = config(**{name: value for group in changes for name, value in group.items()})
    plain = config()
    same = [name for name in mine.to_json() if getattr(mine, name) == getattr(plain, name)]
    assert sorted(same) == [
        *("concurrency", "data", "data_hash", "engine", "exclude", "hidden_cases"),
        *("identity", "model_settings", "objective", "prompt", "reading", "rule", "saved_slices"),
        *("skip_incomplete", "trivial"),
    ]
    elsewhere = replace(mine, data="/home/ann/my rows.jsonl", data_hash="h", concurrency=2)
    assert parsed(command_of(elsewhere)) == mine

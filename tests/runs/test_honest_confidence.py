"""The Brier score as a person meets it: refused before anything is spent, planned, gated from
files.
"""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from judgewright.judges import Registry

from .run_command import run_code as run


def write(path: Path, lines: list[dict[str, object]]) -> Path:
    """Write JSON lines."""
    path.write_text("\n".join(json.dumps(line) for line in lines))
    return path


@pytest.fixture
def silent(tmp_path: Path) -> Path:
    """A judge whose reply is a grade and nothing else."""
    judge = replace(
        Registry().get("groundedness"),
        name="silent",
        system="You judge.",
        criteria="Supported or not.",
        reply="Answer with the grade as a number.",
        reply_schema={},
    )
    path = tmp_path / "silent.yaml"
    path.write_text(judge.to_yaml(lineage=False))
    return path


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    """Forty labelled rows in forty groups."""
    lines: list[dict[str, object]] = [
        {
            "id": str(i),
            "group": str(i),
            "label": i % 2,
            "source": f"text {i}",
            "statement": f"claim {i}",
        }
        for i in range(40)
    ]
    return write(tmp_path / "rows.jsonl", lines)


@pytest.mark.parametrize("command", [("optimize", "--plan"), ("optimize",)])
def test_a_judge_without_a_confidence_is_refused_before_anything_is_spent(
    command: tuple[str, ...],
    silent: Path,
    rows: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """As target and as guard; with the confidence of the tokens it goes on."""
    where = ("--model", "simulated", "--workspace", tmp_path)
    for said in ("lower brier", "raise precision; brier may rise by 0.02"):
        assert run(*command, silent, rows, "--objective", said, *where) == 2
        problem = capsys.readouterr().err
        assert "'silent' is not asked for a confidence" in problem
        assert "--confidence tok" in problem
    if "--plan" in command:
        assert (
            run(
                "optimize",
                "--plan",
                silent,
                rows,
                "--objective",
                said,
                "--confidence",
                "tok",
                *where,
            )
            == 0
        )


def test_two_prompts_without_a_confidence_spend_no_look(
    silent: Path, rows: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The gate says so before it opens the holdout."""
    where = ("--target", "brier", "--model", "simulated", "--workspace", tmp_path)
    assert run("gate", silent, "groundedness", rows, *where) == 2
    assert "not asked for a confidence" in capsys.readouterr().err


def test_verdict_files_are_gated_by_their_confidence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The same decisions with an honest confidence are another judge; files without a confidence
    are refused.
    """
    rng = np.random.default_rng(0)
    labels = rng.random(300) < 0.5
    wrong = rng.random(300) < 0.25
    files: dict[str, Path] = {}
    for name in ("sure", "honest", "bare"):
        lines: list[dict[str, object]] = []
        for i in range(300):
            line: dict[str, object] = {
                "id": str(i),
                "label": int(labels[i]),
                "score": int(labels[i] ^ wrong[i]),
            }
            if name != "bare":
                line["confidence"] = (
                    0.97 if name == "sure" else (0.6 if wrong[i] else 0.8) + 0.001 * (i % 7)
                )
            lines.append(line)
        files[name] = write(tmp_path / f"{name}.jsonl", lines)
    judged = ("--target", "brier", "--confidence", "confidence", "--workspace", tmp_path)
    assert run("gate", files["sure"], files["honest"], *judged) == 0
    said = capsys.readouterr().out
    assert "read as:   Lower brier" in said
    assert "brier fell" in said
    assert "accuracy may not fall" in said
    assert (
        run("gate", files["bare"], files["bare"], "--target", "brier", "--workspace", tmp_path) == 2
    )
    assert "none of the 300 verdicts" in capsys.readouterr().err
